"""Inputs that made other SVM libraries fail, each with the right behaviour.

The reference objectives and values were measured with LIBSVM 3.37 and scikit-learn 1.9.1 at tight
tolerances, or follow from the problem by hand.
"""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import SVC
from oracles.problems import conflicting_duplicates, rng
from oracles.svm import check_binary, dual_objective, kernel, true_violation, unconverged_fit

# -- degenerate data -------------------------------------------------------------------------------


def test_duplicated_points_with_conflicting_labels():
    X, y = conflicting_duplicates()
    model = SVC(gamma=1.0, tol=1e-6).fit(X, y)
    assert check_binary(model, X, y, gamma=1.0) == pytest.approx(-17.584691, rel=1e-6)
    assert model.intercept_[0] == pytest.approx(0.792345, abs=1e-5)

    distinct, counts = np.unique(np.c_[X, y], axis=0, return_counts=True)
    assert len(distinct) == 8
    merged = SVC(gamma=1.0, tol=1e-6).fit(distinct[:, :2], distinct[:, 2], sample_weight=counts)
    assert merged.certificate_.dual_objective == pytest.approx(-17.584691, rel=1e-6)
    np.testing.assert_allclose(merged.decision_function(X), model.decision_function(X), atol=1e-5)

    linear = SVC(kernel="linear", C=10.0, tol=1e-6).fit(X, y)
    assert check_binary(linear, X, y) == pytest.approx(-180.0, rel=1e-6)


def test_all_rows_equal():
    X, y = np.full((6, 3), 2.5), np.array([1, -1, 1, -1, 1, 1])
    model = SVC(gamma="scale", tol=1e-6).fit(X, y)
    assert check_binary(model, X, y, gamma=1.0) == pytest.approx(-4.0, rel=1e-6)
    assert (model.predict(X) == 1).all()
    assert np.isfinite(model.decision_function(X)).all()


@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix])
def test_a_constant_column_changes_nothing(container):
    X, y = rng(0).normal(size=(30, 2)), rng(1).integers(0, 2, 30)
    Z = np.c_[X, np.full(30, 7.0)]
    plain = SVC(gamma=0.5, tol=1e-8).fit(container(X), y)
    more = SVC(gamma=0.5, tol=1e-8).fit(container(Z), y)
    np.testing.assert_allclose(
        more.decision_function(container(Z)), plain.decision_function(container(X)), atol=1e-6
    )


def test_one_class_is_refused():
    with pytest.raises(ValueError, match="one class"):
        SVC().fit(np.eye(4), [7, 7, 7, 7])


# -- scale -----------------------------------------------------------------------------------------


def noisy_halves():
    r = rng(0)
    X = r.normal(size=(40, 3))
    return X, np.where(X[:, 0] + 0.3 * r.normal(size=40) > 0, 1, -1)


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_feature_scale_is_undone_by_gamma(scale):
    X, y = noisy_halves()
    model = SVC(gamma=(1 / 3) / scale**2, tol=1e-6).fit(X * scale, y)
    objective = check_binary(model, X * scale, y, gamma=(1 / 3) / scale**2)
    assert objective == pytest.approx(-10.228051, rel=1e-6)
    assert model.intercept_[0] == pytest.approx(-0.343592, abs=1e-5)
    assert len(model.support_) == 22
    assert (np.abs(model.dual_coef_) == 1.0).sum() == 11


@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix])
def test_a_large_offset_does_not_matter_to_rbf(container):
    X, y = noisy_halves()
    X = np.round(X * 2**20) / 2**20  # so that the shift is exact
    shifted = X + 2.0**20
    plain = SVC(gamma=1 / 3, tol=1e-8).fit(X, y)
    model = SVC(gamma=1 / 3, tol=1e-8).fit(container(shifted), y)
    np.testing.assert_allclose(
        model.decision_function(container(shifted)), plain.decision_function(X), atol=1e-6
    )


def test_squares_that_overflow_are_refused():
    X, y = noisy_halves()
    for name in ("rbf", "linear", "poly", "sigmoid"):
        with pytest.raises(ValueError, match="Scale the data"):
            SVC(kernel=name).fit(X * 1e154, y)


@pytest.mark.parametrize("scale", [1e20, 1e100, 1e153])
def test_huge_values_give_a_finite_model_or_an_error(scale):
    X, y = noisy_halves()
    for name in ("rbf", "linear", "poly", "sigmoid"):
        try:
            model = unconverged_fit(SVC(kernel=name, max_iter=20_000), X * scale, y)
        except ValueError as error:
            assert f"kernel='{name}'" in str(error) or "gamma" in str(error)  # noqa: PT017
        else:
            assert np.isfinite(model.dual_coef_).all()
            assert np.isfinite(model.decision_function(X * scale)).all()


def test_linear_kernel_on_large_values_ends():
    X, y = noisy_halves()
    model = unconverged_fit(SVC(kernel="linear", max_iter=20_000), X * 1e8, y)
    assert np.isfinite(model.dual_coef_).all()
    assert model.n_iter_[0] <= 20_000


# -- kernels at their limits -----------------------------------------------------------------------


def rank_one_problem():
    r = rng(0)
    x = r.integers(-8, 9, size=(60, 1)).astype(float)
    return x, np.where(r.random(60) < 0.5, 1.0, -1.0)


RANK_ONE = {"kernel": "poly", "degree": 4, "gamma": 0.96, "coef0": 0.0, "C": 100.0, "tol": 1e-2}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_kernel_of_rank_one_ends_with_a_true_certificate(dtype):
    X, y = rank_one_problem()
    objectives = []
    for max_iter in (10, 100, 1000, 10_000, 200_000):
        model = unconverged_fit(SVC(max_iter=max_iter, **RANK_ONE), X.astype(dtype), y)
        K, beta, violation = true_violation(model, X, y, gamma=0.96, degree=4)
        alpha = np.where(y == 1, beta, -beta)
        assert (alpha >= 0).all()
        assert (alpha <= 100).all()
        assert abs(beta.sum()) <= 1e-9 * alpha.sum()
        rounding = 1e-11 * np.abs(K).max() * alpha.sum()
        assert model.certificate_.kkt_violation == pytest.approx(violation, rel=1e-6, abs=rounding)
        objectives.append(dual_objective(K, beta))
        assert objectives[-1] >= -5460.1075
        assert model.certificate_.dual_objective == pytest.approx(objectives[-1], rel=1e-6)
    falls = np.diff(objectives)
    assert (falls <= 1e-6 * np.abs(objectives[-1])).all()


def test_polynomial_of_degree_30_is_finite_or_refused():
    X, y = rng(0).normal(size=(60, 20)) * 5, np.arange(60) % 2
    for A in (X, X.astype(np.float32), sp.csr_matrix(X)):
        try:
            model = unconverged_fit(SVC(kernel="poly", degree=30, gamma=1.0), A, y)
        except ValueError as error:
            assert "kernel='poly'" in str(error)  # noqa: PT017
            assert "reduce degree" in str(error)  # noqa: PT017
        else:
            assert np.isfinite(model.dual_coef_).all()
            assert np.isfinite(model.intercept_).all()
            assert np.isfinite(model.decision_function(A)).all()


def test_a_kernel_past_the_range_of_float64_is_refused():
    X, y = rng(0).normal(size=(60, 20)) * 5, np.arange(60) % 2
    with pytest.raises(ValueError, match=r"kernel='poly' \(degree=300.*reduce degree, gamma or"):
        SVC(kernel="poly", degree=300, gamma=1.0).fit(X, y)


def test_prediction_past_the_range_of_float64_is_refused():
    X, y = noisy_halves()
    model = SVC(kernel="poly", degree=5, gamma=1.0).fit(X, y)
    with pytest.raises(ValueError, match=r"kernel='poly'.*overflows"):
        model.predict(X * 1e80)


def test_indefinite_sigmoid_kernel_reaches_a_stationary_point():
    X, y = rng(0).normal(size=(30, 2)), np.r_[np.ones(18), -np.ones(12)]
    params = {"gamma": 1.0, "coef0": -1.0}
    K = kernel(X, X, "sigmoid", **params)
    assert np.linalg.eigvalsh(K)[0] < -10
    objectives = []
    for megabytes in (1e-9, 200):
        model = SVC(kernel="sigmoid", C=10.0, cache_size=megabytes, **params).fit(X, y)
        objectives.append(check_binary(model, X, y, **params))
    assert objectives[0] == objectives[1]
    assert objectives[0] < -800


# -- weights ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix])
def test_rows_of_weight_zero_are_left_out(container):
    X, y = rng(0).normal(size=(30, 2)), np.r_[np.ones(18), -np.ones(12)]
    w = rng(1).random(30)
    w[::3] = 0
    model = SVC(gamma=0.5, tol=1e-8).fit(container(X), y, sample_weight=w)
    objective = check_binary(model, X, y, sample_weight=w, gamma=0.5)
    assert objective == pytest.approx(-8.161396, rel=1e-6)
    assert (w[model.support_] > 0).all()
    vectors = model.support_vectors_
    vectors = vectors.toarray() if sp.issparse(vectors) else vectors
    np.testing.assert_array_equal(vectors, X[model.support_])
    fewer = SVC(gamma=0.5, tol=1e-8).fit(container(X[w > 0]), y[w > 0], sample_weight=w[w > 0])
    np.testing.assert_allclose(fewer.decision_function(X), model.decision_function(X), atol=1e-6)


def test_a_class_of_weight_zero_is_refused_by_name():
    X, y = rng(5).normal(size=(24, 3)), np.repeat([0, 1, 2], 8)
    X += y[:, None]
    w = np.where(y == 2, 0.0, 1.0)
    with pytest.raises(ValueError, match="class 2 has no weight"):
        SVC(kernel="linear").fit(X, y, sample_weight=w)


def test_class_weights_go_to_their_class():
    X, y = np.array([[0.0], [5.0], [4.0]]), np.array([-1, -1, 1])
    for labels, weight in ((y, {-1: 0.4, 1: 1.0}), (np.array(["b", "a"])[(y > 0) * 1], None)):
        weight = {"b": 0.4, "a": 1.0} if weight is None else weight
        model = SVC(kernel="linear", C=50, class_weight=weight, tol=1e-8).fit(X, labels)
        alpha = np.zeros(3)
        alpha[model.support_] = np.abs(model.dual_coef_[0])
        np.testing.assert_allclose(alpha, [5.125, 20, 25.125], rtol=1e-6)
        sign = 1.0 if labels is y else -1.0  # 'a' < 'b', so that class "a" is the negative one
        assert model.coef_[0, 0] == pytest.approx(sign * 0.5, rel=1e-6)
        assert model.intercept_[0] == pytest.approx(sign * -1.0, rel=1e-6)
        assert model.certificate_.dual_objective == pytest.approx(-50.125, rel=1e-6)


def test_class_weights_reach_every_pair():
    X, y = np.repeat(np.arange(9.0), 2).reshape(9, 2), np.repeat([0, 1, 2], 3)
    params = {"gamma": 0.075, "tol": 1e-8, "decision_function_shape": "ovo"}
    assert SVC(**params).fit(X, y).predict(X).tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    model = SVC(class_weight={0: 0.05, 1: 20.0, 2: 0.2}, **params).fit(X, y)
    assert (model.predict(X) == 1).all()
    values = model.decision_function(X)[[0, 4, 8], 0]
    np.testing.assert_allclose(values, [-0.852544, -1.019063, -0.938923], atol=1e-6)


# -- labels and ties -------------------------------------------------------------------------------


def halves():
    X = rng(0).normal(size=(20, 2))
    return X, np.where(X[:, 0] > 0, 1, 0)


def test_the_sign_does_not_depend_on_the_order_of_rows():
    X, y = halves()
    for order in (
        np.argsort(y, kind="stable"),
        np.argsort(-y, kind="stable"),
        rng(1).permutation(20),
    ):
        model = SVC(kernel="linear", tol=1e-8).fit(X[order], y[order])
        assert model.decision_function(X[:1])[0] == pytest.approx(0.225797, abs=1e-6)
        assert abs(model.dual_coef_.sum()) < 1e-9


@pytest.mark.parametrize(
    "pair", [(-1, 1), (0, 1), (2, 1), (False, True), ("b", "a"), (3.0, -2.0)], ids=str
)
def test_positive_is_the_greater_label(pair):
    X, y = halves()
    labels = np.array(pair)[y]
    model = SVC(kernel="linear", tol=1e-8).fit(X, labels)
    assert model.classes_.tolist() == sorted(pair)
    value = model.decision_function(X[:1])[0]
    assert value == pytest.approx(0.225797 if pair[1] > pair[0] else -0.225797, abs=1e-6)
    predicted = model.predict(X)
    assert predicted.dtype == labels.dtype
    np.testing.assert_array_equal(predicted == model.classes_[1], model.decision_function(X) >= 0)


def test_a_three_way_tie_follows_the_rule():
    angles = np.deg2rad([90, 210, 330])
    P = np.c_[np.cos(angles), np.sin(angles)]
    params = {"kernel": "linear", "C": 100.0, "tol": 1e-8}
    model = SVC(decision_function_shape="ovo", **params).fit(P, [0, 1, 2])
    values = model.decision_function([[0.0, 0.0]])
    np.testing.assert_allclose(values, 0.0, atol=1e-6)
    # Zero votes for the second class of a pair; the first of the classes with most votes wins.
    votes = [0, 0, 0]
    for value, (i, j) in zip(values[0], [(0, 1), (0, 2), (1, 2)], strict=True):
        votes[i if value > 0 else j] += 1
    assert model.predict([[0.0, 0.0]])[0] == votes.index(max(votes))
    ties = SVC(break_ties=True, **params).fit(P, [0, 1, 2])
    scores = ties.decision_function([[0.0, 0.0]])
    assert ties.predict([[0.0, 0.0]])[0] == scores[0].argmax()


def test_the_order_of_rows_does_not_matter():
    X, y = rng(0).normal(size=(60, 3)), rng(1).integers(0, 3, 60)
    order = rng(2).permutation(60)
    params = {"gamma": 0.5, "tol": 1e-8, "decision_function_shape": "ovo"}
    plain, permuted = SVC(**params).fit(X, y), SVC(**params).fit(X[order], y[order])
    np.testing.assert_allclose(permuted.decision_function(X), plain.decision_function(X), atol=1e-6)
    for p, (i, j) in enumerate([(0, 1), (0, 2), (1, 2)]):
        of = np.repeat([0, 1, 2], plain.n_support_)
        total = plain.dual_coef_[j - 1, of == i].sum() + plain.dual_coef_[i, of == j].sum()
        assert abs(total) < 1e-9, p
