"""Linear machines on tiny, degenerate and hugely weighted problems."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import ConvergenceWarning, LinearSVC, LinearSVR
from oracles.linear import liblinear, primal_objective
from oracles.problems import rng


@pytest.mark.parametrize("scaling", [1.0, 1.01, 3.0, 100.0, 1e4])
@pytest.mark.parametrize("C", [0.01, 1.0, 1e6])
def test_a_tiny_sample_and_a_great_bias(scaling, C):
    """With one sample, the dual has one variable, whose optimum is known."""
    x, y = np.array([[0.01, 0.0]]), 100.0
    model = LinearSVR(intercept_scaling=scaling, C=C, epsilon=0.0).fit(x, [y])
    square = 0.01**2 + scaling**2
    beta = min(y / square, C)
    least = y * beta - 0.5 * beta**2 * square
    assert model.certificate_.converged
    assert model.certificate_.primal_objective == pytest.approx(least, rel=2e-4)
    assert model.intercept_ == pytest.approx(beta * scaling**2, rel=1e-3)


@pytest.mark.parametrize("scaling", [2.0, 10.0, 1e3])
def test_many_tiny_samples_and_a_great_bias(scaling):
    r = rng(3)
    X = 0.002 * sp.random(400, 1500, 0.02, "csr", random_state=r)
    y = 30.0 + 100.0 * r.normal(size=400)
    model = LinearSVR(C=0.01, intercept_scaling=scaling).fit(X, y)
    assert model.certificate_.converged
    W, b = liblinear(X, y, 13, C=0.01, scaling=scaling)
    loss = "epsilon_insensitive"
    theirs = primal_objective(X, y, W[:, 0], b[0], 0.01, loss, scaling=scaling)
    assert model.certificate_.primal_objective <= theirs * (1.0 + 1e-4)


@pytest.mark.parametrize("C", [1.0, 1e5, 1e10])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_samples_without_features(C, form):
    """The least of b^2 / 2 + C (2 max(0, 1 + b) + 3 max(0, 1 - b)) is at b = 1."""
    X, y = np.zeros((5, 700)), [-1, 1, -1, 1, 1]
    model = LinearSVC(loss="hinge", C=C).fit(form(X), y)
    assert model.certificate_.converged
    assert model.certificate_.primal_objective == pytest.approx(0.5 + 4.0 * C, rel=1e-4)
    if C > 1.0:
        assert model.intercept_[0] == pytest.approx(1.0)


@pytest.mark.parametrize("exponent", [14, 18, 22, 26, 30, 38])
@pytest.mark.parametrize("scale", [1.0, 1e-20])
def test_bounds_hold_where_rounding_takes_all(exponent, scale):
    r = rng(exponent)
    X = scale * r.uniform(size=(6, 700))
    X[3] = X[0]
    y = np.array([1.0, -1.0, 1.0, -1.0, 1.0, 1.0])
    attained, bounds = [], []
    for form in (np.asarray, sp.csr_matrix):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = LinearSVC(loss="hinge", C=10.0**exponent).fit(form(X), y)
        f = X @ model.coef_[0] + model.intercept_[0]
        losses = 10.0**exponent * np.maximum(0.0, 1.0 - y * f).sum()
        weights = model.coef_[0] @ model.coef_[0] + model.intercept_[0] ** 2
        attained.append(losses + 0.5 * weights)
        certificate = model.certificate_
        bounds.append(certificate.primal_objective - certificate.duality_gap)
        # To the rounding of f, which the order of its sum decides.
        rounding = np.finfo(float).eps * (abs(X) @ abs(model.coef_[0])).sum()
        assert certificate.primal_objective == pytest.approx(
            attained[-1], rel=1e-6, abs=10.0**exponent * rounding
        )
        assert attained[-1] <= 10.0**exponent * len(y) * (1.0 + 1e-9)  # that of weights of 0
    assert max(bounds) <= min(attained) * (1.0 + 1e-9)


@pytest.mark.parametrize("C", [10.0, 100.0, 1e4])
@pytest.mark.parametrize("seed", range(4))
def test_l1_with_fewer_samples_than_features(C, seed):
    r = rng(seed)
    X, y = sp.random(30, 520, 0.05, "csr", random_state=r), r.choice([-1, 1], 30)
    model = LinearSVC(penalty="l1", C=C).fit(X, y)
    assert model.certificate_.converged
    W, b = liblinear(X, y, 5, C=C)
    theirs = primal_objective(X, y, W[:, 0], b[0], C, "squared_hinge", penalty="l1")
    assert model.certificate_.primal_objective <= theirs * (1.0 + 1e-4)


@pytest.mark.slow
def test_a_callback_never_sees_passes_fall_back():
    """As they would where the samples are copied, after 50 of them."""
    r = rng(8)
    X = sp.random(20_000, 3_000, 0.02, "csr", random_state=r)
    y = np.where(np.asarray(X[:, :100].sum(axis=1)).ravel() + r.normal(size=20_000) > 1.0, 1, -1)
    passes = []
    model = LinearSVC(
        loss="hinge", C=100.0, tol=1e-12, max_iter=120, n_jobs=1,
        callback=lambda report: passes.append(report["n_iter"]),
    )  # fmt: skip
    with pytest.warns(ConvergenceWarning):
        model.fit(X, y)
    assert model.n_iter_ == 120
    assert passes == sorted(passes)
    assert passes[-1] == 120
    assert any(passes_seen > 50 for passes_seen in passes[:-1])


def test_columns_must_be_integers():
    X = sp.csr_matrix((2, 3))
    X.data, X.indptr = np.array([1.0, 2.0]), np.array([0, 1, 2])
    X.indices = np.array([0.0, 1.5])
    with pytest.raises(ValueError, match="indices must be integers, got float64"):
        LinearSVC().fit(X, [0, 1])
