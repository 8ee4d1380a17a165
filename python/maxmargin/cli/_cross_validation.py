"""Cross-validation as LIBSVM's svm-train -v does it, fold for fold.

LIBSVM shuffles with the C library's rand. The generator here is glibc's, unseeded, so that the
folds, and with them the accuracies, are those that svm-train has on Linux.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from maxmargin._input.sparse import Matrix, take_rows


def glibc_rand() -> Iterator[int]:
    """Yield the numbers of glibc's rand after srand(1): r[i] = r[i-3] + r[i-31], halved."""
    state = [1]
    for _ in range(30):
        state.append(16807 * state[-1] % (2**31 - 1))
    place = 3  # of the oldest, r[i-31]
    for i in range(2**63):
        state[place] = (state[place] + state[(place + 28) % 31]) % 2**32
        if i >= 310:
            yield state[place] >> 1
        place = (place + 1) % 31


def folds_of(
    y: NDArray[np.float64], n_folds: int, is_stratified: bool
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Yield, for every fold, the samples to train on and those held out, in LIBSVM's order.

    Stratified, every fold holds its share of every class. At most one fold a sample.
    """
    if len(y) < 2:
        raise ValueError(f"cross-validation needs at least 2 samples, got {len(y)}")
    random = glibc_rand()
    groups = [np.arange(len(y))]
    if is_stratified and n_folds < len(y):
        classes, codes = np.unique(y, return_inverse=True)
        order = np.argsort(np.unique(codes, return_index=True)[1])  # as they first occur
        if classes.tolist() == [-1, 1]:
            order = np.array([1, 0])
        groups = [np.flatnonzero(codes == code) for code in order]
    n_folds = min(n_folds, len(y))
    for group in groups:
        for i in range(len(group)):
            j = i + next(random) % (len(group) - i)
            group[[i, j]] = group[[j, i]]
    parts = [
        np.concatenate(
            [group[k * len(group) // n_folds : (k + 1) * len(group) // n_folds] for group in groups]
        )
        for k in range(n_folds)
    ]
    for k, held_out in enumerate(parts):
        yield np.concatenate([*parts[:k], *parts[k + 1 :]]), held_out


def samples_of(X: Matrix, rows: NDArray[np.int64], basis: NDArray[np.int64] | None) -> Matrix:
    """Return rows of X; of a kernel matrix, the values with the samples `basis`."""
    return take_rows(X, rows) if basis is None else np.asarray(X)[np.ix_(rows, basis)]
