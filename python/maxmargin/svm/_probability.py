"""Calibration: sigmoids that make probabilities of the decision values of pairs of classes."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from maxmargin import _core, _input
from maxmargin._estimator.base import fitted_model
from maxmargin._estimator.folds import stratified_folds
from maxmargin._input import Callback
from maxmargin._input.sparse import Matrix, take_rows
from maxmargin.exceptions import NotFittedError, compatible
from maxmargin.svm._fit import Solution, Training
from maxmargin.svm._model import TrainedMachine

if TYPE_CHECKING:
    from maxmargin.svm._machine import KernelMachine as _Mixin
else:
    _Mixin = object

N_FOLDS = 5


class Probabilistic(_Mixin):
    """What an estimator with `probability` offers."""

    probability: bool

    @property
    def _calibrates(self) -> bool:
        """Whether `fit` is to calibrate probabilities."""
        return _input.check_flag("probability", self.probability)

    @property
    def predict_proba(self) -> Callable[[Any], NDArray[np.float64]]:
        """Function of samples to the probability of every class, (n_samples, n_classes).

        Only where the estimator was fitted with `probability`. Columns are in the order of
        `classes_`; those of `OneClassSVM` are inside and outside. Raises what `decision_function`
        raises.
        """
        self._check_probability()
        return self._predict_proba

    @property
    def predict_log_proba(self) -> Callable[[Any], NDArray[np.float64]]:
        """Function of samples to the logarithms of `predict_proba`."""
        self._check_probability()
        return lambda X: np.log(self._predict_proba(X))

    def _predict_proba(self, X: Any) -> NDArray[np.float64]:
        return self._by_blocks(X, _probabilities)

    def _check_probability(self) -> None:
        is_calibrated = self.__sklearn_is_fitted__() and fitted_model(self).core.is_calibrated
        if not (self._calibrates or is_calibrated):
            raise AttributeError("probabilities are available only with probability=True")


class Calibrated(Probabilistic):
    """What a classifier with `probability` offers besides classes and decision values."""

    random_state: Any

    def _seed_of_folds(self) -> int:
        return _input.check_seed(self.random_state)

    @property
    def probA_(self) -> NDArray[np.float64]:  # noqa: N802
        """A of every machine: the first class of a pair has probability 1 / (1 + exp(A f + B))."""
        slopes: NDArray[np.float64] = _calibrated(fitted_model(self)).core.sigmoids[0]
        return slopes

    @property
    def probB_(self) -> NDArray[np.float64]:  # noqa: N802
        """B of every machine."""
        offsets: NDArray[np.float64] = _calibrated(fitted_model(self)).core.sigmoids[1]
        return offsets


def _calibrated(model: TrainedMachine) -> TrainedMachine:
    if not model.core.is_calibrated:
        raise compatible(NotFittedError)(
            "predict_proba is not available when fitted with probability=False"
        )
    return model


def _probabilities(model: TrainedMachine, values: NDArray[np.float64]) -> NDArray[np.float64]:
    return _calibrated(model).core.probabilities(values)


def held_out_values(
    samples: Matrix,
    codes: NDArray[np.int64],
    upper: NDArray[np.float64],
    training: Training,
    train: Callable[[Matrix, NDArray[np.int64], Callback | None], Solution],
    seed: int,
) -> NDArray[np.float64]:
    """Return the values of every machine for all samples, by machines trained without them."""
    kernel, n_classes = training.kernel, int(codes.max()) + 1
    values = np.zeros((len(codes), n_classes * (n_classes - 1) // 2))
    fold_of = stratified_folds(codes, upper, N_FOLDS, seed)
    for fold in range(N_FOLDS):
        others = np.flatnonzero(fold_of == fold)
        rows = np.flatnonzero((fold_of != fold) & (upper > 0.0))
        part, rest = take_rows(samples, rows), take_rows(samples, others)
        if kernel.is_given:
            assert isinstance(part, np.ndarray)
            assert isinstance(rest, np.ndarray)
            part, rest = np.ascontiguousarray(part[:, rows]), np.ascontiguousarray(rest[:, rows])
        core, _ = training.solve(partial(train, part, rows, training.callback))
        values[others] = core.decision_values(rest, factors=kernel.factors(rest))
    return values


def fit_sigmoids(
    values: NDArray[np.float64],
    codes: NDArray[np.int64],
    upper: NDArray[np.float64],
    sample_weight: NDArray[np.float64] | None,
) -> NDArray[np.float64]:
    """Return A and B of every machine, shape (2, n_machines): p(first class) = sigma(-(A f + B)).

    Samples with upper = 0 are left out.

    Parameters
    ----------
    values : ndarray of shape (n_samples, n_machines)
        Values of the machines for samples that they were not trained on, positive for the first
        class of the pair.
    """
    n_classes = int(codes.max()) + 1
    sigmoids = []
    for p, (i, j) in enumerate(combinations(range(n_classes), 2)):
        rows = np.flatnonzero(((codes == i) | (codes == j)) & (upper > 0.0))
        counts = np.ones(len(rows)) if sample_weight is None else sample_weight[rows]
        sigmoids.append(fit_sigmoid(values[rows, p], codes[rows] == i, counts))
    return np.array(sigmoids).T


def fit_sigmoid(
    values: NDArray[np.float64], is_first: NDArray[np.bool_], counts: NDArray[np.float64]
) -> tuple[float, float]:
    """Return the A <= 0 and B of greatest likelihood; `counts` says how often every value counts.

    Where the likelihood is greatest for an A > 0, which would answer backwards, A is 0 and B that
    of the shares of the classes.
    """
    A, B = _core.fit_sigmoid(values, is_first, counts)
    if A <= 0.0:
        return A, B
    n_first, n_second = float(counts[is_first].sum()), float(counts[~is_first].sum())
    return 0.0, math.log((n_second + 1.0) / (n_first + 1.0))
