"""What the linear machines share: their options, the run of the core, the fitted state."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

from maxmargin import _core, _input
from maxmargin._estimator import base
from maxmargin._estimator.certificate import LinearCertificate, linear_certificate_of
from maxmargin._estimator.linear_functions import FittedFunctions, LinearFunctions
from maxmargin._input import Callback
from maxmargin.exceptions import ConvergenceWarning, warn_caller
from maxmargin.progress import last_report, watched

# The model of a fold and a C, and the outcome of every machine.
Solution: TypeAlias = tuple[_core.LinearModel, list[_core.LinearOutcome]]
Train: TypeAlias = Callable[[Callback | None], list[Solution]]


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class FittedMachine(FittedFunctions):
    certificate: LinearCertificate

    @property
    def n_iter(self) -> int:
        """That of the machine that took most."""
        return max(machine.n_iter for machine in self.machines)

    @property
    def machines(self) -> tuple[LinearCertificate, ...]:
        return self.certificate.machines or (self.certificate,)


class LinearTraining(NamedTuple):
    """The checked options of a fit."""

    options: _core.LinearOptions
    callback: Callback | None
    verbose: bool


def training_of(estimator: Any) -> LinearTraining:
    options = _core.LinearOptions(
        tol=_input.check_real("tol", estimator.tol, above=0),
        max_iter=_input.check_max_iter(estimator.max_iter),
        time_limit=_input.check_time_limit(estimator.time_limit),
        seed=_input.check_seed(estimator.random_state),
        n_threads=_input.check_n_jobs(estimator.n_jobs),
    )
    callback = _input.check_callback(estimator.callback)
    return LinearTraining(options, callback, _input.check_verbose(estimator.verbose))


def intercept_scaling_of(estimator: Any) -> float:
    """Return the value of the feature whose weight is the bias: 0 without a bias."""
    if estimator.dual != "auto":
        _input.check_flag("dual", estimator.dual)
    scaling = _input.check_intercept_scaling(estimator.intercept_scaling)
    return scaling if _input.check_flag("fit_intercept", estimator.fit_intercept) else 0.0


def run(
    estimator: LinearFunctions, train: Train, training: LinearTraining, *, is_last: bool = True
) -> tuple[list[Solution], LinearCertificate]:
    """Return the core's solutions, which are finite, and the certificate of all machines.

    The callback gets a last report where the run `is_last` of the fit.
    """
    start = time.perf_counter()
    with watched(training.callback, training.verbose) as callback:
        try:
            solutions = train(callback)
        except _core.NumericError as error:
            raise ValueError(estimator._overflow_message(str(error))) from error
        seconds = time.perf_counter() - start
        outcomes = [outcome for _, machines in solutions for outcome in machines]
        certificate = linear_certificate_of(outcomes, seconds)
        if callback is not None and is_last:
            n_free = sum(outcome.n_free for outcome in outcomes)
            callback(last_report({"n_free": n_free}, certificate, seconds))
    return solutions, certificate


def commit(estimator: Any, model: FittedMachine) -> None:
    """Keep what training found, and warn if the certificate says that it stopped early."""
    base.commit(estimator, model)
    if not model.certificate.converged:
        estimator._warn_of_stop(model)


def warn_of_stop(estimator: Any, model: FittedMachine) -> None:
    """Warn that a fit did not converge."""
    certificate, where = model.certificate, ""
    if certificate.machines:
        failed = sum(not machine.converged for machine in model.machines)
        where = f" in {failed} of {len(model.machines)} one-vs-rest problems"
    warn_caller(
        f"{type(estimator).__name__} stopped before it converged ({certificate.stop_reason})"
        f"{where}: relative duality gap (gap / primal objective) "
        f"{certificate.relative_gap:.4g} > tol={estimator.tol:g}. Scaling the features "
        "(StandardScaler, MinMaxScaler), a smaller C, or a greater max_iter or time_limit may "
        "help.",
        ConvergenceWarning,
    )
