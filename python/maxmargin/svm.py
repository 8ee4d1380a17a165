"""Support vector classification."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin import _validation
from maxmargin._kernel import Kernel
from maxmargin._pairwise import PairwiseSVM
from maxmargin._validation import Callback, ClassWeight, Gamma

__all__ = ["SVC", "NuSVC"]


class SVC(PairwiseSVM):
    """C-support vector classification, one machine for each pair of classes.

    Each machine solves, for its two classes,

        min 1/2 ||w||^2 + sum of C_i loss(y_i f(x_i)),   f(x) = w.phi(x) + b,

    through its dual, by sequential minimal optimisation with second-order selection [1]_ [2]_,
    until the KKT conditions hold to `tol`. `certificate_` says how good the solution is.

    Parameters
    ----------
    C : float, default=1.0
        Penalty of the loss, > 0; C_i is C times the weights of the class and of the sample. It is
        1 / lambda where the norm has the factor lambda instead. Infinity is the hard margin, with
        either loss: w of least norm among all with y_i f(x_i) >= 1, an error where there is none.
    loss : {'hinge', 'squared_hinge'}, default='hinge'
        max(0, 1 - y_i f(x_i)), or its square.
    kernel : {'linear', 'poly', 'rbf', 'sigmoid', 'precomputed'}, Kernel or callable, default='rbf'
        One of `maxmargin.kernels`, which has numbers of its own, so that `gamma`, `coef0` and
        `degree` must be left at their defaults; or a name:
        x.z; (gamma x.z + coef0)^degree; exp(-gamma ||x - z||^2); tanh(gamma x.z + coef0).
        'precomputed': X is the symmetric matrix of the kernel values of all samples with all;
        `predict` takes the values with all samples of `fit`, or with the support vectors, in the
        order of `support_`. Another callable is given two matrices of samples A and B and returns
        the values of all rows of A with all of B; it is called on blocks, and its values are kept
        while `fit` runs.
    degree : int, default=3
        Degree of the polynomial kernel, >= 0.
    gamma : {'scale', 'auto'} or float, default='scale'
        'scale' is 1 / (n_features * X.var()), 1 where the variance is zero; 'auto' is
        1 / n_features; or a number > 0.
    coef0 : float, default=0.0
        Constant term of the polynomial and sigmoid kernels.
    shrinking : bool, default=True
        Whether to set aside variables that look fixed at a bound. The result is checked on all.
    tol : float, default=1e-3
        Tolerance on the KKT violation, > 0 (LIBSVM's stopping rule).
    cache_size : float, default=200
        Budget for kernel rows in MB (2^20 bytes), > 0; two rows are always held.
    class_weight : dict, 'balanced' or None, default=None
        Factors of C by class; 'balanced' is n_samples / (n_classes * count of the class).
    verbose : bool, default=False
        Whether to show progress on stderr.
    max_iter : int, default=-1
        Cap on the iterations of every machine; -1 is a generous one of the solver's own.
    decision_function_shape : {'ovr', 'ovo'}, default='ovr'
        With more than two classes: 'ovo' gives the value of every machine, (i, j) positive for
        class i; 'ovr' gives every class its votes, a whole number, plus its confidence squeezed
        into (-1/3, 1/3) to break ties, so that values of different votes are far apart.
    break_ties : bool, default=False
        With more than two classes and 'ovr': whether `predict` is the class of the greatest
        decision value, rather than that of most votes.
    probability : bool, default=False
        Whether to calibrate probabilities by cross-validation in five folds (five more fits);
        then there are `predict_proba` and `predict_log_proba`, and `predict` is the most probable
        class (as with LIBSVM's -b 1; scikit-learn's is not). Every class needs five samples.
    random_state : int, numpy Generator, RandomState or None, default=None
        Seed of the folds; None is 0. Nothing else is random.
    n_jobs : int or None, default=None
        Threads. None or -1: as many as the process may use, by its affinity mask, CPU quota,
        MAXMARGIN_NUM_THREADS (else OMP_NUM_THREADS) and threadpoolctl; -2: all but one. The result
        does not depend on it.
    time_limit : float or None, default=None
        Seconds after which the solver stops; `fit` warns and keeps what has been reached. With
        `probability` they are those of all six fits: each may take an equal share of what is left,
        so that the last, which is the model, has all that the folds did not need.
    callback : callable or None, default=None
        Called about every 50 ms with a dict of n_iter, kkt_violation, dual_objective (summed up
        step by step), n_free, n_bounded and seconds, of the machine that is being trained; and
        once at the end, with those of all machines together, as in `certificate_`. If it returns
        True before the end, `fit` raises `maxmargin.Cancelled`, discards what has been reached and
        leaves the estimator as it was; `time_limit` is the stop that keeps it.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Sorted labels.
    support_ : ndarray of int64, shape (n_SV,)
        Rows of `X` that are support vectors, grouped by class.
    support_vectors_ : ndarray or CSR matrix of shape (n_SV, n_features)
        `X[support_]`; empty where the kernel matrix was given.
    n_support_ : ndarray of int64, shape (n_classes,)
        Support vectors of every class.
    dual_coef_ : ndarray of float64, shape (n_classes - 1, n_SV)
        Coefficients y_i alpha_i in LIBSVM's layout; with two classes the sign is such that
        classes_[1] is positive.
    intercept_ : ndarray of float64, shape (n_machines,)
    coef_ : ndarray of float64, shape (n_machines, n_features)
        Weights of the linear kernel.
    certificate_ : Certificate
        Objectives, duality gap, KKT violation and cost.
    probA_, probB_ : ndarray of float64, shape (n_machines,)
        Only with `probability`: the first class of a pair has probability 1 / (1 + exp(A f + B)),
        f being the machine's value, positive for it.
    n_iter_ : ndarray of int64, shape (n_machines,)
    fit_status_ : int
        0 if every machine converged, else 1.
    class_weight_ : ndarray of float64, shape (n_classes,)
    shape_fit_ : tuple of int
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only where `X` has column names.

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


class NuSVC(PairwiseSVM):
    """Nu-support vector classification, one machine for each pair of classes.

    Up to `tol`, `nu` is at least the share of the margin errors and at most that of the support
    vectors. Each
    machine solves, for its two classes [1]_, in LIBSVM's scaling,

        min 1/2 ||w||^2 - s r + sum of C_i max(0, r - y_i f(x_i)),   f(x) = w.phi(x) + b,

    with s = nu times the sum of the C_i, which are the weights of class and sample, over w, b and
    the margin r >= 0; f is then divided by r. That is the `SVC` with C = 1 / r, which is in `C_`.

    Parameters
    ----------
    nu : float, default=0.5
        In (0, 1], and feasible: for every pair of classes at most twice the weight of the lighter
        one over the weight of both.
    kernel : {'linear', 'poly', 'rbf', 'sigmoid', 'precomputed'}, Kernel or callable, default='rbf'
        As in `SVC`.
    degree : int, default=3
        Degree of the polynomial kernel, >= 0.
    gamma : {'scale', 'auto'} or float, default='scale'
        'scale' is 1 / (n_features * X.var()), 1 where the variance is zero; 'auto' is
        1 / n_features; or a number > 0.
    coef0 : float, default=0.0
        Constant term of the polynomial and sigmoid kernels.
    shrinking : bool, default=True
        Whether to set aside variables that look fixed at a bound. The result is checked on all.
    tol : float, default=1e-3
        Tolerance on the KKT violation, > 0; of the problem above, and where r < 1 also of the
        machine divided by r (LIBSVM's rule is the first alone).
    cache_size : float, default=200
        Budget for kernel rows in MB (2^20 bytes), > 0; two rows are always held.
    class_weight : dict, 'balanced' or None, default=None
        Factors of C_i by class (which scikit-learn's NuSVC ignores); 'balanced' is
        n_samples / (n_classes * count of the class).
    verbose : bool, default=False
        Whether to show progress on stderr.
    max_iter : int, default=-1
        Cap on the iterations of every machine; -1 is a generous one of the solver's own.
    decision_function_shape : {'ovr', 'ovo'}, default='ovr'
        As in `SVC`.
    break_ties : bool, default=False
        As in `SVC`.
    probability : bool, default=False
        As in `SVC`.
    random_state : int, numpy Generator, RandomState or None, default=None
        Seed of the folds; None is 0. Nothing else is random.
    n_jobs : int or None, default=None
        Threads. None or -1: as many as the process may use, by its affinity mask, CPU quota,
        MAXMARGIN_NUM_THREADS (else OMP_NUM_THREADS) and threadpoolctl; -2: all but one. The result
        does not depend on it.
    time_limit : float or None, default=None
        As in `SVC`.
    callback : callable or None, default=None
        As in `SVC`; but for the report at the end, kkt_violation and dual_objective are those
        before the division by r.

    Attributes
    ----------
    C_ : ndarray of float64, shape (n_machines,)
        The C of the `SVC` with the same decision function, 1 / r.
    certificate_ : Certificate
        Objectives and violation of the machine as it is, after the division by r.
    support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_
        As in `SVC`.
    classes_, n_iter_, fit_status_, class_weight_, shape_fit_, probA_, probB_
        As in `SVC`.
    n_features_in_, feature_names_in_
        As in `SVC`.

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
