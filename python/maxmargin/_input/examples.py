"""Training data as the core's online trainer takes them."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxmargin._input.sparse import Matrix

EMPTY = np.zeros(0)


class Examples(NamedTuple):
    """Training data in the core's form."""

    X: Matrix
    codes: NDArray[np.int64]
    classes: NDArray[Any]
    weight: NDArray[np.float64] | None
    class_weight: NDArray[np.float64]
    positive: NDArray[np.int64]  # classes against the rest; empty: all classes in one problem

    def given_weight(self) -> NDArray[np.float64]:
        """Return the weights as the core takes them: none, or one for every row."""
        return EMPTY if self.weight is None else self.weight

    def split(self, fraction: float, seed: int) -> tuple[Examples, NDArray[np.float64]]:
        """Return the examples without a share of every class, and the weights of that share.

        Raises ValueError if a class would have no example left, or no example is taken.
        """
        random = np.random.default_rng(seed)
        is_taken = np.zeros(len(self.codes), dtype=bool)
        weight = np.ones(len(self.codes)) if self.weight is None else self.weight
        for k in range(len(self.classes)):
            rows = np.flatnonzero((self.codes == k) & (weight > 0.0))
            count = math.floor(fraction * len(rows) + 0.5)
            is_taken[random.permutation(rows)[:count]] = True
        left = np.bincount(self.codes[~is_taken & (weight > 0.0)], minlength=len(self.classes))
        if not is_taken.any() or not left.all():
            raise ValueError(
                f"validation_fraction={fraction} of {len(self.codes)} samples leaves no sample of "
                "some class to train on, or none to validate with"
            )
        kept = self._replace(weight=np.where(is_taken, 0.0, weight))
        return kept, np.where(is_taken, weight, 0.0)
