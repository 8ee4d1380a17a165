"""The second-order solvers of linear machines: the interior point method and the primal Newton."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from sklearn.linear_model import Ridge

from maxmargin import LinearSVC, LinearSVR, _core
from oracles.linear import LOSSES, csr_of, liblinear, primal_objective
from oracles.linear import second_order_fit as fit
from support.internal import internal

INTERCEPTS = [0.0, 1.0, 10.0, np.inf]


def bounds(r, X, y, C, loss, epsilon=0.0, intercept_scaling=1.0):
    """Primal and dual objective from the definitions, after checking that both are feasible."""
    X = X.toarray() if sp.issparse(X) else np.asarray(X, np.float64)
    C = np.broadcast_to(np.asarray(C, float), len(y))
    w, b, beta, s = r["w"], r["b"], r["beta"], intercept_scaling
    primal = primal_objective(X, y, w, b, C, loss, scaling=s, epsilon=epsilon)
    dual = 0.5 * np.sum((beta @ X) ** 2) - y @ beta
    if s == 0:
        assert b == 0
    elif np.isinf(s):
        assert abs(beta.sum()) <= 1e-12 * np.abs(beta).sum()
    else:
        dual += 0.5 * (s * beta.sum()) ** 2
    if "hinge" in loss:
        assert (y * beta >= 0).all()
    else:
        dual += epsilon * np.abs(beta).sum()
    if "squared" in loss:
        dual += np.sum(beta[C > 0] ** 2 / (4 * C[C > 0]))
        assert (beta[C == 0] == 0).all()
    else:
        assert (np.abs(beta) <= C).all()
    return primal, dual


METHODS = ["newton", "interior point"]
SOLVERS = [(loss, method) for loss in LOSSES for method in METHODS[: 1 if "squared" in loss else 2]]


def check(X, y, C=1.0, loss="hinge", tol=1e-8, methods=METHODS, **given):
    """Fits by all methods that the loss has, and recomputes what the fits claim."""
    fits = [
        check_fit(X, y, C, loss, tol, method=method, **given)
        for method in methods
        if "squared" not in loss or method == "newton"
    ]
    for r in fits[1:]:
        assert r["primal_objective"] == pytest.approx(
            fits[0]["primal_objective"], rel=2 * tol, abs=1e-300
        )
    return fits[-1]


def check_fit(X, y, C, loss, tol, epsilon=0.0, intercept_scaling=1.0, **options):
    given = {"epsilon": epsilon, "intercept_scaling": intercept_scaling}
    matrix = csr_of(X) if sp.issparse(X) else X
    r = fit(matrix, y, C, loss, tol=tol, **given, **options)
    primal, dual = bounds(r, X, y, C, loss, **given)
    assert r["stop_reason"] == "converged", r
    assert r["primal_objective"] + r["dual_objective"] <= tol * r["primal_objective"]
    # Of losses that are 0 but for the rounding of f.
    f = X @ r["w"] + r["b"]
    margin = np.abs(1 - y * f if "hinge" in loss else np.abs(y - f) - epsilon)
    rounding = max(1e-300, 1e-15 * np.sum(np.broadcast_to(C, len(y))[margin < 1e-12]))
    assert r["primal_objective"] == pytest.approx(primal, rel=1e-9, abs=rounding)
    assert r["dual_objective"] == pytest.approx(dual, rel=1e-7, abs=1e-300)
    return r


def noisy(n=300, d=6, seed=0, flips=0.15):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = np.where(X @ rng.normal(size=d) + 0.3 + 0.4 * rng.normal(size=n) > 0, 1.0, -1.0)
    y[rng.random(n) < flips] *= -1
    return X, y


def targets(loss, X, y, seed=0):
    """Labels for the hinge losses, numbers for the others."""
    if "hinge" in loss:
        return y
    return X @ np.arange(1.0, X.shape[1] + 1) + y + np.random.default_rng(seed).normal(size=len(y))


def dense_qp(X, y, C, loss, epsilon, s):
    """The least primal value by a general solver, as a smooth problem with a slack each."""
    n, d = X.shape
    is_hinge = "hinge" in loss
    squared = "squared" in loss

    def split(v):
        return v[:d], v[d], v[d + 1 :]

    def objective(v):
        w, b, slack = split(v)
        penalty = 0.0 if np.isinf(s) or s == 0 else (b / s) ** 2
        return 0.5 * (w @ w + penalty) + C * np.sum(slack**2 if squared else slack)

    def gradient(v):
        w, b, slack = split(v)
        penalty = 0.0 if np.isinf(s) or s == 0 else b / s**2
        return np.r_[w, penalty, C * (2 * slack if squared else np.ones(n))]

    with_b = np.full((n, 1), float(s != 0))
    rows = np.hstack([X, with_b])
    if is_hinge:
        A, low = np.hstack([y[:, None] * rows, np.eye(n)]), np.ones(n)
    else:
        A = np.vstack([np.hstack([rows, np.eye(n)]), np.hstack([-rows, np.eye(n)])])
        low = np.r_[y - epsilon, -y - epsilon]
    start = np.r_[np.zeros(d + 1), np.maximum(np.abs(y), 1) + 1]
    done = minimize(
        objective,
        start,
        jac=gradient,
        bounds=[(None, None)] * (d + 1) + [(0, None)] * n,
        constraints=[{"type": "ineq", "fun": lambda v: A @ v - low, "jac": lambda v: A}],
        method="SLSQP",
        options={"maxiter": 1000, "ftol": 1e-14},
    )
    assert (A @ done.x >= low - 1e-8).all()
    return done.fun


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("s", INTERCEPTS)
def test_the_optimum_is_that_of_a_general_solver(loss, s):
    X, y = noisy(20, 3, seed=1)
    y = targets(loss, X, y)
    for C in (0.1, 10.0):
        r = check(X, y, C, loss, 1e-9, epsilon=0.3, intercept_scaling=s)
        assert r["primal_objective"] == pytest.approx(
            dense_qp(X, y, C, loss, 0.3, s), rel=1e-6, abs=1e-9
        )


@pytest.mark.parametrize(
    ("loss", "solver"),
    [
        ("hinge", 3),
        ("squared_hinge", 1),
        ("epsilon_insensitive", 13),
        ("squared_epsilon_insensitive", 12),
    ],
)
@pytest.mark.parametrize("s", [0.0, 1.0])
def test_the_optimum_is_liblinears(loss, solver, s):
    X, y = noisy(500, 8, seed=2)
    y = targets(loss, X, y)
    r = check(X, y, 0.5, loss, 1e-10, epsilon=0.2, intercept_scaling=s)
    w, b = liblinear(X, y, solver, 0.5, s or -1.0, 0.2, 1e-10)
    theirs = {"w": w[:, 0], "b": b[0], "beta": np.zeros(500)}
    primal, _ = bounds(theirs, X, y, 0.5, loss, 0.2, s)
    assert r["primal_objective"] <= primal * (1 + 1e-9)
    # Its coordinate descent gives up after 300 passes where the loss has no curvature.
    precision = 1e-6 if "squared" in loss else 1e-3
    assert primal == pytest.approx(r["primal_objective"], rel=precision)
    np.testing.assert_allclose(r["w"], theirs["w"], rtol=0, atol=1e-5 if "squared" in loss else 0.1)


def test_the_squared_loss_without_a_tube_is_ridge_regression():
    X, y = noisy(400, 7, seed=3)
    y = targets("squared_epsilon_insensitive", X, y)
    r = check(X, y, 2.0, "squared_epsilon_insensitive", 1e-12, intercept_scaling=np.inf)
    ridge = Ridge(alpha=1 / 4, tol=1e-12).fit(X, y)
    np.testing.assert_allclose(r["w"], ridge.coef_, rtol=1e-8)
    assert r["b"] == pytest.approx(ridge.intercept_, rel=1e-8)
    assert r["n_iter"] <= 2


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("s", [0.0, 1.0, np.inf])
@pytest.mark.parametrize("C", [1e-6, 1e-3, 1.0, 1e3, 1e8])
def test_any_cost(loss, s, C):
    X, y = noisy(400, 5, seed=4)
    for tol in (1e-4, 1e-8):
        check(X, targets(loss, X, y), C, loss, tol, epsilon=0.1, intercept_scaling=s)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("s", [0.0, 1.0, np.inf])
@pytest.mark.parametrize("C", [1.0, 1e4, 1e8])
def test_separable_classes(loss, s, C):
    X, y = noisy(300, 5, seed=5, flips=0)
    y = np.where(X @ np.arange(1, 6) > 0, 1.0, -1.0)
    r = check(X, y, C, loss, 1e-8, intercept_scaling=s)
    if C == 1e8:
        assert (y * (X @ r["w"] + r["b"])).min() == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("s", [0.0, 1.0, np.inf])
class TestHardSamples:
    def test_columns_of_all_scales(self, loss, s):
        X, y = noisy(300, 9, seed=6)
        y = targets(loss, X, y)
        check(X * np.logspace(-8, 8, 9), y, 1.0, loss, epsilon=0.1, intercept_scaling=s)

    def test_constant_equal_and_empty_columns(self, loss, s):
        X, y = noisy(300, 4, seed=7)
        y = targets(loss, X, y)
        X = np.c_[X, X[:, :2], np.full(300, 7.0), np.zeros(300), X[:, 0] + X[:, 1]]
        for C in (1.0, 1e6):
            r = check(X, y, C, loss, epsilon=0.1, intercept_scaling=s)
            assert r["w"][4] == pytest.approx(r["w"][0] - r["w"][8] + r["w"][8], rel=1e-3, abs=1e-6)
            assert r["w"][7] == 0

    def test_far_from_the_origin(self, loss, s):
        X, y = noisy(300, 4, seed=8)
        y = targets(loss, X, y)
        near = check(X, y, 1.0, loss, epsilon=0.1, intercept_scaling=s)
        far = check(X + 1e6, y, 1.0, loss, epsilon=0.1, intercept_scaling=s)
        if np.isinf(s):
            assert far["primal_objective"] == pytest.approx(near["primal_objective"], rel=1e-6)

    def test_fewer_samples_than_features(self, loss, s):
        X, y = noisy(12, 40, seed=9)
        for C in (1.0, 1e6):
            check(X, targets(loss, X, y), C, loss, epsilon=0.1, intercept_scaling=s)

    def test_one_and_two_samples(self, loss, s):
        for X, y in (([[2.0, -1.0]], [1.0]), ([[2.0, -1.0], [0.5, 3.0]], [1.0, -1.0])):
            check(np.array(X), np.array(y), 1.0, loss, epsilon=0.1, intercept_scaling=s)

    def test_one_class(self, loss, s):
        X, _ = noisy(100, 3, seed=10)
        # Where all residuals are epsilon at the optimum, Newton's method stalls.
        methods = METHODS[1:] if loss == "epsilon_insensitive" else METHODS
        r = check(X, np.ones(100), 1.0, loss, methods=methods, epsilon=0.1, intercept_scaling=s)
        if np.isinf(s):
            assert r["primal_objective"] == 0
            assert r["b"] == 1

    def test_samples_that_do_not_count(self, loss, s):
        X, y = noisy(200, 4, seed=11)
        y = targets(loss, X, y)
        C = np.random.default_rng(0).uniform(0.1, 3, 200)
        C[::3] = 0
        weighted = check(X, y, C, loss, epsilon=0.1, intercept_scaling=s)
        left = check(X[C > 0], y[C > 0], C[C > 0], loss, epsilon=0.1, intercept_scaling=s)
        assert weighted["primal_objective"] == pytest.approx(left["primal_objective"], rel=1e-7)
        nothing = check(X, y, np.zeros(200), loss, epsilon=0.1, intercept_scaling=s)
        assert (nothing["w"] == 0).all()

    def test_types_of_samples_agree(self, loss, s):
        X, y = noisy(300, 30, seed=12)
        y = targets(loss, X, y)
        X = np.where(np.random.default_rng(0).random(X.shape) < 0.2, X, 0).astype(np.float32)
        dense = check(X, y, 1.0, loss, epsilon=0.1, intercept_scaling=s)
        for other in (X.astype(np.float64), sp.csr_matrix(X), sp.csr_matrix(X, dtype=np.float64)):
            r = check(other, y, 1.0, loss, epsilon=0.1, intercept_scaling=s)
            np.testing.assert_allclose(r["w"], dense["w"], rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize(("loss", "method"), SOLVERS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_threads_change_no_bit(loss, method, dtype):
    X, y = noisy(9000, 20, seed=13)
    X = X.astype(dtype)
    runs = [fit(X, y, 1.0, loss, method=method, epsilon=0.1, n_threads=k) for k in (1, 2, 5)]
    for run in runs[1:]:
        assert run["w"].tobytes() == runs[0]["w"].tobytes()
        assert run["beta"].tobytes() == runs[0]["beta"].tobytes()


@pytest.mark.parametrize(("loss", "method"), SOLVERS)
def test_limits_leave_a_usable_machine(loss, method):
    X, y = noisy(2000, 10, seed=14)
    y = targets(loss, X, y)
    for limits, reason in (({"max_iter": 1}, "max_iter"), ({"time_limit": 0.0}, "time_limit")):
        given = {"epsilon": 0.1, "intercept_scaling": np.inf, "method": method}
        r = fit(X, y, 10.0, loss, tol=1e-10, **given, **limits)
        assert r["stop_reason"] == reason
        assert r["n_iter"] <= 1
        primal, dual = bounds(r, X, y, 10.0, loss, 0.1, np.inf)
        assert r["primal_objective"] == pytest.approx(primal)
        assert r["dual_objective"] == pytest.approx(dual)


@pytest.mark.parametrize(("loss", "method"), SOLVERS)
def test_a_callback_ends_a_fit(loss, method):
    X, y = noisy(3000, 10, seed=15)
    y = targets(loss, X, y)
    X, y = np.tile(X, (25, 40)), np.tile(y, 25)  # enough for several looks at the callback
    with pytest.raises(_core.Cancelled):
        fit(X, y, 1.0, loss, epsilon=1.0, method=method, tol=1e-14, callback=lambda _: True)


@pytest.mark.parametrize(("loss", "method"), SOLVERS)
def test_overflow_is_an_error(loss, method):
    X, y = noisy(50, 3, seed=16)
    with pytest.raises(_core.NumericError, match="overflow"):
        fit(X * 1e200, y, 1.0, loss, method=method)


def test_a_start_saves_newton_steps():
    X, y = noisy(5000, 10, seed=17)
    cold = check(X, y, 1.0, "squared_hinge", 1e-10)
    near = check(X, y, 1.1, "squared_hinge", 1e-10, start=cold["beta"])
    assert near["n_iter"] < check(X, y, 1.1, "squared_hinge", 1e-10)["n_iter"]


@pytest.mark.parametrize("loss", LOSSES)
def test_a_solution_is_a_start_without_steps(loss):
    X, y = noisy(5000, 10, seed=17)
    y = targets(loss, X, y)
    solution = check(X, y, 1.0, loss, 1e-9, METHODS[:1], epsilon=0.1)
    again = check(X, y, 1.0, loss, 1e-6, METHODS[:1], epsilon=0.1, start=solution["beta"])
    assert again["n_iter"] == 0


@pytest.mark.parametrize(
    ("loss", "penalty"), [("hinge", "l2"), ("squared_hinge", "l2"), ("squared_hinge", "l1")]
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dense_samples_that_are_mostly_zero_are_read_as_sparse_ones(loss, penalty, dtype):
    rng = np.random.default_rng(22)
    X = np.where(rng.random((900, 40)) < 0.1, rng.normal(size=(900, 40)), 0.0).astype(dtype)
    y = np.where(X @ rng.normal(size=40) + 0.3 * rng.normal(size=900) > 0, 1, -1)
    dense, sparse = (
        LinearSVC(loss=loss, penalty=penalty).fit(samples, y) for samples in (X, sp.csr_matrix(X))
    )
    assert dense.coef_.tobytes() == sparse.coef_.tobytes()
    assert dense.intercept_.tobytes() == sparse.intercept_.tobytes()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("feature", [0.0, 1.0, 0.25])
def test_weighted_gram_is_the_definition(dtype, feature):
    rng = np.random.default_rng(18)
    for n, d in ((1, 1), (5, 3), (127, 8), (128, 12), (700, 13), (2500, 37), (300, 130)):
        X = rng.normal(size=(n, d)).astype(dtype) + 3
        weights = rng.normal(size=n) * (rng.random(n) < 0.7)
        sparse = np.where(rng.random((n, d)) < 0.05, X, 0)
        for rows, matrix in ((X, X), (sparse, csr_of(sparse)), (X, csr_of(X))):
            lower, centre = internal.weighted_gram(matrix, weights, feature, 2)
            Z = rows.astype(np.float64) - (centre if centre else 0.0)
            Z = np.c_[Z, np.full(n, feature)] if feature else Z
            exact = (Z.T * weights) @ Z
            np.testing.assert_allclose(
                lower, exact[np.tril_indices(len(exact))], rtol=1e-12, atol=1e-11
            )


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("scaling", [1.0, np.inf])
def test_many_noisy_samples_take_few_steps(loss, scaling):
    X, y = noisy(3000, 10, seed=19)
    model = LinearSVC(loss=loss, C=1e4, tol=1e-8, intercept_scaling=scaling).fit(X, y)
    assert model.certificate_.converged
    assert model.n_iter_ < 60
    objective = primal_objective(
        X, y, model.coef_[0], model.intercept_[0], 1e4, loss, scaling=scaling
    )
    steps = check(X, y, 1e4, loss, intercept_scaling=scaling)
    assert objective == pytest.approx(steps["primal_objective"], rel=1e-7)


@pytest.mark.parametrize("make", [LinearSVC, LinearSVR])
@pytest.mark.parametrize("is_squared", [False, True])
def test_more_dense_features_have_a_second_order_method_too(make, is_squared):
    X, y = noisy(620, 600, seed=20)
    y = np.random.default_rng(21).permutation(y)
    loss = {LinearSVC: "hinge", LinearSVR: "epsilon_insensitive"}[make]
    model = make(loss=f"squared_{loss}" if is_squared else loss, C=100.0).fit(X, y)
    assert model.certificate_.converged  # of 10,000 passes of coordinate descent a gap is left
    w, b = model.coef_.ravel(), np.ravel(model.intercept_)[0]
    objective = primal_objective(X, y, w, b, 100.0, model.loss)
    assert model.certificate_.primal_objective == pytest.approx(objective, rel=1e-9)


@pytest.mark.filterwarnings("ignore::maxmargin.exceptions.ConvergenceWarning")
def test_coordinate_descent_goes_on_where_rounding_stalls_newton():
    # Features of very different units, far from the origin: float64 can hardly factor their sums.
    rng = np.random.default_rng(1)
    X = rng.normal(size=(30, 3)) * [1e-4, 1.0, 1e4] + rng.choice([0, 1e6])
    y = np.where(rng.random(30) < 0.5, 1.0, -1.0)
    given = {"loss": "hinge", "intercept_scaling": np.inf, "tol": 1e-8, "max_iter": 1000}
    alone = fit(X, y, 100.0, **given)
    gap = (alone["primal_objective"] + alone["dual_objective"]) / alone["primal_objective"]
    certificate = LinearSVC(C=100.0, **given).fit(X, y).certificate_
    assert certificate.relative_gap < gap or alone["stop_reason"] == "converged"
