"""Samples: their form, size and values, and the features that an estimator was fitted on."""

from __future__ import annotations

import contextlib
import math
import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin import _core
from maxmargin._input.mapped import parts_of
from maxmargin._input.sparse import CsrMatrix, Floats, Matrix, as_float, csr_of
from maxmargin.exceptions import warn_caller

_BLOCK_ELEMENTS = 1 << 20
_MOST_CONVERTED = 1 << 22  # values of a copy, 16 or 32 MB
_MOST_WEIGHTS = 1 << 40  # of 8 bytes, one for each feature: no memory holds more


def check_matrix(X: Any, owner: str, checks_values: bool = True) -> Matrix:
    """Return `X` in the form that the core takes.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        A C-contiguous float32 or float64 array and canonical CSR are not copied.
    owner : str
        The estimator's name, for messages.
    checks_values : bool, default=True
        Whether to read the values; where the core checks them, `check_values` names the fault.

    Raises
    ------
    ValueError
        If `X` is not a matrix of finite real numbers with at least one row and one column, or holds
        values whose squares overflow float64.
    TypeError
        If only some of a data frame's columns are named by strings.
    """
    feature_names(X)
    matrix: Matrix
    if hasattr(X, "tocsr"):
        matrix = csr_of(X)
    else:
        array = _array_of(X)
        _check_dimensions(array, owner)
        matrix = as_float(array)
    _check_size(matrix.shape, owner)
    if checks_values:
        check_values(matrix, owner)
    return matrix


def rows_to_convert(X: Any) -> int | None:
    """Return how many rows of an array of integers are to be converted at a time; None: all.

    It is for what goes through the rows once: the whole copy of an int8 array is four times as
    large as that.
    """
    if type(X) not in (np.ndarray, np.memmap) or X.ndim != 2 or X.dtype.kind not in "iub":
        return None
    step = max(1, _MOST_CONVERTED // max(1, X.shape[1]))
    return step if step < len(X) else None


def with_weights(matrix: Matrix, owner: str) -> Matrix:
    """Return the same, of which an estimator holds a number for each feature.

    Raises ValueError if these are more than any memory holds.
    """
    if matrix.shape[1] > _MOST_WEIGHTS:
        raise ValueError(
            f"X has {matrix.shape[1]} features, and {owner} holds a weight for each of them: at "
            f"most {_MOST_WEIGHTS} are allowed"
        )
    return matrix


def _array_of(X: Any) -> NDArray[Any]:
    """Return `X` as an array, NaN where a nullable column of a pandas data frame lacks a value."""
    array = np.asarray(X)
    if array.dtype.kind == "O" and hasattr(X, "iloc") and not _has_times(X):
        with contextlib.suppress(TypeError, ValueError):  # the checks of the array name the fault
            return np.asarray(X.to_numpy(dtype=np.float64, na_value=np.nan))
    return array


def _has_times(X: Any) -> bool:
    dtypes = X.dtypes if hasattr(X, "columns") else [X.dtype]
    return any(getattr(dtype, "kind", "O") in "mM" for dtype in dtypes)


def _check_dimensions(array: NDArray[Any], owner: str) -> None:
    if array.ndim < 2:
        kind = "1D" if array.ndim == 1 else "scalar"
        raise ValueError(
            f"Expected 2D array, got {kind} array instead, of shape {array.shape}. Reshape your "
            "data using X.reshape(-1, 1) if it has a single feature or X.reshape(1, -1) if it is a "
            "single sample"
        )
    if array.ndim > 2:
        raise ValueError(f"Found array with dim {array.ndim}. {owner} expected <= 2.")


def _check_size(shape: tuple[int, ...], owner: str) -> None:
    for count, what in zip(shape, ("sample", "feature"), strict=True):
        if count == 0:
            raise ValueError(
                f"Found array with 0 {what}(s) (shape={tuple(shape)}) while a minimum of 1 is "
                f"required by {owner}."
            )


def check_values(matrix: Matrix, owner: str) -> None:
    """Refuse values that are not finite, or whose squares overflow float64.

    Raises ValueError, which names the first value that is not finite, or the largest.
    """
    values = matrix.data if isinstance(matrix, CsrMatrix) else matrix
    largest = 0.0
    for part in parts_of(values.reshape(-1), _BLOCK_ELEMENTS):
        largest = max(_core.largest_magnitude(part), largest)
        if not math.isfinite(largest):
            is_nan = math.isnan(largest)
            kind = "NaN" if is_nan else f"infinity or a value too large for {values.dtype}"
            raise ValueError(
                f"Input X contains {kind}. {owner} does not accept missing or infinite values; the "
                f"first is in {_first_non_finite(values, matrix)}"
            )
    # Squared distances are at most 4 d max|x|^2.
    if largest > math.sqrt(sys.float_info.max / (4.0 * matrix.shape[1])):
        raise ValueError(
            f"X holds values as large as {largest:.3g}: their squares overflow. Scale the data, "
            "for example every feature to [0, 1] or to unit variance"
        )


def _first_non_finite(values: Floats, matrix: Matrix) -> str:
    place = int(np.argmin(np.isfinite(values.reshape(-1))))
    if isinstance(matrix, CsrMatrix):
        row = int(np.searchsorted(matrix.indptr, place, side="right")) - 1
        return f"row {row}, column {matrix.indices[place]}"
    row, column = divmod(place, matrix.shape[1])
    return f"row {row}, column {column}"


def feature_names(X: Any) -> NDArray[np.object_] | None:
    """Return the names of a data frame's columns if all are strings, None if none is.

    Raises TypeError if only some are.
    """
    columns = getattr(X, "columns", None)
    names = [] if columns is None else list(columns)
    are_strings = [isinstance(name, str) for name in names]
    if not any(are_strings):
        return None
    if not all(are_strings):
        # Up to the comma, scikit-learn's sentence.
        kinds = sorted({type(name).__name__ for name in names})
        raise TypeError(
            "Feature names are only supported if all input features have string names, but X has "
            f"names of the types {kinds}; X.columns.astype(str) are strings"
        )
    return np.array(names, dtype=object)


def check_features(
    X: Any,
    n_features: int,
    owner: str,
    fitted_n: int,
    fitted_names: NDArray[np.object_] | None,
    hint: str = "",
) -> None:
    """Compare the features of `X` with those that the estimator was fitted on.

    The hint is added to the message where their numbers differ.
    """
    names = feature_names(X)
    if names is not None and fitted_names is None:
        warn_caller(f"X has feature names, but {owner} was fitted without feature names")
    elif names is None and fitted_names is not None:
        warn_caller(
            f"X does not have valid feature names, but {owner} was fitted with feature names"
        )
    elif names is not None and fitted_names is not None:
        _compare_names(list(names), list(fitted_names))
    if n_features != fitted_n:
        # scikit-learn's sentence, plural in any case, which its checks of estimators look for.
        raise ValueError(
            f"X has {n_features} features, but {owner} is expecting {fitted_n} features as input"
            f"{hint}"
        )


def _compare_names(names: list[str], fitted_names: list[str]) -> None:
    if names == fitted_names:
        return
    faults = []
    given, known = set(names), set(fitted_names)
    unseen = [name for name in names if name not in known]
    missing = [name for name in fitted_names if name not in given]
    for title, listed in (
        ("Feature names unseen at fit time:", unseen),
        ("Feature names seen at fit time, yet now missing:", missing),
    ):
        if listed:
            faults += [title, *(f"- {name}" for name in sorted(listed)[:5])]
            faults += ["- ..."] if len(listed) > 5 else []
    if not faults:
        faults = ["Feature names must be in the same order as they were in fit."]
    text = "\n".join(["The feature names should match those that were passed during fit.", *faults])
    raise ValueError(text + "\n")
