"""Data files as the commands read them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin import io
from maxmargin._estimator.base import commit
from maxmargin._estimator.wording import counted
from maxmargin._input.sparse import CsrMatrix, Matrix
from maxmargin.io import ZeroBased
from maxmargin.svm._machine import KernelMachine, model_of


def load_samples(
    path: str, *, zero_based: bool | None = None
) -> tuple[CsrMatrix, NDArray[np.float64]]:
    """Return samples and labels, at least one; `zero_based` None is 'auto'."""
    X, y, *_ = io.read_csr(path, zero_based)
    if len(y) == 0:
        raise ValueError(f"{path} holds no samples")
    return widened(X, 1), y


def load_model_for(data: str, path: str, expected: str, *, zero_based: ZeroBased = "auto") -> Any:
    """Return the model of a file, for the samples of another.

    Raises ValueError if it is not a model; also where `data` is one, so that the files were
    swapped: `expected` says how they should come.
    """
    try:
        return io.load_model(path, zero_based=zero_based)
    except ValueError:
        if _begins_as_model(data):
            raise ValueError(f"{data} is a model, and {path} is not: expected {expected}") from None
        raise


def _begins_as_model(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            return file.read(8) == b"svm_type"
    except OSError:
        return False


def widened(X: CsrMatrix, n_features: int) -> CsrMatrix:
    """Return `X` with at least that many features; the further ones are zero."""
    return X._replace(n_cols=max(X.n_cols, n_features))


def widen(model: KernelMachine, n_features: int) -> None:
    """Let a model take samples of that many features; its support vectors are 0 in further ones."""
    if n_features > model.n_features_in_:
        commit(model, model_of(model).widened(n_features))


def shape_of(X: Matrix) -> str:
    """Return "150 samples, 4 features"."""
    return f"{counted(X.shape[0], 'sample')}, {counted(X.shape[1], 'feature')}"
