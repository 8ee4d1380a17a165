"""Writing the svmlight / LIBSVM format: exact round trips, the text itself, and whole files."""

from __future__ import annotations

import os
import stat
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn import datasets

from maxmargin.io import load_svmlight, save_svmlight


def round_trip(path, X, y, **options):
    save_svmlight(path, X, y, **options)
    return load_svmlight(
        path,
        n_features=X.shape[1],
        dense=not sp.issparse(X),
        zero_based=options.get("zero_based", False),
    )


finite = st.floats(allow_nan=False, allow_infinity=False)


@given(data=st.data(), zero_based=st.booleans())
def test_round_trip_is_exact(tmp_path_factory, data, zero_based):
    shape = data.draw(hnp.array_shapes(min_dims=2, max_dims=2, max_side=5))
    X = data.draw(hnp.arrays(np.float64, shape, elements=finite))
    y = data.draw(hnp.arrays(np.float64, shape[0], elements=finite))
    path = tmp_path_factory.getbasetemp() / "round_trip.txt"
    got, labels = round_trip(path, X, y, zero_based=zero_based)
    np.testing.assert_array_equal(got, X)
    assert labels.tobytes() == y.tobytes()
    got, labels = round_trip(path, sp.csr_matrix(X), y, zero_based=zero_based)
    np.testing.assert_array_equal(got.toarray(), X)
    assert labels.tobytes() == y.tobytes()


def test_round_trip_of_awkward_numbers(tmp_path):
    X = np.array([[1 / 3, np.pi, 1e-300]])
    got, y = round_trip(tmp_path / "x", X, [1 / 3])
    assert got.tobytes() == X.tobytes()
    assert y[0] == 1 / 3


def test_float32_comes_back_exactly(tmp_path):
    X = np.random.default_rng(0).normal(size=(50, 4)).astype(np.float32)
    got, _ = round_trip(tmp_path / "x", X, np.zeros(50))
    np.testing.assert_array_equal(got, X.astype(np.float64))


def test_many_rows(tmp_path):
    rng = np.random.default_rng(1)
    X = sp.random(10_000, 20, density=0.2, format="csr", random_state=rng)
    y = rng.integers(-5, 5, 10_000)
    got, labels = round_trip(tmp_path / "x", X, y)
    assert (got != X).nnz == 0
    np.testing.assert_array_equal(labels, y)


@pytest.mark.parametrize(
    "y", [[1, -1, 100000], np.array([1.0, -1.0, 1e5]), np.array([1, -1, 100000], np.int32)]
)
def test_text(tmp_path, y):
    path = tmp_path / "x"
    X = np.array([[0, 1.5], [0, 0], [-2, 1e-7]])
    save_svmlight(path, X, y, comment="first\nsecond \u00e9")
    expected = "# first\n# second \u00e9\n1 2:1.5\n-1\n100000 1:-2 2:1e-07\n"
    assert path.read_bytes() == expected.encode()
    save_svmlight(path, sp.csr_matrix(X), y, zero_based=True)
    assert path.read_bytes() == b"1 1:1.5\n-1\n100000 0:-2 1:1e-07\n"


def test_stored_zeros_are_left_out(tmp_path):
    X = sp.csr_matrix((np.array([0.0, 2.0]), [0, 1], [0, 2]), shape=(1, 2))
    save_svmlight(tmp_path / "x", X, [1])
    assert (tmp_path / "x").read_bytes() == b"1 2:2\n"


@pytest.mark.parametrize("y", [np.array([True, False]), np.array([1, 0], np.uint8), [1.0, 0.0]])
def test_types_of_labels(tmp_path, y):
    save_svmlight(tmp_path / "x", np.eye(2), y)
    assert (tmp_path / "x").read_bytes() == b"1 1:1\n0 2:1\n"


def test_no_rows(tmp_path):
    save_svmlight(tmp_path / "x", np.empty((0, 3)), [])
    assert (tmp_path / "x").read_bytes() == b""


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ([[np.nan]], [1], "X must be finite, row 0"),
        ([[1.0], [np.inf]], [1, 2], "X must be finite, row 1"),
        ([[1.0]], [np.nan], "y must be finite, row 0"),
        ([[1.0]], [1, 2], "same length"),
        ([1.0], [1], "two dimensions"),
        ([[1.0]], [[1]], "y must have one dimension"),
        ([[1.0]], ["a"], "y must hold real numbers"),
        ([[1.0]], [2**60 + 1], r"2\*\*53"),
        ([[1.0]], [1j], "y must hold real numbers"),
    ],
)
def test_save_refuses(tmp_path, X, y, message):
    path = tmp_path / "x"
    path.write_bytes(b"before")
    with pytest.raises(ValueError, match=message):
        save_svmlight(path, X, y)
    assert path.read_bytes() == b"before"
    assert os.listdir(tmp_path) == ["x"]


def test_save_refuses_options(tmp_path):
    with pytest.raises(ValueError, match="zero_based must be True or False, got 'auto'"):
        save_svmlight(tmp_path / "x", [[1.0]], [1], zero_based="auto")
    with pytest.raises(ValueError, match="comment must be a string or None, got 3"):
        save_svmlight(tmp_path / "x", [[1.0]], [1], comment=3)


@pytest.mark.skipif(sys.platform == "win32", reason="file modes and links of POSIX")
def test_save_keeps_mode_and_link(tmp_path):
    path, link = tmp_path / "x", tmp_path / "link"
    path.write_bytes(b"before")
    path.chmod(0o640)
    link.symlink_to(path)
    save_svmlight(link, [[1.0]], [1])
    assert link.is_symlink()
    assert path.read_bytes() == b"1 1:1\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


@pytest.mark.parametrize("folder", [None, "nowhere"])
def test_save_to_a_device_does_not_replace_it(monkeypatch, folder):
    if folder is not None:  # as on Windows
        monkeypatch.setattr(os.path, "realpath", lambda path: f"{folder}/{path}")
    save_svmlight(os.devnull, [[1.0]], [1])
    assert not os.path.isfile(os.devnull)


def test_scikit_learn_agrees(tmp_path):
    rng = np.random.default_rng(2)
    X = sp.random(200, 30, density=0.3, format="csr", random_state=rng)
    y = rng.integers(0, 3, 200).astype(float)
    save_svmlight(tmp_path / "x", X, y)
    theirs, labels = datasets.load_svmlight_file(tmp_path / "x", n_features=30, zero_based=False)
    assert (theirs != X).nnz == 0
    np.testing.assert_array_equal(labels, y)
    datasets.dump_svmlight_file(X, y, str(tmp_path / "z"), comment="theirs")
    ours, labels = load_svmlight(tmp_path / "z", n_features=30, zero_based=True)
    np.testing.assert_allclose(ours.toarray(), X.toarray(), rtol=1e-15)
    np.testing.assert_array_equal(labels, y)


@pytest.mark.usefixtures("decimal_comma")
def test_decimal_comma(tmp_path):
    X = np.array([[0.5, 1 / 3]])
    got, y = round_trip(tmp_path / "x", X, [2.5])
    assert got.tobytes() == X.tobytes()
    assert y.tolist() == [2.5]
