"""Support vector classification: one machine for each pair of classes."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from maxmargin import _core, _input
from maxmargin._estimator.base import Classifier
from maxmargin._estimator.folds import check_folds
from maxmargin._estimator.texts import FIT, PAIRWISE, PREDICT, documented, documented_method
from maxmargin._estimator.time_left import TimeLeft
from maxmargin._input import Callback, ClassWeight, Gamma
from maxmargin._input.sparse import Matrix
from maxmargin.kernels._parameter import Kernel
from maxmargin.svm import _probability
from maxmargin.svm._fit import Solution, Training
from maxmargin.svm._machine import KernelMachine, of_training
from maxmargin.svm._model import TrainedMachine

__all__ = ["SVC", "NuSVC"]

Self = TypeVar("Self", bound="PairwiseClassifier")


class PairwiseClassifier(_probability.Calibrated, KernelMachine, Classifier):
    """What SVC and NuSVC share; they say with what penalty the core trains.

    The core's machine (i, j), i < j, is positive for class i. Attributes and decision values of two
    classes have scikit-learn's sign, positive for classes_[1].
    """

    class_weight: ClassWeight
    decision_function_shape: str
    break_ties: bool

    class_weight_: NDArray[np.float64] = of_training(
        "class_weight_", lambda model: model.class_weight
    )

    @documented_method(FIT)
    def fit(self: Self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on samples `X` with labels `y`.

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            Numbers, booleans or strings; at least two classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of the bound of each alpha, >= 0. A sample of weight 0 is left out; every class
            must keep one.
        """
        (C, nu, is_squared), training = self._check_parameters()
        seed = self._seed_of_folds() if self._calibrates else 0
        matrix = self._matrix_to_fit(X)
        codes, classes = _input.check_labels(y, matrix.shape[0], type(self).__name__)
        weight = _input.check_sample_weight(sample_weight, matrix.shape[0])
        class_weight = _input.check_class_weight(
            self.class_weight, classes, codes, self._counted(weight)
        )
        upper = _input.upper_bounds(C, class_weight, codes, weight, classes)
        if is_squared:
            _input.check_ridge(upper)
        if nu is not None:
            _input.check_feasible_nu(nu, upper, codes, classes)
        if self._calibrates:
            check_folds(codes, upper, classes, _probability.N_FOLDS, "probability=True")
        samples, training = self._prepare(matrix, training, upper, weight)
        n_fits = 1 + (_probability.N_FOLDS if self._calibrates else 0)
        time_left = TimeLeft(training.settings["time_limit"], n_fits, training.begun)

        def train(
            samples: Matrix, rows: slice | NDArray[np.int64], callback: Callback | None
        ) -> Solution:
            return _core.svc_fit(
                samples,
                codes[rows],
                len(classes),
                upper[rows],
                training.kernel.to_core(samples),
                training.options(time_limit=time_left.share()),
                nu,
                callback,
                is_squared,
                self._vote_order(classes),
            )

        calibration = None
        if self._calibrates:
            held_out = _probability.held_out_values(samples, codes, upper, training, train, seed)
            counts = self._counted(class_weight[codes] * weight)
            sigmoids = _probability.fit_sigmoids(held_out, codes, upper, counts)
            calibration = {"sigmoids": sigmoids}
        core, certificate = training.run(lambda callback: train(samples, slice(None), callback))
        self._commit(
            *(X, matrix, training, core, certificate),
            classes=classes, class_weight=class_weight, calibration=calibration,
        )  # fmt: skip
        return self

    def _check_parameters(self) -> tuple[tuple[float, float | None, bool], Training]:
        """Check all parameters but `class_weight` and `probability`."""
        self._check_decision_options()
        return self._check_penalty(), self._check_training()

    def _check_penalty(self) -> tuple[float, float | None, bool]:
        """Return C, nu if the formulation has one, and whether the loss is squared."""
        raise NotImplementedError

    def _check_decision_options(self) -> None:
        shape = _input.check_choice(
            "decision_function_shape", self.decision_function_shape, ("ovr", "ovo")
        )
        if _input.check_flag("break_ties", self.break_ties) and shape == "ovo":
            raise ValueError("break_ties must be False when decision_function_shape is 'ovo'")

    @staticmethod
    def _vote_order(classes: NDArray[Any]) -> NDArray[np.int64] | None:
        """Return LIBSVM's order: None, as they first occur in y, but +1 before -1."""
        is_signs = classes.dtype.kind in "if" and classes.tolist() == [-1, 1]
        return np.array([1, 0], dtype=np.int64) if is_signs else None

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of every sample, shape (n_samples,), of the type of the labels.

        With `probability` too; the most probable class may be another.

        Raises what `decision_function` raises.
        """
        return self._by_blocks(X, self._winners)

    def _winners(self, model: TrainedMachine, values: NDArray[np.float64]) -> NDArray[Any]:
        """Return the classes that the values of the machines stand for."""
        self._check_decision_options()
        by_scores = self.break_ties and not model.is_binary
        scores = model.core.class_scores(values) if by_scores else None
        places = model.core.vote_winners(values) if scores is None else scores.argmax(axis=1)
        predicted: NDArray[Any] = model.labels[places]
        return predicted

    @documented_method(PREDICT)
    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the decision values of samples.

        Returns
        -------
        ndarray of float64
            With two classes of shape (n_samples,), positive for classes_[1]. Otherwise of shape
            (n_samples, n_classes) for 'ovr' and (n_samples, n_classes * (n_classes - 1) / 2) for
            'ovo'; see `decision_function_shape`.
        """
        return self._by_blocks(X, self._scores)

    def _scores(self, model: TrainedMachine, values: NDArray[np.float64]) -> NDArray[np.float64]:
        self._check_decision_options()
        if model.is_binary:
            return -values[:, 0]
        is_by_pair = self.decision_function_shape == "ovo"
        return values if is_by_pair else model.core.class_scores(values)


@documented(PAIRWISE)
class SVC(PairwiseClassifier):
    """C-support vector classification, one machine for each pair of classes.

    Each machine solves, for its two classes,

        min 1/2 ||w||^2 + sum of C_i loss(y_i f(x_i)),   f(x) = w.phi(x) + b,

    through its dual, by sequential minimal optimisation with second-order selection [1]_ [2]_,
    until the KKT conditions hold to `tol`. `certificate_` says how good the solution is.

    Parameters
    ----------
    C : float
        Penalty of the loss, > 0; C_i is C times the weights of the class and of the sample. It is
        1 / lambda where the norm has the factor lambda instead. Infinity is the hard margin, with
        either loss: w of least norm among all with y_i f(x_i) >= 1, an error where there is none.
    loss : {'hinge', 'squared_hinge'}
        max(0, 1 - y_i f(x_i)), or its square.

    Attributes
    ----------
    classes_, class_weight_, support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_
    probA_, probB_, certificate_, n_iter_, fit_status_
    shape_fit_, n_features_in_, feature_names_in_

    Notes
    -----
    The decision value 0 belongs to classes_[1] with two classes, and to the second class of the
    pair in a vote. Of several classes with most votes, that which first occurs in `y` wins, as in
    LIBSVM (scikit-learn takes the first in `classes_`).

    References
    ----------
    .. [1] R.-E. Fan, P.-H. Chen, C.-J. Lin, "Working set selection using second order information
       for training support vector machines", JMLR 6 (2005), Algorithm 2.
    .. [2] C.-C. Chang, C.-J. Lin, "LIBSVM: a library for support vector machines", ACM TIST 2
       (2011), section 4.

    Examples
    --------
    >>> from maxmargin import SVC
    >>> model = SVC(kernel="linear").fit([[0.0], [1.0], [3.0], [4.0]], ["a", "a", "b", "b"])
    >>> model.predict([[1.5], [2.5]]).tolist()
    ['a', 'b']
    """

    C: float
    loss: str

    _svm_type = "c_svc"

    def __init__(
        self,
        *,
        C: float = 1.0,
        loss: str = "hinge",
        kernel: Kernel = "rbf",
        degree: int = 3,
        gamma: Gamma = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        tol: float = 1e-3,
        cache_size: float = 200,
        class_weight: ClassWeight = None,
        verbose: bool = False,
        max_iter: int = -1,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        probability: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        time_limit: float | None = None,
        callback: Callback | None = None,
    ) -> None:
        self._store(locals())

    def _check_penalty(self) -> tuple[float, float | None, bool]:
        C = _input.check_C(self.C, may_be_infinite=True)
        loss = _input.check_choice("loss", self.loss, ("hinge", "squared_hinge"))
        return C, None, loss == "squared_hinge"


@documented(PAIRWISE)
class NuSVC(PairwiseClassifier):
    """Nu-support vector classification, one machine for each pair of classes.

    Up to `tol`, `nu` is at least the share of the margin errors and at most that of the support
    vectors. Each machine solves, for its two classes [1]_, in LIBSVM's scaling,

        min 1/2 ||w||^2 - s r + sum of C_i max(0, r - y_i f(x_i)),   f(x) = w.phi(x) + b,

    with s = nu times the sum of the C_i, which are the weights of class and sample, over w, b and
    the margin r >= 0; f is then divided by r. That is the `SVC` with C = 1 / r, which is in `C_`.
    What `callback` is given while `fit` runs is before the division by r.

    Parameters
    ----------
    nu : float
        In (0, 1], and feasible: for every pair of classes at most twice the weight of the lighter
        one over the weight of both.
    tol : float
        Tolerance on the KKT violation, > 0; of the problem above, and where r < 1 also of the
        machine divided by r (LIBSVM's rule is the first alone).
    class_weight : dict, 'balanced' or None
        Factors of C_i by class (which scikit-learn's NuSVC ignores); 'balanced' is
        n_samples / (n_classes * count of the class), by the sums of `sample_weight`.

    Attributes
    ----------
    C_ : ndarray of float64, shape (n_machines,)
        The C of the `SVC` with the same decision function, 1 / r.
    certificate_ : Certificate
        Objectives and violation of the machine as it is, after the division by r.
    classes_, class_weight_, support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_
    probA_, probB_, n_iter_, fit_status_, shape_fit_, n_features_in_, feature_names_in_

    References
    ----------
    .. [1] B. Schoelkopf, A. J. Smola, R. C. Williamson, P. L. Bartlett, "New support vector
       algorithms", Neural Computation 12 (2000), section 5.

    Examples
    --------
    >>> from maxmargin import NuSVC
    >>> X, y = [[0.0], [1.0], [3.0], [4.0]], ["a", "a", "b", "b"]
    >>> NuSVC(nu=0.5, kernel="linear").fit(X, y).predict([[1.5], [2.5]]).tolist()
    ['a', 'b']
    """

    nu: float

    C_: NDArray[np.float64] = of_training(
        "C_", lambda model: model.certificate and model.core.equivalent
    )

    _svm_type = "nu_svc"
    _hint = "greater nu"

    def __init__(
        self,
        *,
        nu: float = 0.5,
        kernel: Kernel = "rbf",
        degree: int = 3,
        gamma: Gamma = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        tol: float = 1e-3,
        cache_size: float = 200,
        class_weight: ClassWeight = None,
        verbose: bool = False,
        max_iter: int = -1,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        probability: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        time_limit: float | None = None,
        callback: Callback | None = None,
    ) -> None:
        self._store(locals())

    def _check_penalty(self) -> tuple[float, float | None, bool]:
        return 1.0, _input.check_nu(self.nu), False
