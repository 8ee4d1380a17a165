"""Reading the svmlight / LIBSVM format: what is read and what is refused."""

from __future__ import annotations

import builtins
import bz2
import gzip
import io
import lzma

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from maxmargin._input import files
from maxmargin.io import load_svmlight

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
    assert sp.isspmatrix_csr(X)
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


@pytest.mark.parametrize("index", [2**63 - 1, 2**64 - 1, 2**64, 10**30])
def test_refuses_an_index_beyond_64_bits_by_name(index):
    message = f"line 1: an index must be at most {2**63 - 2}, got '{index}:1'"
    with pytest.raises(ValueError, match=message):
        load_svmlight(f"1 {index}:1\n".encode())


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
        assert result.startswith(("line ", "begins like a file of "))
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


@pytest.mark.parametrize("module", [gzip, bz2, lzma])
def test_compressed_files_are_opened_by_content(tmp_path, module):
    X, y = read_dense(b"1 1:0.5 3:2\n-1 2:1\n")
    path = tmp_path / "data.txt"
    path.write_bytes(module.compress(b"1 1:0.5 3:2\n-1 2:1\n"))
    for source in (path, path.read_bytes(), io.BytesIO(path.read_bytes())):
        A, b = read_dense(source)
        np.testing.assert_array_equal(A, X)
        np.testing.assert_array_equal(b, y)
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(ValueError, match=rf"data\.txt, begins like a file of {module.__name__}"):
        load_svmlight(path)


@pytest.mark.parametrize("module", [gzip, bz2, lzma])
def test_compressed_files_may_be_joined_and_padded_and_nothing_else_may_follow(module):
    first, second = module.compress(b"1 1:0.5 3:2\n"), module.compress(b"-1 2:1\n")
    X, y = read_dense(b"1 1:0.5 3:2\n-1 2:1\n")
    for joined in (first + second, first + bytes(8) + second + bytes(512)):
        A, b = read_dense(joined)
        np.testing.assert_array_equal(A, X)
        np.testing.assert_array_equal(b, y)
    name = module.__name__
    for junk in (b"junk", b"\n", bytes(4) + b"1 1:1\n", second[1:]):
        with pytest.raises(ValueError, match=f"of {name}, but: what follows its end"):
            load_svmlight(first + junk)
    for n in range(1, len(second)):
        with pytest.raises(ValueError, match=f"begins like a file of {name}, but: "):
            load_svmlight(first + second[:n])
    with pytest.raises(ValueError, match=f"begins like a file of {name}, but: it ends early"):
        load_svmlight(first + second[:-1])


@pytest.mark.parametrize("module", [gzip, bz2, lzma])
def test_compressed_files_longer_than_what_is_read_at_a_time(module, monkeypatch):
    monkeypatch.setattr(files, "_BYTES_AT_A_TIME", 5)
    text = b"".join(b"%d 1:%d\n" % (i % 2, i) for i in range(200))
    assert files.read_bytes(module.compress(text) + module.compress(text)) == text + text
