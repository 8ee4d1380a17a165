"""LinearSVC takes the method that is fast: descent where it needs few passes, else steps."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import LinearSVC
from oracles.linear import primal_objective, second_order_fit
from oracles.problems import rng


def noisy(n, d, seed=0):
    r = rng(seed)
    X = r.normal(size=(n, d))
    y = np.where(X @ r.normal(size=d) > 0, 1.0, -1.0)
    return X, np.where(r.random(n) < 0.2, -y, y)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize(
    ("n", "d", "C", "method"),
    [
        (90, 80, 1.0, "coordinate descent"),  # hardly more samples than features
        (150, 80, 0.01, "coordinate descent"),
        (900, 80, 0.01, "coordinate descent"),  # C ||x||^2 is about 1
        (900, 80, 1.0, "newton"),
    ],
)
def test_few_features(loss, n, d, C, method):
    X, y = noisy(n, d)
    model = LinearSVC(loss=loss, C=C).fit(X, y)
    if method == "newton" and loss == "hinge":
        method = "interior point"
    alone = second_order_fit(X, y, C, loss=loss, method=method)
    assert model.n_iter_ == alone["n_iter"]
    np.testing.assert_allclose(model.coef_[0], alone["w"], rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(
    ("n", "d", "density", "C"),
    [
        (6, 2000, 0.01, 1e3),
        (6, 2049, 0.01, 1e3),
        (40, 500, 1.0, 1e5),
        (60, 55, 1.0, 1e3),
        (90, 90, 1.0, 1e4),
        (150, 60, 1.0, 1e5),
    ],
)
@pytest.mark.parametrize("scaling", [0.0, 1.0, np.inf])
def test_few_samples_with_penalty_l1(n, d, density, C, scaling):
    r = rng(0)
    X = sp.random(n, d, density, "csr", random_state=0, data_rvs=lambda size: r.normal(size=size))
    y = np.where(r.random(n) < 0.5, 1, -1)
    y[:2] = [-1, 1]
    weight = r.integers(1, 3, n).astype(float)
    weight[3] = 0.0
    model = LinearSVC(penalty="l1", C=C, fit_intercept=scaling > 0, tol=1e-5,
                      intercept_scaling=scaling or 1.0).fit(X, y, sample_weight=weight)  # fmt: skip
    certificate = model.certificate_
    assert certificate.converged
    assert certificate.n_iter < 200
    expected = primal_objective(X, y, model.coef_[0], model.intercept_[0], C * weight,
                                "squared_hinge", scaling=scaling or 1.0, penalty="l1")  # fmt: skip
    assert certificate.primal_objective == pytest.approx(expected, rel=1e-9)
    assert np.count_nonzero(model.coef_) <= n + 1


@pytest.mark.parametrize(("n", "d"), [(520, 560), (520, 513), (600, 520)])
@pytest.mark.parametrize(("flipped", "C"), [(0.0, 100.0), (0.5, 100.0), (0.5, 1e5)])
def test_about_as_many_samples_as_features_with_penalty_l1(n, d, flipped, C):
    r = rng(0)
    X = r.normal(size=(n, d))
    y = np.where(X @ r.normal(size=d) > 0, 1, -1)
    y = np.where(r.random(n) < flipped, -y, y)
    certificate = LinearSVC(penalty="l1", C=C, max_iter=150).fit(X, y).certificate_
    assert certificate.converged


@pytest.mark.parametrize(
    ("n", "C", "steps"), [(600, 1.0, 20), (2400, 1e4, 20), (600, 0.001, 60), (190, 1e3, 60)]
)
def test_few_features_with_penalty_l1_take_few_steps(n, C, steps):
    X, y = noisy(n, 200)
    model = LinearSVC(penalty="l1", C=C).fit(X, y)
    assert model.certificate_.converged
    assert model.n_iter_ <= steps


def test_squared_losses_take_steps_where_passes_take_longer():
    r = rng(0)
    X = sp.random(2600, 520, 0.03, "csr", random_state=0, data_rvs=lambda size: r.normal(size=size))
    y = np.where(r.random(2600) < 0.5, 1, -1)
    assert LinearSVC(C=100.0).fit(X, y).n_iter_ <= 10
    assert LinearSVC(C=0.01).fit(X, y).n_iter_ <= 50


@pytest.mark.parametrize("d", [512, 520])
def test_dense_rows_with_the_hinge_take_passes_where_these_are_few(d):
    X, y = noisy(1100, d)
    model = LinearSVC(loss="hinge", C=0.01).fit(X, y)
    alone = second_order_fit(X, y, 0.01, loss="hinge", method="coordinate descent")
    assert model.n_iter_ == alone["n_iter"]


@pytest.mark.parametrize("d", [512, 520])
def test_dense_rows_with_the_hinge_take_steps_where_passes_creep(d):
    X, y = noisy(1100, d)
    assert LinearSVC(loss="hinge", C=2.0, max_iter=40).fit(X, y).certificate_.converged
