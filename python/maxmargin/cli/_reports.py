"""What several commands say of a fit and of predictions."""

from __future__ import annotations

import contextlib
import math
import sys
import warnings
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from maxmargin._estimator.wording import counted
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
    a, b = predicted - predicted.mean(), y - y.mean()
    spreads = float(a @ a) * float(b @ b)
    correlation = float(a @ b) ** 2 / spreads if spreads > 0.0 else math.nan
    return float(np.square(predicted - y).mean()), correlation
