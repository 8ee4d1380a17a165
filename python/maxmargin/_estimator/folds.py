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

    Raises ValueError if a class has too few; the message says `what` needs more.
    """
    counts = np.bincount(codes[weight > 0.0], minlength=len(classes))
    if counts.min() < n_folds:
        few = shown(classes[counts.argmin()])
        raise ValueError(
            f"{what} needs at least {n_folds} samples of every class, of positive weight, for its "
            f"cross-validation, but class {few} has {counts.min()}"
        )


def check_splits(
    cv: Any,
    X: Any,
    y: Any,
    codes: NDArray[np.int64],
    weight: NDArray[np.float64],
    classes: NDArray[Any],
) -> list[tuple[NDArray[np.float64], NDArray[np.int64]]]:
    """Return, for every fold of a splitter or iterable, the weights to train with, 0 of the samples
    that are not trained on, and the rows held out.

    Raises ValueError if it does not yield pairs of rows, or a fold has nothing to train on of some
    class, or nothing to hold out.
    """
    found, every = [], np.arange(len(codes))
    for number, split in enumerate(cv.split(X, y) if hasattr(cv, "split") else cv, start=1):
        try:
            train, held_out = (every[np.asarray(rows) if len(rows) else []] for rows in split)
        except (IndexError, TypeError, ValueError) as error:
            raise ValueError(
                "cv must be an integer, a splitter, or an iterable of pairs of arrays of rows, got "
                f"{shown(split)} for fold {number}"
            ) from error
        trained = np.zeros(len(codes))
        np.add.at(trained, train, weight[train])
        counts = np.bincount(codes, weights=trained, minlength=len(classes))
        if counts.min() <= 0.0:
            raise ValueError(
                f"cv: fold {number} trains on no sample, of positive weight, of class "
                f"{shown(classes[counts.argmin()])}"
            )
        if not weight[held_out].sum() > 0.0:
            raise ValueError(f"cv: fold {number} holds no sample of positive weight out")
        found.append((trained, held_out))
    if not found:
        raise ValueError(f"cv must yield at least one fold, got {shown(cv)}")
    return found


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
