"""Fits on float32 kernel values are as true as those on float64 ones; so are stored matrices."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import _core
from oracles.svm import c_svc_checks, fields_of, kkt_violation, primal_objective
from oracles.svm import kernel as kernel_matrix


def fit(X, y, C=1.0, gamma=0.5, kernel="rbf", **options):
    upper = np.full(len(y), float(C))
    options.setdefault("cache_bytes", 100 << 20)
    params = _core.KernelParams(kernel, gamma, 1.0, 2)
    data = (X.data, X.indices, X.indptr, X.shape[1]) if sp.issparse(X) else X
    training = _core.TrainingOptions(**options)
    return fields_of(_core.svc_fit(data, y, int(y.max()) + 1, upper, params, training))


def noisy(n, d, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = (X[:, 0] + 2 * X[:, 0] * X[:, 1] > 0).astype(np.int64)
    flipped = rng.random(n) < 0.05
    y[flipped] = 1 - y[flipped]
    return X, y


def text(n, n_classes, seed=0, n_words=40, n_features=30_000):
    """Rows of norm 1 whose words follow Zipf's law, a fifth of them words of the row's class."""
    rng = np.random.default_rng(seed)
    y = np.sort(rng.integers(0, n_classes, n))
    y[:n_classes] = np.arange(n_classes)
    rows = np.repeat(np.arange(n), n_words)
    words = (n_features ** rng.random(n * n_words)).astype(int) - 1
    of_class = rng.random(n * n_words) < 0.2
    words[of_class] = n_features // 2 + 50 * y[rows[of_class]] + rng.integers(0, 50, of_class.sum())
    X = sp.csr_matrix((np.ones(len(rows)), (rows, words)), (n, n_features))
    X.data = np.log1p(X.data)
    X = sp.csr_matrix(X.multiply(1 / np.sqrt(X.multiply(X).sum(axis=1))))
    X.sort_indices()
    return X, y.astype(np.int64)


def pairs_of(result, y):
    """For every machine: the rows of its classes, their signs, beta and offset."""
    n_classes = int(y.max()) + 1
    full = np.zeros((n_classes - 1, len(y)))
    full[:, result["support"]] = result["dual_coef"]
    machine = 0
    for a in range(n_classes):
        for b in range(a + 1, n_classes):
            rows = np.flatnonzero((y == a) | (y == b))
            beta = np.where(y[rows] == a, full[b - 1, rows], full[a, rows])
            yield rows, np.where(y[rows] == a, 1.0, -1.0), beta, -result["rho"][machine]
            machine += 1


def rbf(X, gamma):
    if not sp.issparse(X):
        return kernel_matrix(X, X, gamma=gamma)
    norms = np.asarray(X.multiply(X).sum(axis=1)).ravel()
    return np.exp(-gamma * np.maximum(norms[:, None] + norms - 2 * (X @ X.T).toarray(), 0))


def check_machines(X, y, result, C, gamma, tol):
    for p, (rows, signs, beta, b) in enumerate(pairs_of(result, y)):
        K = rbf(X[rows], gamma)
        upper = np.full(len(rows), float(C))
        objective = c_svc_checks(K, signs, beta, b, upper, tol)
        assert result["stop_reason"][p] == "converged"
        assert result["dual_objective"][p] == pytest.approx(objective, rel=1e-6)
        primal = primal_objective(K, signs, beta, b, upper)
        error = 0.1 * max(primal + objective, 1e-2 * tol * np.abs(beta).sum(), 1e-8 * primal)
        assert result["primal_objective"][p] == pytest.approx(primal, abs=error)
        violation = kkt_violation(K, signs, beta, upper)
        assert violation < tol
        assert result["kkt_violation"][p] == pytest.approx(violation, abs=1e-9)


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("tol", [1e-3, 1e-6, 1e-8])
@pytest.mark.parametrize("C", [0.1, 10.0, 1000.0])
def test_any_precision_reaches_any_tolerance(C, tol, precision):
    X, y = noisy(700, 6)
    check_machines(X, y, fit(X, y, C, tol=tol, precision=precision), C, 0.5, tol)


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("n_classes", [2, 7])
def test_texts(n_classes, precision):
    """Features beyond the head, and with 7 classes, pairs whose matrix is computed beforehand."""
    X, y = text(1500, n_classes)
    result = fit(X, y, C=10.0, gamma=1.0, tol=1e-4, precision=precision)
    check_machines(X, y, result, 10.0, 1.0, 1e-4)
    if n_classes > 2:
        assert (result["kernel_rows"][1:] == 0).all()


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_stored_pairs_of_dense_samples(precision):
    rng = np.random.default_rng(5)
    y = np.repeat(np.arange(5), [301, 17, 250, 130, 33]).astype(np.int64)
    X = rng.normal(size=(len(y), 50)) + 0.3 * rng.normal(size=(5, 50))[y]
    result = fit(X, y, C=3.0, gamma=0.02, precision=precision)
    assert (result["kernel_rows"][1:] == 0).all()
    check_machines(X, y, result, 3.0, 0.02, 1e-3)


def test_values_that_float32_cannot_hold_end_in_float64():
    """Far from the origin, sparse samples lose their differences in float32."""
    X, y = noisy(600, 5)
    S = sp.csr_matrix(np.hstack([X + 3e4, np.zeros((600, 10))]))
    result = fit(S, y, C=100.0, precision="float32")
    exact = fit(S, y, C=100.0, precision="float64")
    assert result["stop_reason"] == ["converged"]
    assert result["dual_objective"][0] == pytest.approx(exact["dual_objective"][0], rel=1e-6)
    assert fit(S, y, C=100.0)["dual_objective"] == exact["dual_objective"]  # chosen beforehand


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf", "sigmoid"])
def test_kernels(kernel):
    X, y = noisy(500, 4, seed=3)
    narrow = fit(X, y, kernel=kernel, gamma=0.1, tol=1e-5, precision="float32")
    wide = fit(X, y, kernel=kernel, gamma=0.1, tol=1e-5, precision="float64")
    rel = 1e-2 if kernel == "sigmoid" else 1e-6  # an indefinite kernel has many KKT points
    assert narrow["dual_objective"][0] == pytest.approx(wide["dual_objective"][0], rel=rel)


@pytest.mark.parametrize("max_iter", [1, 300, 2000])
def test_a_fit_that_stops_early_tells_the_true_violation(max_iter):
    X, y = noisy(3000, 5)
    result = fit(X, y, C=50.0, max_iter=max_iter, precision="float32")
    assert result["stop_reason"] == ["max_iter"]
    ((_, signs, beta, _),) = pairs_of(result, y)
    violation = kkt_violation(kernel_matrix(X, X, gamma=0.5), signs, beta, np.full(3000, 50.0))
    assert result["kkt_violation"][0] == pytest.approx(violation, abs=1e-9)


@pytest.mark.parametrize("n_classes", [2, 3, 4, 7])
def test_threads_do_not_change_a_bit(n_classes):
    X, y = text(1200, n_classes, seed=1)
    keys = ("support", "dual_coef", "rho", "dual_objective", "kkt_violation")
    one = fit(X, y, C=10.0, gamma=1.0, n_threads=1)
    for n_threads in (2, 3, 5):
        other = fit(X, y, C=10.0, gamma=1.0, n_threads=n_threads)
        assert all(one[key].tobytes() == other[key].tobytes() for key in keys)


@pytest.mark.parametrize("outlier", [2, 77, 301])
def test_values_beyond_float32_end_in_float64(outlier):
    X = np.random.default_rng(0).normal(size=(600, 10))
    y = (X[:, 0] > 0).astype(np.int64)
    X[outlier] *= 1e8  # its cube is beyond the range
    upper, params = np.full(600, 1e-3), _core.KernelParams("poly", 0.1, 1.0, 3)
    for precision in ("auto", "float32", "float64"):  # whether so ill a problem converges is luck
        training = _core.TrainingOptions(precision=precision, max_iter=3000)
        result = fields_of(_core.svc_fit(X, y, 2, upper, params, training))
        assert np.isfinite(result["dual_objective"]).all()


@pytest.mark.parametrize("scale", [1e6, 1e10, 1e13])
def test_a_far_outlier_does_not_blur_the_others(scale):
    X, y = noisy(400, 5)
    X[77] *= scale
    check_machines(X, y, fit(X, y, C=1.0, tol=1e-4), 1.0, 0.5, 1e-4)


def test_a_stop_below_the_tolerance_is_no_failure():
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(500, 6))
        y = (X[:, 0] + rng.normal(size=500) > 0).astype(np.int64)
        result = fit(
            X, y, C=50.0, gamma=0.1, tol=3e-6, precision="float32", max_iter=500 + 9 * seed
        )
        assert (result["kkt_violation"][0] < 3e-6) == (result["stop_reason"] == ["converged"])


def test_precision_is_checked():
    X, y = noisy(10, 2)
    with pytest.raises(ValueError, match="precision must be auto, float32 or float64, got 'half'"):
        fit(X, y, precision="half")
