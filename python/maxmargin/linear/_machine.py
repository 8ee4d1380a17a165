"""What the linear machines share: their options, the run of the core, the certificate, f."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from maxmargin import _core, _input
from maxmargin._estimator.base import BaseEstimator
from maxmargin._estimator.certificate import LinearCertificate, linear_certificate_of
from maxmargin._input import Callback
from maxmargin._input.sparse import Matrix, product
from maxmargin.exceptions import ConvergenceWarning, warn_caller
from maxmargin.progress import last_report, watched

# Calls the core with a callback and returns its solution.
Train: TypeAlias = Callable[[Callback | None], dict[str, Any]]


class LinearTraining(NamedTuple):
    """The checked options of a fit."""

    options: _core.LinearOptions
    callback: Callback | None
    verbose: bool


class LinearMachine(BaseEstimator):
    """A machine with weights, trained until the duality gap is small enough."""

    tol: float
    C: float
    fit_intercept: bool
    intercept_scaling: float
    verbose: int
    random_state: Any
    max_iter: int
    n_jobs: int | None
    time_limit: float | None
    callback: Callback | None

    coef_: NDArray[np.float64]
    intercept_: NDArray[np.float64]

    def _check_training(self) -> LinearTraining:
        options = _core.LinearOptions(
            tol=_input.check_real("tol", self.tol, above=0),
            max_iter=_input.check_max_iter(self.max_iter),
            time_limit=_input.check_time_limit(self.time_limit),
            seed=_input.check_seed(self.random_state),
            n_threads=_input.check_n_jobs(self.n_jobs),
        )
        callback = _input.check_callback(self.callback)
        return LinearTraining(options, callback, _input.check_verbose(self.verbose))

    def _check_intercept_scaling(self) -> float:
        """Return the value of the feature whose weight is the bias: 0 without a bias."""
        scaling = _input.check_intercept_scaling(self.intercept_scaling)
        return scaling if _input.check_flag("fit_intercept", self.fit_intercept) else 0.0

    def _run(
        self, train: Train, training: LinearTraining, *, is_last: bool = True
    ) -> tuple[dict[str, Any], LinearCertificate]:
        """Return the core's solution, which is finite, and its certificate.

        The callback gets a last report where the run `is_last` of the fit.
        """
        start = time.perf_counter()
        with watched(training.callback, training.verbose) as callback:
            result = self._finite_solution(train, callback)
            seconds = time.perf_counter() - start
            certificate = linear_certificate_of(result, seconds)
            if callback is not None and is_last:
                callback(last_report(result, certificate, seconds))
        return result, certificate

    def _finite_solution(self, train: Train, callback: Callback | None) -> dict[str, Any]:
        try:
            result = train(callback)
            if not all(np.isfinite(result[name]).all() for name in ("coef", "intercept")):
                raise _core.NumericError("a weight is not finite")
        except _core.NumericError as error:
            raise ValueError(self._overflow_message(str(error))) from error
        return result

    def _record_certificate(self, certificate: LinearCertificate) -> None:
        """Keep the certificate, and warn if it says that the solver stopped early."""
        self.certificate_ = certificate
        machines = certificate.machines or (certificate,)
        self.n_iter_ = max(machine.n_iter for machine in machines)
        if not certificate.converged:
            self._warn_of_stop(certificate)

    def _warn_of_stop(self, certificate: LinearCertificate) -> None:
        """Warn that the fit did not converge."""
        machines = certificate.machines or (certificate,)
        where = ""
        if certificate.machines:
            failed = sum(not machine.converged for machine in machines)
            where = f" in {failed} of {len(machines)} one-vs-rest problems"
        warn_caller(
            f"{type(self).__name__} stopped before it converged ({certificate.stop_reason})"
            f"{where}: relative duality gap (gap / primal objective) "
            f"{certificate.relative_gap:.4g} > tol={self.tol:g}. Scaling the features "
            "(StandardScaler, MinMaxScaler), a smaller C, or a greater max_iter or time_limit may "
            "help.",
            ConvergenceWarning,
        )

    def _scores(self, matrix: Matrix) -> NDArray[np.float64]:
        with np.errstate(over="ignore", invalid="ignore"):
            return (
                product(matrix, np.ascontiguousarray(np.atleast_2d(self.coef_).T)) + self.intercept_
            )

    def _overflow_message(self, what: str) -> str:
        return (
            f"{type(self).__name__} overflows on these data ({what}): scale the data, or reduce C"
        )
