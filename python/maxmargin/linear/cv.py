"""A linear support vector machine that chooses C by cross-validation."""

from __future__ import annotations

import dataclasses
import time
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from maxmargin import _input
from maxmargin._estimator.certificate import linear_certificate_of
from maxmargin._estimator.fitted import part
from maxmargin._estimator.folds import check_folds, check_splits, stratified_folds
from maxmargin._estimator.texts import FIT, LINEAR_CLASSIFICATION, documented, documented_method
from maxmargin._estimator.time_left import TimeLeft
from maxmargin._input import Callback, ClassWeight
from maxmargin._input.sparse import take_rows
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
    fitted attributes are of that machine. Of `time_limit`, the last fit has as much as a fold.

    Parameters
    ----------
    Cs : int or array-like of shape (n_Cs,)
        Values of C, > 0, ascending; or how many, from 1e-4 to 1e4 with equal ratios.
    cv : int, cross-validation splitter or iterable
        Folds, >= 2. Every class needs that many samples. Each fold has its share of every class;
        which samples it gets is drawn with `random_state`. Or what yields, for every fold, the rows
        to train on and those held out, as scikit-learn's splitters do: itself, or by a method
        `split(X, y)`. Every class needs a sample to train on, of positive weight.

    Attributes
    ----------
    C_ : float
        The C that was chosen.
    Cs_ : ndarray of float64, shape (n_Cs,)
        The grid.
    scores_ : ndarray of float64, shape (n_folds, n_Cs)
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
        cv: Any = 5,
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
            Numbers, booleans or strings; at least two classes, each with a sample in every fold.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of C, >= 0. A sample of weight 0 is left out.
        """
        start = time.perf_counter()
        grid = self._check_grid()
        has_splits = hasattr(self.cv, "split") or np.iterable(self.cv)
        has_splits = has_splits and not isinstance(self.cv, str)
        n_folds = 0 if has_splits else _input.check_integer("cv", self.cv, at_least=2)
        problem = self._prepare(X, y, sample_weight)
        problem.check_weights(grid[-1])
        seed = _input.check_seed(self.random_state)
        splits = []
        if has_splits:
            labels = problem.labels["classes"]
            splits = list(check_splits(self.cv, X, y, problem.codes, problem.weight, labels))
            n_folds = len(splits)
        options = problem.training.options
        time_left = TimeLeft(options.time_limit, n_folds + 1, start)
        if has_splits:
            scores = self._scores_of_splits(problem, grid, splits, time_left)
        else:
            options.time_limit = time_left.share(n_folds)
            scores = self._scores_of_folds(problem, grid, n_folds, seed)
        best = int(scores.mean(axis=0).argmax())

        def train_chosen(callback: Callback | None) -> list[Solution]:
            return problem.train(grid[: best + 1], callback)[best:]

        options.time_limit = time_left.share()
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

    def _scores_of_folds(
        self, problem: ClassProblem, grid: NDArray[np.float64], n_folds: int, seed: int
    ) -> NDArray[np.float64]:
        """Return the accuracy by fold and C; all folds train on one packing of the samples."""
        codes, weight, classes = problem.codes, problem.weight, problem.labels["classes"]
        check_folds(codes, weight, classes, n_folds, f"cv={n_folds}")
        fold_of = stratified_folds(codes, weight, n_folds, seed, goes_on=True)
        fold_of[fold_of < 0] = 0  # samples of weight 0 count nowhere
        found, _ = run(
            self,
            lambda callback: problem.train(grid, callback, fold_of, n_folds),
            problem.training,
            is_last=False,
        )
        n = len(grid)
        folds = [(found[k * n : (k + 1) * n], np.flatnonzero(fold_of == k)) for k in range(n_folds)]
        return np.array([_accuracies(problem, part, held_out) for part, held_out in folds])

    def _scores_of_splits(
        self,
        problem: ClassProblem,
        grid: NDArray[np.float64],
        splits: list[tuple[NDArray[np.float64], NDArray[np.int64]]],
        time_left: TimeLeft,
    ) -> NDArray[np.float64]:
        """Return the accuracy by fold and C; samples that are not trained on weigh 0."""
        scores = []
        for trained, held_out in splits:
            fold = problem._replace(weight=trained)
            fold.training.options.time_limit = time_left.share()
            found, _ = run(self, partial(fold.train, grid), fold.training, is_last=False)
            scores.append(_accuracies(problem, found, held_out))
        return np.array(scores)

    def path(self, X: Any, y: Any, Cs: Any, sample_weight: Any = None) -> Any:
        """Not available: `LinearSVC` has it."""
        raise AttributeError("path is a method of LinearSVC")

    def _check_grid(self) -> NDArray[np.float64]:
        if isinstance(self.Cs, (int, np.integer)) and not isinstance(self.Cs, bool):
            return np.logspace(-4.0, 4.0, _input.check_integer("Cs", self.Cs, at_least=1))
        return _input.check_grid("Cs", self.Cs)


def _accuracies(
    problem: ClassProblem, found: list[Solution], held_out: NDArray[np.int64]
) -> list[float]:
    """Return the accuracy of every solution on the rows held out."""
    samples, codes = take_rows(problem.matrix, held_out), problem.codes[held_out]
    weight, n_threads = problem.weight[held_out], problem.training.options.n_threads
    return [
        float(np.average(core.predict(samples, n_threads) == codes, weights=weight))
        for core, _ in found
    ]
