"""Fitted state: whether its parts still fit together after a pickle, or after a user's hands."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin._sparse import CsrMatrix, check_structure


def require_intact(is_intact: bool, owner: str, part: str) -> None:
    """Refuse a fitted estimator of which a part does not fit the others.

    Raises
    ------
    ValueError
        If the part is not intact.
    """
    if not is_intact:
        raise ValueError(
            f"The internal representation of {owner} was altered: {part} does not fit the rest of "
            "the model; fit it again"
        )


def is_array(value: Any, dtype: type[np.generic], shape: tuple[int | None, ...]) -> bool:
    """Return whether `value` is an array of that type and shape, None standing for any length."""
    return (
        isinstance(value, np.ndarray)
        and value.dtype == dtype
        and value.ndim == len(shape)
        and all(wanted in (None, length) for wanted, length in zip(shape, value.shape, strict=True))
    )


def require_weights(coef: Any, intercept: Any, shape: tuple[int, ...], owner: str) -> None:
    """Refuse weights and biases of linear functions that are not finite float64 arrays.

    Parameters
    ----------
    shape : tuple of int
        That of `coef`, (n_functions, n_features), or (n_features,) of one function.

    Raises
    ------
    ValueError
        If one of the two was altered.
    """
    n_functions = 1 if len(shape) == 1 else shape[0]
    for name, value, wanted in (("coef_", coef, shape), ("intercept_", intercept, (n_functions,))):
        is_intact = is_array(value, np.float64, wanted) and bool(np.isfinite(value).all())
        require_intact(is_intact, owner, name)


def is_order_of(value: Any, n: int) -> bool:
    """Return whether `value` holds every number below n once."""
    return is_array(value, np.int64, (n,)) and bool((np.sort(value) == np.arange(n)).all())


def is_matrix(value: Any, shape: tuple[int, int]) -> bool:
    """Return whether the core can read `value` as a matrix of that shape."""
    if not isinstance(value, CsrMatrix):
        floats = (np.float32, np.float64)
        return any(is_array(value, dtype, shape) for dtype in floats) and value.flags.c_contiguous
    try:
        check_structure(*value[:3], *shape)
    except (AttributeError, IndexError, TypeError, ValueError):
        return False
    arrays = value[:3]
    is_contiguous = all(array.flags.c_contiguous for array in arrays)
    return (
        value.n_cols == shape[1]
        and is_contiguous
        and arrays[0].dtype in (np.float32, np.float64)
        and arrays[1].dtype == arrays[2].dtype
        and arrays[1].dtype in (np.int32, np.int64)
    )
