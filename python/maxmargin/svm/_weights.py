"""The weights of machines with the linear kernel: sums of support vectors, where they cost less."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxmargin._input.sparse import CsrMatrix, Matrix, product, take_rows, weighted_row_sum

# What a machine uses: which support vectors, and their coefficients.
Expansion = tuple[NDArray[np.int64], NDArray[np.float64]]

# Weights take no more numbers than this (32 MB), or than so many times what the model holds.
_FEW_WEIGHTS = 1 << 22
_MOST_GROWTH = 4

# The weights of so many machines, those of 32 classes, take no more numbers than the model holds:
# predictions of 700 classes of 3 samples took twice as long with them (20 features).
_MANY_MACHINES = 496


class Weights(NamedTuple):
    """Weights by feature and machine; `features`, ascending, are those that have any, None: all."""

    values: NDArray[np.float64]
    features: NDArray[np.integer[Any]] | None

    def products(self, X: Matrix) -> NDArray[np.float64]:
        """Return w.x for all samples and machines."""
        if self.features is None:
            return product(X, self.values)
        if not isinstance(X, CsrMatrix):
            return product(np.ascontiguousarray(X[:, self.features]), self.values)
        if len(self.features) == 0:
            return np.zeros((X.shape[0], self.values.shape[1]))
        places = np.searchsorted(self.features, X.indices)
        places[places == len(self.features)] = 0
        data = np.where(self.features[places] == X.indices, X.data, 0.0)
        return product(CsrMatrix(data, places, X.indptr, len(self.features)), self.values)


def weights_of(
    vectors: Matrix, n_coefficients: int, n_machines: int, expansions: Callable[[], list[Expansion]]
) -> Weights | None:
    """Return the weights of all machines, or None where they would take much more memory.

    Predictions then take the kernel values with the support vectors, which cost less.
    """
    features = None
    n_features, n_stored = vectors.shape[1], vectors.shape[0] * vectors.shape[1]
    if isinstance(vectors, CsrMatrix):
        n_stored = len(vectors.data)
        if n_features > n_stored:
            features, vectors = _without_unused(vectors)
            n_features = len(features)
    most = n_stored + n_coefficients
    if n_machines < _MANY_MACHINES:
        most = max(_FEW_WEIGHTS, _MOST_GROWTH * most)
    if n_features * n_machines > most:
        return None
    weights = np.empty((n_features, n_machines))
    for machine, (used, beta) in enumerate(expansions()):
        weights[:, machine] = weighted_row_sum(take_rows(vectors, used), beta)
    return Weights(weights, features)


def _without_unused(X: CsrMatrix) -> tuple[NDArray[Any], CsrMatrix]:
    """Return the features that have an entry, and the matrix of these alone."""
    features, places = np.unique(X.indices, return_inverse=True)
    return features, X._replace(indices=places.reshape(-1), n_cols=len(features))


def sparse_weights(vectors: CsrMatrix, expansions: list[Expansion]) -> Any:
    """Return the weights of sparse support vectors, a `csr_matrix` (n_machines, n_features)."""
    from scipy.sparse import csr_matrix

    indptr = np.cumsum([0] + [len(used) for used, _ in expansions])
    used = np.concatenate([used for used, _ in expansions])
    beta = np.concatenate([beta for _, beta in expansions])
    features, known = _without_unused(vectors)
    coefficients = csr_matrix((beta, used, indptr), shape=(len(expansions), vectors.shape[0]))
    weights = coefficients @ known.to_scipy()
    weights.sort_indices()
    weights.data.flags.writeable = False
    shape = len(expansions), vectors.shape[1]
    return csr_matrix((weights.data, features[weights.indices], weights.indptr), shape=shape)
