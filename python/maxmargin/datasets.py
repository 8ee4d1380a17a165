"""A small real data set that ships with the package."""

from __future__ import annotations

from importlib.resources import files
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Digits", "load_digits"]


class Digits(NamedTuple):
    """Handwritten digits, split as published: the test part is by other writers.

    `X_train` (3823 x 64) and `X_test` (1797 x 64) are float32 pixels in [0, 1]; `y_train` and
    `y_test` are int64 digits 0 to 9; `source` says where the data come from.
    """

    X_train: NDArray[np.float32]
    y_train: NDArray[np.int64]
    X_test: NDArray[np.float32]
    y_test: NDArray[np.int64]
    source: str

    def __repr__(self) -> str:
        arrays = (f"{name}={getattr(self, name).shape}" for name in self._fields[:4])
        return f"Digits({', '.join(arrays)}, source={self.source!r})"


def load_digits() -> Digits:
    """Return the Optical Recognition of Handwritten Digits data set [1]_, pixels divided by 16.

    References
    ----------
    .. [1] E. Alpaydin, C. Kaynak, "Optical Recognition of Handwritten Digits", UCI Machine Learning
       Repository (1998), https://doi.org/10.24432/C50P49, licence CC BY 4.0.
    """
    with (
        files("maxmargin").joinpath("data/digits.npz").open("rb") as file,
        np.load(file, allow_pickle=False) as stored,
    ):
        X = stored["pixels"].astype(np.float32) / np.float32(16)
        y = stored["labels"].astype(np.int64)
        n_train = int(stored["n_train"])
    source = "Optical Recognition of Handwritten Digits, Alpaydin and Kaynak (1998), UCI, CC BY 4.0"
    return Digits(X[:n_train], y[:n_train], X[n_train:], y[n_train:], source)
