"""Proximal Newton's method for the squared hinge with penalty l1."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import linprog

from maxmargin import LinearSVC, _core
from oracles.linear import csr_of, liblinear, primal_objective, second_order_fit

INTERCEPTS = [0.0, 1.0, 0.1, 10.0, np.inf]


def fit(X, y, C=1.0, s=1.0, **options):
    matrix = csr_of(X) if sp.issparse(X) else X
    given = {"loss": "squared_hinge", "penalty": "l1", "intercept_scaling": s}
    return second_order_fit(matrix, y, C, **given, **options)


def bounds(r, X, y, C, s):
    """Primal and dual objective from the definitions, after checking that beta is feasible."""
    X = X.toarray() if sp.issparse(X) else np.asarray(X, np.float64)
    C = np.broadcast_to(np.asarray(C, float), len(y))
    w, b, beta = r["w"], r["b"], r["beta"]
    primal = primal_objective(X, y, w, b, C, "squared_hinge", scaling=s, penalty="l1")
    alpha = y * beta
    assert (alpha >= 0).all()
    assert (alpha[C == 0] == 0).all()
    assert (np.abs(beta @ X) <= 1 + 1e-9 * (np.abs(beta) @ np.abs(X))).all()
    if s == 0:
        assert b == 0
    elif np.isinf(s):
        assert abs(beta.sum()) <= 1e-12 * alpha.sum()
    else:
        assert s * abs(beta.sum()) <= 1 + 1e-9 * s * alpha.sum()
    return primal, np.sum(alpha[C > 0] * (alpha[C > 0] / (4 * C[C > 0]))) - alpha.sum()


def check(X, y, C=1.0, s=1.0, tol=1e-8, **options):
    """Fits and recomputes what the fit claims."""
    r = fit(X, y, C, s, tol=tol, **options)
    primal, dual = bounds(r, X, y, C, s)
    assert r["stop_reason"] == "converged", r
    assert r["primal_objective"] + r["dual_objective"] <= tol * r["primal_objective"]
    assert r["primal_objective"] == pytest.approx(primal, rel=1e-9, abs=1e-300)
    assert r["dual_objective"] == pytest.approx(dual, rel=1e-9, abs=1e-300)
    return r


def noisy(n=300, d=8, seed=0, flips=0.15):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = np.where(X @ rng.normal(size=d) + 0.3 + 0.4 * rng.normal(size=n) > 0, 1.0, -1.0)
    y[rng.random(n) < flips] *= -1
    return X, y


def groups(n=2000, n_groups=6, size=8, seed=0):
    """Categories as zeros and ones: the features of a group sum up to 1, and so to the intercept.
    Coordinate descent creeps on such features."""
    rng = np.random.default_rng(seed)
    chosen = rng.integers(0, size, (n, n_groups)) + size * np.arange(n_groups)
    X = np.zeros((n, n_groups * size))
    np.put_along_axis(X, chosen, 1.0, axis=1)
    y = np.where(X @ rng.normal(size=X.shape[1]) + rng.normal(size=n) > 0, 1.0, -1.0)
    return X, y


@pytest.mark.parametrize("s", INTERCEPTS)
@pytest.mark.parametrize("C", [1e-3, 0.1, 1.0, 100.0, 1e5])
def test_the_optimality_conditions_hold(C, s):
    # 0 is a subgradient: -dL/dw_j is the sign of w_j, or within [-1, 1] where w_j is 0.
    X, y = noisy(seed=1)
    r = check(X, y, C, s, tol=1e-12)
    slack = np.maximum(0.0, 1.0 - y * (X @ r["w"] + r["b"]))
    beta = 2 * C * y * slack
    slopes = beta @ X
    rounding = 1e-9 * (1 + np.abs(beta).sum())
    at_zero = r["w"] == 0
    assert (np.abs(slopes[at_zero]) <= 1 + rounding).all()
    np.testing.assert_allclose(slopes[~at_zero], np.sign(r["w"][~at_zero]), atol=rounding)
    if s > 0 and r["b"] != 0:
        assert beta.sum() == pytest.approx(np.sign(r["b"]) / s, abs=rounding)


@pytest.mark.parametrize("s", [0.0, 1.0, 10.0])
@pytest.mark.parametrize("C", [0.01, 1.0, 30.0])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix], ids=["dense", "csr"])
def test_equals_liblinear(C, s, form):
    X, y = noisy(seed=2)
    X = X * (np.random.default_rng(0).random(X.shape) < 0.7)
    r = check(form(X), y, C, s, tol=1e-10)
    W, b = liblinear(X, y, 5, C=C, scaling=s or -1.0, tol=1e-10)
    np.testing.assert_allclose(r["w"], W[:, 0], atol=1e-4)
    np.testing.assert_array_equal(r["w"] == 0, W[:, 0] == 0)
    assert r["b"] == pytest.approx(b[0], abs=1e-4)


@pytest.mark.parametrize("s", [1.0, np.inf])
def test_equals_coordinate_descent_which_trains_on_many_features(s):
    X, y = noisy(400, 30, seed=3)
    wide = sp.hstack([sp.csr_matrix(X), sp.csr_matrix((400, 600))]).tocsr()
    for C in (0.02, 1.0):
        few, many = (
            LinearSVC("l1", C=C, tol=1e-8, intercept_scaling=s).fit(Z, y) for Z in (X, wide)
        )
        assert few.certificate_.converged
        assert many.certificate_.converged
        assert many.n_iter_ > few.n_iter_
        np.testing.assert_allclose(few.coef_[0], many.coef_[0, :30], atol=1e-4)
        np.testing.assert_array_equal(few.coef_[0] == 0, many.coef_[0, :30] == 0)
        assert few.certificate_.primal_objective == pytest.approx(
            many.certificate_.primal_objective, rel=1e-7
        )


@pytest.mark.parametrize("s", [0.0, 1.0, np.inf])
@pytest.mark.parametrize("C", [0.1, 10.0, 1e4])
def test_dependent_features_take_few_steps(C, s):
    X, y = groups()
    dense = check(X, y, C, s)
    sparse = check(sp.csr_matrix(X), y, C, s)
    for r in (dense, sparse):
        assert r["n_iter"] < 30
    assert dense["primal_objective"] == pytest.approx(sparse["primal_objective"], rel=1e-8)


def least_l1_norm(X, y, s):
    """The least ||w||_1 + |b / s| of a separator with all margins at least 1, by a linear program
    in the positive and the negative parts of w and b."""
    n, d = X.shape
    rows = y[:, None] * np.c_[X, np.ones(n)]
    cost = np.r_[np.ones(d), 1.0 / s]
    return linprog(np.r_[cost, cost], A_ub=-np.c_[rows, -rows], b_ub=-np.ones(n)).fun


@pytest.mark.parametrize("s", [1.0, np.inf])
def test_classes_that_a_separator_splits(s):
    rng = np.random.default_rng(4)
    X = rng.integers(0, 2, (400, 60)).astype(float)
    y = np.where(X[:, 0] + X[:, 1] + X[:, 2] > 1, 1.0, -1.0)
    hard = least_l1_norm(X, y, s)
    for C in (1e2, 1e6):
        r = check(X, y, C, s, tol=1e-6)
        assert r["n_iter"] < 60
        assert r["primal_objective"] <= hard * (1 + 1e-6)
    assert r["primal_objective"] == pytest.approx(hard, rel=1e-4)
    assert np.count_nonzero(r["w"]) < 5


@pytest.mark.parametrize("s", [0.0, 1.0, np.inf])
class TestHardSamples:
    def test_columns_of_all_scales(self, s):
        X, y = noisy(300, 9, seed=6)
        for C in (1e-3, 1.0):
            check(X * np.logspace(-8, 8, 9), y, C, s, tol=1e-6)

    def test_constant_equal_and_empty_columns(self, s):
        X, y = noisy(300, 4, seed=7)
        X = np.c_[X, X[:, :2], np.full(300, 7.0), np.zeros(300), X[:, 0] + X[:, 1], -X[:, 2]]
        for C in (1.0, 1e5):
            assert check(X, y, C, s, tol=1e-6)["w"][7] == 0

    def test_far_from_the_origin(self, s):
        X, y = noisy(300, 4, seed=8)
        far = check(X + 1e4, y, 1.0, s, tol=1e-6)
        if np.isinf(s):
            near = check(X, y, 1.0, s, tol=1e-6)
            assert far["primal_objective"] == pytest.approx(near["primal_objective"], rel=2e-6)

    def test_fewer_samples_than_features(self, s):
        X, y = noisy(12, 40, seed=9)
        for C in (1.0, 1e4):
            check(X, y, C, s, tol=1e-6)

    def test_one_and_two_samples(self, s):
        for X, y in (([[2.0, -1.0]], [1.0]), ([[2.0, -1.0], [0.5, 3.0]], [1.0, -1.0])):
            check(np.array(X), np.array(y), 1.0, s)

    def test_one_class(self, s):
        X, _ = noisy(100, 3, seed=10)
        r = check(X, np.ones(100), 1.0, s)
        if np.isinf(s):
            assert r["primal_objective"] == 0
            assert r["b"] == 1

    def test_no_features_that_differ(self, s):
        y = np.where(np.arange(90) % 3 == 0, 1.0, -1.0)
        for X in (np.zeros((90, 3)), np.full((90, 3), 2.0)):
            check(X, y, 1.0, s)

    def test_samples_that_do_not_count(self, s):
        X, y = noisy(200, 4, seed=11)
        C = np.random.default_rng(0).uniform(0.1, 3, 200)
        C[::3] = 0
        weighted = check(X, y, C, s)
        left = check(X[C > 0], y[C > 0], C[C > 0], s)
        assert weighted["primal_objective"] == pytest.approx(left["primal_objective"], rel=1e-7)
        nothing = check(X, y, np.zeros(200), s)
        assert (nothing["w"] == 0).all()

    def test_types_of_samples_agree(self, s):
        X, y = noisy(300, 30, seed=12)
        X = np.where(np.random.default_rng(0).random(X.shape) < 0.2, X, 0).astype(np.float32)
        dense = check(X, y, 1.0, s)
        for other in (X.astype(np.float64), sp.csr_matrix(X), sp.csr_matrix(X, dtype=np.float64)):
            r = check(other, y, 1.0, s)
            np.testing.assert_allclose(r["w"], dense["w"], atol=1e-4)

    def test_all_weights_are_0_under_tiny_losses(self, s):
        X, y = noisy(200, 5, seed=13)
        for C in (1e-300, 1e-12, 1e-4):
            assert (check(X, y, C, s)["w"] == 0).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("s", [1.0, np.inf])
def test_threads_change_no_bit(dtype, s):
    X, y = noisy(9000, 20, seed=13)
    X = X.astype(dtype)
    for Z in (X, sp.csr_matrix(X)):
        runs = [fit(Z, y, 1.0, s, n_threads=k) for k in (1, 2, 5)]
        for run in runs[1:]:
            assert run["w"].tobytes() == runs[0]["w"].tobytes()
            assert run["beta"].tobytes() == runs[0]["beta"].tobytes()


def test_limits_leave_a_usable_machine():
    X, y = noisy(2000, 10, seed=14)
    for limits, reason in (
        ({"max_iter": 0}, "max_iter"),
        ({"max_iter": 3}, "max_iter"),
        ({"time_limit": 0.0}, "time_limit"),
    ):
        r = fit(X, y, 10.0, np.inf, tol=1e-12, **limits)
        assert r["stop_reason"] == reason
        assert r["n_iter"] <= 3
        primal, dual = bounds(r, X, y, 10.0, np.inf)
        assert r["primal_objective"] == pytest.approx(primal)
        assert r["dual_objective"] == pytest.approx(dual)
        assert dual <= 0


def test_a_callback_ends_a_fit():
    X, y = noisy(3000, 10, seed=15)
    X, y = np.tile(X, (100, 5)), np.tile(y, 100)  # enough for several looks at the callback
    with pytest.raises(_core.Cancelled):
        fit(X, y, 1.0, tol=1e-15, callback=lambda _: True)


def test_overflow_is_an_error():
    X, y = noisy(50, 3, seed=16)
    with pytest.raises(_core.NumericError, match="overflow"):
        fit(X * 1e200, y, 1.0)


def test_every_class_has_its_machine():
    X, _ = noisy(500, 6, seed=17)
    y = np.digitize(X[:, 0] + 0.5 * X[:, 1] + 0.1 * X[:, 2], [-0.5, 0.5])
    models = [LinearSVC("l1", tol=1e-8, n_jobs=k).fit(X, y) for k in (1, 2)]
    np.testing.assert_array_equal(models[0].coef_, models[1].coef_)
    for k in range(3):
        machine = check(X, np.where(y == k, 1.0, -1.0), tol=1e-8)
        np.testing.assert_array_equal(models[0].coef_[k], machine["w"])
        assert models[0].intercept_[k] == machine["b"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "C", "has_peer"),
    [
        ("heart_scale", 1.0, True),
        ("spambase", 1.0, True),
        ("a1a", 0.1, True),
        ("a9a", 1.0, False),  # on which coordinate descent creeps, LIBLINEAR's too
        ("usps", 0.1, False),
    ],
)
def test_real_data(shared_data, name, C, has_peer):
    data = shared_data(name)
    X, y = data.X.astype(np.float64), np.where(data.y == np.unique(data.y)[-1], 1.0, -1.0)
    model = LinearSVC("l1", C=C, tol=1e-8).fit(X, y)
    assert model.certificate_.converged
    assert model.n_iter_ < 60

    def objective(w, b):
        return primal_objective(X, y, w, b, C, "squared_hinge", penalty="l1")

    ours = objective(model.coef_[0], model.intercept_[0])
    assert model.certificate_.primal_objective == pytest.approx(ours, rel=1e-9)
    if has_peer:
        W, b = liblinear(X, y, 5, C=C)
        assert ours == pytest.approx(objective(W[:, 0], b[0]), rel=1e-6)
