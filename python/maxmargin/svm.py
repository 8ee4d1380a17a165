"""Support vector classification."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin import _validation
from maxmargin._kernel import Kernel
from maxmargin._pairwise import PairwiseSVM
from maxmargin._texts import PAIRWISE, documented
from maxmargin._validation import Callback, ClassWeight, Gamma

__all__ = ["SVC", "NuSVC"]


@documented(PAIRWISE)
class SVC(PairwiseSVM):
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
        self.C = C
        self.loss = loss
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.tol = tol
        self.cache_size = cache_size
        self.class_weight = class_weight
        self.verbose = verbose
        self.max_iter = max_iter
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.probability = probability
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.time_limit = time_limit
        self.callback = callback

    @property
    def _has_squared_hinge(self) -> bool:  # type: ignore[override]
        return self.loss == "squared_hinge"

    def _check_penalty(self) -> None:
        _validation.check_C(self.C, may_be_infinite=True)
        _validation.check_choice("loss", self.loss, ("hinge", "squared_hinge"))

    def _bounds(
        self,
        classes: NDArray[Any],
        codes: NDArray[np.int64],
        class_weight: NDArray[np.float64],
        weight: NDArray[np.float64],
    ) -> tuple[NDArray[np.float64], float | None]:
        C = _validation.check_C(self.C, may_be_infinite=True)
        upper = _validation.upper_bounds(C, class_weight, codes, weight, classes)
        if self._has_squared_hinge:
            _validation.check_ridge(upper)
        return upper, None


@documented(PAIRWISE)
class NuSVC(PairwiseSVM):
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
        n_samples / (n_classes * count of the class).

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

    _svm_type = "nu_svc"
    _remedy = "greater nu"
    _told_by_fit = (*PairwiseSVM._told_by_fit, "C_")

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
        self.nu = nu
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.tol = tol
        self.cache_size = cache_size
        self.class_weight = class_weight
        self.verbose = verbose
        self.max_iter = max_iter
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.probability = probability
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.time_limit = time_limit
        self.callback = callback

    def _check_penalty(self) -> None:
        _validation.check_nu(self.nu)

    def _bounds(
        self,
        classes: NDArray[Any],
        codes: NDArray[np.int64],
        class_weight: NDArray[np.float64],
        weight: NDArray[np.float64],
    ) -> tuple[NDArray[np.float64], float | None]:
        nu = _validation.check_nu(self.nu)
        upper = _validation.upper_bounds(1.0, class_weight, codes, weight, classes)
        _validation.check_feasible_nu(nu, upper, codes, classes)
        return upper, nu

    def _set_counterpart(self, counterpart: NDArray[np.float64]) -> None:
        self.C_ = counterpart
