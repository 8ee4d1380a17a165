"""Bounds and estimates of the leave-one-out error against leaving out one by one."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import SVC, NotFittedError, NuSVC, Perceptron, diagnostics
from oracles.problems import rng, two_classes
from oracles.svm import kernel

N = 40
PARAMS = [
    {"kernel": "rbf", "gamma": 2.0, "C": 0.5},
    {"kernel": "rbf", "gamma": 2.0, "C": 20.0},
    {"kernel": "linear", "C": 0.1},
    {"kernel": "poly", "gamma": 1.0, "coef0": 1.0, "degree": 2, "C": 1.0},
    {"kernel": "rbf", "gamma": 0.5, "C": 2.0, "loss": "squared_hinge"},
    {"kernel": "rbf", "gamma": 1.0, "C": np.inf},
]
HINGE = [p for p in PARAMS if "loss" not in p and np.isfinite(p["C"])]


def problem(params, seed):
    r = rng(seed)
    X = r.normal(size=(N, 2))
    noise = 0.0 if np.isinf(params["C"]) else 0.7
    return X, np.where(X[:, 0] + noise * r.normal(size=N) > 0, 1, -1)


def fitted(params, X, y, **kwargs):
    return SVC(**params, tol=1e-8).fit(X, y, **kwargs)


def roles(model, n):
    """0 for no support vector, 1 for a free one, 2 for one at its bound."""
    roles = np.zeros(n)
    is_bounded = (np.abs(model.dual_coef_[0]) >= model.C) & (model.loss == "hinge")
    roles[model.support_] = np.where(is_bounded, 2, 1)
    return roles


def left_out(params, X, y):
    """The true y_i f^i(x_i), and whether the others kept their roles."""
    all_roles = roles(fitted(params, X, y), len(y))
    margins, kept = np.empty(len(y)), np.empty(len(y), dtype=bool)
    for i in range(len(y)):
        rest = np.arange(len(y)) != i
        model = fitted(params, X[rest], y[rest])
        margins[i] = y[i] * model.decision_function(X[i : i + 1])[0]
        kept[i] = (roles(model, len(y) - 1) == all_roles[rest]).all()
    return margins, kept


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("params", PARAMS, ids=str)
def test_bounds_hold_and_span_estimates_are_exact_where_they_say_so(params, seed):
    X, y = problem(params, seed)
    true, kept = left_out(params, X, y)
    model = fitted(params, X, y)
    error = np.mean(true <= 0)
    estimates = diagnostics.leave_one_out_margins(model, X, y)
    np.testing.assert_allclose(estimates[kept], true[kept], atol=1e-6)
    assert abs(np.mean(estimates <= 0) - error) <= 0.15
    assert error <= diagnostics.radius_margin_bound(model, X, y)
    if params in HINGE:
        bound = diagnostics.leave_one_out_bound(model, X, y)
        assert error <= bound <= len(model.support_) / N


def distance_from_plane(K, p, others):
    """The squared distance of phi_p from the affine hull of others, by least squares."""
    # With phi_p - phi_0 = sum of c_j (phi_j - phi_0): the products of differences.
    first, rest = others[0], others[1:]
    inner = K[np.ix_(rest, rest)] - K[rest, first][:, None] - K[first, rest] + K[first, first]
    side = K[rest, p] - K[rest, first] - K[first, p] + K[first, first]
    c = np.linalg.lstsq(inner, side, rcond=1e-10)[0]
    return K[p, p] - 2 * K[p, first] + K[first, first] - c @ side


@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("params", PARAMS, ids=str)
def test_spans_are_distances_from_a_plane(params, container):
    X, y = problem(params, 2)
    model = fitted(params, container(X), y)
    numbers = {name: params[name] for name in ("gamma", "coef0", "degree") if name in params}
    K = kernel(X, X, params["kernel"], **numbers)
    role, alpha = roles(model, N), np.zeros(N)
    alpha[model.support_] = np.abs(model.dual_coef_[0])
    expected = y * model.decision_function(container(X))
    ridged = K + np.eye(N) / (2 * params["C"]) if "loss" in params else K
    for p in model.support_:
        free = [i for i in range(N) if role[i] == 1 and i != p]
        span = distance_from_plane(ridged, p, free) - (ridged - K)[p, p]
        expected[p] -= alpha[p] * span
    found = diagnostics.leave_one_out_margins(model, container(X), y)
    np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize("C", [1.0, 1000.0])
@pytest.mark.parametrize("offset", [1e4, 1e6])
def test_data_off_the_origin_have_the_same_spans_and_radius(C, offset):
    X = rng(0).normal(size=(20, 3))
    y = (X[:, 0] + 0.1 * rng(1).normal(size=20) > 0).astype(int)
    params = {"kernel": "linear", "C": C}
    model, moved = fitted(params, X, y), fitted(params, X + offset, y)
    np.testing.assert_allclose(
        diagnostics.leave_one_out_margins(moved, X + offset, y),
        diagnostics.leave_one_out_margins(model, X, y),
        atol=1e-5,
    )
    assert diagnostics.radius_margin_bound(moved, X + offset, y) == pytest.approx(
        diagnostics.radius_margin_bound(model, X, y), rel=1e-5
    )
    sparse = fitted(params, sp.csr_matrix(X + 100.0), y)
    np.testing.assert_allclose(
        diagnostics.leave_one_out_margins(sparse, sp.csr_matrix(X + 100.0), y),
        diagnostics.leave_one_out_margins(model, X, y),
        atol=1e-5,
    )


def test_a_copy_of_a_free_support_vector_has_no_span():
    X, y = np.array([[-1.0], [-1.0], [1.0], [1.0]]), np.array([-1, -1, 1, 1])
    model = fitted({"kernel": "linear", "C": 0.3}, X, y)  # 0.3 + 0.2 on each side
    role = roles(model, 4)
    assert sorted(role) == [1, 1, 2, 2]
    margins = diagnostics.leave_one_out_margins(model, X, y)
    np.testing.assert_allclose(margins[role == 2], 1.0, atol=1e-6)
    np.testing.assert_allclose(margins[role == 1], 1.0 - 0.2 * 2.0**2, atol=1e-6)


def test_without_free_support_vectors_every_one_counts_as_an_error():
    X, y = np.array([[-1.0], [0.5], [-0.5], [1.0]]), np.array([-1, -1, 1, 1])
    model = fitted({"kernel": "linear", "C": 1e-3}, X, y)
    assert (np.abs(model.dual_coef_[0]) == 1e-3).all()
    margins = diagnostics.leave_one_out_margins(model, X, y)
    np.testing.assert_array_equal(np.isneginf(margins), [i in model.support_ for i in range(4)])


@pytest.mark.parametrize("params", PARAMS, ids=str)
def test_samples_without_weight_do_not_count(params):
    X, y = problem(params, 3)
    weight = np.ones(N)
    weight[::5] = 0.0
    kept = weight > 0
    model, smaller = fitted(params, X, y, sample_weight=weight), fitted(params, X[kept], y[kept])
    margins = diagnostics.leave_one_out_margins(model, X, y, weight)
    expected = diagnostics.leave_one_out_margins(smaller, X[kept], y[kept])
    np.testing.assert_allclose(margins[kept], expected, atol=1e-6)
    bound = diagnostics.radius_margin_bound(model, X, y, weight)
    assert bound == pytest.approx(
        diagnostics.radius_margin_bound(smaller, X[kept], y[kept]), rel=1e-4
    )


def least_circle(X):
    """The squared radius of the least circle around points of the plane, by trying all."""
    best = np.inf
    for size in (2, 3):
        for chosen in combinations(range(len(X)), size):
            corners = X[list(chosen)]
            edges = corners[1:] - corners[0]
            centre = corners[0] + np.linalg.lstsq(edges, (edges**2).sum(axis=1) / 2, rcond=None)[0]
            best = min(best, ((X - centre) ** 2).sum(axis=1).max())
    return best


@pytest.mark.parametrize("shift", [0.0, 100.0])
def test_the_radius_is_that_of_the_least_circle(shift):
    X, y = problem({"C": np.inf}, 0)
    X = X + shift
    model = fitted({"kernel": "linear", "C": np.inf}, X, y)
    squared_norm = np.square(model.coef_).sum()
    bound = diagnostics.radius_margin_bound(model, X, y)
    assert bound == pytest.approx(4 * least_circle(X) * squared_norm / N, rel=1e-5)
    assert bound >= 4 * least_circle(X) * squared_norm / N * (1 - 1e-9)


@pytest.mark.parametrize("nu", [0.5, 0.65])
@pytest.mark.parametrize("kernel_name", ["rbf", "linear"])
def test_bounds_of_a_nu_svc_are_those_of_the_svc_with_its_penalty(kernel_name, nu):
    X, y = problem({"C": 1.0}, 4)
    weight, class_weight = np.ones(N), {-1: 1.5, 1: 1.0}
    weight[::7] = 0.0
    params = {"kernel": kernel_name, "gamma": 1.0, "class_weight": class_weight, "tol": 1e-10}
    model = NuSVC(nu=nu, **params).fit(X, y, sample_weight=weight)
    same = SVC(C=model.C_[0], **params).fit(X, y, sample_weight=weight)
    margins, radius_margin, bound = (
        diagnostics.leave_one_out_margins(model, X, y, weight),
        diagnostics.radius_margin_bound(model, X, y, weight),
        diagnostics.leave_one_out_bound(model, X, y),
    )
    expected = diagnostics.leave_one_out_margins(same, X, y, weight)
    np.testing.assert_allclose(margins, expected, atol=1e-5)
    expected = diagnostics.radius_margin_bound(same, X, y, weight)
    assert radius_margin == pytest.approx(expected, rel=1e-5)
    assert bound == diagnostics.leave_one_out_bound(same, X, y)
    assert 0 < bound < 1


def test_span_estimates_of_a_nu_svc_are_those_of_refits():
    X, y = problem({"C": 1.0}, 1)
    model = NuSVC(nu=0.3, kernel="rbf", gamma=2.0, tol=1e-10).fit(X, y)
    true, kept = left_out({"kernel": "rbf", "gamma": 2.0, "C": model.C_[0]}, X, y)
    assert kept.sum() > 5
    estimates = diagnostics.leave_one_out_margins(model, X, y)
    np.testing.assert_allclose(estimates[kept], true[kept], atol=1e-5)
    assert np.mean(true <= 0) <= diagnostics.leave_one_out_bound(model, X, y)
    assert np.mean(true <= 0) <= diagnostics.radius_margin_bound(model, X, y)


def test_what_the_bounds_refuse():
    X, y = two_classes(60, 3)
    functions = (
        diagnostics.leave_one_out_bound,
        diagnostics.leave_one_out_margins,
        diagnostics.radius_margin_bound,
    )
    for function in functions:
        gram = X @ X.T
        with pytest.raises(ValueError, match="kernel matrix was given"):
            function(SVC(kernel="precomputed").fit(gram, y), gram, y)
        with pytest.raises(ValueError, match="fitted on"):
            function(SVC().fit(X, y), X[:30], y[:30])
        with pytest.raises(ValueError, match="two classes"):
            function(SVC().fit(X, np.arange(60) % 3), X, np.arange(60) % 3)
        with pytest.raises(TypeError, match="takes a fitted SVC or NuSVC"):
            function(Perceptron().fit(*problem(PARAMS[-1], 0)), X, y)
        with pytest.raises(NotFittedError, match="SVC instance is not fitted"):
            function(SVC(), X, y)
    for model in (SVC(loss="squared_hinge"), SVC(C=np.inf, gamma=100.0)):
        with pytest.raises(ValueError, match="hinge loss"):
            diagnostics.leave_one_out_bound(model.fit(X, y), X, y)


@pytest.mark.parametrize("make", [SVC, NuSVC])
def test_the_weights_of_the_fit_must_be_given(make):
    X, y = two_classes()
    weight = np.where(np.arange(len(y)) % 3 == 0, 2.5, 1.0)
    model = make().fit(X, y, sample_weight=weight)
    for ask in (diagnostics.leave_one_out_margins, diagnostics.radius_margin_bound):
        with pytest.raises(ValueError, match=r"sample_weight must be that of the fit: sample \d+"):
            ask(model, X, y)
    assert np.isfinite(diagnostics.leave_one_out_margins(model, X, y, weight)).all()
