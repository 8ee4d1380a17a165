"""Data files as the commands read them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from maxmargin import io
from maxmargin._sparse import CsrMatrix, Matrix
from maxmargin._wording import counted


def load_samples(
    path: str, *, zero_based: bool | None = None
) -> tuple[CsrMatrix, NDArray[np.float64]]:
    """Return samples and labels, at least one; `zero_based` None is 'auto'."""
    X, y, _ = io.read_csr(path, zero_based)
    if len(y) == 0:
        raise ValueError(f"{path} holds no samples")
    return widened(X, 1), y


def widened(X: CsrMatrix, n_features: int) -> CsrMatrix:
    """Return `X` with at least that many features; the further ones are zero."""
    return X._replace(n_cols=max(X.n_cols, n_features))


def shape_of(X: Matrix) -> str:
    """Return "150 samples, 4 features"."""
    return f"{counted(X.shape[0], 'sample')}, {counted(X.shape[1], 'feature')}"
