"""Validated sample matrices: conversion, rows and products, for dense and CSR alike.

A `Matrix` is what the C++ core reads without a copy: a C-contiguous float32 or float64 array, or a
`CsrMatrix`. scipy is only imported to hand a sparse matrix back to the caller.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from maxmargin import _core
from maxmargin._input.mapped import is_mapped, parts_of

Floats: TypeAlias = NDArray[np.floating[Any]]
Integers: TypeAlias = NDArray[np.integer[Any]]

_BLOCK_ELEMENTS = 1 << 20
# A sum of weights of no more than this share of their magnitudes is 0.
_ROUNDING = 1e-10
# Of their magnitudes as well: the rounding of such a sum times the square of the rows' mean.
_NEGLIGIBLE = 1e-12


class CsrMatrix(NamedTuple):
    """Canonical compressed sparse rows: in every row the columns ascend strictly.

    `data` is float32 or float64; `indices` and `indptr` are both int32 or both int64.
    """

    data: Floats
    indices: Integers
    indptr: Integers
    n_cols: int

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.indptr) - 1, self.n_cols

    def tocsr(self) -> CsrMatrix:
        return self

    def to_scipy(self) -> Any:
        """Return a `scipy.sparse.csr_matrix` that shares the arrays."""
        from scipy.sparse import csr_matrix

        return csr_matrix((self.data, self.indices, self.indptr), shape=self.shape)

    def to_dense(self) -> NDArray[Any]:
        """Return an array of the same values."""
        X = np.zeros(self.shape, self.data.dtype)
        rows = np.repeat(np.arange(len(X)), np.diff(self.indptr))
        X[rows, self.indices] = self.data
        return X


Matrix: TypeAlias = Floats | CsrMatrix


def is_in_mapped_file(X: Matrix) -> bool:
    """Return whether all pages of the samples may be given back once read (`mapped.is_mapped`)."""
    return all(map(is_mapped, X[:2] if isinstance(X, CsrMatrix) else (X,)))


def as_float(values: NDArray[Any]) -> Floats:
    """Return `values` as an aligned C-contiguous float32 or float64 array, itself where it is one.

    Types that float32 holds exactly become float32, everything else float64. Raises ValueError if
    the type is complex or not a number. Raises TypeError if an element of an object array is not a
    number.
    """
    kind, item_size = values.dtype.kind, values.dtype.itemsize
    if kind == "c":
        raise ValueError("Complex data not supported: X must hold real numbers")
    if kind not in "fiubO":
        raise ValueError(f"X must hold real numbers, got an array of dtype {values.dtype}")
    exact_in_float32 = (kind == "f" and item_size <= 4) or (kind in "iub" and item_size <= 2)
    dtype = np.float32 if exact_in_float32 else np.float64
    flags = values.flags
    if values.dtype == dtype and flags.c_contiguous and flags.aligned:
        return values  # 3 of the 150 microseconds that a fit of 50 rows takes
    try:
        with np.errstate(over="ignore", under="ignore"):
            return np.require(values, dtype, ["C_CONTIGUOUS", "ALIGNED"])
    except (ValueError, OverflowError) as error:
        raise ValueError(f"X must hold real numbers: {error}") from error
    except TypeError as error:
        raise TypeError(f"X must hold real numbers: {error}") from error


def csr_of(X: Any) -> CsrMatrix:
    """Return a sparse matrix (any object with `tocsr`) as a `CsrMatrix`.

    The arrays are the caller's where they have the right form, else converted copies. The caller's
    object is never changed, nor are its cached flags.
    """
    if len(X.shape) != 2:
        raise ValueError(f"Expected a 2D sparse matrix, got one of shape {X.shape}")
    csr = X.tocsr()
    n_rows, n_cols = (int(n) for n in csr.shape)
    data = as_float(np.asarray(csr.data))
    indices, indptr = _indices_of_one_type(np.asarray(csr.indices), np.asarray(csr.indptr))
    ascends = check_structure(data, indices, indptr, n_rows, n_cols)
    n_stored = int(indptr[-1])
    matrix = CsrMatrix(data[:n_stored], indices[:n_stored], indptr, n_cols)
    if ascends:
        return matrix
    matrix = _canonical(matrix)
    if csr.data.dtype.kind == "b":  # the sum of two of these is their disjunction
        np.minimum(matrix.data, 1.0, out=matrix.data)
    return matrix


def _indices_of_one_type(indices: NDArray[Any], indptr: NDArray[Any]) -> tuple[Integers, Integers]:
    for name, numbers in (("indices", indices), ("indptr", indptr)):
        if numbers.dtype.kind not in "iu":
            raise ValueError(
                f"X is not a valid sparse matrix: {name} must be integers, got {numbers.dtype}"
            )
    both_int32 = indices.dtype == np.int32 and indptr.dtype == np.int32
    dtype = np.int32 if both_int32 else np.int64
    return (
        np.require(indices, dtype, ["C_CONTIGUOUS", "ALIGNED"]),
        np.require(indptr, dtype, ["C_CONTIGUOUS", "ALIGNED"]),
    )


def check_structure(
    data: Floats, indices: Integers, indptr: Integers, n_rows: int, n_cols: int
) -> bool:
    """Check that the arrays are a matrix of that shape in CSR form.

    Returns whether the columns ascend strictly in every row. `indices` and `indptr` are contiguous,
    both int32 or both int64. Raises ValueError if an index leads out of them.
    """

    def require(condition: bool, fault: str) -> None:
        if not condition:
            raise ValueError(f"X is not a valid sparse matrix: {fault}")

    require(indptr.shape == (n_rows + 1,), f"indptr must have {n_rows + 1} elements")
    require(indptr[0] == 0, f"indptr must start at 0, got {indptr[0]}")
    require(bool((indptr[1:] >= indptr[:-1]).all()), "indptr must not descend")
    n_stored = int(indptr[-1])
    require(
        n_stored <= min(len(indices), len(data)),
        f"indptr counts {n_stored} entries, but there are {len(indices)} indices and "
        f"{len(data)} values",
    )
    low, high, ascends = _core.scan_columns(indices, indptr)
    if n_stored > 0:
        require(low >= 0, f"column index {low} is negative")
        require(high < n_cols, f"column index {high} is not below the number of columns {n_cols}")
    return ascends


# Entries sorted at a time, in 0.1 to 0.2 s, after which Ctrl-C is heard.
_SORTED_ENTRIES = 2**20


def _canonical(X: CsrMatrix) -> CsrMatrix:
    """Sort every row by column and add up what shares a place."""
    begin, n_rows, parts = 0, X.shape[0], []
    while begin < n_rows:
        end = int(np.searchsorted(X.indptr, int(X.indptr[begin]) + _SORTED_ENTRIES, "right")) - 1
        end = min(max(end, begin + 1), n_rows)
        rows = rows_between(X, begin, end)
        assert isinstance(rows, CsrMatrix)
        parts.append(_canonical_rows(rows))
        begin = end
    if len(parts) == 1:
        return parts[0]
    indptr = np.zeros_like(X.indptr)
    np.cumsum(np.concatenate([np.diff(part.indptr) for part in parts]), out=indptr[1:])
    data, indices = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("data", "indices")
    )
    return CsrMatrix(data, indices, indptr, X.n_cols)


def _canonical_rows(X: CsrMatrix) -> CsrMatrix:
    n_rows = X.shape[0]
    rows = np.repeat(np.arange(n_rows), np.diff(X.indptr))
    order = np.lexsort((X.indices, rows))
    rows, columns = rows[order], X.indices[order]
    is_first = np.ones(len(order), dtype=bool)
    is_first[1:] = (columns[1:] != columns[:-1]) | (rows[1:] != rows[:-1])
    firsts = np.flatnonzero(is_first)
    indptr = np.zeros_like(X.indptr)
    np.cumsum(np.bincount(rows[firsts], minlength=n_rows), out=indptr[1:])
    return CsrMatrix(np.add.reduceat(X.data[order], firsts), columns[firsts], indptr, X.n_cols)


def csr_of_dense(X: NDArray[Any]) -> CsrMatrix:
    """Return a matrix with all numbers of X, zeros too."""
    n_rows, n_cols = X.shape
    indices = np.tile(np.arange(n_cols), n_rows)
    return CsrMatrix(X.ravel(), indices, np.arange(n_rows + 1) * n_cols, n_cols)


def rows_between(X: Matrix, begin: int, end: int) -> Matrix:
    """Return X[begin:end], of the same memory."""
    if not isinstance(X, CsrMatrix):
        return X[begin:end]
    indptr = X.indptr[begin : end + 1]
    entries = slice(int(indptr[0]), int(indptr[-1]))
    return CsrMatrix(X.data[entries], X.indices[entries], indptr - indptr[0], X.n_cols)


def take_rows(X: Matrix, rows: Integers) -> Matrix:
    """Return a copy of the given rows."""
    if not isinstance(X, CsrMatrix):
        return X[rows]
    lengths = np.diff(X.indptr)[rows]
    indptr = np.zeros(len(rows) + 1, dtype=X.indptr.dtype)
    np.cumsum(lengths, out=indptr[1:])
    # Entry t of the result stands at its row's start in X plus its place in the row.
    places = np.arange(indptr[-1]) + np.repeat(X.indptr[:-1][rows] - indptr[:-1], lengths)
    return CsrMatrix(X.data[places], X.indices[places], indptr, X.n_cols)


@np.errstate(all="ignore")  # callers check that what they return is finite
def product(X: Matrix, columns: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return X @ columns in float64, with bounded temporaries; columns is (d, p)."""
    n_rows, n_cols = X.shape
    result = np.zeros((n_rows, columns.shape[1]))
    if isinstance(X, CsrMatrix):
        _csr_product(X, columns, result)
    else:
        step = max(1, _BLOCK_ELEMENTS // max(1, n_cols))
        for start, part in zip(range(0, n_rows, step), parts_of(X, step), strict=True):
            block = part.astype(np.float64, copy=False)
            np.matmul(block, columns, out=result[start : start + step])
    return result


def _csr_product(X: CsrMatrix, columns: NDArray[np.float64], result: NDArray[np.float64]) -> None:
    n_rows = X.shape[0]
    step = max(1, _BLOCK_ELEMENTS // max(1, columns.shape[1]))
    begin = 0
    while begin < n_rows:
        end = int(np.searchsorted(X.indptr, X.indptr[begin] + step, side="right")) - 1
        end = min(max(end, begin + 1), n_rows)
        entries = slice(int(X.indptr[begin]), int(X.indptr[end]))
        starts = X.indptr[begin : end + 1] - X.indptr[begin]
        filled = np.flatnonzero(starts[1:] > starts[:-1])
        if len(filled) > 0:
            terms = columns[X.indices[entries]] * X.data[entries, np.newaxis]
            result[begin + filled] = np.add.reduceat(terms, starts[filled], axis=0)
        begin = end


@np.errstate(under="ignore")
def weighted_row_sum(X: Matrix, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return weights @ X in float64, shape (d,).

    Dense rows count from their mean, which then comes in with the sum of the weights. Where that
    is 0 but for rounding, as it is in most machines, it is summed exactly, and left out unless it
    shows in the products with rows as far off as the mean.
    """
    if isinstance(X, CsrMatrix):
        terms = X.data * np.repeat(weights, np.diff(X.indptr))
        return np.bincount(X.indices, weights=terms, minlength=X.n_cols).astype(np.float64)
    if len(X) == 0:
        return np.zeros(X.shape[1])
    origin = X.mean(axis=0, dtype=np.float64)
    total, magnitude = float(weights.sum()), float(np.abs(weights).sum())
    if abs(total) <= _ROUNDING * magnitude:
        total = math.fsum(weights)
        if abs(total) * float(origin @ origin) <= _NEGLIGIBLE * magnitude:
            total = 0.0
    result: NDArray[np.float64] = total * origin
    step = max(1, _BLOCK_ELEMENTS // max(1, X.shape[1]))
    for start in range(0, len(X), step):
        result += weights[start : start + step] @ (X[start : start + step] - origin)
    return result
