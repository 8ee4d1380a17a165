"""A linear support vector machine that chooses C by cross-validation."""

from __future__ import annotations

import dataclasses
import time
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from maxmargin import _input
from maxmargin._estimator.certificate import linear_certificate_of
from maxmargin._estimator.fitted import part
from maxmargin._estimator.folds import check_folds, stratified_folds
from maxmargin._estimator.one_vs_rest import winners
from maxmargin._estimator.texts import FIT, LINEAR_CLASSIFICATION, documented, documented_method
from maxmargin._input import Callback, ClassWeight
from maxmargin._input.sparse import product, take_rows
from maxmargin.linear._fit import FittedMachine, Solution, commit, run
from maxmargin.linear.classification import ClassProblem, LinearSVC

__all__ = ["LinearSVCCV"]

Self = TypeVar("Self", bound="LinearSVCCV")


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class FittedSearch(FittedMachine):
    C: float
    Cs: NDArray[np.float64]
    scores: NDArray[np.float64]


@documented(LINEAR_CLASSIFICATION)
class LinearSVCCV(LinearSVC):
    """`LinearSVC` with the C of a grid that does best in cross-validation.

    In every fold the machines are trained along the grid, each from the solution before it; folds
    and classes are shared among threads, and all use one packing of the samples. The C with the
    highest mean accuracy is taken, of several such the least, and trained on all samples; the
    fitted attributes are of that machine. `time_limit` is of every machine for itself.

    Parameters
    ----------
    Cs : int or array-like of shape (n_Cs,)
        Values of C, > 0, ascending; or how many, from 1e-4 to 1e4 with equal ratios.
    cv : int
        Folds, >= 2. Every class needs that many samples. Each fold has its share of every class;
        which samples it gets is drawn with `random_state`.

    Attributes
    ----------
    C_ : float
        The C that was chosen.
    Cs_ : ndarray of float64, shape (n_Cs,)
        The grid.
    scores_ : ndarray of float64, shape (cv, n_Cs)
        Accuracy on the samples held out, by fold and C, with the sample weights.
    classes_, coef_, intercept_, certificate_, n_iter_, n_features_in_, feature_names_in_

    Examples
    --------
    >>> from maxmargin import LinearSVCCV
    >>> X, y = [[0.0], [1.0], [3.0], [4.0]], ["a", "a", "b", "b"]
    >>> LinearSVCCV(Cs=[0.1, 1.0, 10.0], cv=2).fit(X, y).C_
    1.0
    """

    Cs: Any
    cv: int

    _model_type = FittedSearch

    C_: float = part("C")
    Cs_: NDArray[np.float64] = part("Cs")
    scores_: NDArray[np.float64] = part("scores")

    def __init__(
        self,
        *,
        Cs: Any = 10,
        cv: int = 5,
        penalty: str = "l2",
        loss: str = "squared_hinge",
        dual: bool | str = "auto",
        tol: float = 1e-4,
        multi_class: str = "ovr",
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        class_weight: ClassWeight = None,
        verbose: int = 0,
        random_state: Any = None,
        max_iter: int = -1,
        n_jobs: int | None = None,
        time_limit: float | None = None,
        callback: Callback | None = None,
    ) -> None:
        self._store(locals())

    @documented_method(FIT)
    def fit(self: Self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Choose C by cross-validation and train on samples `X` with labels `y`.

        A warning is of the final machine.

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            Numbers, booleans or strings; at least two classes, each with `cv` samples.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of C, >= 0. A sample of weight 0 is left out.
        """
        grid = self._check_grid()
        n_folds = _input.check_integer("cv", self.cv, at_least=2)
        problem = self._prepare(X, y, sample_weight)
        problem.check_weights(grid[-1])
        seed = _input.check_seed(self.random_state)
        check_folds(
            problem.codes, problem.weight, problem.labels["classes"], n_folds, f"cv={n_folds}"
        )
        fold_of = stratified_folds(problem.codes, problem.weight, n_folds, seed, goes_on=True)
        fold_of[fold_of < 0] = 0  # samples of weight 0 count nowhere
        start = time.perf_counter()
        found, _ = run(
            self,
            lambda callback: problem.train(grid, callback, fold_of, n_folds),
            problem.training,
            is_last=False,
        )
        scores = np.reshape(_accuracies(problem, found, fold_of, n_folds), (n_folds, len(grid)))
        best = int(scores.mean(axis=0).argmax())

        def train_chosen(callback: Callback | None) -> list[Solution]:
            return problem.train(grid[: best + 1], callback)[best:]

        [(core, outcomes)], _ = run(self, train_chosen, problem.training)
        commit(
            self,
            FittedSearch(
                core=core,
                certificate=linear_certificate_of(outcomes, time.perf_counter() - start),
                C=float(grid[best]),
                Cs=grid,
                scores=scores,
                **problem.labels,
            ),
        )
        return self

    def path(self, X: Any, y: Any, Cs: Any, sample_weight: Any = None) -> Any:
        """Not available: `LinearSVC` has it."""
        raise AttributeError("path is a method of LinearSVC")

    def _check_grid(self) -> NDArray[np.float64]:
        if isinstance(self.Cs, (int, np.integer)) and not isinstance(self.Cs, bool):
            return np.logspace(-4.0, 4.0, _input.check_integer("Cs", self.Cs, at_least=1))
        return _input.check_grid("Cs", self.Cs)


def _accuracies(
    problem: ClassProblem, found: list[Solution], fold_of: NDArray[np.int64], n_folds: int
) -> list[float]:
    """Return the accuracy on the samples held out, of every solution."""
    accuracies = []
    n_grid = len(found) // n_folds
    for fold in range(n_folds):
        out = np.flatnonzero(fold_of == fold)
        held_out = take_rows(problem.matrix, out)
        for core, _ in found[fold * n_grid : (fold + 1) * n_grid]:
            values = product(held_out, np.ascontiguousarray(core.coef.T)) + core.intercept
            predicted = winners(values[:, 0] if values.shape[1] == 1 else values)
            is_right = predicted == problem.codes[out]
            accuracies.append(float(np.average(is_right, weights=problem.weight[out])))
    return accuracies
