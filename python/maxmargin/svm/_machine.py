"""The parameters and the fitted attributes that all kernel machines share."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin import _core, _input
from maxmargin._estimator.base import BaseEstimator, commit, fitted_model
from maxmargin._estimator.certificate import Certificate, by_machine
from maxmargin._input import Callback, Gamma
from maxmargin._input.sparse import CsrMatrix, Matrix, take_rows
from maxmargin.exceptions import ConvergenceWarning, warn_caller
from maxmargin.kernels._parameter import (
    Kernel,
    KernelParams,
    Limit,
    check_kernel,
    core_samples,
    with_gamma,
)
from maxmargin.svm._fit import Training
from maxmargin.svm._model import TrainedMachine


def of_training(name: str, get: Callable[[TrainedMachine], Any]) -> Any:
    """Return a property: what `get` returns, which is None of a model from a file."""

    def read(estimator: KernelMachine) -> Any:
        value = get(model_of(estimator))
        if value is None:
            raise AttributeError(
                f"{name} is not available: this {type(estimator).__name__} was loaded from a model "
                "file, which holds what predictions need and nothing about training"
            )
        return value

    return property(read)


def _iterations(model: TrainedMachine) -> Any:
    if model.certificate is None or model.classes is None:
        return model.certificate and model.certificate.n_iter
    return by_machine(model.certificate, "n_iter").astype(np.int64)


class KernelMachine(BaseEstimator):
    """Parameters to options of the core, and the trained machine to attributes and values."""

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

    # The name of the formulation in LIBSVM's files.
    _svm_type: str

    # What it has a machine for, each.
    _machines = "pairs of classes"

    # What may make a problem easier.
    _hint = "smaller C"

    # -- training ----------------------------------------------------------------------------------

    def _check_training(self) -> Training:
        """Return the checked parameters that all formulations share."""
        settings = {
            "tol": _input.check_real("tol", self.tol, above=0),
            "max_iter": _input.check_max_iter(self.max_iter),
            "cache_bytes": _input.check_cache_size(self.cache_size),
            "shrinking": _input.check_flag("shrinking", self.shrinking),
            "time_limit": _input.check_time_limit(self.time_limit),
            "n_threads": _input.check_n_jobs(self.n_jobs),
        }
        return Training(
            settings,
            time.perf_counter(),
            check_kernel(self.kernel, self.gamma, self.coef0, self.degree, may_be_given=True),
            _input.check_callback(self.callback),
            _input.check_verbose(self.verbose),
        )

    def _prepare(
        self,
        matrix: Matrix,
        training: Training,
        upper: NDArray[np.float64],
        sample_weight: NDArray[np.float64],
    ) -> tuple[Matrix, Training]:
        """Return what the core trains on, and the options with the C_i and gamma's number."""
        kernel = with_gamma(training.kernel, self.gamma, matrix, self._counted(sample_weight))
        seconds = training.settings["time_limit"]
        limit = Limit(seconds, training.begun + seconds) if np.isfinite(seconds) else None
        samples = core_samples(kernel, matrix, type(self).__name__, limit)
        return samples, training._replace(kernel=kernel, upper=upper)

    def _commit(
        self,
        X: Any,
        matrix: Matrix,
        training: Training,
        core: _core.KernelModel,
        certificate: Certificate,
        *,
        calibration: dict[str, Any] | None = None,
        **classes: Any,
    ) -> None:
        """Keep what training found, and warn if the certificate says that it stopped early."""
        names = _input.feature_names(X)
        model = self._model_of(names, matrix, training.kernel, core, certificate, **classes)
        commit(self, model if calibration is None else model.changed(**calibration))
        if not certificate.converged:
            self._warn_of_stop(certificate)

    @staticmethod
    def _model_of(
        names: NDArray[np.object_] | None,
        matrix: Matrix,
        kernel: KernelParams,
        core: _core.KernelModel,
        certificate: Certificate,
        **classes: Any,
    ) -> TrainedMachine:
        """Return what the core has found, trained on `matrix`, whose features have these names."""
        model = TrainedMachine(
            core,
            kernel,
            n_features=matrix.shape[1],
            feature_names=names,
            certificate=certificate,
            shape_fit=matrix.shape,
            **classes,
        )
        if kernel.type != "callable":
            return model
        # The core is to be given kernel values with the support vectors, in their order.
        numbers = np.arange(1.0, len(core.support) + 1.0)[:, np.newaxis]
        return dataclasses.replace(
            model.changed(support_vectors=numbers), vectors=take_rows(matrix, core.support)
        )

    def _warn_of_stop(self, certificate: Certificate) -> None:
        """Warn that the fit did not converge."""
        where = ""
        if certificate.machines:
            converged = by_machine(certificate, "converged")
            n_failed = len(converged) - np.count_nonzero(converged)
            where = f" in {n_failed} of {len(converged)} {self._machines}"
        warn_caller(
            f"{type(self).__name__} stopped before it converged ({certificate.stop_reason})"
            f"{where}: KKT violation {certificate.kkt_violation:.4g} > tol={self.tol:g}, relative "
            f"duality gap {certificate.relative_gap:.4g}. Scaling the features (StandardScaler, "
            f"MinMaxScaler), a {self._hint}, or a greater max_iter or time_limit may help.",
            ConvergenceWarning,
        )

    # -- the trained machine -----------------------------------------------------------------------

    certificate_: Certificate = of_training("certificate_", lambda model: model.certificate)
    fit_status_: int = of_training(
        "fit_status_", lambda model: model.certificate and int(not model.certificate.converged)
    )
    n_iter_: Any = of_training("n_iter_", _iterations)
    shape_fit_: tuple[int, ...] = of_training("shape_fit_", lambda model: model.shape_fit)
    support_: NDArray[np.int64] = of_training(
        "support_", lambda model: model.certificate and model.core.support
    )

    @property
    def support_vectors_(self) -> Any:
        vectors = model_of(self).support_vectors
        return vectors.to_scipy() if isinstance(vectors, CsrMatrix) else vectors

    @support_vectors_.setter
    def support_vectors_(self, value: Any) -> None:
        model = model_of(self)
        try:
            changed = model.with_vectors(_input.check_matrix(value, type(self).__name__))
        except ValueError as error:
            raise ValueError(f"support_vectors_ cannot be set: {error}") from error
        commit(self, changed)

    @property
    def n_support_(self) -> NDArray[np.int64]:
        model = model_of(self)
        return (
            np.array([model.n_support_vectors]) if model.classes is None else model.core.n_support
        )

    @property
    def dual_coef_(self) -> NDArray[np.float64]:
        model = model_of(self)
        dual_coef = -model.core.dual_coef if model.is_binary else model.core.dual_coef
        dual_coef.flags.writeable = False
        return dual_coef

    @dual_coef_.setter
    def dual_coef_(self, value: Any) -> None:
        model = model_of(self)
        dual_coef = _input.check_part("dual_coef_", value, model.core.dual_coef.shape)
        commit(self, model.changed(dual_coef=-dual_coef if model.is_binary else dual_coef))

    @property
    def intercept_(self) -> NDArray[np.float64]:
        return model_of(self).intercept

    @intercept_.setter
    def intercept_(self, value: Any) -> None:
        commit(self, fitted_model(self).with_intercept(value))

    @property
    def coef_(self) -> Any:
        model = model_of(self)
        if model.kernel.type != "linear":
            raise AttributeError("coef_ is only available when using a linear kernel")
        return model.coef()

    def _machine_values(self, X: Any) -> tuple[TrainedMachine, NDArray[np.float64]]:
        """Return the model, and in LIBSVM's sign the values of its machines for every sample.

        They are of shape (n_samples, n_machines).
        """
        model, n_threads = model_of(self), _input.check_n_jobs(self.n_jobs)
        return model, self._by_rows(X, model, lambda matrix: model.values(matrix, n_threads))

    def _by_blocks(
        self, X: Any, use: Callable[[TrainedMachine, NDArray[np.float64]], NDArray[Any]]
    ) -> NDArray[Any]:
        """Return use(model, values) of all samples, from the values of some at a time."""
        model, n_threads = model_of(self), _input.check_n_jobs(self.n_jobs)

        def by_blocks(matrix: Matrix) -> NDArray[Any]:
            return model.by_blocks(matrix, n_threads, lambda values: use(model, values))

        return self._by_rows(X, model, by_blocks)

    def _by_rows(
        self, X: Any, model: TrainedMachine, use: Callable[[Matrix], NDArray[Any]]
    ) -> NDArray[Any]:
        """Return use(samples), which gives a row for each, without a large copy of `X`."""
        step = _input.rows_to_convert(X)
        if step is None or model.feature_names is not None:  # whose absence is to be warned of once
            return use(self._matrix_to_predict(X, model))
        parts = (X[begin : begin + step] for begin in range(0, len(X), step))
        return np.concatenate([use(self._matrix_to_predict(part, model)) for part in parts])

    def _matrix_to_predict(self, X: Any, model: TrainedMachine) -> Matrix:
        owner = type(self).__name__
        matrix = _input.check_matrix(X, owner)
        if model.kernel.type != "precomputed":
            _input.check_features(
                *(X, matrix.shape[1], owner, model.n_features, model.feature_names),
                model.feature_hint,
            )
            return matrix
        if isinstance(matrix, CsrMatrix):
            raise ValueError("kernel='precomputed' needs a dense matrix X, got a sparse one")
        if matrix.shape[1] not in (model.n_features, model.n_support_vectors):
            raise ValueError(
                f"X has {matrix.shape[1]} features, but {owner} is expecting {model.n_features} "
                "features as input: the kernel values with all samples that it was fitted on, or "
                f"with its {model.n_support_vectors} support vectors, in the order of support_"
                f"{model.feature_hint}"
            )
        return matrix

    def __getstate__(self) -> dict[str, Any]:
        if self.__sklearn_is_fitted__():
            model_of(self)  # with what was written into intercept_
        return super().__getstate__()

    def _converted(self, state: dict[str, Any]) -> tuple[dict[str, Any], TrainedMachine]:
        from maxmargin.svm._old_pickles import converted

        state, model = converted(state, self._svm_type)
        model.check()
        return state, model

    def _is_own(self, model: Any) -> bool:
        return isinstance(model, TrainedMachine) and model.core.type == self._svm_type


def model_of(estimator: KernelMachine) -> TrainedMachine:
    """Return what a fitted estimator was trained to.

    Raises NotFittedError if it is not fitted.
    """
    model: TrainedMachine = fitted_model(estimator)
    shown = model.as_shown()
    if shown is not model and fitted_model(estimator) is model:  # not fitted anew meanwhile
        commit(estimator, shown)
    return shown
