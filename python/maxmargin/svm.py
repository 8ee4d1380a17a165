"""Support vector machines."""

from __future__ import annotations

import dataclasses
import time
import warnings
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from maxmargin import _core, _validation
from maxmargin._certificate import certificate_of
from maxmargin._kernel import KernelParams, check_kernel, overflow_message, with_gamma
from maxmargin._one_vs_one_model import OneVsOneModel
from maxmargin._sparse import Matrix, take_rows
from maxmargin._validation import Callback, ClassWeight, Gamma
from maxmargin.exceptions import ConvergenceWarning, compatible
from maxmargin.progress import ProgressLine

__all__ = ["SVC"]

Self = TypeVar("Self", bound="SVC")

_TOLD_BY_FIT = (
    "certificate_",
    "class_weight_",
    "fit_status_",
    "n_iter_",
    "shape_fit_",
    "support_",
)


class _Options(NamedTuple):
    """The checked parameters of a fit, other than those of the kernel."""

    C: float
    tol: float
    max_iter: int
    cache_bytes: int
    shrinking: bool
    time_limit: float
    n_threads: int
    callback: Callback | None
    verbose: bool


class SVC(OneVsOneModel):
    """C-support vector classification, one machine for each pair of classes.

    Each machine solves, for its two classes,

        min 1/2 ||w||^2 + sum of C_i max(0, 1 - y_i f(x_i)),   f(x) = w.phi(x) + b,

    through its dual, by sequential minimal optimisation with second-order selection [1]_ [2]_,
    until the KKT conditions hold to `tol`. `certificate_` says how good the solution is.

    Parameters
    ----------
    C : float, default=1.0
        Penalty of the loss, > 0; C_i is C times the weights of the class and of the sample.
    kernel : {'linear', 'poly', 'rbf', 'sigmoid'}, default='rbf'
        x.z; (gamma x.z + coef0)^degree; exp(-gamma ||x - z||^2); tanh(gamma x.z + coef0).
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
    random_state : default=None
        Accepted for scikit-learn's sake; training is deterministic and never uses it.
    n_jobs : int or None, default=None
        Threads: None is OpenMP's default (OMP_NUM_THREADS, threadpoolctl), -1 all cores. The result
        does not depend on it.
    time_limit : float or None, default=None
        Seconds after which the solver stops; `fit` warns and keeps what has been reached.
    callback : callable or None, default=None
        Called now and then with a dict of n_iter, kkt_violation, n_free, n_bounded and seconds. If
        it returns True, `fit` raises `maxmargin.Cancelled`, discards what has been reached and
        leaves the estimator as it was; `time_limit` is the stop that keeps it.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Sorted labels.
    support_ : ndarray of int64, shape (n_SV,)
        Rows of `X` that are support vectors, grouped by class.
    support_vectors_ : ndarray or CSR matrix of shape (n_SV, n_features)
        `X[support_]`.
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

    def __init__(
        self,
        *,
        C: float = 1.0,
        kernel: str = "rbf",
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
        random_state: Any = None,
        n_jobs: int | None = None,
        time_limit: float | None = None,
        callback: Callback | None = None,
    ) -> None:
        self.C = C
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
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.time_limit = time_limit
        self.callback = callback

    def fit(self: Self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on samples `X` with labels `y`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            C-contiguous float32 or float64 arrays and canonical CSR are read in place; everything
            else is converted to a copy.
        y : array-like of shape (n_samples,)
            Numbers, booleans or strings; at least two classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of C, >= 0. A sample of weight 0 is left out; every class must keep one.

        Returns
        -------
        SVC
            The estimator itself.

        Raises
        ------
        ValueError
            If a parameter, the data, the labels or the weights are not as described, or the kernel
            overflows. The estimator then stays as it was.
        Cancelled
            If `callback` returned True. The estimator stays as it was.

        Warns
        -----
        ConvergenceWarning
            If the solver stopped before `tol` was reached. The model is usable.
        """
        owner = type(self).__name__
        options, kernel = self._check_parameters()
        matrix = self._matrix_to_fit(X)
        codes, classes = _validation.check_labels(y, matrix.shape[0], owner)
        weight = _validation.check_sample_weight(sample_weight, matrix.shape[0])
        class_weight = _validation.check_class_weight(self.class_weight, classes, codes)
        upper = _validation.upper_bounds(options.C, class_weight, codes, weight, classes)
        kernel = with_gamma(kernel, self.gamma, matrix)

        start = time.perf_counter()
        line = ProgressLine(then=options.callback) if options.verbose else None
        try:
            result = _solve(
                matrix, codes, len(classes), upper, kernel, options, line or options.callback
            )
            certificate = certificate_of(result, time.perf_counter() - start)
            if line is not None:
                line.show(dataclasses.asdict(certificate))
        finally:
            if line is not None:
                line.close()

        self._set_model(
            classes=classes,
            n_support=result["n_support"],
            dual_coef=result["dual_coef"],
            rho=result["rho"],
            support_vectors=take_rows(matrix, result["support"]),
            kernel_params=kernel,
            vote_order=np.argsort(np.unique(codes, return_index=True)[1]),
        )
        self._record_features(X, matrix.shape[1])
        self.support_: NDArray[np.int64] = result["support"]
        self.n_iter_: NDArray[np.int64] = np.asarray(result["n_iter"], dtype=np.int64)
        self.class_weight_ = class_weight
        self.shape_fit_ = matrix.shape
        self.certificate_ = certificate
        self.fit_status_ = 0 if certificate.converged else 1
        if not certificate.converged:
            self._warn_of_stop()
        return self

    def _check_parameters(self) -> tuple[_Options, KernelParams]:
        """Return the checked parameters; `class_weight` is checked with the labels."""
        options = _Options(
            C=_validation.check_C(self.C),
            tol=_validation.check_real("tol", self.tol, above=0),
            max_iter=_validation.check_max_iter(self.max_iter),
            cache_bytes=_validation.check_cache_size(self.cache_size),
            shrinking=_validation.check_flag("shrinking", self.shrinking),
            time_limit=_validation.check_time_limit(self.time_limit),
            n_threads=_validation.check_n_jobs(self.n_jobs),
            callback=_validation.check_callback(self.callback),
            verbose=_validation.check_flag("verbose", self.verbose),
        )
        self._check_decision_options()
        return options, check_kernel(self.kernel, self.gamma, self.coef0, self.degree)

    def _warn_of_stop(self) -> None:
        certificate = self.certificate_
        where = ""
        if certificate.machines:
            failed = [not machine.converged for machine in certificate.machines]
            where = f" in {sum(failed)} of {len(failed)} pairs of classes"
        warnings.warn(
            f"{type(self).__name__} stopped before it converged ({certificate.stop_reason})"
            f"{where}: KKT violation {certificate.kkt_violation:.4g} > tol={self.tol:g}, duality "
            f"gap {certificate.duality_gap:.4g}. Scaling the features (StandardScaler, "
            "MinMaxScaler), a smaller C, or a greater max_iter or time_limit may help.",
            compatible(ConvergenceWarning),
            stacklevel=3,
        )

    if not TYPE_CHECKING:  # or every attribute would pass the type checker

        def __getattr__(self, name: str) -> Any:
            """Say of a model from a file why it lacks what `fit` alone can tell."""
            if name in _TOLD_BY_FIT and self.__sklearn_is_fitted__():
                raise AttributeError(
                    f"{name} is not available: this {type(self).__name__} was loaded from a model "
                    "file, which holds what predictions need and nothing about training"
                )
            return super().__getattribute__(name)

    @classmethod
    def _from_model(
        cls: type[Self],
        classes: NDArray[Any],
        n_support: NDArray[np.int64],
        dual_coef: NDArray[np.float64],
        rho: NDArray[np.float64],
        support_vectors: Matrix,
        kernel_params: Any,
        n_features: int,
        vote_order: NDArray[np.int64],
    ) -> Self:
        """Return a fitted estimator from a model in LIBSVM's form, as read from a file."""
        kernel = KernelParams(
            str(kernel_params.type),
            float(kernel_params.gamma),
            float(kernel_params.coef0),
            int(kernel_params.degree),
        )
        # A linear model may come with any gamma.
        gamma: Gamma = kernel.gamma if kernel.gamma > 0 else "scale"
        model = cls(kernel=kernel.type, degree=kernel.degree, gamma=gamma, coef0=kernel.coef0)
        model._set_model(classes, n_support, dual_coef, rho, support_vectors, kernel, vote_order)
        model.n_features_in_ = n_features
        return model


def _solve(
    matrix: Matrix,
    codes: NDArray[np.int64],
    n_classes: int,
    upper: NDArray[np.float64],
    kernel: KernelParams,
    options: _Options,
    callback: Callback | None,
) -> dict[str, Any]:
    """Return the core's solution, which is finite.

    Raises
    ------
    ValueError
        If the kernel leaves the range of float64.
    """
    try:
        result = _core.svc_fit(
            matrix,
            codes,
            n_classes,
            upper,
            kernel.to_core(),
            tol=options.tol,
            max_iter=options.max_iter,
            cache_bytes=options.cache_bytes,
            shrinking=options.shrinking,
            time_limit=options.time_limit,
            n_threads=options.n_threads,
            callback=callback,
        )
    except _core.NumericError as error:
        raise ValueError(overflow_message(kernel, str(error))) from error
    finite = (result[name] for name in ("dual_coef", "rho", "dual_objective"))
    if not all(np.isfinite(values).all() for values in finite):
        raise ValueError(overflow_message(kernel, "the solution is not finite"))
    return result
