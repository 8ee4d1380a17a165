"""Conjugate gradients on the free variables of linear duals, where passes creep."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.svm import LinearSVC

import maxmargin
from oracles.linear import liblinear, primal_objective


def coupled(seed, n=400, d=3000, density=0.01, scale=1.0):
    """Sparse samples that share a few frequent features, so that their duals are coupled."""
    rng = np.random.default_rng(seed)
    X = sp.random(n, d, density, "csr", random_state=rng, dtype=np.float64)
    X = sp.hstack([sp.csr_matrix(np.abs(rng.normal(1.5, 0.5, size=(n, 8)))), X]).tocsr()
    y = np.where(np.asarray(X[:, 8:200].sum(axis=1)).ravel() + rng.normal(0, 0.4, n) > 0.96, 1, -1)
    return X * scale, y


@pytest.mark.parametrize(("loss", "solver"), [("hinge", 3), ("squared_hinge", 1)])
@pytest.mark.parametrize("C", [1.0, 1000.0])
def test_coupled_classes_reach_the_least_objective(loss, solver, C):
    X, y = coupled(1)
    model = maxmargin.LinearSVC(loss=loss, C=C, tol=1e-8).fit(X, y)
    assert model.certificate_.converged
    assert model.certificate_.relative_gap <= 1e-8
    ours = primal_objective(X, y, model.coef_[0], model.intercept_[0], C, loss)
    W, b = liblinear(X, y, solver, C=C, tol=1e-6)
    theirs = primal_objective(X, y, W[:, 0], b[0], C, loss)
    assert ours <= theirs * (1.0 + 1e-8)


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
def test_coupled_targets_reach_the_least_objective(loss):
    X, y = coupled(2)
    z = y + 0.1 * np.random.default_rng(2).normal(size=len(y))
    model = maxmargin.LinearSVR(loss=loss, C=100.0, epsilon=0.05, tol=1e-8).fit(X, z)
    ours = primal_objective(X, z, model.coef_, model.intercept_, 100.0, loss, epsilon=0.05)
    solver = {"epsilon_insensitive": 13, "squared_epsilon_insensitive": 12}[loss]
    W, b = liblinear(X, z, solver, C=100.0, epsilon=0.05, tol=1e-6)
    theirs = primal_objective(X, z, W[:, 0], b[0], 100.0, loss, epsilon=0.05)
    assert model.certificate_.relative_gap <= 1e-8
    assert ours <= theirs * (1.0 + 1e-8)


@pytest.mark.parametrize("is_sparse", [True, False])
def test_passes_are_few(is_sparse):
    """Passes alone take several times as many."""
    X, y = coupled(3)
    X = X if is_sparse else X.toarray()
    certificate = maxmargin.LinearSVC(loss="hinge", C=1000.0, tol=1e-6).fit(X, y).certificate_
    assert certificate.converged
    assert certificate.n_iter < 80


@pytest.mark.parametrize("scale", [1e-50, 1e-20, 1e20])
def test_values_beyond_float32_scale_as_the_problem_does(scale):
    """With X, the bias's feature and 1 / sqrt(C) scaled alike, f stays as it is."""
    X, y = coupled(4, n=120)
    options = {"loss": "hinge", "tol": 1e-6}
    plain = maxmargin.LinearSVC(C=100.0, **options).fit(X, y)
    scaled = maxmargin.LinearSVC(C=100.0 / scale**2, intercept_scaling=scale, **options).fit(
        X * scale, y
    )
    assert scaled.certificate_.converged
    f, g = plain.decision_function(X), scaled.decision_function(X * scale)
    np.testing.assert_allclose(g, f, atol=2e-3 * abs(f).max())


def test_passes_go_on_where_those_over_the_callers_rows_ended():
    """After 50 passes the samples are copied."""
    X, y = coupled(6)

    def fit(max_iter=-1):
        return maxmargin.LinearSVC(loss="hinge", C=1e5, tol=1e-10, max_iter=max_iter).fit(X, y)

    whole = fit()
    assert whole.certificate_.converged
    assert 55 < whole.n_iter_ < 90
    # One that began anew after 50 would take twice as many, and is far from there after a few.
    for max_iter, is_near in (
        (1, False),
        (5, False),
        (49, True),
        (50, True),
        (51, True),
        (55, True),
    ):
        with pytest.warns(maxmargin.ConvergenceWarning):
            capped = fit(max_iter)
        assert capped.n_iter_ == max_iter
        assert (capped.certificate_.relative_gap < 1e-5) == is_near


def test_threads_change_nothing():
    """Samples of so many elements that threads share them."""
    X, y = coupled(5, n=3000, d=20_000)
    fits = [
        maxmargin.LinearSVC(loss="hinge", C=1000.0, n_jobs=n_jobs).fit(X, y) for n_jobs in (1, 2)
    ]
    assert fits[0].n_iter_ == fits[1].n_iter_
    np.testing.assert_array_equal(fits[0].coef_, fits[1].coef_)
    np.testing.assert_array_equal(fits[0].intercept_, fits[1].intercept_)


@pytest.mark.parametrize("is_sparse", [True, False])
def test_four_samples_of_which_two_contradict_each_other(is_sparse):
    """Their dual variables only balance each other up to the bounds, which are not the same."""
    row = [-5.5, 0, -0.3, 0.3, 1.2, 6.9]
    X = np.array([row, row, [-1.8, 1.2, -3.8, -3, -1.9, -0.7], [-2.6, 4.4, 5, -2.3, 1.2, -2.5]])
    y, weight = [1, -1, 1, -1], [0.29, 0.19, 0.56, 0.95]
    model = maxmargin.LinearSVC(loss="hinge", C=1e4)
    model.fit(sp.csr_matrix(X) if is_sparse else X, y, sample_weight=weight)
    assert model.certificate_.converged
    assert model.n_iter_ < 100
    # One of the two is on the wrong side, and the lighter one costs 2 C of the other side.
    assert model.certificate_.primal_objective == pytest.approx(3800.0, rel=1e-4)


@pytest.mark.parametrize("noise", [0.0, 1e-3])
@pytest.mark.parametrize("C", [1e2, 1e4])
def test_contradictory_samples_of_any_weight(C, noise):
    rng = np.random.default_rng(6)
    X = np.where(rng.random((200, 300)) < 0.05, rng.normal(size=(200, 300)), 0.0)
    y = np.sign(rng.normal(size=200))
    X = np.vstack([X, X[:50] * (1.0 + noise * rng.normal(size=(50, 300)))])
    y, weight = np.r_[y, -y[:50]], rng.random(250) + 0.05
    model = maxmargin.LinearSVC(loss="hinge", C=C, tol=1e-4).fit(sp.csr_matrix(X), y, weight)
    assert model.certificate_.converged
    # Passes alone get there too, by and by, where C is not as large.
    theirs = LinearSVC(loss="hinge", C=C, tol=1e-6, max_iter=10**6).fit(X, y, weight)
    ours, theirs = (
        0.5 * (m.coef_ @ m.coef_.T + m.intercept_**2).item()
        + C * weight @ np.maximum(0.0, 1.0 - y * (X @ m.coef_[0] + m.intercept_[0]))
        for m in (model, theirs)
    )
    assert ours == pytest.approx(model.certificate_.primal_objective, rel=1e-9)
    assert ours <= theirs * (1.0 + 1e-4)
