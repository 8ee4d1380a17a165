"""What users may pass in, what comes of it, and what the messages say."""

from __future__ import annotations

import tracemalloc
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from maxmargin import SVC
from maxmargin._sparse import CsrMatrix, product, take_rows, weighted_row_sum
from maxmargin._validation import check_matrix, gamma_of
from maxmargin.exceptions import DataConversionWarning
from oracles import rng

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
    """As much of a data frame as is looked at: columns and conversion to an array."""

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
        ("indptr", [0, 1, 7], "tells of 7 entries"),
        ("indptr", [0, 1], "must have 3 elements"),
    ],
)
def test_broken_csr_is_refused(attribute, values, fault):
    S = sp.csr_matrix(np.eye(2))
    setattr(S, attribute, np.array(values, dtype=np.int32))
    with pytest.raises(ValueError, match=fault):
        check_matrix(S, "SVC")


@settings(deadline=None)
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
    monkeypatch.setattr("maxmargin._sparse._BLOCK_ELEMENTS", 7)  # many blocks
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
        (np.ones(4), "Expected 2D array, got 1D array"),
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


# -- labels ----------------------------------------------------------------------------------------

LABELS = {
    "int8": np.array([-1, 0, 1], "i1"),
    "uint64": np.array([1, 2, 3], "u8"),
    "float": np.array([-2.0, 0.0, 3.0]),
    "str": np.array(["no", "perhaps", "yes"]),
    "str object": np.array(["no", "perhaps", "yes"], object),
    "int object": np.array([1, 2, 3], object),
    "big-endian": np.array([1, 2, 3], ">i4"),
}


@pytest.mark.parametrize("kind", LABELS)
def test_label_types_are_kept(kind):
    labels = LABELS[kind]
    model, plain = SVC().fit(X, labels[Y]), SVC().fit(X, Y)
    assert model.classes_.tolist() == sorted(labels.tolist())
    assert model.predict(X).tolist() == labels[plain.predict(X)].tolist()
    if kind != "int object":
        assert model.predict(X).dtype == labels.dtype
    assert model.score(X, labels[Y]) == plain.score(X, Y)


def test_boolean_and_strided_labels():
    two = np.zeros((30, 2), bool)
    two[:, 0] = X[:, 0] > 0
    model = SVC().fit(X, two[:, 0])
    assert model.classes_.tolist() == [False, True]
    assert model.predict(X).dtype == bool


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (None, "requires y to be passed, but the target y is None"),
        (Y[:29], "X has 30 samples, but y has 29"),
        (np.c_[Y, Y], r"y should be a 1d array, got an array of shape \(30, 2\)"),
        (7, r"y should be a 1d array, got an array of shape \(\)"),
        (Y + 0.5, "Unknown label type: continuous"),
        ((Y + 0.5).astype(object), "Unknown label type: continuous"),
        (np.where(Y == 0, np.nan, Y), "Input y contains NaN"),
        (np.where(Y == 0, np.inf, Y), "Input y contains NaN or inf"),
        (np.array([None, *Y[1:]], object), "Unknown label type"),
        (np.array(["a", *Y[1:]], object), "mixes strings"),
        (Y + 1j, "Complex data not supported"),
        (np.full(30, 7), "only one class: .*7"),
        (np.full(30, "seven"), "only one class: .*seven"),
    ],
)
def test_bad_labels_are_refused(bad, message):
    with pytest.raises(ValueError, match=message):
        SVC().fit(X, bad)


def test_a_column_of_labels_is_flattened_with_a_warning():
    with pytest.warns(DataConversionWarning, match="column-vector y"):
        model = SVC().fit(X, Y[:, None])
    np.testing.assert_array_equal(model.predict(X), SVC().fit(X, Y).predict(X))


# -- weights ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (np.zeros(30), "zero for every sample"),
        (-np.ones(30), "must not be negative, got -1.0 at index 0"),
        (np.r_[np.ones(29), -0.5], "must not be negative, got -0.5 at index 29"),
        (np.full(30, np.nan), "contains NaN or inf"),
        (np.r_[np.inf, np.ones(29)], "contains NaN or inf"),
        (np.ones(29), r"sample_weight.shape == \(29,\), expected \(30,\)"),
        (np.ones((30, 1)), r"1D array, got one of shape \(30, 1\)"),
        (["a"] * 30, "must hold numbers"),
        (np.where(Y == 2, 0.0, 1.0), "class 2 has no weight"),
        (np.full(30, 1e308), "overflows"),
    ],
)
def test_bad_sample_weights_are_refused(bad, message):
    with pytest.raises(ValueError, match=message):
        SVC(C=100.0).fit(X, Y, sample_weight=bad)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ("other", "None, 'balanced' or a dict"),
        ([1.0, 2.0], "None, 'balanced' or a dict"),
        ({0: -1.0}, "class 0 to a finite number >= 0, got -1.0"),
        ({0: np.nan}, "class 0 to a finite number >= 0, got nan"),
        ({0: "a"}, "class 0 to a finite number >= 0, got 'a'"),
        ({0: 0.0}, "class 0 has no weight"),
        ({0: 1.0, 3: 1.0}, r"The classes, \[1, 2\], are not in class_weight"),
    ],
)
def test_bad_class_weights_are_refused(bad, message):
    with pytest.raises(ValueError, match=message):
        SVC(class_weight=bad).fit(X, Y)


def test_class_weights_are_those_of_scikit_learn():
    from sklearn.utils.class_weight import compute_class_weight

    y = np.repeat([0, 1, 2], [5, 9, 16])
    for weight in (None, "balanced", {1: 3.0}, {0: 0.5, 1: 2, 2: 7, 99: 1}):
        expected = compute_class_weight(weight, classes=np.arange(3), y=y)
        np.testing.assert_array_equal(SVC(class_weight=weight).fit(X, y).class_weight_, expected)


# -- parameters ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "bad"),
    [
        *[("C", bad) for bad in (0, -1, np.nan, np.inf, "1", None, True)],
        *[("gamma", bad) for bad in (0, -1.0, np.nan, np.inf, "sale", None, True)],
        *[("coef0", bad) for bad in (np.nan, np.inf, "0", None)],
        *[("degree", bad) for bad in (-1, 2.5, 2**31, "3", None, True)],
        *[("tol", bad) for bad in (0, -1, np.nan, np.inf, None)],
        *[("cache_size", bad) for bad in (0, -5, np.nan, np.inf, None)],
        *[("max_iter", bad) for bad in (-2, 1.5, None, True)],
        *[("time_limit", bad) for bad in (0, -1, np.nan, "1")],
        *[("n_jobs", bad) for bad in (0, -2, 1.5, True)],
        *[("kernel", bad) for bad in ("rbfs", None, 3, np.dot)],
        *[("shrinking", bad) for bad in (1, "yes", None)],
        *[("verbose", bad) for bad in (2, "yes")],
        *[("break_ties", bad) for bad in (1, "yes")],
        *[("decision_function_shape", bad) for bad in ("ovx", None)],
        ("callback", 3),
    ],
)
def test_bad_parameters_are_named_with_their_value(name, bad):
    with pytest.raises(ValueError, match=f"^{name} must be .*, got ") as caught:
        SVC(**{name: bad}).fit(X, Y)
    assert str(caught.value).split("got ")[1].startswith(repr(bad)[:5])


def test_message_of_a_bad_gamma():
    message = r"^gamma must be 'scale', 'auto' or a finite number > 0, got -1.0$"
    with pytest.raises(ValueError, match=message):
        SVC(gamma=-1.0).fit(X, Y)


@pytest.mark.parametrize("params", [
    {"C": np.float32(1)}, {"C": 2}, {"gamma": np.float64(0.5)}, {"degree": np.int64(2)},
    {"max_iter": np.int64(-1)}, {"shrinking": np.bool_(True)}, {"n_jobs": np.int64(2)},
    {"n_jobs": -1}, {"time_limit": 100}, {"cache_size": np.float32(1)},
    {"kernel": "poly", "degree": 0, "coef0": 1},
])  # fmt: skip
def test_numpy_numbers_are_accepted(params):
    SVC(**params).fit(X, Y)


def test_break_ties_needs_ovr():
    with pytest.raises(ValueError, match="break_ties must be False when"):
        SVC(break_ties=True, decision_function_shape="ovo").fit(X, Y)
    model = SVC(break_ties=True).fit(X, Y).set_params(decision_function_shape="ovo")
    with pytest.raises(ValueError, match="break_ties must be False when"):
        model.predict(X)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("container", [np.array, sp.csr_matrix])
def test_gamma_scale_is_one_over_features_times_variance(dtype, container):
    A = np.where(X > 0, X, 0).astype(dtype) + dtype(0)
    gamma = gamma_of("scale", check_matrix(container(A), "SVC"))
    assert gamma == pytest.approx(1.0 / (3 * A.astype(np.float64).var()), rel=1e-12)
    assert gamma_of("auto", A) == 1.0 / 3.0


@pytest.mark.parametrize("value", [0.0, 0.1, 2.5, -1e10, 1e-300])
def test_gamma_scale_of_constant_data_is_one(value):
    A = np.full((7, 3), value)
    assert gamma_of("scale", check_matrix(A, "SVC")) == 1.0
    assert gamma_of("scale", check_matrix(sp.csr_matrix(A), "SVC")) == 1.0


@pytest.mark.parametrize("factor", [1e-170, 1e-160])
def test_gamma_scale_outside_the_range_of_float64_is_refused(factor):
    A = X * factor
    try:
        gamma = gamma_of("scale", check_matrix(A, "SVC"))
    except ValueError as error:
        assert "scale the data" in str(error)  # noqa: PT017
    else:
        assert np.isfinite(gamma)
        assert gamma > 0


def test_a_failed_fit_leaves_the_model_as_it_was():
    model = SVC().fit(X, Y)
    expected = model.decision_function(X)
    for bad_X, bad_y, parameters in (
        (X[:, :2], np.zeros(30), {}),
        (np.full((30, 3), np.nan), Y, {}),
        (X[:, :2], Y, {"C": -1.0}),
        (X[:, :2], Y + 0.5, {}),
        (X * 50, Y, {"kernel": "poly", "degree": 2000, "gamma": 1.0}),
    ):
        params = model.get_params()
        with pytest.raises(ValueError):
            model.set_params(**parameters).fit(bad_X, bad_y)
        model.set_params(**params)
        np.testing.assert_array_equal(model.decision_function(X), expected)


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
