"""What the perceptrons share: passes over the examples until none is a mistake."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin import _core, _input
from maxmargin._estimator.one_vs_rest import OneVsRestClassifier
from maxmargin._estimator.wording import counted
from maxmargin.exceptions import ConvergenceWarning, warn_caller


class MistakeDriven(OneVsRestClassifier):
    """What the perceptrons share: passes, their record, and one problem for each class.

    With two classes there is one binary problem, classes_[1] against classes_[0]; with more, one
    for each class against the rest.
    """

    max_iter: int
    tol: float | None
    shuffle: bool
    random_state: Any
    n_jobs: int | None

    def _check_passes(self) -> _core.PassOptions:
        """Return how the examples are gone through; the seed is drawn once."""
        passes = _core.PassOptions()
        passes.max_iter = _input.check_integer("max_iter", self.max_iter, at_least=1, at_most=2**62)
        if self.tol is not None:
            passes.tol = _input.check_real("tol", self.tol, at_least=0)
        passes.shuffle = _input.check_flag("shuffle", self.shuffle)
        passes.seed = _input.check_seed(self.random_state)
        return passes

    def _set_record(self, records: list[_core.MistakeRecord]) -> None:
        self.mistakes_per_pass_: list[NDArray[np.int64]] = [
            record.mistakes_per_pass for record in records
        ]
        self.n_iter_ = max(len(mistakes) for mistakes in self.mistakes_per_pass_)
        self.n_mistakes_ = np.array([mistakes.sum() for mistakes in self.mistakes_per_pass_])
        self.converged_: bool = all(record.is_separated for record in records)

    def _warn_of_mistakes(self, max_iter: int) -> None:
        last = [passes[-1] for passes in self.mistakes_per_pass_ if len(passes) == max_iter]
        mistakes = int(sum(last))
        if mistakes == 0:
            return
        where = ""
        if len(self.mistakes_per_pass_) > 1:
            failed = sum(count > 0 for count in last)
            where = f" in {failed} of {len(self.mistakes_per_pass_)} one-vs-rest problems"
        warn_caller(
            f"{type(self).__name__} did not converge{where}: {counted(mistakes, 'mistake')} in the "
            f"last of {counted(max_iter, 'pass', 'passes')}. Either the data cannot be separated, "
            "and the result depends on where training stopped, or a greater max_iter is needed.",
            ConvergenceWarning,
        )
