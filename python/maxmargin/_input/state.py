"""Fitted state: whether its parts still fit together after a pickle, or after a user's hands."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin._input.sparse import CsrMatrix, check_structure


def check_fits(is_sound: bool, name: str) -> None:
    """Refuse a part of a fitted state that does not fit the others.

    Raises ValueError if it is not sound.
    """
    if not is_sound:
        raise ValueError(f"{name} does not fit the rest of the model; fit it again")


def check_part(name: str, value: Any, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Return what a fitted attribute is set to, as a new array.

    Raises ValueError if it does not hold finite real numbers in that shape.
    """
    try:
        numbers = np.asarray(value)
    except ValueError:  # rows of unequal lengths
        numbers = np.empty((0, 0, 0), dtype=object)
    if numbers.dtype.kind not in "biuf" or numbers.shape != shape or not np.isfinite(numbers).all():
        raise ValueError(
            f"{name} must hold finite real numbers in the shape {shape}, got {value!r}"
        )
    return np.array(numbers, dtype=np.float64, order="C")


def is_array(value: Any, dtype: type[np.generic], shape: tuple[int | None, ...]) -> bool:
    """Return whether `value` is an array of that type and shape, None standing for any length."""
    return (
        isinstance(value, np.ndarray)
        and value.dtype == dtype
        and value.ndim == len(shape)
        and all(wanted in (None, length) for wanted, length in zip(shape, value.shape, strict=True))
    )


def is_finite_array(value: Any, dtype: type[np.generic], shape: tuple[int | None, ...]) -> bool:
    """Return whether `value` is an array of that type and shape, of finite numbers."""
    return is_array(value, dtype, shape) and bool(np.isfinite(value).all())


def are_classes(value: Any) -> bool:
    """Return whether `value` holds at least two classes, each once and sorted."""
    if not (isinstance(value, np.ndarray) and value.ndim == 1 and len(value) > 1):
        return False
    return bool(np.all(value[:-1] < value[1:]))


def valid_indices(value: Any, n: int, n_places: int) -> bool:
    """Return whether `value` holds `n` different numbers, each the index of one of `n_places`."""
    if not is_array(value, np.int64, (n,)):
        return False
    places = np.sort(value)
    is_within = n == 0 or (places[0] >= 0 and places[-1] < n_places)
    return bool(is_within and (places[:-1] < places[1:]).all())


def is_matrix(value: Any, shape: tuple[int, int]) -> bool:
    """Return whether the core can read `value` as a matrix of that shape, of finite numbers."""
    if not isinstance(value, CsrMatrix):
        floats = (np.float32, np.float64)
        is_read = any(is_finite_array(value, dtype, shape) for dtype in floats)
        return is_read and value.flags.c_contiguous
    arrays = value[:3]
    is_read = all(isinstance(array, np.ndarray) and array.flags.c_contiguous for array in arrays)
    if not (
        is_read
        and value.n_cols == shape[1]
        and arrays[0].dtype in (np.float32, np.float64)
        and arrays[1].dtype == arrays[2].dtype
        and arrays[1].dtype in (np.int32, np.int64)
    ):
        return False
    try:
        ascends = check_structure(*arrays, *shape)
    except (IndexError, ValueError):
        return False
    return ascends and bool(np.isfinite(arrays[0]).all())
