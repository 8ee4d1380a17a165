"""The perceptron, on the samples themselves."""

from __future__ import annotations

import math
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from maxmargin import _core, _validation
from maxmargin._mistake_driven import MistakeDriven, PassOptions
from maxmargin._one_vs_rest import positive_classes
from maxmargin._sparse import Matrix, product
from maxmargin._validation import ClassWeight

__all__ = ["Perceptron"]

Self = TypeVar("Self", bound="Perceptron")


class Perceptron(MistakeDriven):
    """The perceptron [1]_: a linear classifier that learns from its mistakes.

    Examples are taken one at a time, y_i in {-1, +1}. On a mistake, y_i (w.x_i + b) <= 0,

        w += eta0 y_i x_i,    b += eta0 y_i,

    until a pass over the data makes no mistake. If some separator has margin gamma, the bias
    counting as the weight of a constant feature 1, it makes at most R^2 / gamma^2 mistakes,
    R = max ||(x_i, 1)|| [2]_; `maxmargin.diagnostics.mistake_bound` gives that number. With more
    than two classes, one perceptron is trained for each class against the rest.

    Parameters
    ----------
    max_iter : int, default=1000
        Greatest number of passes, >= 1.
    fit_intercept : bool, default=True
        Whether there is a bias b.
    shuffle : bool, default=False
        Whether every pass takes the examples in a new random order, rather than as given.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the orders; None takes a new one for every fit.
    eta0 : float, default=1.0
        Learning rate, > 0. Without weights, and starting from w = 0, it scales w and b and changes
        nothing else.
    tol : float or None, default=None
        With a number >= 0, training stops also when the share of mistakes has not fallen by more
        than `tol` below the least so far in 5 passes in a row. With None it stops only at a pass
        without a mistake, or after `max_iter`.
    class_weight : dict, 'balanced' or None, default=None
        Factors of the learning rate by class; 'balanced' is n_samples / (n_classes * count of the
        class). With more than two classes, the factor of a class holds in its own problem, where
        the rest has 1 (scikit-learn's rule).
    warm_start : bool, default=False
        Whether `fit` goes on from the present weights, which must be for the same classes.
    n_jobs : int or None, default=None
        Threads, which share the one-vs-rest problems: None is OpenMP's default, -1 all cores. The
        result does not depend on it.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Sorted labels.
    coef_ : ndarray of float64, shape (1, n_features) or (n_classes, n_features)
        w; with two classes that of classes_[1] against classes_[0].
    intercept_ : ndarray of float64, shape (1,) or (n_classes,)
        b.
    n_iter_ : int
        Passes; of several problems, the most that one of them took.
    n_mistakes_ : ndarray of int64, shape (1,) or (n_classes,)
        Mistakes in all passes.
    mistakes_per_pass_ : list of ndarray of int64
        One array for each problem.
    converged_ : bool
        Whether the last pass made no mistake: w and b separate the training data. It and the three
        above speak of the last call of `fit` or `partial_fit`.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only where `X` has column names.

    Notes
    -----
    scikit-learn's class of this name shuffles unless told otherwise, stops by a tolerance on the
    loss, and offers penalties; this one is Rosenblatt's rule. Weights are float64, also for
    float32 data, whose values are exact in it.

    References
    ----------
    .. [1] F. Rosenblatt, "The perceptron: a probabilistic model for information storage and
       organization in the brain", Psychological Review 65 (1958).
    .. [2] A. B. J. Novikoff, "On convergence proofs on perceptrons", Symposium on the Mathematical
       Theory of Automata (1962), Theorem 1.

    Examples
    --------
    >>> from maxmargin import Perceptron
    >>> model = Perceptron().fit([[0.0], [1.0], [3.0], [4.0]], ["a", "a", "b", "b"])
    >>> model.predict([[-1.0], [5.0]]).tolist()
    ['a', 'b']
    >>> model.converged_
    True
    """

    def __init__(
        self,
        *,
        max_iter: int = 1000,
        fit_intercept: bool = True,
        shuffle: bool = False,
        random_state: Any = None,
        eta0: float = 1.0,
        tol: float | None = None,
        class_weight: ClassWeight = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
    ) -> None:
        self.max_iter = max_iter
        self.fit_intercept = fit_intercept
        self.shuffle = shuffle
        self.random_state = random_state
        self.eta0 = eta0
        self.tol = tol
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.n_jobs = n_jobs

    def fit(self: Self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on samples `X` with labels `y`, from w = 0 unless `warm_start` is set.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            C-contiguous float32 or float64 arrays and canonical CSR are read in place; everything
            else is converted to a copy.
        y : array-like of shape (n_samples,)
            Numbers, booleans or strings; at least two classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of the learning rate, >= 0. Samples of weight 0 are left out.

        Returns
        -------
        Perceptron
            The estimator itself.

        Raises
        ------
        ValueError
            If a parameter, the data, the labels or the weights are not as described, or w leaves
            the range of float64. The estimator then stays as it was.

        Warns
        -----
        ConvergenceWarning
            If the last of `max_iter` passes still made mistakes.
        """
        owner = type(self).__name__
        options = self._check_pass_options()
        matrix = self._matrix_to_fit(X)
        codes, classes = _validation.check_labels(y, matrix.shape[0], owner)
        if sample_weight is not None:
            sample_weight = _validation.check_sample_weight(sample_weight, matrix.shape[0])
        start = None
        if _validation.check_flag("warm_start", self.warm_start) and self.__sklearn_is_fitted__():
            self._check_same_model(X, matrix, classes)
            start = self.coef_, self.intercept_
        self._train(X, matrix, codes, classes, sample_weight, options, start)
        self._warn_of_mistakes(options.max_iter)
        return self

    def partial_fit(
        self: Self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> Self:
        """Make one pass over samples `X` with labels `y`, from the present weights.

        Parameters
        ----------
        X, sample_weight
            As in `fit`; all weights may be zero, which leaves w and b as they are.
        y : array-like of shape (n_samples,)
            Labels, any of `classes`.
        classes : array-like of shape (n_classes,), default=None
            All labels that may come. Required in the first call; may be left out later.

        Returns
        -------
        Perceptron
            The estimator itself.

        Raises
        ------
        ValueError
            As in `fit`; also if `classes` is missing in the first call, or another than before.
        """
        owner = type(self).__name__
        options = self._check_pass_options()._replace(max_iter=1, tol=None)
        if self.class_weight == "balanced":
            raise ValueError(
                "class_weight='balanced' is not available in partial_fit, which does not know all "
                "samples; give a dict of class weights"
            )
        is_first = not self.__sklearn_is_fitted__()
        if is_first and classes is None:
            raise ValueError("classes must be passed on the first call to partial_fit")
        known = _validation.check_classes(classes) if classes is not None else self.classes_
        matrix = self._matrix_to_fit(X)
        codes = _validation.check_known_labels(y, matrix.shape[0], owner, known)
        if sample_weight is not None:
            sample_weight = _validation.check_sample_weight(
                sample_weight, matrix.shape[0], may_vanish=True
            )
        start = None
        if not is_first:
            self._check_same_model(X, matrix, known)
            start = self.coef_, self.intercept_
        self._train(X, matrix, codes, known, sample_weight, options, start)
        return self

    def _check_same_model(self, X: Any, matrix: Matrix, classes: NDArray[Any]) -> None:
        owner = type(self).__name__
        _validation.check_features(
            X, matrix.shape[1], owner, self.n_features_in_, vars(self).get("feature_names_in_")
        )
        if not np.array_equal(classes, self.classes_):
            raise ValueError(
                f"{owner} goes on from weights for the classes {self.classes_.tolist()}, but got "
                f"the classes {classes.tolist()}"
            )

    def _train(
        self,
        X: Any,
        matrix: Matrix,
        codes: NDArray[np.int64],
        classes: NDArray[Any],
        sample_weight: NDArray[np.float64] | None,
        options: PassOptions,
        start: tuple[NDArray[np.float64], NDArray[np.float64]] | None,
    ) -> None:
        positive = positive_classes(len(classes))
        rates = self._rates(codes, classes, positive)
        heaviest = 1.0 if sample_weight is None else float(sample_weight.max())
        if not math.isfinite(float(rates.max()) * heaviest):
            raise ValueError(
                f"eta0={self.eta0} times class_weight and sample_weight overflows; reduce them"
            )
        if start is None:
            start = np.zeros((len(positive), matrix.shape[1])), np.zeros(len(positive))
        try:
            result = _core.perceptron_fit(
                matrix,
                codes,
                np.zeros(0) if sample_weight is None else sample_weight,
                positive,
                *start,
                rates,
                fit_intercept=_validation.check_flag("fit_intercept", self.fit_intercept),
                **options._asdict(),
            )
        except _core.NumericError as error:
            raise ValueError(self._overflow_message(str(error))) from error
        self.classes_ = classes
        self.coef_: NDArray[np.float64] = result["coef"]
        self.intercept_: NDArray[np.float64] = result["intercept"]
        self._set_record(result)
        self._record_features(X, matrix.shape[1])

    def _rates(
        self, codes: NDArray[np.int64], classes: NDArray[Any], positive: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return the learning rates of the rest and of the positive class, by problem."""
        eta0 = _validation.check_real("eta0", self.eta0, above=0)
        weight = _validation.check_class_weight(self.class_weight, classes, codes)
        of_rest = weight[:1] if len(classes) == 2 else np.ones(len(classes))
        with np.errstate(over="ignore"):
            return eta0 * np.column_stack([of_rest, weight[positive]])

    def _scores(self, matrix: Matrix) -> NDArray[np.float64]:
        return product(matrix, np.ascontiguousarray(self.coef_.T)) + self.intercept_

    def _overflow_message(self, what: str) -> str:
        return f"{type(self).__name__} overflows on these data ({what}): scale the data"
