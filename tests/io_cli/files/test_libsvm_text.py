"""The text of LIBSVM models: exact round trips, free layout, and what is refused."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maxmargin import _core
from maxmargin.io import load_model
from oracles.libsvm_models import KERNELS, dense

MODEL = b"""svm_type c_svc
kernel_type polynomial
degree 2
gamma 0.25
coef0 -1e-3
nr_class 3
total_sv 4
rho 0.5 -0.25 0.125
label 3 -1 2
nr_sv 2 1 1
SV
1 0.5 1:0.5 3:-2\x20
0 1 2:1\x20
-1 0.75\x20
-0.5 -0.75 1:1e-3 4:7\x20
"""


def raw_model(seed=0, n_classes=3, sparse=False, kernel="rbf"):
    """Random parts of a model: awkward numbers, classes of 0, 1, 2 .. support vectors."""
    rng = np.random.default_rng(seed)
    n_support = np.arange(n_classes)
    n_vectors = int(n_support.sum())
    vectors = rng.normal(size=(n_vectors, 4)) * 10.0 ** rng.integers(-300, 300, (n_vectors, 4))
    vectors[rng.random(vectors.shape) < 0.4] = 0
    vectors[0, -1] = 1 / 3
    if sparse:
        rows, columns = np.nonzero(vectors)
        indptr = np.searchsorted(rows, np.arange(n_vectors + 1))
        vectors = (vectors[rows, columns], np.ascontiguousarray(columns), indptr, 4)
    return {
        "type": "c_svc",
        "kernel": _core.KernelParams(kernel, 1 / 3, -0.1, 4),
        "n_features": 4,
        "labels": np.sort(rng.choice(100, n_classes, replace=False)) - 50.0,
        "n_support": n_support,
        "dual_coef": rng.normal(size=(n_classes - 1, n_vectors)),
        "rho": rng.normal(size=n_classes * (n_classes - 1) // 2) * 1e-5,
        "support_vectors": vectors,
        "vote_order": rng.permutation(n_classes),
    }


read_model = _core.KernelModel.from_libsvm


def written(parts):
    return _core.KernelModel(**parts).to_libsvm()


def assert_same_model(got, expected):
    for name in ("labels", "n_support", "dual_coef", "rho", "vote_order"):
        assert getattr(got, name).shape == expected[name].shape
        np.testing.assert_array_equal(getattr(got, name), expected[name], err_msg=name)
    assert dense(got.support_vectors).tobytes() == dense(expected["support_vectors"]).tobytes()
    kernel = got.kernel
    assert kernel.type == expected["kernel"].type
    used = {"linear": [], "rbf": ["gamma"], "sigmoid": ["gamma", "coef0"]}
    for name in used.get(kernel.type, ["gamma", "coef0", "degree"]):
        assert getattr(kernel, name) == getattr(expected["kernel"], name)


# -- what is read and written ----------------------------------------------------------------------


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("n_classes", [2, 3, 7])
@pytest.mark.parametrize("sparse", [False, True])
def test_round_trip_is_exact(kernel, n_classes, sparse):
    model = raw_model(n_classes, n_classes, sparse, kernel)
    text = written(model)
    read = read_model(text)
    assert_same_model(read, model)
    assert read.to_libsvm() == text


@given(
    numbers=st.lists(
        st.floats(allow_nan=False, allow_infinity=False, width=64), min_size=6, max_size=6
    )
)
def test_round_trip_of_any_numbers(numbers):
    model = raw_model(n_classes=2)
    model["rho"] = np.array(numbers[:1])
    model["dual_coef"] = np.array([numbers[1:3]])
    model["n_support"] = np.array([1, 1])
    model["support_vectors"] = np.array([[numbers[3], 1.0], [numbers[4], numbers[5]]]) + 0.0
    model["n_features"] = 2
    read = read_model(written(model))
    assert_same_model(read, model)


def test_text_is_libsvms():
    read = read_model(MODEL.replace(b"label 3 -1 2", b"label -3 -1 2"))
    assert read.to_libsvm() == (
        MODEL.replace(b"label 3 -1 2", b"label -3 -1 2")
        .replace(b"e-3", b"E")
        .replace(b"-1E", b"-0.001")
        .replace(b"1E", b"0.001")
    )


@pytest.mark.usefixtures("decimal_comma")
def test_decimal_comma():
    model = raw_model()
    assert_same_model(read_model(written(model)), model)


def test_float32_vectors_are_written_exactly():
    model = raw_model(n_classes=3)
    model["support_vectors"] = np.float32([[0.1, 0], [0, 0], [-0.0, 1 / 3]])
    model["n_features"] = 2
    read = read_model(written(model))
    np.testing.assert_array_equal(
        dense(read.support_vectors), model["support_vectors"].astype(np.float64)
    )


def test_no_support_vectors():
    text = b"svm_type c_svc\nkernel_type linear\nnr_class 2\ntotal_sv 0\nrho -1\nlabel 0 1\n"
    model = read_model(text + b"nr_sv 0 0\nSV\n")
    assert model.dual_coef.shape == (1, 0)
    assert dense(model.support_vectors).shape == (0, 1)
    assert model.to_libsvm() == text + b"nr_sv 0 0\nSV\n"


def test_layout_is_free():
    header, vectors = MODEL.split(b"SV\n", 1)
    lines = header.splitlines()
    shuffled = b"\n\n".join(reversed(lines)) + b"\n\nSV\n" + vectors.replace(b" \n", b"\n\n")
    for text in (shuffled, MODEL.replace(b"\n", b"\r\n"), b"\xef\xbb\xbf" + MODEL):
        assert read_model(text).to_libsvm() == read_model(MODEL).to_libsvm()


@pytest.mark.parametrize(
    ("zero_based", "columns"), [(None, [0, 1]), (False, [0, 1]), (True, [1, 2])]
)
def test_zero_based(zero_based, columns):
    text = MODEL.replace(b"3:-2", b"2:-2").replace(b"4:7", b"2:7")
    vectors = dense(read_model(text, zero_based).support_vectors)
    assert np.flatnonzero(vectors.any(axis=0)).tolist() == columns
    text = text.replace(b"1:0.5", b"0:0.5")
    assert dense(read_model(text).support_vectors)[0].tolist() != [0.5, -2, 0]
    with pytest.raises(ValueError, match="indices must start at 1"):
        read_model(text, False)


def test_n_features():
    assert read_model(MODEL).n_features == 4
    assert read_model(MODEL, None, 9).n_features == 9
    with pytest.raises(ValueError, match="line 15: index 4 is beyond n_features = 3"):
        read_model(MODEL, None, 3)


# -- what is refused -------------------------------------------------------------------------------


def read_or_refusal(text):
    """Return what was read, or the message of the error."""
    try:
        return read_model(text)
    except ValueError as error:
        return str(error)


def changed(before, after):
    assert before in MODEL
    return MODEL.replace(before, after, 1)


def test_the_model_that_is_spoilt_below_is_good():
    assert read_model(MODEL).n_support.sum() == 4


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (b"", 1, "ends before the line 'SV'"),
        (b"svm_type c_svc\n", 1, "ends before the line 'SV'"),
        (b"svm_type c_svc\nkernel_type rbf\ntotal_sv 1000000000\nSV\n", 4, "gamma is missing"),
        (b"\x00\x01\x02", 1, r"unknown keyword, got '\x00\x01\x02'"),
        (b"svm_type c_svc\nkernel_type nope\n", 2, "ends before the line 'SV'"),
        (changed(b"polynomial", b"nope"), 2, "kernel_type 'nope' is none of linear"),
        (changed(b"polynomial", b"precomputed"), 12, "index 3 is beyond"),
        (changed(b"c_svc", b"one_class"), 8, "rho must be one number"),
        (changed(b"c_svc", b"epsilon_svr"), 8, "rho must be one number"),
        (changed(b"c_svc", b"\xff"), 1, r"svm_type '\xff' is none of c_svc"),
        (changed(b"rho", b"probA 1 2 3\nrho"), 12, "probB is missing"),
        (changed(b"rho", b"probA 1\nprobB 1\nrho"), 8, "probA must have a number for each rho"),
        (changed(b"rho", b"probA 1 2 nan\nrho"), 8, "probA must be a finite number, got 'nan'"),
        (changed(b"c_svc", b""), 1, "svm_type must be one word"),
        (changed(b"degree 2", b"degree -1"), 3, "degree must be >= 0"),
        (changed(b"degree 2", b"degree 2.5"), 3, "degree must be a whole number, got '2.5'"),
        (changed(b"degree 2", b"degree 2 3"), 3, "degree must be one number"),
        (changed(b"gamma 0.25", b"gamma -1"), 4, "gamma must be >= 0"),
        (changed(b"gamma 0.25", b"gamma nan"), 4, "gamma must be a finite number, got 'nan'"),
        (changed(b"gamma 0.25", b"gamma 0,25"), 4, "gamma must be a finite number, got '0,25'"),
        (changed(b"gamma 0.25\n", b""), 10, "gamma is missing before the line 'SV'"),
        (changed(b"nr_class 3", b"nr_class 1"), 6, "nr_class must be >= 2"),
        (changed(b"nr_class 3", b"nr_class 4"), 9, "label must have nr_class numbers"),
        (changed(b"nr_class 3", b"nr_class 9999999999999"), 9, "label must have nr_class numbers"),
        (changed(b"total_sv 4", b"total_sv 5"), 10, "add up to total_sv"),
        (changed(b"total_sv 4", b"total_sv 3"), 10, "add up to total_sv"),
        (changed(b"total_sv 4", b"total_sv -4"), 7, "total_sv must be >= 0"),
        (changed(b"nr_sv 2 1 1", b"nr_sv 2 3 -1"), 10, "add up to total_sv"),
        (changed(b"nr_sv 2 1 1", b"nr_sv 2 2"), 10, "nr_sv must have nr_class numbers"),
        (
            changed(b"nr_sv 2 1 1", b"nr_sv 9223372036854775807 9223372036854775807 6"),
            10,
            "add up to total_sv",
        ),
        (changed(b"rho 0.5", b"rho nan"), 8, "rho must be a finite number, got 'nan'"),
        (changed(b"rho 0.5", b"rho"), 8, r"rho must have nr_class (nr_class - 1) / 2 numbers"),
        (changed(b"label 3 -1 2", b"label 3 -1 3"), 9, "label must not name a class twice"),
        (changed(b"label 3 -1 2", b"label 3 -1 2.5"), 9, "label must be a whole number"),
        (changed(b"label 3 -1 2", b"label 3 -1 3000000000"), 9, "label must be a whole number"),
        (changed(b"label 3 -1 2\n", b""), 10, "label is missing"),
        (changed(b"rho", b"rho 1\nrho"), 9, "keyword given twice, got 'rho'"),
        (changed(b"rho", b"hello 1\nrho"), 8, "unknown keyword, got 'hello'"),
        (changed(b"\nSV\n", b"\nSV 4\n"), 11, "SV must stand alone"),
        (changed(b"3:-2", b"1:-2"), 12, "indices must ascend strictly"),
        (changed(b"3:-2", b"0:-2"), 12, "indices must ascend strictly"),
        (changed(b"3:-2", b"3:nan"), 12, "expected index:value with a finite value, got '3:nan'"),
        (changed(b"3:-2", b"3:"), 12, "expected index:value with a finite value, got '3:'"),
        (changed(b"3:-2", b"3"), 12, "expected index:value with a finite value, got '3'"),
        (changed(b"1 0.5 1", b"1 1"), 12, "expected 2 finite coefficients, got '1:0.5'"),
        (changed(b"1 0.5 1", b"1 inf 1"), 12, "expected 2 finite coefficients"),
        (changed(b"-1 0.75 ", b"-1 "), 14, "expected 2 finite coefficients, got ''"),
        (MODEL + b"1 1 1:2 \n", 16, "more support vectors than total_sv"),
        (MODEL + b"\x00\n", 16, "more support vectors than total_sv"),
        (MODEL[: MODEL.rindex(b"-0.5")], 14, "ends after 3 of total_sv = 4 support vectors"),
    ],
)
def test_refuses(text, line, message):
    with pytest.raises(ValueError, match=rf"^line {line}: .*{re.escape(message)}"):
        read_model(text)


def test_numbers_in_the_text_allocate_nothing():
    huge = changed(b"total_sv 4", b"total_sv 1000000000000")
    huge = huge.replace(b"nr_sv 2 1 1", b"nr_sv 999999999998 1 1")
    with pytest.raises(ValueError, match="ends after 4 of total_sv = 1000000000000"):
        read_model(huge)


def test_every_truncation_is_refused():
    for size in range(len(MODEL)):
        with pytest.raises(ValueError, match=r"^line \d+: "):
            read_model(MODEL[:size])


@given(place=st.integers(0, len(MODEL) - 1), junk=st.binary(max_size=3), cut=st.integers(0, 3))
def test_spoilt_text_is_read_or_refused(place, junk, cut):
    result = read_or_refusal(MODEL[:place] + junk + MODEL[place + cut :])
    if isinstance(result, str):
        assert re.match(r"line \d+: ", result)
    else:
        assert result.n_support.sum() == result.dual_coef.shape[1]
        assert np.isfinite(result.rho).all()


@pytest.mark.parametrize(
    ("part", "value", "message"),
    [
        ("labels", np.array([1.0, 2.0, 2.5]), "32-bit integer labels"),
        ("labels", np.array([1.0, 2.0, 2.0**31]), "32-bit integer labels"),
        ("labels", np.array([1.0, 2.0, np.nan]), "32-bit integer labels"),
        ("labels", np.array([1.0, 2.0]), "labels must have n_classes elements"),
        ("n_support", np.array([1, 1, 2]), "n_support must add up"),
        ("rho", np.array([0.0, np.nan, 0.0]), "not finite"),
        ("rho", np.zeros(2), "rho must have"),
        ("dual_coef", np.zeros((1, 3)), "dual_coef must have"),
        ("dual_coef", np.full((2, 3), np.inf), "not finite"),
        ("support_vectors", np.full((3, 1), np.nan), "not finite"),
        ("kernel", _core.KernelParams("rbf", np.inf, 0.0, 3), "not finite"),
    ],
)
def test_write_refuses(part, value, message):
    with pytest.raises(ValueError, match=message):
        written({**raw_model(n_classes=3), part: value})


def test_load_names_the_file(tmp_path):
    (tmp_path / "bad.model").write_bytes(b"svm_type nu_svd\n")
    with pytest.raises(ValueError, match=r"bad\.model, line 1: "):
        load_model(tmp_path / "bad.model")
    with pytest.raises(ValueError, match="zero_based must be True, False or 'auto', got None"):
        load_model(MODEL, zero_based=None)
    with pytest.raises(ValueError, match="n_features must be an integer >= 1"):
        load_model(MODEL, n_features=-1)


def test_sparse_file_stays_sparse(tmp_path):
    text = changed(b"4:7", b"1000000000:7")
    model = load_model(text)
    assert model.n_features_in_ == 1_000_000_000


def test_support_vectors_that_are_all_zero_need_n_features():
    text = b"svm_type c_svc\nkernel_type linear\nnr_class 2\ntotal_sv 0\nrho -1\nlabel 0 1\n"
    none = text + b"nr_sv 0 0\nSV\n"
    assert load_model(none, n_features=2).predict(np.zeros((1, 2))).tolist() == [0]
    assert load_model(none).n_features_in_ == 1
    zeros = text.replace(b"total_sv 0", b"total_sv 2") + b"nr_sv 1 1\nSV\n1 \n-1 \n"
    with pytest.raises(ValueError, match="pass n_features"):
        load_model(zeros)
    assert load_model(zeros, n_features=2).predict(np.zeros((1, 2))).tolist() == [0]
