"""Sums of kernel values by the definition, in float64."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from maxmargin._input.sparse import Matrix, product, take_rows, weighted_row_sum
from maxmargin.kernels._parameter import KernelParams, kernel_block

BLOCK_ELEMENTS = 1 << 22


def expansion(
    kernel: KernelParams, X: Matrix, support_vectors: Matrix, beta: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return sum of beta_j K(x_j, x) for every row x of X."""
    if kernel.type == "linear":
        return product(X, weighted_row_sum(support_vectors, beta)[:, np.newaxis])[:, 0]
    n_rows = X.shape[0]
    values = np.zeros(n_rows)
    step = max(1, BLOCK_ELEMENTS // max(1, support_vectors.shape[0]))
    for start in range(0, n_rows, step):
        block = np.arange(start, min(start + step, n_rows))
        K = kernel_block(kernel, take_rows(X, block), support_vectors)
        values[block] = K @ beta
    return values
