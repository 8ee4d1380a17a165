"""The squared hinge loss and the hard margin."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.svm import LinearSVC

from maxmargin import SVC, ConvergenceWarning, diagnostics, kernels
from oracles.problems import rng, two_classes
from oracles.svm import beta_of, kernel, solve_c_svc


def separable(n=60, d=3, seed=0, gap=0.3):
    r = rng(seed)
    X = r.normal(size=(4 * n, d))
    f = X @ np.r_[1.0, -0.5, np.zeros(d - 2)] + 0.2
    keep = np.flatnonzero(np.abs(f) > gap)[:n]
    return X[keep], np.where(f[keep] > 0, 1, -1)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(("n", "C"), [(50, 1.0), (300, 10.0), (300, 1e-3), (2500, 0.5)])
def test_squared_hinge_is_optimal(n, C, sparse):
    X, y = two_classes(n)
    X = np.where(np.abs(X) > 0.5, X, 0.0) if sparse else X
    data = sp.csr_matrix(X) if sparse else X
    model = SVC(loss="squared_hinge", C=C, gamma=0.4, tol=1e-6).fit(data, y)
    K = kernel(X, X, gamma=0.4)
    beta = beta_of(model, n)
    alpha = y * beta
    assert alpha.min() >= 0
    assert abs(beta.sum()) < 1e-9 * alpha.sum()
    f = K @ beta + model.intercept_[0]
    slack = np.maximum(0.0, 1.0 - y * f)
    np.testing.assert_allclose(alpha, 2 * C * slack, atol=2 * C * 1.1e-6 + 1e-9)
    certificate = model.certificate_
    dual = 0.5 * beta @ K @ beta + 0.25 / C * alpha @ alpha - alpha.sum()
    primal = 0.5 * beta @ K @ beta + C * slack @ slack
    assert certificate.dual_objective == pytest.approx(dual, rel=1e-6)
    assert certificate.primal_objective == pytest.approx(primal, rel=1e-6)
    assert certificate.duality_gap < 1e-5 * primal
    again = diagnostics.certificate(model, data, y)
    assert again.primal_objective == pytest.approx(primal, rel=1e-6)
    assert again.converged


def test_squared_hinge_of_a_dense_qp():
    X, y = two_classes(40)
    K, C = kernel(X, X, gamma=0.4), 2.0
    exact = solve_c_svc(K + np.eye(40) / (2 * C), y.astype(float), np.full(40, 1e4))
    model = SVC(loss="squared_hinge", C=C, gamma=0.4, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(beta_of(model, 40), exact, atol=1e-5)


def test_linear_squared_hinge_approaches_liblinear():
    X, y = two_classes(200)
    known = LinearSVC(loss="squared_hinge", C=0.3, dual=False, intercept_scaling=1e3, tol=1e-8)
    known.fit(X, y)
    model = SVC(kernel="linear", loss="squared_hinge", C=0.3, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(model.coef_, known.coef_, atol=1e-3)


def test_squared_hinge_with_weights_and_classes():
    r = rng(0)
    y = r.integers(0, 3, 90)
    X = r.normal(size=(90, 3)) + y[:, None]
    weight = r.integers(0, 3, 90).astype(float)
    rows = np.repeat(np.arange(90), weight.astype(int))
    params = {"loss": "squared_hinge", "gamma": 0.4, "tol": 1e-9, "decision_function_shape": "ovo"}
    model = SVC(**params).fit(X, y, sample_weight=weight)
    repeated = SVC(**params).fit(X[rows], y[rows])
    np.testing.assert_allclose(model.decision_function(X), repeated.decision_function(X), atol=1e-6)


@pytest.mark.no_sanitizer
@pytest.mark.parametrize("sparse", [False, True])
def test_linear_squared_hinge_of_many_samples(sparse):
    r = rng(3)
    n = 2400
    y = r.integers(0, 3, n)
    X = r.normal(size=(n, 4)) + 0.5 * np.eye(3, 4)[y] + (0.0 if sparse else 1e3)
    X = np.where(np.abs(X) > 0.5, X, 0.0) if sparse else X
    data = sp.csr_matrix(X) if sparse else X
    weight = r.integers(0, 3, n).astype(float)
    params = {"loss": "squared_hinge", "C": 0.7, "class_weight": {1: 2.5}, "tol": 1e-7}
    params["decision_function_shape"] = "ovo"
    model = SVC(kernel="linear", **params).fit(data, y, sample_weight=weight)
    centred = X - X.mean(axis=0)
    K = centred @ centred.T
    given = SVC(kernel="precomputed", **params).fit(K, y, sample_weight=weight)
    np.testing.assert_array_equal(model.support_, given.support_)
    np.testing.assert_allclose(model.dual_coef_, given.dual_coef_, atol=1e-6)
    np.testing.assert_allclose(model.decision_function(data), given.decision_function(K), atol=1e-6)
    alpha = weight * np.where(y == 1, 2.5, 1.0) * 0.7
    f = model.decision_function(data)[:, 0]  # the first class against the second
    slack = np.maximum(0.0, 1.0 - np.where(y == 0, f, -f))
    beta = np.zeros(n)
    beta[model.support_] = model.dual_coef_[0]
    np.testing.assert_allclose(beta[y == 0], (2 * alpha * slack)[y == 0], atol=1e-6)
    assert model.certificate_.kkt_violation < 1e-7


# -- the hard margin -------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("n", [10, 60, 400, 3000])
def test_the_hard_margin_is_that_of_a_very_large_penalty(n, loss):
    X, y = separable(n)
    model = SVC(kernel="linear", C=np.inf, loss=loss, tol=1e-6).fit(X, y)
    assert model.certificate_.converged
    margins = y * model.decision_function(X)
    assert margins.min() > 1 - 1e-5
    soft = SVC(kernel="linear", C=1e6, tol=1e-6).fit(X, y)
    np.testing.assert_allclose(model.coef_, soft.coef_, rtol=1e-3, atol=1e-4)
    # Points beyond the margin do not matter.
    support = model.support_
    again = SVC(kernel="linear", C=np.inf, tol=1e-6).fit(X[support], y[support])
    np.testing.assert_allclose(again.coef_, model.coef_, rtol=1e-4, atol=1e-5)
    assert model.certificate_.primal_objective == pytest.approx(
        -model.certificate_.dual_objective, rel=1e-4
    )


@pytest.mark.parametrize("n", [6, 40, 200, 1000])
@pytest.mark.parametrize("name", ["linear", "poly"])
def test_inseparable_classes_end_with_an_error(n, name):
    r = rng(0)
    X, y = r.normal(size=(n, 2)), np.arange(n) % 2
    X[1] = X[0]  # one point in both classes
    with pytest.raises(ValueError, match="C=inf, the hard margin, needs classes that can be sep"):
        SVC(kernel=name, degree=2, C=np.inf).fit(X, y)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("n", [30, 300])
def test_overlapping_classes_end_with_an_error(n, seed):
    r = rng(seed)
    X, y = r.normal(size=(n, 2)), np.arange(n) % 2
    with pytest.raises(ValueError, match="C=inf, the hard margin, needs classes that can be sep"):
        SVC(kernel="linear", C=np.inf).fit(X, y)


def test_far_off_data_are_separable_all_the_same():
    X, y = separable(60)
    plain = SVC(kernel="rbf", gamma=0.5, C=np.inf, tol=1e-6).fit(X, y)
    moved = SVC(kernel="rbf", gamma=0.5 / 1e6, C=np.inf, tol=1e-6).fit((X + 1e3) * 1e3, y)
    np.testing.assert_allclose(
        moved.decision_function((X + 1e3) * 1e3), plain.decision_function(X), atol=1e-4
    )


def test_points_without_influence_may_be_removed():
    X, y = two_classes(200)
    for params in ({}, {"loss": "squared_hinge"}):
        model = SVC(gamma=0.4, tol=1e-8, **params).fit(X, y)
        rows = model.support_
        again = SVC(gamma=0.4, tol=1e-8, **params).fit(X[rows], y[rows])
        np.testing.assert_allclose(
            again.decision_function(X), model.decision_function(X), atol=1e-6
        )


def test_loss_must_be_known():
    X, y = two_classes(20)
    with pytest.raises(ValueError, match="loss must be one of 'hinge', 'squared_hinge'"):
        SVC(loss="hinged").fit(X, y)


@pytest.mark.parametrize(
    ("scale", "C", "params"),
    [(1e4, 1e3, {"kernel": "linear"}), (1e2, 1.0, {"kernel": "poly", "gamma": 1.0})],
)
def test_a_soft_loss_is_never_taken_for_the_hard_margin(scale, C, params):
    r = rng(0)
    X = r.normal(size=(300, 3)) * scale
    y = np.where(X[:, 0] + 0.3 * scale * r.normal(size=300) > 0, 1, -1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = SVC(C=C, loss="squared_hinge", max_iter=20_000, **params).fit(X, y)
    assert np.isfinite(model.decision_function(X)).all()


@pytest.mark.parametrize("n", [4, 60, 300, 1000])
@pytest.mark.parametrize("samples", ["equal", "zero", "constant kernel", "near"])
def test_classes_with_the_same_image_are_inseparable(n, samples):
    r = rng(0)
    X = {"equal": np.ones((n, 2)), "zero": np.zeros((n, 2))}.get(samples, r.normal(size=(n, 2)))
    if samples == "near":
        X[1] = X[0] + 1e-12
    kernel = kernels.Constant(1.0) if samples == "constant kernel" else kernels.RBF(1.0)
    with pytest.raises(ValueError, match="C=inf, the hard margin, needs classes"):
        SVC(C=np.inf, kernel=kernel).fit(X, np.arange(n) % 2)
