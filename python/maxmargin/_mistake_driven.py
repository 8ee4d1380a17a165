"""What the perceptrons share: passes over the examples until none is a mistake, and predictions."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxmargin import _validation
from maxmargin._base import Classifier
from maxmargin._sparse import Matrix
from maxmargin._wording import counted
from maxmargin.exceptions import ConvergenceWarning, compatible


class PassOptions(NamedTuple):
    """How the examples are gone through: the core's options under its names."""

    max_iter: int
    tol: float | None
    shuffle: bool
    seed: int
    n_threads: int


class MistakeDriven(Classifier):
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
        warnings.warn(
            f"{type(self).__name__} did not converge{where}: {counted(mistakes, 'mistake')} in the "
            f"last of {counted(max_iter, 'pass', 'passes')}. Either the data cannot be separated, "
            "and the result depends on where training stopped, or a greater max_iter is needed.",
            compatible(ConvergenceWarning),
            stacklevel=3,
        )

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return f of samples.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of float64
            With two classes of shape (n_samples,), positive for classes_[1]; otherwise of shape
            (n_samples, n_classes).

        Raises
        ------
        NotFittedError
            Before `fit`.
        ValueError
            If `X` is not valid, has another number of features, or f leaves the range of float64.
        """
        values = self._scores(self._matrix_to_predict(X))
        if not np.isfinite(values).all():
            raise ValueError(self._overflow_message("a decision value is not finite"))
        return values[:, 0] if len(self.classes_) == 2 else values

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of every sample, shape (n_samples,), of the type of the labels.

        With two classes f = 0 belongs to classes_[1]; otherwise the class of the greatest f wins,
        of several such the first. Raises what `decision_function` raises.
        """
        values = self.decision_function(X)
        winners = (values >= 0).astype(np.intp) if values.ndim == 1 else values.argmax(axis=1)
        predicted: NDArray[Any] = self.classes_[winners]
        return predicted

    def _scores(self, matrix: Matrix) -> NDArray[np.float64]:
        """Return f of every problem, shape (n_samples, n_problems)."""
        raise NotImplementedError

    def _overflow_message(self, what: str) -> str:
        raise NotImplementedError


def positive_classes(n_classes: int) -> NDArray[np.int64]:
    """Return the positive class of every problem."""
    return np.array([1]) if n_classes == 2 else np.arange(n_classes)
