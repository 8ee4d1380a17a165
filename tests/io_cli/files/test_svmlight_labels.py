"""Multilabel svmlight data, qid, numbers too small for float64, and where data are written to."""

from __future__ import annotations

import io
import os

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import datasets

from maxmargin import SVC
from maxmargin.io import load_model, load_svmlight, save_model, save_svmlight

X = np.array([[1.5, 0.0], [0.0, 2.0], [0.0, 0.0], [3.0, 4.0]])
SETS = [(0.0, 2.0), (), (1.0,), (-1.0, 0.5, 7.0)]


def text_of(*args, **options):
    file = io.BytesIO()
    save_svmlight(file, *args, **options)
    return file.getvalue()


def test_multilabel_text_is_read_as_scikit_learn_does():
    text = b"2,0 1:1.5\n1:2 # none\n-1,0.5,+7 qid:3 2:4\n"
    got, labels = load_svmlight(text, multilabel=True)
    expected, sets = datasets.load_svmlight_file(io.BytesIO(text), multilabel=True)
    np.testing.assert_array_equal(got.toarray(), expected.toarray())
    assert labels == sets == [(0.0, 2.0), (), (-1.0, 0.5, 7.0)]


@pytest.mark.parametrize("text", ["1,,2 1:1", ",1 1:1", "1, 1:1", "1;2 1:1", "1,nan 1:1", "1,x"])
def test_bad_labels_are_refused(text):
    with pytest.raises(ValueError, match="line 1: labels must be finite numbers, joined by commas"):
        load_svmlight(text.encode(), multilabel=True)


def test_multilabel_round_trip():
    text = text_of(X, SETS, multilabel=True)
    assert text == b"0,2 1:1.5\n 2:2\n1\n-1,0.5,7 1:3 2:4\n"
    got, labels = load_svmlight(text, multilabel=True, dense=True)
    np.testing.assert_array_equal(got, X)
    assert labels == SETS


@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix])
def test_indicators_are_written_as_scikit_learn_does(container):
    indicators = np.array([[1, 0, 1], [0, 1, 0], [1, 1, 1], [0, 0, 1]])
    file = io.BytesIO()
    datasets.dump_svmlight_file(X, indicators, file, zero_based=False, multilabel=True)
    lines = file.getvalue().replace(b" \n", b"\n").splitlines()
    assert text_of(X, container(indicators), multilabel=True).splitlines() == lines


def test_what_no_line_can_show_is_refused():
    with pytest.raises(ValueError, match="row 2 has neither labels nor features"):
        text_of(X, [(1.0,), (), (), ()], multilabel=True)
    with pytest.raises(ValueError, match="same length"):
        text_of(X, SETS[:2], multilabel=True)
    with pytest.raises(ValueError, match="finite"):
        text_of(X, [(np.nan,)] * 4, multilabel=True)


def test_query_ids_are_written():
    ids = np.array([3, 3, -1, 2**62])
    text = text_of(X, [1.0, 2.0, 3.0, 4.0], query_id=ids)
    assert text.splitlines()[2] == b"3 qid:-1"
    got, y, read = load_svmlight(text, query_id=True, dense=True)
    np.testing.assert_array_equal(got, X)
    np.testing.assert_array_equal(read, ids)
    _, _, theirs = datasets.load_svmlight_file(io.BytesIO(text), query_id=True)
    np.testing.assert_array_equal(theirs, ids)
    assert y.tolist() == [1.0, 2.0, 3.0, 4.0]


@pytest.mark.parametrize("ids", [[1.5, 1, 1, 1], ["a"] * 4, [1, 2, 3], 1])
def test_bad_query_ids_are_refused(ids):
    with pytest.raises(ValueError, match=r"query_id must|same length"):
        text_of(X, np.zeros(4), query_id=ids)


@pytest.mark.parametrize(
    ("number", "value"),
    [("1e-400", 0.0), ("-1e-400", -0.0), ("0." + 400 * "0" + "1", 0.0),
     ("1e-99999999999999999999", 0.0),
     (400 * "1" + "e-800", 0.0), ("0." + 400 * "0" + "1e420", 1e19), ("4.9e-324", 5e-324)],
)  # fmt: skip
def test_a_number_too_small_is_zero(number, value):
    got, y = load_svmlight(f"{number} 1:{number}\n".encode(), dense=True)
    assert got[0, 0] == y[0] == value
    assert np.signbit(got[0, 0]) == np.signbit(value)
    assert float(number) == value


@pytest.mark.parametrize(
    "number", ["1e400", "-1e400", 400 * "1", "1e99999999999999999999", "0." + 9 * "0" + "1e4000"]
)
def test_a_number_too_large_is_refused(number):
    with pytest.raises(ValueError, match="finite"):
        load_svmlight(f"1 1:{number}\n".encode(), dense=True)


def test_an_open_file_is_written_to(tmp_path):
    model = SVC(kernel="linear").fit(X, [0, 0, 1, 1])
    file = io.BytesIO()
    save_model(model, file)
    assert file.getvalue().startswith(b"svm_type c_svc")
    np.testing.assert_array_equal(load_model(file.getvalue()).predict(X), model.predict(X))
    with pytest.raises(TypeError, match="binary mode"):
        save_svmlight(io.StringIO(), X, np.zeros(4))


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs Linux's full device")
def test_the_error_of_a_full_disk_names_the_file():
    with pytest.raises(OSError, match="/dev/full"):
        save_svmlight("/dev/full", X, np.zeros(4))
