"""The time limit of a `fit` that makes several fits."""

from __future__ import annotations

import time


class TimeLeft:
    """What is left of a time limit, in equal shares for the fits that are still to come.

    The last one, the model, has its share of the whole even where the others took longer than
    theirs: a fit ends a little after its limit, and one without time is no model.
    """

    def __init__(self, seconds: float, n_fits: int, begun: float) -> None:
        self._end = begun + seconds
        self._n_fits = n_fits
        self._share_of_last = seconds / n_fits

    def share(self, n_fits: int = 1) -> float:
        """Return the seconds of the next fits."""
        left = max(0.0, self._end - time.perf_counter()) * n_fits / self._n_fits
        self._n_fits -= n_fits
        return left if self._n_fits > 0 else max(left, self._share_of_last)
