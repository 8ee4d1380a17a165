"""Linear support vector machines for classification and regression."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from maxmargin import _core, _validation
from maxmargin._base import Regressor
from maxmargin._linear_machine import LinearMachine
from maxmargin._one_vs_rest import OneVsRestClassifier, class_factors, positive_classes
from maxmargin._validation import Callback, ClassWeight

__all__ = ["LinearSVC", "LinearSVR"]

Classifier = TypeVar("Classifier", bound="LinearSVC")
Regression = TypeVar("Regression", bound="LinearSVR")


class LinearSVC(LinearMachine, OneVsRestClassifier):
    """Linear support vector classification, one class against the rest.

    Solves, with y_i in {-1, +1} and f(x) = w.x + b,

        min 1/2 ||w||^2 + 1/2 (b / s)^2 + sum of C_i max(0, 1 - y_i f(x_i))^2

    or the same with the hinge loss max(0, 1 - y_i f(x_i)); s is `intercept_scaling`. The term in b
    is there because b is the weight of a further feature that is s in every sample, as in LIBLINEAR
    and in scikit-learn; it vanishes as s grows, and ``intercept_scaling=numpy.inf`` solves the
    problem without it, whose b is that of `SVC`. Training ends when the duality gap proves that the
    objective is within `tol` of its least value, relative to it; `certificate_` tells the gap.

    Parameters
    ----------
    penalty : {'l2', 'l1'}, default='l2'
        With 'l1' the regulariser is ||w||_1 + |b / s|, which makes many weights 0; only with the
        squared hinge loss.
    loss : {'squared_hinge', 'hinge'}, default='squared_hinge'
        The loss.
    dual : 'auto' or bool, default='auto'
        Accepted for scikit-learn's sake and without effect: the solver is chosen by the problem,
        and the solution is the same.
    tol : float, default=1e-4
        Tolerance on the duality gap, relative to the primal objective, > 0.
    C : float, default=1.0
        Penalty of the loss, > 0; C_i is C times the weights of the sample and of its class.
    multi_class : {'ovr'}, default='ovr'
        With more than two classes, one machine for each class against the rest.
    fit_intercept : bool, default=True
        Whether there is a bias b.
    intercept_scaling : float, default=1.0
        The s above, > 0; ``numpy.inf`` leaves b without a penalty.
    class_weight : dict, 'balanced' or None, default=None
        Factors of C_i by class; 'balanced' is n_samples / (n_classes * count of the class). With
        more than two classes, the factor of a class holds in its own problem, where the rest has 1
        (LIBLINEAR's rule).
    verbose : int, default=0
        Whether to show progress on stderr.
    random_state : int, numpy Generator, RandomState or None, default=None
        Seed of the order in which samples are visited; None is 0, so that fits repeat bitwise. It
        moves the solution within `tol`.
    max_iter : int, default=-1
        Cap on the iterations of every machine: passes over the samples, most often. -1 is a
        generous one of the solver's own.
    n_jobs : int or None, default=None
        Threads, which share the classes: None is OpenMP's default (OMP_NUM_THREADS, threadpoolctl),
        -1 all cores. The result does not depend on it.
    time_limit : float or None, default=None
        Seconds after which a machine is left as it is; `fit` warns and keeps what has been reached.
    callback : callable or None, default=None
        Called about every 50 ms during `fit` with a dict of `n_iter`, `relative_gap`, `n_free`,
        `n_bounded` and `seconds`; returning True ends the fit with `Cancelled`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Sorted labels.
    coef_ : ndarray of float64, shape (1, n_features) or (n_classes, n_features)
        w; with two classes that of classes_[1] against classes_[0].
    intercept_ : ndarray of float64, shape (1,) or (n_classes,)
        b.
    certificate_ : LinearCertificate
        Objectives, duality gap and the reason training stopped.
    n_iter_ : int
        Iterations; of several machines, the most that one of them took.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only where `X` has column names.

    See Also
    --------
    SVC : Support vector classification with kernels, one class against one.

    References
    ----------
    .. [1] C.-J. Hsieh, K.-W. Chang, C.-J. Lin, S. S. Keerthi, S. Sundararajan, "A dual coordinate
       descent method for large-scale linear SVM", ICML 2008.

    Examples
    --------
    >>> from maxmargin import LinearSVC
    >>> model = LinearSVC().fit([[0.0], [1.0], [3.0], [4.0]], ["a", "a", "b", "b"])
    >>> model.predict([[-1.0], [5.0]]).tolist()
    ['a', 'b']
    >>> model.certificate_.converged
    True
    """

    def __init__(
        self,
        penalty: str = "l2",
        loss: str = "squared_hinge",
        *,
        dual: bool | str = "auto",
        tol: float = 1e-4,
        C: float = 1.0,
        multi_class: str = "ovr",
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        class_weight: ClassWeight = None,
        verbose: int = 0,
        random_state: Any = None,
        max_iter: int = -1,
        n_jobs: int | None = None,
        time_limit: float | None = None,
        callback: Callback | None = None,
    ) -> None:
        self.penalty = penalty
        self.loss = loss
        self.dual = dual
        self.tol = tol
        self.C = C
        self.multi_class = multi_class
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.verbose = verbose
        self.random_state = random_state
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.time_limit = time_limit
        self.callback = callback

    def fit(self: Classifier, X: Any, y: Any, sample_weight: Any = None) -> Classifier:
        """Train on samples `X` with labels `y`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            C-contiguous float32 or float64 arrays and canonical CSR are read in place; everything
            else is converted to a copy.
        y : array-like of shape (n_samples,)
            Numbers, booleans or strings; at least two classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of C, >= 0. A sample of weight 0 is left out.

        Returns
        -------
        LinearSVC
            The estimator itself.

        Raises
        ------
        ValueError
            If a parameter, the data, the labels or the weights are not as described, or the
            solution leaves the range of float64. The estimator then stays as it was.
        Cancelled
            If `callback` returned True. The estimator stays as it was.

        Warns
        -----
        ConvergenceWarning
            If the solver stopped before `tol` was reached. The model is usable.
        """
        owner = type(self).__name__
        training = self._check_training()
        formulation = self._check_formulation()
        C = _validation.check_C(self.C)
        matrix = self._matrix_to_fit(X)
        codes, classes = _validation.check_labels(y, matrix.shape[0], owner)
        class_weight = _validation.check_class_weight(self.class_weight, classes, codes)
        weight = _validation.check_sample_weight(sample_weight, matrix.shape[0])
        _validation.upper_bounds(C, class_weight, codes, weight, classes)
        result, certificate = self._run(
            lambda callback: _core.linear_svc_fit(
                matrix,
                codes,
                weight,
                positive_classes(len(classes)),
                class_factors(class_weight),
                np.zeros(len(codes), dtype=np.int64),
                np.array([-1]),
                np.array([C]),
                formulation,
                training.options,
                callback,
            ),
            training,
        )
        self.classes_ = classes
        self.coef_ = result["coef"]
        self.intercept_ = result["intercept"]
        self._record_features(X, matrix.shape[1])
        self._record_certificate(certificate)
        return self

    def _check_formulation(self) -> _core.LinearFormulation:
        penalty = _validation.check_choice("penalty", self.penalty, ("l1", "l2"))
        loss = _validation.check_choice("loss", self.loss, ("hinge", "squared_hinge"))
        if self.dual != "auto":
            _validation.check_flag("dual", self.dual)
        _validation.check_choice("multi_class", self.multi_class, ("ovr",))
        if penalty == "l1" and loss == "hinge":
            raise ValueError(
                "penalty='l1' is available with loss='squared_hinge' only, got loss='hinge'"
            )
        return _core.LinearFormulation(
            loss=loss, penalty=penalty, intercept_scaling=self._check_intercept_scaling()
        )


class LinearSVR(LinearMachine, Regressor):
    """Linear support vector regression.

    Solves, with f(x) = w.x + b,

        min 1/2 ||w||^2 + 1/2 (b / s)^2 + sum of C_i max(0, |y_i - f(x_i)| - epsilon)

    or the same with the square of the loss; s is `intercept_scaling`. As in `LinearSVC`, b is the
    weight of a further feature s, and ``intercept_scaling=numpy.inf`` leaves it without a penalty.
    Training ends when the duality gap proves that the objective is within `tol` of its least value,
    relative to it.

    Parameters
    ----------
    epsilon : float, default=0.0
        Half the width of the tube inside which errors cost nothing, >= 0, in the units of y.
    tol : float, default=1e-4
        Tolerance on the duality gap, relative to the primal objective, > 0.
    C : float, default=1.0
        Penalty of the loss, > 0; C_i is C times the weight of the sample.
    loss : {'epsilon_insensitive', 'squared_epsilon_insensitive'}, default='epsilon_insensitive'
        The loss.
    fit_intercept : bool, default=True
        Whether there is a bias b.
    intercept_scaling : float, default=1.0
        The s above, > 0; ``numpy.inf`` leaves b without a penalty.
    dual : 'auto' or bool, default='auto'
        Accepted for scikit-learn's sake and without effect: the solver is chosen by the problem.
    verbose : int, default=0
        Whether to show progress on stderr.
    random_state : int, numpy Generator, RandomState or None, default=None
        As in `LinearSVC`.
    max_iter : int, default=-1
        Cap on the iterations; -1 is a generous one of the solver's own.
    n_jobs : int or None, default=None
        Threads: None is OpenMP's default, -1 all cores. The result does not depend on it.
    time_limit : float or None, default=None
        Seconds after which the solver stops; `fit` warns and keeps what has been reached.
    callback : callable or None, default=None
        As in `LinearSVC`.

    Attributes
    ----------
    coef_ : ndarray of float64, shape (n_features,)
        w.
    intercept_ : ndarray of float64, shape (1,)
        b.
    certificate_ : LinearCertificate
        Objectives, duality gap and the reason training stopped.
    n_iter_ : int
        Iterations.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only where `X` has column names.

    References
    ----------
    .. [1] C.-H. Ho, C.-J. Lin, "Large-scale linear support vector regression", JMLR 13 (2012).

    Examples
    --------
    >>> from maxmargin import LinearSVR
    >>> model = LinearSVR(C=100.0).fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0])
    >>> model.predict([[3.0]]).round(2).tolist()
    [7.0]
    """

    def __init__(
        self,
        *,
        epsilon: float = 0.0,
        tol: float = 1e-4,
        C: float = 1.0,
        loss: str = "epsilon_insensitive",
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        dual: bool | str = "auto",
        verbose: int = 0,
        random_state: Any = None,
        max_iter: int = -1,
        n_jobs: int | None = None,
        time_limit: float | None = None,
        callback: Callback | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.tol = tol
        self.C = C
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.dual = dual
        self.verbose = verbose
        self.random_state = random_state
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.time_limit = time_limit
        self.callback = callback

    def fit(self: Regression, X: Any, y: Any, sample_weight: Any = None) -> Regression:
        """Train on samples `X` with targets `y`.

        Parameters
        ----------
        X, sample_weight
            As in `LinearSVC.fit`.
        y : array-like of shape (n_samples,)
            Real numbers.

        Returns
        -------
        LinearSVR
            The estimator itself.

        Raises
        ------
        ValueError, Cancelled
            As in `LinearSVC.fit`.

        Warns
        -----
        ConvergenceWarning
            If the solver stopped before `tol` was reached. The model is usable.
        """
        training = self._check_training()
        formulation = self._check_formulation()
        C = _validation.check_C(self.C)
        matrix = self._matrix_to_fit(X)
        targets = _validation.check_targets(y, matrix.shape[0], type(self).__name__)
        weight = _validation.check_sample_weight(sample_weight, matrix.shape[0])
        _validation.weighted_bounds(C, weight)
        result, certificate = self._run(
            lambda callback: _core.linear_svr_fit(
                matrix, targets, weight, np.array([C]), formulation, training.options, callback
            ),
            training,
        )
        self.coef_ = result["coef"][0]
        self.intercept_ = result["intercept"]
        self._record_features(X, matrix.shape[1])
        self._record_certificate(certificate)
        return self

    def _check_formulation(self) -> _core.LinearFormulation:
        if self.dual != "auto":
            _validation.check_flag("dual", self.dual)
        return _core.LinearFormulation(
            loss=_validation.check_choice(
                "loss", self.loss, ("epsilon_insensitive", "squared_epsilon_insensitive")
            ),
            epsilon=_validation.check_real("epsilon", self.epsilon, at_least=0),
            intercept_scaling=self._check_intercept_scaling(),
        )

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return f(x) of every sample, shape (n_samples,).

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Raises
        ------
        NotFittedError
            Before `fit`.
        ValueError
            If `X` is not valid, has another number of features, or f leaves the range of float64.
        """
        values = self._scores(self._matrix_to_predict(X))[:, 0]
        if not np.isfinite(values).all():
            raise ValueError(self._overflow_message("a prediction is not finite"))
        return values
