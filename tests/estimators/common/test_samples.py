"""Samples that users may pass in, what becomes of them, and what the messages say."""

from __future__ import annotations

import tracemalloc
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from maxmargin import SVC
from maxmargin._input import check_matrix, gamma_of, sparse
from maxmargin._input.sparse import CsrMatrix, product, take_rows, weighted_row_sum
from oracles.problems import rng

X = rng(0).normal(size=(30, 3))
Y = np.arange(30) % 3


def snapshot(A):
    """Everything of an array or sparse matrix that a callee could change."""
    if sp.issparse(A):
        parts = [
            getattr(A, name)
            for name in ("data", "indices", "indptr", "row", "col")
            if hasattr(A, name)
        ]
        return [part.tobytes() for part in parts], dict(vars(A)).keys(), A.shape
    return A.tobytes(), A.flags.writeable, A.dtype, A.strides


# -- samples that need no copy ---------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_contiguous_arrays_are_passed_as_they_are(dtype):
    A = X.astype(dtype)
    A.flags.writeable = False
    assert check_matrix(A, "SVC") is A


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("index_dtype", [np.int32, np.int64])
@pytest.mark.parametrize("container", [sp.csr_matrix, sp.csr_array])
def test_canonical_csr_shares_memory(dtype, index_dtype, container):
    S = container(X.astype(dtype))
    S.indices, S.indptr = S.indices.astype(index_dtype), S.indptr.astype(index_dtype)
    matrix = check_matrix(S, "SVC")
    assert isinstance(matrix, CsrMatrix)
    assert matrix.n_cols == 3
    assert matrix.indices.dtype == matrix.indptr.dtype == index_dtype
    for ours, theirs in zip(matrix, (S.data, S.indices, S.indptr), strict=False):
        assert np.shares_memory(ours, theirs)


@pytest.mark.parametrize("form", ["float32", "float64", "csr"])
def test_no_second_copy_of_large_data(form):
    A = np.ones((2000, 500), np.float32 if form == "float32" else np.float64)
    A[::2] = 2.0
    A = sp.csr_matrix(A) if form == "csr" else A
    n_bytes = A.data.nbytes
    tracemalloc.start()
    try:
        gamma_of("scale", check_matrix(A, "SVC"))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # Checking that CSR is canonical takes one byte for each entry of eight.
    assert peak < n_bytes / (6 if form == "csr" else 3)


def test_memory_maps_are_read_in_place(tmp_path):
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    assert np.shares_memory(check_matrix(mapped, "SVC"), mapped)


# -- samples that are converted once ---------------------------------------------------------------

FORMS = {
    "fortran": np.asfortranarray,
    "strided": lambda A: np.repeat(np.repeat(A, 2, axis=0), 2, axis=1)[::2, ::2],
    "reversed": lambda A: A[::-1].copy()[::-1],
    "byte-swapped": lambda A: A.astype(">f8"),
    "object": lambda A: A.astype(object),
    "list": lambda A: A.tolist(),
    "long double": lambda A: A.astype(np.longdouble),
    "unaligned": lambda A: (
        np.frombuffer(b"\0" + A.tobytes(), np.uint8)[1:].view(A.dtype).reshape(A.shape)
    ),
    "matrix": np.asmatrix,
}


@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
@pytest.mark.parametrize("form", FORMS)
def test_other_forms_become_equal_float64(form):
    A = FORMS[form](X)
    before = snapshot(A) if isinstance(A, np.ndarray) else None
    matrix = check_matrix(A, "SVC")
    assert type(matrix) is np.ndarray
    assert matrix.dtype == np.float64
    assert matrix.flags.c_contiguous
    assert matrix.flags.aligned
    np.testing.assert_array_equal(matrix, X)
    assert before is None or before == snapshot(A)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("f2", "f4"),
        ("i1", "f4"),
        ("u1", "f4"),
        ("i2", "f4"),
        ("?", "f4"),
        ("i4", "f8"),
        ("u8", "f8"),
    ],
)
def test_number_types_are_widened_to_one_that_holds_them(given, expected):
    A = np.array([[0, 1], [100, 1]]).astype(given)
    matrix = check_matrix(A, "SVC")
    assert matrix.dtype == expected
    np.testing.assert_array_equal(matrix, A.astype(np.float64))


class Frame:
    """As much of a data frame as is read: columns and conversion to an array."""

    def __init__(self, values, columns):
        self.values, self.columns = values, columns

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.values, dtype=dtype)


def test_column_names_are_remembered_and_compared():
    names = ["a", "b", "c"]
    model = SVC().fit(Frame(X, names), Y)
    assert model.feature_names_in_.tolist() == names
    model.predict(Frame(X, names))
    with pytest.raises(ValueError, match=r"should match(.|\n)*same order"):
        model.predict(Frame(X, ["b", "a", "c"]))
    with pytest.raises(ValueError, match=r"unseen at fit time:\n- d\n(.|\n)*now missing:\n- c"):
        model.predict(Frame(X, ["a", "b", "d"]))
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        model.predict(X)
    model.fit(X, Y)
    assert not hasattr(model, "feature_names_in_")
    with pytest.warns(UserWarning, match="fitted without feature names"):
        model.predict(Frame(X, names))


# -- sparse forms ----------------------------------------------------------------------------------


def unsorted_with_duplicates():
    """A CSR matrix equal to `dense`, rows unsorted, every entry split into two halves."""
    dense = rng(2).integers(0, 3, size=(20, 8)).astype(float)
    dense[5] = 0
    S = sp.csr_matrix(dense)
    split = sp.csr_matrix(
        (np.repeat(S.data / 2, 2), np.repeat(S.indices, 2), S.indptr * 2), shape=S.shape
    )
    for row in range(S.shape[0]):
        place = slice(*split.indptr[row : row + 2])
        split.indices[place] = split.indices[place][::-1].copy()
        split.data[place] = split.data[place][::-1].copy()
    return dense, split


def test_unsorted_duplicates_are_added_up_in_a_copy():
    dense, split = unsorted_with_duplicates()
    before = snapshot(split)
    matrix = check_matrix(split, "SVC")
    assert snapshot(split) == before
    assert not np.shares_memory(matrix.data, split.data)
    result = matrix.to_scipy()
    assert result.has_canonical_format
    np.testing.assert_array_equal(result.toarray(), dense)


def test_duplicates_of_truths_are_what_scipy_makes_of_them():
    data = np.array([True, True, True, False, False, False, True])
    S = sp.csr_matrix((data, [1, 0, 1, 2, 2, 0, 0], [0, 3, 5, 7]), shape=(3, 3))
    result = check_matrix(S, "SVC").to_scipy()
    np.testing.assert_array_equal(result.toarray(), S.toarray())


@pytest.mark.parametrize("form", ["csc", "coo", "lil", "dok", "bsr", "dia"])
@pytest.mark.parametrize("kind", ["matrix", "array"])
def test_every_sparse_format_is_accepted(form, kind):
    dense = rng(2).integers(0, 3, size=(20, 8)).astype(float)
    S = getattr(sp, f"{form}_{kind}")(dense)
    np.testing.assert_array_equal(check_matrix(S, "SVC").to_scipy().toarray(), dense)


def test_index_types_that_differ_are_unified():
    S = sp.csr_matrix(X)
    S.indptr = S.indptr.astype(np.int64)
    matrix = check_matrix(S, "SVC")
    assert matrix.indices.dtype == matrix.indptr.dtype == np.int64


def test_entries_past_the_last_row_are_ignored():
    S = sp.csr_matrix((np.r_[1.0, 2.0, np.nan], [0, 1, 99], [0, 1, 2]), shape=(2, 2))
    np.testing.assert_array_equal(check_matrix(S, "SVC").to_scipy().toarray(), [[1, 0], [0, 2]])


@pytest.mark.parametrize(
    ("attribute", "values", "fault"),
    [
        ("indices", [0, 5], "column index 5 is not below"),
        ("indices", [-1, 1], "column index -1 is negative"),
        ("indptr", [1, 1, 2], "must start at 0"),
        ("indptr", [0, 2, 1], "must not descend"),
        ("indptr", [0, 1, 7], "counts 7 entries"),
        ("indptr", [0, 1], "must have 3 elements"),
    ],
)
def test_broken_csr_is_refused(attribute, values, fault):
    S = sp.csr_matrix(np.eye(2))
    setattr(S, attribute, np.array(values, dtype=np.int32))
    with pytest.raises(ValueError, match=fault):
        check_matrix(S, "SVC")


@pytest.mark.parametrize(("indices", "wrong"), [([2, 9, 0], 9), ([1, -1, 2], -1)])
def test_a_wrong_column_inside_an_unsorted_row_is_refused(indices, wrong):
    S = sp.csr_matrix((np.ones(3), indices, [0, 3]), shape=(1, 10))
    S._shape = (1, 3)
    with pytest.raises(ValueError, match=f"column index {wrong} is"):
        check_matrix(S, "SVC")


@given(
    st.integers(1, 12).flatmap(
        lambda n: st.lists(
            st.tuples(st.integers(0, n - 1), st.integers(0, 4), st.integers(-3, 3)), max_size=40
        ).map(lambda entries: (n, entries))
    )
)
def test_canonical_form_of_any_entries(case):
    n, entries = case
    entries = sorted(entries, key=lambda entry: entry[0])  # by row; columns as they come
    rows, columns, values = np.array(entries, dtype=np.int64).reshape(-1, 3).T
    indptr = np.searchsorted(rows, np.arange(n + 1)).astype(np.int32)
    S = sp.csr_matrix((values.astype(float), columns.astype(np.int32), indptr), shape=(n, 5))
    expected = np.zeros((n, 5))
    np.add.at(expected, (rows, columns), values)
    matrix = check_matrix(S, "SVC")
    for row in range(n):
        stored = matrix.indices[matrix.indptr[row] : matrix.indptr[row + 1]]
        assert (np.diff(stored) > 0).all()
    np.testing.assert_array_equal(matrix.to_scipy().toarray(), expected)


@pytest.mark.parametrize("n_columns", [1, 3])
def test_products_and_rows(n_columns, monkeypatch):
    monkeypatch.setattr("maxmargin._input.sparse._BLOCK_ELEMENTS", 7)  # many blocks
    dense, split = unsorted_with_duplicates()
    matrix, W = check_matrix(split, "SVC"), rng(1).normal(size=(8, n_columns))
    weights, rows = rng(3).normal(size=20), np.array([3, 5, 5, 0, 19])
    for M in (matrix, dense, dense.astype(np.float32)):
        np.testing.assert_allclose(product(M, W), dense @ W, atol=1e-14)
        np.testing.assert_allclose(weighted_row_sum(M, weights), weights @ dense, atol=1e-13)
        taken = take_rows(M, rows)
        taken = taken.to_scipy().toarray() if isinstance(taken, CsrMatrix) else taken
        np.testing.assert_array_equal(taken, dense[rows])


# -- samples that are refused ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (np.empty((4, 0)), r"0 feature\(s\) \(shape=\(4, 0\)\)"),
        (np.empty((0, 2)), r"0 sample\(s\) \(shape=\(0, 2\)\)"),
        (sp.csr_matrix((4, 0)), r"0 feature\(s\)"),
        (sp.csr_matrix((0, 2)), r"0 sample\(s\)"),
        (np.ones(4), r"Expected 2D array, got 1D array instead, of shape \(4,\)\. Resh"),
        (1.0, "Expected 2D array, got scalar"),
        (np.ones((4, 1, 1)), "dim 3"),
        (np.ones((4, 2)) + 1j, "Complex data not supported"),
        (sp.csr_matrix(np.ones((4, 2)) + 1j), "Complex data not supported"),
        (np.array([["a", "b"]] * 4), "must hold real numbers"),
        (np.array([["a", 1.0]] * 4, dtype=object), "must hold real numbers.*'a'"),
        (np.array([["2020-01-01"]] * 4, dtype="M8[D]"), "must hold real numbers"),
        ([[1.0, 2.0], [3.0]] * 2, "inhomogeneous"),
        (np.full((4, 2), 1e154), "as large as 1e\\+154: their squares overflow. Scale the data"),
        (np.array([[10**400, 1]] * 4, dtype=object), "must hold real numbers"),
    ],
)
def test_bad_samples_are_refused(bad, message):
    with pytest.raises(ValueError, match=message):
        SVC().fit(bad, [0, 1, 0, 1])


def test_objects_that_are_no_numbers_are_refused():
    with pytest.raises(TypeError, match="must hold real numbers"):
        SVC().fit(np.array([[{}], [1.0]], dtype=object), [0, 1])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("container", [np.array, sp.csr_matrix])
@pytest.mark.parametrize(("value", "text"), [(np.nan, "NaN"), (np.inf, "inf"), (-np.inf, "inf")])
def test_nan_and_infinity_are_refused_at_fit_and_at_predict(dtype, container, value, text):
    bad = np.ones((5000, 40), dtype=dtype)
    bad[4321, 17] = value
    message = f"Input X contains {text}.*row 4321, column 17"
    with pytest.raises(ValueError, match=message):
        SVC().fit(container(bad), np.arange(5000) % 2)
    model = SVC().fit(rng(0).normal(size=(10, 40)).astype(dtype), np.arange(10) % 2)
    with pytest.raises(ValueError, match=message):
        model.predict(container(bad))


@pytest.mark.parametrize("container", [np.array, sp.csr_matrix])
def test_feature_counts_must_agree(container):
    model = SVC().fit(container(X), Y)
    for bad in (X[:, :2], np.c_[X, X]):
        message = f"X has {bad.shape[1]} features, but SVC is expecting 3 features as input"
        with pytest.raises(ValueError, match=message):
            model.predict(container(bad))
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        model.predict(container(np.empty((0, 3))))


def test_arguments_are_not_changed():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for A in (
            X.copy(),
            np.asfortranarray(X),
            X.astype(np.float32),
            sp.csr_matrix(X),
            sp.csc_matrix(X),
            sp.coo_matrix(X),
            unsorted_with_duplicates()[1],
        ):
            y, weight = np.arange(A.shape[0]) % 3, np.linspace(0.5, 1, A.shape[0])
            class_weight = {0: 2.0}
            before = snapshot(A), snapshot(y), snapshot(weight)
            model = SVC(class_weight=class_weight).fit(A, y, sample_weight=weight)
            model.predict(A)
            assert (snapshot(A), snapshot(y), snapshot(weight)) == before
            assert class_weight == {0: 2.0}


@pytest.mark.parametrize("n_sorted", [1, 7, 50, 2**20])
def test_rows_are_sorted_alike_however_many_at_a_time(monkeypatch, n_sorted):
    """Unsorted and repeated columns, and rows without entries, at the ends too."""
    monkeypatch.setattr(sparse, "_SORTED_ENTRIES", n_sorted)
    r = rng(3)
    lengths = np.r_[0, 0, r.integers(0, 12, 30), 40, 0]
    indptr = np.r_[0, np.cumsum(lengths)].astype(np.int32)
    indices = r.integers(0, 9, indptr[-1]).astype(np.int32)
    X = sp.csr_array((r.normal(size=indptr[-1]), indices, indptr), shape=(len(lengths), 9))
    found = sparse.csr_of(X)
    expected = X.copy()
    expected.sum_duplicates()
    np.testing.assert_array_equal(found.indptr, expected.indptr)
    np.testing.assert_array_equal(found.indices, expected.indices)
    np.testing.assert_allclose(found.data, expected.data, rtol=0, atol=1e-15)
    assert found.indptr.dtype == found.indices.dtype == np.int32
