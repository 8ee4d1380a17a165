"""Folds of a cross-validation, each with its share of every class."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin._estimator.wording import shown


def check_folds(
    codes: NDArray[np.int64],
    weight: NDArray[np.float64],
    classes: NDArray[Any],
    n_folds: int,
    what: str,
) -> None:
    """Check that every fold can hold a sample of every class.

    Raises
    ------
    ValueError
        If a class has too few; the message says `what` needs more.
    """
    counts = np.bincount(codes[weight > 0.0], minlength=len(classes))
    if counts.min() < n_folds:
        few = shown(classes[counts.argmin()])
        raise ValueError(
            f"{what} needs at least {n_folds} samples of every class, of positive weight, for its "
            f"cross-validation, but class {few} has {counts.min()}"
        )


def stratified_folds(
    codes: NDArray[np.int64],
    weight: NDArray[np.float64],
    n_folds: int,
    seed: int,
    *,
    goes_on: bool = False,
) -> NDArray[np.int64]:
    """Return the fold of every sample, drawn with the seed; -1 of those without weight.

    Every class begins with fold 0, or, if it `goes_on`, where the one before it ended, so that
    the folds' sizes differ by at most 1.
    """
    random = np.random.default_rng(seed)
    fold_of = np.full(len(codes), -1)
    begin = 0
    for code in range(int(codes.max()) + 1):
        members = np.flatnonzero((codes == code) & (weight > 0.0))
        fold_of[random.permutation(members)] = (begin + np.arange(len(members))) % n_folds
        begin += len(members) * goes_on
    return fold_of
