"""What every kernel machine has: its options, its training, its certificate, its values."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from maxmargin import _core, _validation
from maxmargin._base import BaseEstimator
from maxmargin._certificate import Certificate, certificate_of
from maxmargin._kernel import (
    Kernel,
    KernelParams,
    check_kernel,
    check_samples,
    core_samples,
    overflow_message,
    values_of_function,
    with_gamma,
)
from maxmargin._sparse import CsrMatrix, Matrix, product, take_rows
from maxmargin._validation import Callback, Gamma
from maxmargin.exceptions import ConvergenceWarning, warn_caller
from maxmargin.progress import last_report, watched

Self = TypeVar("Self", bound="KernelMachine")

# Where training overflows, bounds of coefficients beyond this are taken for the cause.
_HUGE_BOUND = 1e100

# Calls the core with a callback and returns its solution.
Train = Callable[[Callback | None], dict[str, Any]]


class Training(NamedTuple):
    """The checked options of a fit; `settings` are the core's, by name."""

    settings: dict[str, Any]
    kernel: KernelParams
    callback: Callback | None
    verbose: bool
    upper: NDArray[np.float64] = np.empty(0)  # the C_i, where they are known

    @property
    def options(self) -> _core.TrainingOptions:
        return _core.TrainingOptions(**self.settings)


class KernelMachine(BaseEstimator):
    """The parameters that all formulations share, and the run of the core."""

    kernel: Kernel
    degree: int
    gamma: Gamma
    coef0: float
    shrinking: bool
    tol: float
    cache_size: float
    verbose: bool
    max_iter: int
    n_jobs: int | None
    time_limit: float | None
    callback: Callback | None

    _kernel_params: KernelParams
    _support_vectors: Matrix
    _dual_coef: NDArray[np.float64]
    _rho: NDArray[np.float64]
    _matrix_support: NDArray[np.int64]  # the columns used of a given kernel matrix

    support_: NDArray[np.int64]
    shape_fit_: tuple[int, ...]

    # The name of the formulation in LIBSVM's files.
    _svm_type: str

    # What may make a problem easier.
    _remedy = "smaller C"

    # What a model file does not hold.
    _told_by_fit: tuple[str, ...] = (
        "certificate_",
        "fit_status_",
        "n_iter_",
        "shape_fit_",
        "support_",
    )

    def _check_training(self) -> Training:
        """Return the checked parameters that all formulations share."""
        settings = {
            "tol": _validation.check_real("tol", self.tol, above=0),
            "max_iter": _validation.check_max_iter(self.max_iter),
            "cache_bytes": _validation.check_cache_size(self.cache_size),
            "shrinking": _validation.check_flag("shrinking", self.shrinking),
            "time_limit": _validation.check_time_limit(self.time_limit),
            "n_threads": _validation.check_n_jobs(self.n_jobs),
        }
        return Training(
            settings,
            check_kernel(self.kernel, self.gamma, self.coef0, self.degree, may_be_given=True),
            _validation.check_callback(self.callback),
            self._shows_progress(),
        )

    def _shows_progress(self) -> bool:
        return _validation.check_verbose(self.verbose)

    def _prepare(
        self, matrix: Matrix, training: Training, upper: NDArray[np.float64]
    ) -> tuple[Matrix, Training]:
        """Return what the core trains on, and the options with the C_i and gamma's number."""
        kernel = with_gamma(training.kernel, self.gamma, matrix)
        samples = core_samples(kernel, matrix, type(self).__name__)
        return samples, training._replace(kernel=kernel, upper=upper)

    @staticmethod
    def _run(train: Train, training: Training) -> tuple[dict[str, Any], Certificate]:
        """Return the core's solution, which is finite, and its certificate, once it is reported.

        Raises
        ------
        ValueError
            If kernel values or the solution leave the range of float64.
        """
        start = time.perf_counter()
        with watched(training.callback, training.verbose) as callback:
            result = finite_solution(train, callback, training)
            seconds = time.perf_counter() - start
            certificate = certificate_of(result, seconds)
            if callback is not None:
                callback(last_report(result, certificate, seconds))
        return result, certificate

    def _record_certificate(self, certificate: Certificate) -> None:
        """Keep the certificate, and warn if it says that the solver stopped early."""
        self.certificate_ = certificate
        self.fit_status_ = 0 if certificate.converged else 1
        if not certificate.converged:
            text = self._text_of_stop(certificate)
            warn_caller(text, ConvergenceWarning)

    def _text_of_stop(self, certificate: Certificate) -> str:
        """Return what the warning of a fit that did not converge says."""
        where = ""
        if certificate.machines:
            failed = [not machine.converged for machine in certificate.machines]
            where = f" in {sum(failed)} of {len(failed)} pairs of classes"
        return (
            f"{type(self).__name__} stopped before it converged ({certificate.stop_reason})"
            f"{where}: KKT violation {certificate.kkt_violation:.4g} > tol={self.tol:g}, relative "
            f"duality gap {certificate.relative_gap:.4g}. Scaling the features (StandardScaler, "
            f"MinMaxScaler), a {self._remedy}, or a greater max_iter or time_limit may help."
        )

    def _keep_support(self, matrix: Matrix, support: NDArray[np.int64]) -> Matrix:
        """Return the support vectors, of which a given kernel matrix has none."""
        if self._kernel_params.type == "precomputed":
            self._matrix_support = support
            return np.empty((0, 0))
        return take_rows(matrix, support)

    @property
    def support_vectors_(self) -> Any:
        vectors = self._support_vectors
        return vectors.to_scipy() if isinstance(vectors, CsrMatrix) else vectors

    def _check_linear(self) -> None:
        if self._kernel_params.type != "linear":
            raise AttributeError("coef_ is only available when using a linear kernel")

    def _check_machines(self, n_lines: int, n_machines: int) -> None:
        """Refuse coefficients, offsets and support vectors that do not fit together.

        Raises
        ------
        ValueError
            If they were altered since `fit`.
        """
        owner, intact = type(self).__name__, _validation.require_intact
        intact(isinstance(self._kernel_params, KernelParams), owner, "the kernel")
        is_rho = _validation.is_finite_array(self._rho, np.float64, (n_machines,))
        intact(is_rho, owner, "intercept_")
        # The core has a copy of its own: one look at all numbers is enough.
        is_sound = _validation.is_array if self._cache else _validation.is_finite_array
        intact(is_sound(self._dual_coef, np.float64, (n_lines, None)), owner, "dual_coef_")
        n_support = self._dual_coef.shape[1]
        if "support_" in vars(self) and not self._cache:
            is_support = _validation.are_places(self.support_, n_support, self.shape_fit_[0])
            intact(is_support, owner, "support_")
        if self._kernel_params.type == "precomputed":
            support, n_samples = self._matrix_support, self.n_features_in_
            is_support = _validation.are_places(support, n_support, n_samples)
            intact(is_support, owner, "support_")
        elif self._cache:
            is_as_wide = self._support_vectors.shape == (n_support, self.n_features_in_)
            intact(is_as_wide, owner, "support_vectors_")
        else:
            self._check_support_vectors()

    def _check_support_vectors(self) -> None:
        shape = (self._dual_coef.shape[1], self.n_features_in_)
        is_whole = _validation.is_matrix(self._support_vectors, shape)
        _validation.require_intact(is_whole, type(self).__name__, "support_vectors_")

    def _matrix_to_predict(self, X: Any) -> Matrix:
        self._check_fitted()
        self._check_state()
        if self._kernel_params.type != "precomputed":
            return super()._matrix_to_predict(X)
        matrix = _validation.check_matrix(X, type(self).__name__)
        support = self._matrix_support
        if isinstance(matrix, CsrMatrix):
            raise ValueError("kernel='precomputed' needs a dense matrix X, got a sparse one")
        if matrix.shape[1] == self.n_features_in_:
            return matrix[:, support]
        if matrix.shape[1] == len(support):
            return matrix
        raise ValueError(
            f"X has {matrix.shape[1]} features, but {type(self).__name__} is expecting "
            f"{self.n_features_in_} features as input: the kernel values with all samples that it "
            f"was fitted on, or with its {len(support)} support vectors, in the order of support_"
            f"{self._feature_hint}"
        )

    def _machine_values(self, X: Any) -> NDArray[np.float64]:
        """Return the value of every machine in LIBSVM's sign, shape (n_samples, n_machines)."""
        matrix = self._matrix_to_predict(X)
        n_threads = _validation.check_n_jobs(self.n_jobs)
        kernel = self._kernel_params
        check_samples(kernel, matrix)
        if kernel.type == "linear":
            weights = np.ascontiguousarray(self._linear_weights().T)
            values = product(matrix, weights) - self._rho
        elif kernel.is_given:
            if kernel.type == "callable":
                assert kernel.function is not None
                matrix = values_of_function(kernel.function, matrix, self._support_vectors)
            values = product(matrix, self._coefficients()) - self._rho
        else:
            values = self._core_decision().decision_function(
                matrix, n_threads, kernel.factors(matrix)
            )
        if not np.isfinite(values).all():
            raise ValueError(overflow_message(kernel, "a decision value is not finite"))
        return values

    def _linear_weights(self) -> NDArray[np.float64]:
        """Return w of every machine, shape (n_machines, n_features), summed on the first call."""
        if "weights" not in self._cache:
            self._cache["weights"] = read_only(self._new_linear_weights())
        weights: NDArray[np.float64] = self._cache["weights"]
        return weights

    def _new_linear_weights(self) -> NDArray[np.float64]:
        raise NotImplementedError

    def _coefficients(self) -> NDArray[np.float64]:
        """Return the coefficients of the support vectors, shape (n_SV, n_machines)."""
        raise NotImplementedError

    def _core_decision(self) -> _core.Decision:
        """Return the core's decision functions, packed on the first call."""
        if "decision" not in self._cache:
            self._cache["decision"] = self._new_core_decision()
        decision: _core.Decision = self._cache["decision"]
        return decision

    def _new_core_decision(self) -> _core.Decision:
        raise NotImplementedError

    def _widen(self, n_features: int) -> None:
        """Take samples of more features from now on; the support vectors are zero in those."""
        vectors = self._support_vectors
        if n_features > self.n_features_in_:
            if isinstance(vectors, CsrMatrix):
                self._support_vectors = vectors._replace(n_cols=n_features)
            else:
                extra = n_features - vectors.shape[1]
                self._support_vectors = np.pad(vectors, ((0, 0), (0, extra)))
            self.n_features_in_ = n_features
            self._cache = {}

    def _renumber(self, numbers: NDArray[np.int64], n_samples: int) -> None:
        """Let the kernel matrix that `fit` was given be that of samples `numbers` of more."""
        self._matrix_support = numbers[self._matrix_support]
        self.n_features_in_ = n_samples

    def _file_parts(self) -> dict[str, Any]:
        """Return what a LIBSVM model file says about classes, coefficients and offsets."""
        raise NotImplementedError

    def _file_vectors(self) -> Matrix:
        """Return the support vectors as a LIBSVM model file lists them.

        Raises
        ------
        ValueError
            If the kernel is a callable, which the format does not know.
        """
        if self._kernel_params.function is not None:
            raise ValueError(
                "LIBSVM's model format does not know kernels that are callables or composed; "
                "pickle the estimator"
            )
        if self._kernel_params.type == "precomputed":
            return (self._matrix_support[:, np.newaxis] + 1).astype(np.float64)
        self._check_support_vectors()
        return self._support_vectors

    @classmethod
    def _from_file(
        cls: type[Self], model: dict[str, Any], vectors: Matrix, n_features: int
    ) -> Self:
        """Return a fitted estimator from a model in LIBSVM's form, as read from a file."""
        params = model["kernel"]
        kernel = KernelParams(
            str(params.type), float(params.gamma), float(params.coef0), int(params.degree)
        )
        # A linear model may come with any gamma.
        gamma: Gamma = kernel.gamma if kernel.gamma > 0 else "scale"
        estimator = cls()
        estimator.set_params(
            kernel=kernel.type, degree=kernel.degree, gamma=gamma, coef0=kernel.coef0
        )
        estimator._cache = {}
        estimator._kernel_params = kernel
        estimator._dual_coef = model["dual_coef"]
        estimator._rho = model["rho"]
        if kernel.type == "precomputed":
            estimator._matrix_support = np.asarray(vectors)[:, 0].astype(np.int64) - 1
            estimator._support_vectors = np.empty((0, 0))
        else:
            estimator._support_vectors = vectors
        estimator._take_classes(model)
        estimator.n_features_in_ = n_features
        return estimator

    def _take_classes(self, model: dict[str, Any]) -> None:
        """Take what a file says about classes."""

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Say of a model from a file why it lacks what `fit` alone can tell."""
            if name in type(self)._told_by_fit and self.__sklearn_is_fitted__():
                raise AttributeError(
                    f"{name} is not available: this {type(self).__name__} was loaded from a model "
                    "file, which holds what predictions need and nothing about training"
                )
            return super().__getattr__(name)


def read_only(array: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the array, which can no longer be written to: what is computed is not for setting."""
    array.flags.writeable = False
    return array


def finite_solution(train: Train, callback: Callback | None, training: Training) -> dict[str, Any]:
    """Return the core's solution, or say what leaves the range of float64."""
    try:
        result = train(callback)
    except _core.NumericError as error:
        raise ValueError(_overflow_message(training, str(error))) from error
    finite = (result[name] for name in ("dual_coef", "rho", "dual_objective"))
    if not all(np.isfinite(values).all() for values in finite):
        raise ValueError(_overflow_message(training, "the solution is not finite"))
    return result


def _overflow_message(training: Training, what: str) -> str:
    is_finite = np.isfinite(training.upper)
    largest = float(training.upper.max(initial=0.0, where=is_finite))
    if largest > _HUGE_BOUND:
        return (
            f"the bounds of the coefficients, C times the weights, are as large as {largest:.3g}, "
            f"and training overflows ({what}): reduce C or the weights"
        )
    return overflow_message(training.kernel, what)
