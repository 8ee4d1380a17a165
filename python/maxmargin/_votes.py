"""The voted perceptron: all separators of one training run, kept as the mistakes they came from."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxmargin import _validation
from maxmargin._sparse import CsrMatrix, Matrix, product, take_rows

_BLOCK_ELEMENTS = 1 << 22


class Votes(NamedTuple):
    """Separators f_k(x) = sum over j <= k of steps[j] (rows[places[j]].x + offset).

    f_k survived `survivals[k]` examples, the one of its own mistake included.
    """

    rows: Matrix  # on which there was a mistake, each once
    places: NDArray[np.int64]
    steps: NDArray[np.float64]
    offset: float
    survivals: NDArray[np.int64]

    @classmethod
    def of(
        cls,
        X: Matrix,
        update_rows: NDArray[np.int64],
        update_steps: NDArray[np.int64],
        n_steps: int,
        steps: NDArray[np.float64],
        offset: float,
    ) -> Votes:
        """Return the votes of a run that began at 0 and made the given updates of rows of `X`."""
        distinct, places = np.unique(update_rows, return_inverse=True)
        survivals = np.diff(np.append(update_steps, n_steps + 1))
        return cls(take_rows(X, distinct), places.astype(np.int64), steps, offset, survivals)

    def is_whole(self, n_features: int) -> bool:
        """Return whether the parts fit together, and all numbers are finite."""
        n_votes, n_rows = len(self.places), self.rows.shape[0]
        places, survivals = self.places, self.survivals
        return (
            _validation.is_matrix(self.rows, (n_rows, n_features))
            and _validation.is_array(places, np.int64, (n_votes,))
            and bool(((places >= 0) & (places < n_rows)).all())
            and _validation.is_finite_array(self.steps, np.float64, (n_votes,))
            and bool(np.isfinite(self.offset))
            and _validation.is_array(survivals, np.int64, (n_votes,))
        )

    def share(self, X: Matrix) -> NDArray[np.float64]:
        """Return sum of survivals * sign(f_k) over their sum, sign(0) being 1; (n_samples,)."""
        total = int(self.survivals.sum())
        n_samples = X.shape[0]
        values = np.empty(n_samples)
        n_rows, n_features = self.rows.shape
        block = max(1, _BLOCK_ELEMENTS // max(1, len(self.places) + n_rows + n_features))
        for start in range(0, n_samples, block):
            part = take_rows(X, np.arange(start, min(start + block, n_samples)))
            # Of the two factors the samples become dense: the rows may be many, and sparse.
            dense = part.to_dense() if isinstance(part, CsrMatrix) else part
            columns = np.ascontiguousarray(dense.T, dtype=np.float64)
            inner = product(self.rows, columns) + self.offset
            with np.errstate(over="ignore", invalid="ignore"):
                f = np.cumsum(inner[self.places] * self.steps[:, np.newaxis], axis=0)
            if not np.isfinite(f).all():
                values[start : start + block] = np.nan
            else:
                values[start : start + block] = self.survivals @ np.where(f >= 0, 1, -1) / total
        return values
