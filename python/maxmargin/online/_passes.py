"""What the perceptrons share: passes until none makes a mistake, and their record."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin import _core, _input
from maxmargin._estimator.wording import counted
from maxmargin.exceptions import ConvergenceWarning, warn_caller


@dataclasses.dataclass(frozen=True, eq=False)
class Passes:
    """The record of a fit, by problem."""

    mistakes_per_pass: list[NDArray[np.int64]]
    converged: bool

    @property
    def n_iter(self) -> int:
        return max(len(mistakes) for mistakes in self.mistakes_per_pass)

    @property
    def n_mistakes(self) -> NDArray[np.int64]:
        return np.array([mistakes.sum() for mistakes in self.mistakes_per_pass])


def passes_of(records: list[_core.MistakeRecord]) -> Passes:
    """Return the record of a fit that ends where a pass makes no mistake."""
    separated = all(record.is_separated for record in records)
    return Passes([record.mistakes_per_pass for record in records], separated)


def check_passes(estimator: Any) -> _core.PassOptions:
    """Return how the examples are gone through; the seed is drawn once."""
    passes = _core.PassOptions()
    passes.max_iter = _input.check_integer(
        "max_iter", estimator.max_iter, at_least=1, at_most=2**62
    )
    if estimator.tol is not None:
        passes.tol = _input.check_real("tol", estimator.tol, at_least=0)
    passes.shuffle = _input.check_flag("shuffle", estimator.shuffle)
    passes.seed = _input.check_seed(estimator.random_state)
    return passes


def warn_of_mistakes(estimator: Any, passes: Passes, max_iter: int) -> None:
    n_problems = len(passes.mistakes_per_pass)
    last = [pass_[-1] for pass_ in passes.mistakes_per_pass if len(pass_) == max_iter]
    mistakes = int(sum(last))
    if mistakes == 0:
        return
    where = ""
    if n_problems > 1:
        failed = sum(count > 0 for count in last)
        where = f" in {failed} of {n_problems} one-vs-rest problems"
    warn_caller(
        f"{type(estimator).__name__} did not converge{where}: {counted(mistakes, 'mistake')} in "
        f"the last of {counted(max_iter, 'pass', 'passes')}. Either the data cannot be separated, "
        "and the result depends on where training stopped, or a greater max_iter is needed.",
        ConvergenceWarning,
    )
