"""The svmlight / LIBSVM data format: what is read, what is refused, and exact round trips."""

import builtins
import gzip
import io
import locale
import os
import stat
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from maxmargin.io import load_svmlight, save_svmlight

sparse = pytest.importorskip("scipy.sparse")

SAMPLE = (
    b"# a comment\n+1 1:0.5 3:-2.25e-3 # tail\r\n\n-1 qid:4 2:1e10\n"
    b"0.25\n3 1:1 2:2 3:3 4:4 5:5 6:6 7:7\r-7 4:4.9e-324 5:1.7976931348623157e308\n"
    b"2 1:-.5 2:5. 3:+1e-3\t \n-3 1:0.3333333333333333 6:123456789.125 7:-1e-300#c\n"
)


def read_dense(data, **options):
    return load_svmlight(data, dense=True, **options)


def read_or_refusal(data, **options):
    """Return what was read, or the message of the error."""
    try:
        return load_svmlight(data, **options)
    except ValueError as error:
        return str(error)


def assert_same(got, X, y):
    np.testing.assert_array_equal(got[0], np.asarray(X, dtype=float))
    np.testing.assert_array_equal(got[1], np.asarray(y, dtype=float))


# -- what is read ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "X", "y"),
    [
        (b"# head\n1 1:2\n\n-1 2:3 # tail 3:9\n", [[2, 0], [0, 3]], [1, -1]),
        (b"1 1:2#tail\n-1 2:3 #\n#", [[2, 0], [0, 3]], [1, -1]),
        (b"2 qid:7 1:1\n1 qid:7 2:1\n", [[1, 0], [0, 1]], [2, 1]),
        (b"1 1:2  \t \r\n-1 2:1\t\r\n", [[2, 0], [0, 1]], [1, -1]),
        (b"1\t1:1\t2:2", [[1, 2]], [1]),
        (b"  1 1:1\n\t-1 2:2", [[1, 0], [0, 2]], [1, -1]),
        (b"1 1:1\r-1 2:2\r", [[1, 0], [0, 2]], [1, -1]),
        (b"1 1:1\r\r\n-1 2:2\r\n", [[1, 0], [0, 2]], [1, -1]),
        (b"1 0:5 1:2\n", [[5, 2]], [1]),
        (b"1 2:5\n0 0:1\n", [[0, 0, 5], [1, 0, 0]], [1, 0]),
        (b"1 1:5\n", [[5]], [1]),
        (b"0 1:.5 2:5. 3:+1e-3\n", [[0.5, 5, 1e-3]], [0]),
        (b"1\n-1 1:1\n", [[0], [1]], [1, -1]),
        (b"\xef\xbb\xbf1 1:2\n", [[2]], [1]),
        (b"1 01:2 002:3\n", [[2, 3]], [1]),
        (b"1 1:4.9e-324 2:1.7976931348623157e308\n", [[5e-324, 1.7976931348623157e308]], [1]),
        (b"-0.5 1:1E+2 2:-0\n", [[100, 0]], [-0.5]),
        (b"1 2:0\n", [[0, 0]], [1]),
    ],
)
def test_reads(data, X, y):
    assert_same(read_dense(data), X, y)
    matrix, labels = load_svmlight(data)
    assert_same((matrix.toarray(), labels), X, y)


@pytest.mark.parametrize("data", [b"", b"\n\r\n", b"# only\n# comments", b"\xef\xbb\xbf"])
def test_no_samples(data):
    X, y = load_svmlight(data)
    assert X.shape == (0, 0)
    assert y.shape == (0,)
    assert load_svmlight(data, n_features=3, dense=True)[0].shape == (0, 3)


def test_result_is_canonical_csr():
    X, y = load_svmlight(SAMPLE)
    assert sparse.isspmatrix_csr(X)
    assert X.has_canonical_format
    assert X.dtype == y.dtype == np.float64
    assert X.indices.dtype == X.indptr.dtype == np.int32
    assert X.nnz == 18


def test_dense_is_c_contiguous():
    X, _ = read_dense(SAMPLE, dtype=np.float64)
    assert X.flags.c_contiguous
    assert X.shape == (7, 7)


@pytest.mark.parametrize(
    ("zero_based", "X"),
    [(True, [[0, 5, 0, 7]]), (False, [[5, 0, 7]]), ("auto", [[5, 0, 7]])],
)
def test_zero_based(zero_based, X):
    assert_same(read_dense(b"1 1:5 3:7\n", zero_based=zero_based), X, [1])


def test_n_features():
    assert_same(read_dense(b"1 2:5\n", n_features=4), [[0, 5, 0, 0]], [1])
    assert load_svmlight(b"1 2:5\n", n_features=4)[0].shape == (1, 4)
    assert_same(read_dense(b"1 0:5 3:1\n", n_features=4), [[5, 0, 0, 1]], [1])


@pytest.mark.parametrize(("data", "line"), [(b"1 1:1\n1 2:5\n", 2), (b"1 1:1\n1 1:5\n1 0:1\n", 1)])
def test_index_beyond_n_features(data, line):
    with pytest.raises(ValueError, match=rf"line {line}: index \d is beyond n_features = 1"):
        load_svmlight(data, n_features=1)


def test_query_id():
    X, y, query_id = read_dense(b"2 qid:7 1:1\n1 qid:-8\n", query_id=True)
    assert_same((X, y), [[1], [0]], [2, 1])
    assert query_id.dtype == np.int64
    assert query_id.tolist() == [7, -8]


def test_query_id_is_wanted_but_missing():
    with pytest.raises(ValueError, match="line 2: expected qid:number after the label, got '2:1'"):
        load_svmlight(b"2 qid:7 1:1\n1 2:1\n", query_id=True)


@pytest.mark.parametrize("index", [2**31, 99999999999, 2**62])
def test_indices_beyond_32_bits(index):
    X, y = load_svmlight(f"1 7:3\n-1 {index}:2\n".encode())
    assert X.shape == (2, index)
    assert X.indices.tolist() == [6, index - 1]
    assert X.data.tolist() == [3, 2]
    assert y.tolist() == [1, -1]


def test_dense_refuses_what_memory_cannot_hold():
    with pytest.raises((MemoryError, ValueError)):
        read_dense(b"1 4611686018427387904:1\n")


def test_float32():
    X, _ = load_svmlight(b"1 1:0.1\n", dtype=np.float32)
    assert X.dtype == np.float32
    assert X.data[0] == np.float32(0.1)
    with pytest.raises(ValueError, match=r"1e\+300 is beyond the range of float32"):
        load_svmlight(b"1 1:1e300\n", dtype=np.float32)


# -- what is refused -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "token"),
    [
        (b"0 1:1.00 3: .50", "3:"),
        (b"1 3:1 1:2", "1:2"),
        (b"1 2:1 2:2", "2:2"),
        (b"1 1:nan 2:inf", "1:nan"),
        (b"1 1:1 2:-inf", "2:-inf"),
        (b"1 1:NAN(7)", "1:NAN(7)"),
        (b"nan 1:1", "nan"),
        (b"inf 1:1", "inf"),
        (b"1 1:1e400", "1:1e400"),
        (b"1e400 1:1", "1e400"),
        (b"1 1:abc", "1:abc"),
        (b"1 a:1", "a:1"),
        (b"1 -1:1", "-1:1"),
        (b"1 +1:1", "+1:1"),
        (b"1 1:", "1:"),
        (b"1 5", "5"),
        (b"1,2 1:1", "1,2"),
        (b"1 1:0,5", "1:0,5"),
        (b"1 1:0x10", "1:0x10"),
        (b"1 :1", ":1"),
        (b"1 :", ":"),
        (b"1 1:2:3", "1:2:3"),
        (b"1 1:+-2", "1:+-2"),
        (b"1 1:++2", "1:++2"),
        (b"1 1:--2", "1:--2"),
        (b"1 1:+", "1:+"),
        (b"1 1.0:2", "1.0:2"),
        (b"1 1:1e", "1:1e"),
        (b"1 1:2 qid:3", "qid:3"),
        (b"1 qid: 1:2", "qid:"),
        (b"1 qid:1.5 1:2", "qid:1.5"),
        (b"1 qid:99999999999999999999 1:2", "qid:99999999999999999999"),
        (b"1 9223372036854775807:1", "9223372036854775807:1"),
        (b"1 18446744073709551617:1", "18446744073709551617:1"),
        (b"1 99999999999999999999999999:1", "99999999999999999999999999:1"),
        (b"1:2 3:4", "1:2"),
        (b"abc", "abc"),
        (b"1 1:2 \x00", r"\x00"),
        (b"1 1:2\x0b3:4", r"1:2\x0b3:4"),
        (b"1 \xff\xfe:2", r"\xff\xfe:2"),
        (b"1 1:\xc2\xa01", r"1:\xc2\xa01"),
        (b"1 " + b"x" * 1000, "x" * 40 + "..."),
    ],
)
def test_refuses(line, token):
    for end in (b"", b"\n", b"\r\n", b" # comment\n"):
        with pytest.raises(ValueError) as caught:
            load_svmlight(b"# head\r\n\n-1 2:3\r" + line + end)
        assert str(caught.value).startswith("line 4: ")
        assert str(caught.value).endswith(f", got '{token}'")


def test_one_based_file_with_index_zero():
    with pytest.raises(ValueError, match=r"line 1: indices must start at 1 .*, got '0:5'"):
        load_svmlight(b"1 0:5 1:2\n", zero_based=False)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"zero_based": "yes"}, "zero_based must be True, False or 'auto', got 'yes'"),
        ({"zero_based": 1}, "zero_based must be True, False or 'auto', got 1"),
        ({"n_features": 0}, "n_features must be an integer >= 1"),
        ({"n_features": 2.0}, "n_features must be an integer >= 1"),
        ({"n_features": 2**63}, "n_features must be an integer >= 1"),
        ({"dtype": np.int64}, "dtype must be float32 or float64"),
        ({"query_id": 1}, "query_id must be True or False, got 1"),
        ({"dense": None}, "dense must be True or False, got None"),
    ],
)
def test_refuses_options(options, message):
    with pytest.raises(ValueError, match=message):
        load_svmlight(b"1 1:1\n", **options)


def test_every_truncation_is_read_or_refused():
    assert len(SAMPLE) > 200
    whole, _ = read_dense(SAMPLE)
    for size in range(len(SAMPLE)):
        result = read_or_refusal(SAMPLE[:size], n_features=7, dense=True)
        if isinstance(result, str):
            assert result.startswith("line ")
        else:
            X, y = result
            assert len(X) == len(y)
            complete = max(0, len(X) - 1)
            np.testing.assert_array_equal(X[:complete], whole[:complete])


@given(data=st.binary(max_size=60) | st.text("01279:.+-e #\n\r\tqid\0nainf", max_size=60))
def test_any_bytes_are_read_or_refused(data):
    result = read_or_refusal(data.encode() if isinstance(data, str) else data)
    if isinstance(result, str):
        assert result.startswith("line ")
    else:
        X, y = result
        X.check_format(full_check=True)
        assert np.isfinite(X.data).all()
        assert np.isfinite(y).all()


# -- sources ---------------------------------------------------------------------------------------


def test_sources(tmp_path):
    path = tmp_path / "data.txt"
    path.write_bytes(SAMPLE)
    X, y = read_dense(SAMPLE)
    for source in (path, str(path), io.BytesIO(SAMPLE), bytearray(SAMPLE), memoryview(SAMPLE)):
        assert_same(read_dense(source), X, y)
    with path.open("rb") as file:
        assert_same(read_dense(file), X, y)
    with gzip.open(io.BytesIO(gzip.compress(SAMPLE))) as file:
        assert_same(read_dense(file), X, y)


def test_text_file_is_refused(tmp_path):
    with pytest.raises(TypeError, match="binary mode"):
        load_svmlight(io.StringIO("1 1:1\n"))


def test_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        load_svmlight(tmp_path / "nothing")


def test_error_names_the_file(tmp_path):
    path = tmp_path / "bad.txt"
    path.write_bytes(b"1 1:1\n1 x\n")
    for source in (path, str(path)):
        with pytest.raises(ValueError, match=r"bad\.txt, line 2: .*got 'x'"):
            load_svmlight(source)


def test_without_scipy(monkeypatch):
    real_import = builtins.__import__

    def no_scipy(name, *args, **kwargs):
        if name.split(".")[0] == "scipy":
            raise ImportError("no scipy here")
        return real_import(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", no_scipy)
    with pytest.raises(ImportError, match="dense=True"):
        load_svmlight(b"1 1:1\n")
    assert_same(read_dense(b"1 1:1\n"), [[1]], [1])


# -- writing ---------------------------------------------------------------------------------------


def round_trip(path, X, y, **options):
    save_svmlight(path, X, y, **options)
    return load_svmlight(
        path,
        n_features=X.shape[1],
        dense=not sparse.issparse(X),
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
    got, labels = round_trip(path, sparse.csr_matrix(X), y, zero_based=zero_based)
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
    X = sparse.random(10_000, 20, density=0.2, format="csr", random_state=rng)
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
    save_svmlight(path, sparse.csr_matrix(X), y, zero_based=True)
    assert path.read_bytes() == b"1 1:1.5\n-1\n100000 0:-2 1:1e-07\n"


def test_stored_zeros_are_left_out(tmp_path):
    X = sparse.csr_matrix((np.array([0.0, 2.0]), [0, 1], [0, 2]), shape=(1, 2))
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


@pytest.mark.skipif(not os.path.exists("/dev/null"), reason="no /dev/null")
def test_save_to_a_device_does_not_replace_it():
    save_svmlight("/dev/null", [[1.0]], [1])
    assert not os.path.isfile("/dev/null")


def test_scikit_learn_agrees(tmp_path):
    datasets = pytest.importorskip("sklearn.datasets")
    rng = np.random.default_rng(2)
    X = sparse.random(200, 30, density=0.3, format="csr", random_state=rng)
    y = rng.integers(0, 3, 200).astype(float)
    save_svmlight(tmp_path / "x", X, y)
    theirs, labels = datasets.load_svmlight_file(tmp_path / "x", n_features=30, zero_based=False)
    assert (theirs != X).nnz == 0
    np.testing.assert_array_equal(labels, y)
    datasets.dump_svmlight_file(X, y, str(tmp_path / "z"), comment="theirs")
    ours, labels = load_svmlight(tmp_path / "z", n_features=30, zero_based=True)
    np.testing.assert_allclose(ours.toarray(), X.toarray(), rtol=1e-15)
    np.testing.assert_array_equal(labels, y)


def test_decimal_comma(tmp_path):
    before = locale.setlocale(locale.LC_NUMERIC)
    for name in ("de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "nl_NL.UTF-8", "de_DE"):
        try:
            locale.setlocale(locale.LC_NUMERIC, name)
            break
        except locale.Error:
            continue
    else:
        pytest.skip("no locale with a decimal comma")
    try:
        X = np.array([[0.5, 1 / 3]])
        assert_same(round_trip(tmp_path / "x", X, [2.5]), X, [2.5])
    finally:
        locale.setlocale(locale.LC_NUMERIC, before)
