"""The solver and the kernel matrix below the estimators: optimality, determinism, bookkeeping."""

from __future__ import annotations

import functools
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import _core
from oracles.svm import c_svc_checks, fields_of, kkt_violation, primal_objective, solve_c_svc
from oracles.svm import kernel as kernel_matrix


def problem(n, d, seed=0, flip=0.1):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = (X[:, 0] + 2 * X[:, 0] * X[:, 1] > 0).astype(np.int64)
    flipped = rng.random(n) < flip
    y[flipped] = 1 - y[flipped]
    return X, y


def fit(X, y, C=1.0, gamma=0.5, kernel="rbf", **options):
    upper = np.broadcast_to(np.asarray(C, float), len(y)).copy()
    options.setdefault("cache_bytes", 100 << 20)
    callback = options.pop("callback", None)
    params = _core.KernelParams(kernel, gamma, 1.0, 2)
    training = _core.TrainingOptions(**options)
    n_classes = int(y.max()) + 1
    return fields_of(_core.svc_fit(X, y, n_classes, upper, params, training, callback=callback))


def signed(result, y):
    """beta over all rows, labels in {-1, +1} and offset; class 0 is the positive one."""
    beta = np.zeros(len(y))
    beta[result["support"]] = result["dual_coef"][0]
    return beta, np.where(y == 0, 1.0, -1.0), -result["rho"][0]


@pytest.mark.parametrize("n", [2, 3, 7, 40, 300])
@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf"])
def test_small_problems_reach_the_optimum_of_a_dense_qp(n, kernel):
    X, y = problem(n, 4, seed=n)
    y[:2] = [0, 1]
    result = fit(X, y, C=2.0, kernel=kernel, tol=1e-8)
    beta, signs, b = signed(result, y)
    K = kernel_matrix(X, X, kernel, gamma=0.5, coef0=1.0, degree=2)
    objective = c_svc_checks(K, signs, beta, b, np.full(n, 2.0), 1e-8)
    exact = solve_c_svc(K, signs, np.full(n, 2.0))
    assert objective == pytest.approx(0.5 * exact @ K @ exact - np.abs(exact).sum(), rel=1e-6)
    assert result["dual_objective"][0] == pytest.approx(objective, rel=1e-12, abs=1e-12)


@functools.lru_cache(maxsize=1)
def problem_with_kernel(n, sparse):
    X, y = problem(n, 6, seed=1, flip=0.03)
    if sparse:
        X = np.where(np.abs(X) > 0.8, X, 0.0)
    return X, y, kernel_matrix(X, X, gamma=0.5)


LARGE = pytest.param(6001, 0.3, marks=pytest.mark.no_sanitizer)


# Objectives that come from float32 kernel values share a part of their rounding.
@pytest.mark.parametrize(("precision", "rounding"), [("float64", 1e-9), ("float32", 1e-7)])
@pytest.mark.parametrize("shrinking", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(("n", "C"), [(2500, 1.0), LARGE, (3000, 100.0)])
def test_the_certificate_is_true(n, C, sparse, shrinking, precision, rounding):
    X, y, K = problem_with_kernel(n, sparse)
    if sparse:
        S = sp.csr_matrix(X)
        data = (S.data, S.indices, S.indptr, X.shape[1])
    result = fit(data if sparse else X, y, C=C, shrinking=shrinking, tol=1e-3, precision=precision)
    beta, signs, b = signed(result, y)
    upper = np.full(n, C)
    objective = c_svc_checks(K, signs, beta, b, upper, 1e-3)
    assert result["stop_reason"] == ["converged"]
    assert result["dual_objective"][0] == pytest.approx(objective, rel=rounding)
    assert result["primal_objective"][0] == pytest.approx(
        primal_objective(K, signs, beta, b, upper), rel=rounding
    )
    violation = kkt_violation(K, signs, beta, upper)
    assert violation < 1e-3
    assert result["kkt_violation"][0] == pytest.approx(violation, abs=1e-9)


def same_bits(a, b):
    return all(a[key].tobytes() == b[key].tobytes() for key in ("support", "dual_coef", "rho"))


@pytest.mark.parametrize("kernel", ["rbf", "poly"])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("d", [5, 60])
def test_neither_threads_nor_cache_change_a_bit(kernel, sparse, d):
    X, y = problem(3000, d, seed=2)
    if sparse:
        S = sp.random(3000, d, 0.3, "csr", random_state=3)
        X = (S.data, S.indices, S.indptr, d)
    gamma = 0.5 / d
    options = {"C": 5.0, "gamma": gamma, "kernel": kernel, "max_iter": 5000}
    one = fit(X, y, n_threads=1, **options)
    assert same_bits(one, fit(X, y, n_threads=2, **options))
    assert same_bits(one, fit(X, y, n_threads=3, cache_bytes=1, **options))
    assert same_bits(one, fit(X, y, n_threads=1, cache_bytes=5 << 20, **options))


def test_pairs_side_by_side_give_the_bits_of_pairs_in_turn():
    X, _ = problem(900, 5, seed=4)
    y = np.random.default_rng(5).integers(0, 5, 900)
    assert same_bits(fit(X, y, n_threads=1), fit(X, y, n_threads=2))


def test_a_larger_cache_computes_fewer_rows():
    X, y = problem(1500, 60, seed=6)
    sizes = (1, 8 << 20, 40 << 20)
    rows = [int(fit(X, y, C=10.0, cache_bytes=size)["kernel_rows"][0]) for size in sizes]
    assert rows[0] > rows[1] > rows[2]


def test_the_objective_falls_with_every_further_step():
    X, y = problem(200, 2, seed=7, flip=0.5)
    objectives = []
    for max_iter in (0, 1, 2, 5, 10, 50, 100, 1000, 5000, -1):
        result = fit(X, y, C=100.0, gamma=10.0, max_iter=max_iter)
        beta, signs, _ = signed(result, y)
        assert (signs * beta >= 0).all()
        assert (signs * beta <= 100.0).all()
        assert abs(beta.sum()) < 1e-9 * max(1.0, np.abs(beta).sum())
        if max_iter >= 0:
            assert result["n_iter"][0] <= max_iter
        objectives.append(result["dual_objective"][0])
    assert objectives[0] == 0.0
    assert all(a >= b for a, b in pairwise(objectives))
    assert result["stop_reason"] == ["converged"]


@pytest.mark.parametrize("C", [1e4, 1e6])
@pytest.mark.parametrize("tol", [1e-3, 1e-7])
def test_newton_steps_finish_what_pair_steps_would_creep_along(C, tol):
    X, y = problem(1000, 3, seed=17, flip=0.1)
    result = fit(X, y, C=C, gamma=1.0, tol=tol)
    beta, signs, b = signed(result, y)
    c_svc_checks(kernel_matrix(X, X, gamma=1.0), signs, beta, b, np.full(1000, C), tol)
    assert result["stop_reason"] == ["converged"]
    assert result["n_iter"][0] < 1_000_000


def test_a_time_limit_ends_the_fit_with_a_feasible_model():
    X, y = problem(4000, 5, seed=8, flip=0.5)
    result = fit(X, y, C=1e5, gamma=5.0, time_limit=0.0)
    assert result["stop_reason"] == ["time_limit"]
    beta, _, _ = signed(result, y)
    assert abs(beta.sum()) < 1e-9 * max(1.0, np.abs(beta).sum())


def test_a_time_limit_holds_inside_a_block():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 7)), rng.integers(0, 2, 30)
    result = fit(X, y, C=1e100, kernel="linear", time_limit=0.2)
    assert result["stop_reason"] == ["time_limit"] or result["seconds"][0] < 0.2


def test_columns_without_entries_take_no_room():
    rng = np.random.default_rng(1)
    X, y = problem(40, 9, seed=19)
    columns = np.sort(rng.choice(2**40, 9, replace=False))
    indices, indptr = np.tile(columns, 40), np.arange(0, 361, 9)
    wide = fit((X.ravel(), indices, indptr, 2**40), y, tol=1e-8)
    narrow = fit(X, y, tol=1e-8)
    assert wide["dual_objective"][0] == pytest.approx(narrow["dual_objective"][0], rel=1e-9)
    vectors = (X.ravel(), indices, indptr, 2**40)
    support = wide["support"]
    model = wide["model"]
    assert model.support_vectors[3] == 2**40
    K = kernel_matrix(X, X[support], gamma=0.5)
    expected = K @ wide["dual_coef"][0] - wide["rho"][0]
    np.testing.assert_allclose(model.decision_values(vectors)[:, 0], expected, atol=1e-9)
    # A sample may have columns that no support vector has; they count in its distance.
    other = (np.array([2.0]), np.array([5]), np.array([0, 1]), 2**40)
    far = np.exp(-0.5 * (4.0 + (X[support] ** 2).sum(axis=1)))
    value = model.decision_values(other)[0, 0]
    assert value == pytest.approx(far @ wide["dual_coef"][0] - wide["rho"][0], abs=1e-9)


def test_rows_with_a_zero_box_take_no_part():
    X, y = problem(500, 4, seed=9)
    upper = np.where(np.arange(500) % 3 == 0, 0.0, 2.0)
    kept = upper > 0
    with_zeros = fit(X, y, C=upper, tol=1e-8)
    without = fit(np.ascontiguousarray(X[kept]), y[kept], C=2.0, tol=1e-8)
    assert (upper[with_zeros["support"]] > 0).all()
    assert with_zeros["dual_objective"][0] == pytest.approx(without["dual_objective"][0], rel=1e-8)


@pytest.mark.parametrize("scale", [1e-8, 1e-3, 1e3, 1e8])
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_scale_and_offset_do_not_matter(scale, offset):
    X, y = problem(300, 3, seed=10)
    plain = fit(X, y, tol=1e-6)["dual_objective"][0]
    moved = fit((X + offset) * scale, y, gamma=0.5 / scale**2, tol=1e-6)["dual_objective"][0]
    assert moved == pytest.approx(plain, rel=1e-6)


def test_overflow_is_an_error_and_not_a_model():
    X, y = problem(60, 20, seed=11)
    params = _core.KernelParams("poly", 1.0, 0.0, 200)
    with pytest.raises(_core.NumericError, match="overflow"):
        _core.svc_fit(X * 100, y, 2, np.ones(60), params, _core.TrainingOptions())


def test_a_callback_sees_the_violation_and_may_stop():
    X, y = problem(3000, 5, seed=12, flip=0.5)
    seen = []

    def stop(progress):
        seen.append(progress)
        return len(seen) >= 2

    with pytest.raises(_core.Cancelled):
        fit(X, y, C=1e6, gamma=5.0, tol=1e-8, callback=stop)
    assert len(seen) == 2
    assert seen[-1]["kkt_violation"] > 0
    assert seen[-1]["n_iter"] >= seen[0]["n_iter"]
    assert seen[-1]["n_free"] > 0


@pytest.mark.no_sanitizer
def test_progress_counts_the_support_vectors():
    X, y = problem(6000, 4, seed=18, flip=0.3)
    seen = []
    result = fit(X, y, C=1000.0, gamma=1.0, tol=1e-5, callback=seen.append, n_threads=1)
    n_bounded = int((np.abs(result["dual_coef"]) == 1000.0).sum())
    last = seen[-1]
    assert last["n_bounded"] == pytest.approx(n_bounded, rel=0.2)
    assert last["n_free"] + last["n_bounded"] == pytest.approx(len(result["support"]), rel=0.2)


@pytest.mark.no_sanitizer
@pytest.mark.parametrize(("precision", "rounding"), [("float64", 1e-11), ("float32", 1e-4)])
@pytest.mark.parametrize("shrinking", [False, True])
def test_progress_tells_the_dual_objective_at_that_iteration(precision, rounding, shrinking):
    X, y = problem(6000, 4, seed=18, flip=0.3)
    options = {"C": 30.0, "gamma": 1.0, "precision": precision, "shrinking": shrinking}
    seen = []
    result = fit(X, y, tol=1e-5, callback=seen.append, **options)
    seen = [report for report in seen if report["n_iter"] > 0]
    objectives = [report["dual_objective"] for report in seen]
    assert min(objectives) >= result["dual_objective"][0] * (1.0 + rounding)
    assert all(after <= before for before, after in pairwise(objectives))
    for report in (seen[0], seen[len(seen) // 2], seen[-1]):
        at_report = fit(X, y, tol=1e-5, max_iter=report["n_iter"], **options)
        assert report["dual_objective"] == pytest.approx(
            at_report["dual_objective"][0], rel=rounding
        )


def test_an_exception_in_the_callback_ends_the_fit():
    X, y = problem(3000, 5, seed=13, flip=0.5)

    def fail(progress):
        raise KeyError("mine")

    for _ in range(8):  # whichever thread ends first
        with pytest.raises(KeyError, match="mine"):
            fit(X, y, C=1e6, gamma=5.0, tol=1e-8, callback=fail)


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf", "sigmoid"])
@pytest.mark.parametrize("sparse", [False, True])
def test_decisions_are_the_definition(kernel, sparse):
    X, _ = problem(150, 7, seed=14)
    X[np.abs(X) < 0.7] = 0.0
    y = np.random.default_rng(15).integers(0, 4, 150)
    S = sp.csr_matrix(X)
    data = (S.data, S.indices, S.indptr, 7) if sparse else X
    result = fit(data, y, C=3.0, kernel=kernel, max_iter=2000)
    support, n_support = result["support"], result["n_support"]
    model = result["model"]
    T = np.random.default_rng(16).normal(size=(101, 7))
    T[np.abs(T) < 0.5] = 0.0
    K = kernel_matrix(T, X[support], kernel, gamma=0.5, coef0=1.0, degree=2)
    of_class = np.repeat(np.arange(4), n_support)
    expected = []
    for a in range(4):
        for b in range(a + 1, 4):
            coef = np.where(of_class == a, result["dual_coef"][b - 1], 0.0)
            coef += np.where(of_class == b, result["dual_coef"][a], 0.0)
            expected.append(K @ coef - result["rho"][len(expected)])
    expected = np.stack(expected, axis=1)
    TS = sp.csr_matrix(T)
    csr = (TS.data, TS.indices, TS.indptr, 7)
    scale = np.abs(result["dual_coef"]).sum() * np.abs(K).max()
    for samples in (T, csr):
        np.testing.assert_allclose(model.decision_values(samples), expected, atol=1e-12 * scale)
    one = np.concatenate([model.decision_values(T[i : i + 1]) for i in range(101)])
    assert one.tobytes() == model.decision_values(T).tobytes()
    assert one.tobytes() == model.decision_values(T, 2).tobytes()
