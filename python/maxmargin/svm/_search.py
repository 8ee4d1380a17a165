"""The run of the core that trains a classifier for every fold, C and kernel, and their scores."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxmargin import _core, _input
from maxmargin._estimator.base import commit
from maxmargin._estimator.certificate import Certificates
from maxmargin._estimator.wording import shown
from maxmargin._input.sparse import Matrix
from maxmargin.kernels._parameter import KernelParams
from maxmargin.progress import watched
from maxmargin.svm._fit import Training
from maxmargin.svm.classification import SVC

# The weights that a fold trains with, and the rows it holds out.
Fold = tuple[NDArray[np.float64], NDArray[np.int64]]

# Of a fitted estimator, samples and their labels.
Scorer = Callable[[Any, Any, Any], Any]


class Search(NamedTuple):
    """A checked search."""

    cell: SVC  # an estimator with what all cells have in common
    training: Training
    Cs: NDArray[np.float64]
    kernels: list[KernelParams]
    sets_gamma: bool  # whether the kernels are those of an estimator's gamma
    folds: list[Fold]
    scorer: Scorer | None  # None: accuracy
    end: float  # by time.perf_counter
    X: Any
    y: Any
    matrix: Matrix
    samples: Matrix  # for the core
    codes: NDArray[np.int64]
    classes: NDArray[Any]
    weight: NDArray[np.float64]

    def run(self) -> tuple[NDArray[np.float64], NDArray[np.object_]]:
        """Return the scores and certificates by fold, C and kernel."""
        shape = (len(self.folds), len(self.Cs), len(self.kernels))
        scores, certificates = np.empty(shape), np.empty(shape, dtype=object)
        batches: Iterable[list[KernelParams]] = [self.kernels]
        if self.scorer is not None:  # the models that it needs are those of one kernel at a time
            batches = ([kernel] for kernel in self.kernels)
        place = 0
        for batch in batches:
            for fields, classes, fits in self._found(batch):
                cells = _by_cell(fields, len(self.Cs) * len(self.folds))
                certificates[:, :, place] = cells.reshape(shape[1], shape[0]).T
                if self.scorer is None:
                    scores[:, :, place] = self._accuracies(classes.reshape(len(self.Cs), -1))
                else:
                    scores[:, :, place] = self._values(
                        self.scorer, self.kernels[place], fits, cells
                    )
                place += 1
        for index, certificate in np.ndenumerate(certificates):
            if certificate.stop_reason == "time_limit":
                scores[index] = np.nan
        return scores, certificates

    def _found(self, kernels: list[KernelParams]) -> Any:
        """Return what the core finds for these kernels."""
        training = self.training._replace(kernel=kernels[-1])
        left = max(0.0, self.end - time.perf_counter())
        with watched(training.callback, training.verbose) as callback:
            return training.solve(
                lambda: _core.svc_search(
                    self.samples,
                    self.codes,
                    len(self.classes),
                    self.Cs,
                    self.folds,
                    [kernel.to_core(self.samples) for kernel in kernels],
                    training.options(time_limit=left),
                    self.scorer is not None,
                    callback,
                    self.cell.loss == "squared_hinge",
                    self.cell._vote_order(self.classes),
                )
            )

    def _accuracies(self, predicted: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the accuracy by fold and C; `predicted` by C and row held out of all folds."""
        scores, begin = [], 0
        for _, held_out in self.folds:
            end = begin + len(held_out)
            is_right = predicted[:, begin:end] == self.codes[held_out]
            scores.append(np.average(is_right, axis=1, weights=self.weight[held_out]))
            begin = end
        return np.array(scores)

    def _values(
        self,
        scorer: Scorer,
        kernel: KernelParams,
        fits: list[_core.KernelModel],
        cells: NDArray[np.object_],
    ) -> NDArray[np.float64]:
        """Return a scorer's values by fold and C, of an estimator for each of the models."""
        scores = np.full((len(self.folds), len(self.Cs)), np.nan)
        names, y = _input.feature_names(self.X), np.asarray(self.y)
        for place, (core, certificate) in enumerate(zip(fits, cells, strict=True)):
            if certificate.stop_reason == "time_limit":
                continue
            c, fold = divmod(place, len(self.folds))
            cell = SVC(**{**self.cell.get_params(deep=False), "C": float(self.Cs[c])})
            if self.sets_gamma:
                cell.gamma = kernel.gamma
            model = cell._model_of(
                *(names, self.matrix, kernel, core, certificate), classes=self.classes
            )
            commit(cell, model)
            held_out = self.folds[fold][1]
            score = scorer(cell, _rows_of(self.X, held_out), y[held_out])
            if not _input.is_real(score):
                raise ValueError(f"scoring must return a number, got {shown(score)}")
            scores[fold, c] = score
        return scores


def _by_cell(fields: dict[str, NDArray[Any]], n_cells: int) -> NDArray[np.object_]:
    """Return the certificates of the cells, each of all its machines together."""
    by_cell = {name: values.reshape(n_cells, -1) for name, values in fields.items()}
    reasons = by_cell.pop("stop_reason")
    together = {name: values.sum(axis=1) for name, values in by_cell.items()}
    together["kkt_violation"] = by_cell["kkt_violation"].max(axis=1)
    first = (reasons != _core.STOP_REASONS.index("converged")).argmax(axis=1)
    together["stop_reason"] = reasons[np.arange(n_cells), first]
    cells: NDArray[np.object_] = np.empty(n_cells, dtype=object)
    cells[:] = Certificates(together)[:]
    return cells


def _rows_of(X: Any, rows: NDArray[np.int64]) -> Any:
    """Return rows of what `fit` was given, in its own type."""
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    if hasattr(X, "tocsr"):
        return X.tocsr()[rows]
    return X[rows] if hasattr(X, "shape") else np.asarray(X)[rows]
