"""What several commands say of a fit and of predictions."""

from __future__ import annotations

import contextlib
import sys
import warnings
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from maxmargin._wording import counted
from maxmargin.exceptions import ConvergenceWarning


def warn(message: str) -> None:
    """Write a line of warning."""
    print(f"maxmargin: warning: {message}", file=sys.stderr)


@contextlib.contextmanager
def convergence_warnings_on_stderr() -> Iterator[None]:
    """Make the first warning of fits a line of text at the end, and count the others."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        yield
    if caught:
        warn(str(caught[0].message))
    if len(caught) > 1:
        warn(f"and so did {counted(len(caught) - 1, 'further fit')}")


def accuracy_of(predicted: NDArray[np.float64], y: NDArray[np.float64]) -> tuple[float, int]:
    """Return the accuracy in per cent, and how many predictions are right."""
    n_right = int(np.count_nonzero(predicted == y))
    return 100.0 * n_right / len(y), n_right


def errors_of(predicted: NDArray[np.float64], y: NDArray[np.float64]) -> tuple[float, float]:
    """Return the mean squared error and the squared correlation; NaN where one is constant."""
    centred = predicted - predicted.mean(), y - y.mean()
    both, spread, spread_y = (float(a @ b) for a, b in (centred, centred[:1] * 2, centred[1:] * 2))
    correlation = both**2 / (spread * spread_y) if spread > 0.0 and spread_y > 0.0 else np.nan
    return float(np.square(predicted - y).mean()), correlation
