"""What the perceptrons share: passes over the examples until none is a mistake."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxmargin import _validation
from maxmargin._one_vs_rest import OneVsRestClassifier
from maxmargin._wording import counted
from maxmargin.exceptions import ConvergenceWarning, warn_caller


class PassOptions(NamedTuple):
    """How the examples are gone through: the core's options under its names."""

    max_iter: int
    tol: float | None
    shuffle: bool
    seed: int
    n_threads: int


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

    def _check_pass_options(self) -> PassOptions:
        tol = self.tol
        return PassOptions(
            max_iter=_validation.check_integer(
                "max_iter", self.max_iter, at_least=1, at_most=2**62
            ),
            tol=None if tol is None else _validation.check_real("tol", tol, at_least=0),
            shuffle=_validation.check_flag("shuffle", self.shuffle),
            seed=_validation.check_seed(self.random_state),
            n_threads=_validation.check_n_jobs(self.n_jobs),
        )

    def _set_record(self, result: dict[str, Any]) -> None:
        self.mistakes_per_pass_: list[NDArray[np.int64]] = result["mistakes_per_pass"]
        self.n_iter_ = max(len(mistakes) for mistakes in self.mistakes_per_pass_)
        self.n_mistakes_ = np.array([mistakes.sum() for mistakes in self.mistakes_per_pass_])
        self.converged_: bool = all(result["is_separated"])

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
