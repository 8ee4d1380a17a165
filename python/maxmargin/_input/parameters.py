"""Parameters of estimators."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from maxmargin import _core
from maxmargin._estimator.wording import shown
from maxmargin._input.sparse import CsrMatrix, Matrix, take_rows

Gamma: TypeAlias = str | float
Callback: TypeAlias = Callable[[dict[str, Any]], Any]

_BLOCK_ELEMENTS = 1 << 16


def check_real(
    name: str,
    value: Any,
    *,
    above: float | None = None,
    at_least: float | None = None,
    below: float | None = None,
    at_most: float | None = None,
) -> float:
    """Return `value` as a float; it must be a finite number within the limits given."""
    allowed = "a finite number"
    if above is not None:
        allowed += f" > {above:g}"
    if at_least is not None:
        allowed += f" >= {at_least:g}"
    if below is not None:
        allowed += f" and < {below:g}"
    if at_most is not None:
        allowed += f" and <= {at_most:g}"
    if (
        not is_real(value)
        or not math.isfinite(value)
        or (above is not None and value <= above)
        or (at_least is not None and value < at_least)
        or (below is not None and value >= below)
        or (at_most is not None and value > at_most)
    ):
        raise ValueError(f"{name} must be {allowed}, got {shown(value)}")
    return float(value)


def check_integer(name: str, value: Any, *, at_least: int, at_most: int = 2**31 - 1) -> int:
    """Return `value` as an int in [at_least, at_most]."""
    is_integer = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if not is_integer or not at_least <= value <= at_most:
        is_too_large = is_integer and value > at_most
        limit = f" and <= {at_most}" if is_too_large or at_most < 2**31 - 1 else ""
        raise ValueError(f"{name} must be an integer >= {at_least}{limit}, got {shown(value)}")
    return int(value)


def check_choice(name: str, value: Any, choices: Sequence[str]) -> str:
    """Return `value`, which must be one of `choices`."""
    if not isinstance(value, str) or value not in choices:
        raise ValueError(
            f"{name} must be one of {', '.join(map(repr, choices))}, got {shown(value)}"
        )
    return value


def check_flag(name: str, value: Any) -> bool:
    """Return `value` as a bool."""
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name} must be True or False, got {shown(value)}")
    return bool(value)


def check_verbose(verbose: Any) -> bool:
    """Return whether to show progress: a flag, or an integer >= 0 as in scikit-learn."""
    if isinstance(verbose, (bool, np.bool_)):
        return bool(verbose)
    return check_integer("verbose", verbose, at_least=0) > 0


def check_intercept_scaling(intercept_scaling: Any) -> float:
    """Return the scale as a float > 0, which may be infinite."""
    if not is_real(intercept_scaling) or not intercept_scaling > 0:
        raise ValueError(
            "intercept_scaling must be a number > 0, or inf for a bias without penalty, got "
            f"{shown(intercept_scaling)}"
        )
    return float(intercept_scaling)


def check_C(C: Any, *, may_be_infinite: bool = False) -> float:  # noqa: N802
    """Return the penalty as a float > 0."""
    if not may_be_infinite:
        return check_real("C", C, above=0)
    if not is_real(C) or not C > 0:
        raise ValueError(f"C must be a number > 0, or inf for the hard margin, got {shown(C)}")
    return float(C)


def check_grid(name: str, values: Any) -> NDArray[np.float64]:
    """Return values of C as an ascending array, each > 0 and finite."""
    grid = real_array(name, values)
    if grid.ndim != 1 or len(grid) == 0:
        raise ValueError(f"{name} must be a 1D array of at least one number, got {shown(values)}")
    if not (np.isfinite(grid).all() and grid[0] > 0 and (np.diff(grid) > 0).all()):
        raise ValueError(f"{name} must hold finite numbers > 0 in ascending order, got {values}")
    return grid


def check_nu(nu: Any) -> float:
    """Return the nu of a nu formulation as a float in (0, 1]."""
    if not is_real(nu) or not 0 < nu <= 1:
        raise ValueError(f"nu must be a number > 0 and <= 1, got {shown(nu)}")
    return float(nu)


def check_quantiles(quantile: Any) -> NDArray[np.float64]:
    """Return one or several quantiles as an ascending array."""
    quantiles = np.atleast_1d(real_array("quantile", quantile))
    is_list = quantiles.ndim == 1 and len(quantiles) > 0
    is_inside = is_list and (quantiles > 0.0).all() and (quantiles < 1.0).all()
    if not is_inside or not (np.diff(quantiles) > 0.0).all():
        raise ValueError(
            "quantile must be a number > 0 and < 1, or several in ascending order, got "
            f"{shown(quantile)}"
        )
    return quantiles


def check_max_iter(max_iter: Any) -> int:
    """Return the cap on iterations; -1 is the solver's own."""
    return check_integer("max_iter", max_iter, at_least=-1, at_most=2**62)


def check_cache_size(cache_size: Any) -> int:
    """Return the size of the row cache, given in MB (2^20 bytes), in bytes."""
    megabytes = check_real("cache_size", cache_size, above=0)
    return max(1, int(min(megabytes * 2**20, 2.0**62)))


def check_time_limit(time_limit: Any) -> float:
    """Return the limit in seconds, infinity for None."""
    return math.inf if time_limit is None else check_real("time_limit", time_limit, above=0)


def check_seed(random_state: Any) -> int:
    """Return a seed of 64 bits: the given one, one drawn from a given generator, or 0 for None."""
    if random_state is None:
        return 0
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**63))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31))
    is_integer = isinstance(random_state, numbers.Integral) and not isinstance(random_state, bool)
    if not is_integer or not 0 <= random_state < 2**64:
        raise ValueError(
            "random_state must be None, an integer from 0 to 2^64 - 1, a numpy Generator or a "
            f"RandomState, got {shown(random_state)}"
        )
    return int(random_state)


def check_callback(callback: Any) -> Callback | None:
    """Return `callback`, which must be None or callable."""
    if callback is not None and not callable(callback):
        raise ValueError(f"callback must be None or a callable, got {shown(callback)}")
    return callback  # type: ignore[no-any-return]


def check_n_jobs(n_jobs: Any) -> int:
    """Return the number of threads for the core: 0 (all that may be used) for None and -1."""
    if n_jobs is None:
        return 0
    is_integer = isinstance(n_jobs, numbers.Integral) and not isinstance(n_jobs, bool)
    if not is_integer or n_jobs == 0:
        raise ValueError(
            "n_jobs must be None, an integer >= 1, -1 (all threads that may be used), -2 (all but "
            f"one) and so on, got {shown(n_jobs)}"
        )
    if n_jobs > 0:
        return int(min(n_jobs, 4096))
    return 0 if n_jobs == -1 else max(1, _core.thread_count() + 1 + int(n_jobs))


def check_gamma(gamma: Any) -> Gamma:
    """Return `gamma`: 'scale', 'auto' or a float > 0."""
    if isinstance(gamma, str) and gamma in ("scale", "auto"):
        return gamma
    if not is_real(gamma) or not math.isfinite(gamma) or gamma <= 0:
        raise ValueError(
            f"gamma must be 'scale', 'auto' or a finite number > 0, got {shown(gamma)}"
        )
    return float(gamma)


def gamma_of(gamma: Gamma, X: Matrix, sample_weight: NDArray[np.float64] | None = None) -> float:
    """Return the number that `gamma` stands for: 'scale' is 1 / (d Var(X)), 'auto' is 1 / d.

    A sample counts in the variance as often as its weight says.
    """
    n_features: int = X.shape[1]
    if gamma == "auto":
        return 1.0 / n_features
    if gamma != "scale":
        return float(gamma)
    variance = _variance(X, sample_weight)
    result = 1.0 / (n_features * variance) if variance > 0 else 1.0
    if not math.isfinite(result) or result == 0.0:
        raise ValueError(
            f"gamma='scale' leaves the range of float64, since the variance of X is "
            f"{variance:.3g}: scale the data"
        )
    return result


@np.errstate(all="ignore")  # gamma_of checks the result
def _variance(X: Matrix, sample_weight: NDArray[np.float64] | None) -> float:
    """Return the variance of all elements in float64, 0 where it is within rounding of 0."""
    if sample_weight is not None:
        rows = np.flatnonzero(sample_weight)
        if len(rows) < len(sample_weight):
            X, sample_weight = take_rows(X, rows), sample_weight[rows]
        if len(rows) == 0 or (sample_weight == sample_weight[0]).all():
            sample_weight = None
    stored = X.data if isinstance(X, CsrMatrix) else X.reshape(-1)
    parts = [slice(i, i + _BLOCK_ELEMENTS) for i in range(0, stored.size, _BLOCK_ELEMENTS)]
    n_elements, n_stored = float(X.shape[0] * X.shape[1]), float(stored.size)
    if sample_weight is not None:  # by its share of the largest, which no sum of them overflows
        sample_weight = sample_weight / sample_weight.max()
        n_elements = n_stored = float(sample_weight.sum()) * X.shape[1]
        if isinstance(X, CsrMatrix):
            n_stored = float(sample_weight @ np.diff(X.indptr))

    def total(values: NDArray[Any], part: slice) -> float:
        if sample_weight is None:
            return float(values.sum(dtype=np.float64))
        places = np.arange(part.start, part.start + values.size)
        if isinstance(X, CsrMatrix):
            return float(values @ sample_weight[np.searchsorted(X.indptr, places, "right") - 1])
        return float(values @ sample_weight[places // X.shape[1]])

    mean = sum(total(stored[part], part) for part in parts) / n_elements
    squares = [
        total(np.square(stored[part].astype(np.float64, copy=False) - mean), part) for part in parts
    ]
    variance: float = (sum(squares) + (n_elements - n_stored) * mean * mean) / n_elements
    rounding = 8.0 * math.ulp(1.0) * abs(mean)
    return variance if variance > rounding * rounding else 0.0


def check_scores_of_grid(
    C: Any, gamma: Any, scores: Any
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the axes of a grid, ascending, and the scores of its points, NaN if not finite."""
    axes = []
    for name, given in (("C", C), ("gamma", gamma)):
        axis = np.asarray(given, dtype=np.float64)
        is_fit = axis.ndim == 1 and len(axis) >= 2 and bool(np.isfinite(axis).all())
        if not (is_fit and axis[0] > 0 and (np.diff(axis) > 0).all()):
            raise ValueError(
                f"{name} must hold at least two numbers > 0, ascending, got {shown(given)}"
            )
        axes.append(axis)
    values = np.asarray(scores, dtype=np.float64)
    shape = (len(axes[0]), len(axes[1]))
    if values.shape != shape:
        raise ValueError(f"scores must have shape (n_C, n_gamma) = {shape}, got {values.shape}")
    if not np.isfinite(values).any():
        raise ValueError("scores must hold a finite number")
    return axes[0], axes[1], np.where(np.isfinite(values), values, np.nan)


def real_array(name: str, values: Any) -> NDArray[np.float64]:
    """Return real numbers as a float64 array; dates, complex numbers and records are none."""
    try:
        array = np.asarray(values)
        if array.dtype.kind not in "biufO":
            raise TypeError(f"got dtype {array.dtype}")
        return array.astype(np.float64, copy=False)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{name} must hold real numbers: {error}") from error


def is_real(value: Any) -> bool:
    """Return whether `value` is a real number that float64 can hold; True and False are not."""
    if not isinstance(value, numbers.Real) or isinstance(value, (bool, np.bool_)):
        return False
    try:
        float(value)
    except OverflowError:  # of an integer or a fraction
        return False
    return True
