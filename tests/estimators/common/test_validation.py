"""Labels, weights and parameters: what is accepted, and what the messages say."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import SVC
from maxmargin._input import check_labels, check_matrix, gamma_of
from maxmargin.exceptions import DataConversionWarning
from oracles.problems import rng

X = rng(0).normal(size=(30, 3))
Y = np.arange(30) % 3


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


@pytest.mark.parametrize("scale", [1, 1000, 10**6, 2**58])
@pytest.mark.parametrize("dtype", [np.int64, np.int16, np.uint8, np.float64, np.float32, bool])
def test_codes_are_those_of_sorted_labels(scale, dtype):
    with np.errstate(invalid="ignore"):
        labels = (scale * rng(1).integers(-2, 3, 60)).astype(np.int64).astype(dtype)
    labels[:2] = [0, 1]
    codes, classes = check_labels(labels, 60, "SVC")
    expected, places = np.unique(labels, return_inverse=True)
    np.testing.assert_array_equal(classes, expected)
    np.testing.assert_array_equal(codes, places)
    assert (classes.dtype, codes.dtype) == (labels.dtype, np.int64)


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
        (Y[:29], "X has 30 samples, but y has 29 labels"),
        (Y[:1], "X has 30 samples, but y has 1 label$"),
        (np.c_[Y, Y], r"y should be a 1d array, got an array of shape \(30, 2\)"),
        (7, r"y should be a 1d array, got an array of shape \(\)"),
        (Y + 0.5, "Unknown label type: continuous"),
        ((Y + 0.5).astype(object), "Unknown label type: continuous"),
        (np.where(Y == 0, np.nan, Y), "Input y contains NaN"),
        (np.where(Y == 0, np.inf, Y), "Input y contains NaN or inf"),
        (np.array([None, *Y[1:]], object), "Input y contains NaN, None or NA"),
        (np.array([object(), *Y[1:]], object), "Unknown label type"),
        (np.array(["a", *Y[1:]], object), "mixes strings"),
        (Y + 1j, "Complex data not supported"),
        (np.full(30, 7.0), r"only one class: 7\.0$"),
        (np.full(30, "seven"), "only one class: 'seven'$"),
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
        (["a"] * 30, "must hold real numbers"),
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
        (
            {0: 1.0, np.int64(3): 1.0},
            r"^class_weight names \[3\], which y does not hold; its classes are \[0, 1, 2\]$",
        ),
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
        *[("C", bad) for bad in (0, -1, np.nan, -np.inf, "1", None, True)],
        *[("gamma", bad) for bad in (0, -1.0, np.nan, np.inf, "sale", None, True)],
        *[("coef0", bad) for bad in (np.nan, np.inf, "0", None)],
        *[("degree", bad) for bad in (-1, 2.5, 2**31, "3", None, True)],
        *[("tol", bad) for bad in (0, -1, np.nan, np.inf, None)],
        *[("cache_size", bad) for bad in (0, -5, np.nan, np.inf, None)],
        *[("max_iter", bad) for bad in (-2, 1.5, None, True)],
        *[("time_limit", bad) for bad in (0, -1, np.nan, "1")],
        *[("n_jobs", bad) for bad in (0, 1.5, True, "2")],
        *[("kernel", bad) for bad in ("rbfs", None, 3)],
        *[("shrinking", bad) for bad in (1, "yes", None)],
        *[("verbose", bad) for bad in (-1, "yes")],
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
    for bad in (-1.0, np.float64(-1.0)):
        with pytest.raises(ValueError, match=message):
            SVC(gamma=bad).fit(X, Y)


@pytest.mark.parametrize("params", [
    {"C": np.float32(1)}, {"C": 2}, {"gamma": np.float64(0.5)}, {"degree": np.int64(2)},
    {"max_iter": np.int64(-1)}, {"shrinking": np.bool_(True)}, {"n_jobs": np.int64(2)},
    {"n_jobs": -1}, {"n_jobs": -2}, {"time_limit": 100}, {"cache_size": np.float32(1)},
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
