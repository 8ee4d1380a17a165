"""Kernel values where a feature has a great spread, against differences of long doubles."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import SVC, SVR, KernelPerceptron, OneClassSVM, _core, io
from maxmargin.kernels import (
    RBF,
    ChiSquared,
    HistogramIntersection,
    Laplacian,
    Linear,
    Polynomial,
    Sigmoid,
)
from oracles.problems import rng
from support.internal import internal

SPREADS = [30.0, 300.0, 1e3, 1e4, 1e5, 1e7, 1e9]
TARGETS = _core.simd_targets()


def pairs(n, d, big, seed, n_wide=1):
    """Rows in pairs that agree, or nearly so, in features of this magnitude."""
    random = rng(seed)
    X = random.random((n, d))
    wide = np.repeat(big * random.random((-(-n // 2), n_wide)), 2, axis=0)[:n]
    X[:, :n_wide] = wide + 0.3 * random.random((n, n_wide))
    return X


def exponents(X, Z, kind):
    """The distances by the definition, of dense float64 samples."""
    x, z = X.astype(np.longdouble)[:, None, :], Z.astype(np.longdouble)
    if kind == "rbf":
        return ((x - z) ** 2).sum(axis=2)
    if kind == "laplacian":
        return np.abs(x - z).sum(axis=2)
    return ((x - z) ** 2 / np.where(x + z > 0, x + z, 1)).sum(axis=2)


def exact(X, Z, kind, gamma=1.0):
    return np.exp(-gamma * exponents(X, Z, kind)).astype(float)


KERNELS = {"rbf": RBF, "laplacian": Laplacian, "chi_squared": ChiSquared}


def forms(X):
    return {"dense": X, "CSR": sp.csr_matrix(X)}


def mostly_zero(X, n_wide=1):
    """The same with 30 features more that are nearly all zero: packed as sparse samples."""
    random = rng(11)
    return np.hstack(
        [X[:, : n_wide + 1], sp.random(len(X), 30, 0.05, random_state=random).toarray()]
    )


@pytest.mark.parametrize("big", SPREADS)
@pytest.mark.parametrize("kind", KERNELS)
@pytest.mark.parametrize("n_wide", [1, 3, 5])
def test_values_are_those_of_differences(kind, big, n_wide):
    X = pairs(41, 5, big, 0, n_wide)
    Z = X[::-1] + 0.01 * rng(1).random(X.shape)
    for A, B in [(X, Z), (mostly_zero(X, n_wide), mostly_zero(Z, n_wide))]:
        expected = exact(A, B, kind)
        assert (expected > 1e-3).any()
        for a in forms(A).values():
            for b in forms(B).values():
                for values in (KERNELS[kind]()(a, b), KERNELS[kind]().by_definition(a, b)):
                    np.testing.assert_allclose(values, expected, rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("kind", KERNELS)
@pytest.mark.parametrize("d", [1, 8, 30, 200])
def test_values_far_from_the_origin_and_from_each_other(kind, d):
    """Sums over many features, of the same sign, are off by more than one rounding."""
    for seed, far in enumerate((1.0, 10.0, 100.0, 300.0, 1e3, 3e3, 1e5)):
        random = rng(seed)
        apart = np.sqrt(far) if kind == "chi_squared" else 1.0
        X = np.abs(far + apart * random.normal(size=(24, d)) / np.sqrt(d))
        X[12:] += far
        for gamma in (0.01, 0.3, 5.0):
            expected = exact(X, X, kind, gamma)
            values = KERNELS[kind](gamma)(X, X)
            np.testing.assert_allclose(values, expected, rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("form", ["dense", "CSR"])
def test_many_features_that_few_rows_have(form):
    X = sp.random(60, 6000, 0.002, "csr", random_state=2).toarray()
    X[:, 5000] = np.repeat(1e9 * rng(3).random(30), 2)
    values = RBF()(forms(X)[form], forms(X)[form])
    some = X[:, X.any(axis=0)]
    np.testing.assert_allclose(values, exact(some, some, "rbf"), rtol=1e-12, atol=1e-300)
    assert (np.diag(values) == 1.0).all()


@pytest.mark.parametrize("big", [1e5, 1e9])
@pytest.mark.parametrize("sparse", [False, True])
def test_compositions_of_exponentials_and_of_products(big, sparse):
    X = pairs(37, 4, big, 4)
    if sparse:
        X = mostly_zero(X)
    Z = X[::-1].copy()
    distances = exact(X, Z, "rbf", 0.5)
    products = X @ Z.T
    sizes = np.sqrt(np.outer((X * X).sum(axis=1), (Z * Z).sum(axis=1)))
    sums = np.minimum(X[:, None, :], Z).sum(axis=2)
    for kernel, expected in [
        (RBF(0.5) + RBF(2.0), distances + exact(X, Z, "rbf", 2.0)),
        (RBF(0.5) * Linear(), distances * products),
        (Polynomial(2, 1.0, 1.0) * RBF(0.5), distances * (products + 1.0) ** 2),
        (Linear().normalised() + RBF(0.5), products / sizes + distances),
        (RBF(0.5) * Sigmoid(1e-18), distances * np.tanh(1e-18 * products)),
        (Laplacian() * HistogramIntersection(), exact(X, Z, "laplacian") * sums),
    ]:
        for a, b in zip(forms(X).values(), forms(Z).values(), strict=True):
            np.testing.assert_allclose(kernel(a, b), expected, rtol=1e-11, atol=1e-300)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("kind", KERNELS)
@pytest.mark.parametrize("sparse", [False, True])
def test_blocks_of_every_target(target, kind, sparse):
    for n_rows, n_columns, d in [(1, 1, 1), (5, 17, 3), (13, 40, 8), (33, 70, 9)]:
        X = pairs(n_rows, d, 1e9, 5)
        Z = pairs(n_columns, d, 1e9, 5)
        A, B = X, Z
        if sparse:
            A, B = ((M.data, M.indices, M.indptr, d) for M in map(sp.csr_matrix, (X, Z)))
        K, _ = internal.kernel_block(target, A, B, _core.KernelParams(kind, 0.5))
        expected = exact(X, Z, kind, 0.5)
        np.testing.assert_allclose(K[:, :n_columns], expected, rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("sparse", [False, True])
def test_composed_blocks_of_every_target(target, sparse):
    X = pairs(29, 6, 1e9, 6)
    A = X
    if sparse:
        M = sp.csr_matrix(X)
        A = (M.data, M.indices, M.indptr, 6)
    distances, products = exact(X, X, "rbf"), X @ X.T
    for kernel, expected in [
        (RBF() * Linear(), distances * products),
        ((RBF() + RBF(0.5)) * Linear(), (distances + exact(X, X, "rbf", 0.5)) * products),
    ]:
        params = kernel._core_params().to_core(X)
        K, _ = internal.kernel_block(target, A, A, params)
        np.testing.assert_allclose(K[:, :29], expected, rtol=1e-11, atol=1e-300)


@pytest.mark.parametrize("big", [1e5, 1e6, 1e7, 1e9])
@pytest.mark.parametrize("form", ["dense", "CSR", "mostly zero"])
def test_the_certificate_of_a_machine_is_that_of_the_definition(big, form):
    X = pairs(200, 6, big, 7)
    if form == "mostly zero":
        X = mostly_zero(X)
    y = rng(8).random(200) < 0.5
    A = X if form == "dense" else sp.csr_matrix(X)
    model = SVC(gamma=1.0, C=10.0, tol=1e-6).fit(A, y)
    K = exact(X, X, "rbf")
    f = K[:, model.support_] @ model.dual_coef_[0] + model.intercept_[0]
    np.testing.assert_allclose(model.decision_function(A), f, atol=1e-10)
    alpha = np.zeros(200)
    alpha[model.support_] = np.abs(model.dual_coef_[0])
    margins = np.where(y, 1.0, -1.0) * f - 1.0
    slack = np.where(alpha < 10.0, np.maximum(-margins, 0.0), 0.0)
    excess = np.where(alpha > 0.0, np.maximum(margins, 0.0), 0.0)
    assert max(slack.max(), excess.max()) <= 1.1e-6
    primal = 0.5 * f[model.support_] @ model.dual_coef_[0] - 0.5 * model.intercept_[0] * (
        model.dual_coef_[0].sum()
    )
    primal += 10.0 * np.maximum(-margins, 0.0).sum()
    assert model.certificate_.primal_objective == pytest.approx(primal, rel=1e-6)


def test_other_machines_and_rows_far_outside():
    X = pairs(120, 4, 1e8, 9)
    t = rng(10).random(120)
    new = np.vstack([X[:50] + 0.1, 1e3 * X[:3], -X[:3], np.full((1, 4), 1e12), X[:1] * 1e-9])
    K = exact(new, X, "rbf")
    for model in (SVR(gamma=1.0, C=10.0), OneClassSVM(gamma=1.0, nu=0.3)):
        model.fit(X, t)
        expected = K[:, model.support_] @ model.dual_coef_[0] + model.intercept_[0]
        decide = getattr(model, "decision_function", model.predict)
        np.testing.assert_allclose(decide(new), expected, atol=1e-10)
        one_by_one = np.concatenate([decide(row[None]) for row in new])
        np.testing.assert_array_equal(one_by_one, decide(new))
    y = t < 0.5
    model = KernelPerceptron(gamma=1.0).fit(X, y)
    expected = K[:, model.support_] @ model.dual_coef_[0] + model.intercept_[0]
    np.testing.assert_allclose(model.decision_function(new), expected, atol=1e-10)


def test_a_loaded_model(tmp_path):
    X = pairs(80, 4, 1e9, 12)
    model = SVC(gamma=1.0, C=10.0).fit(X, rng(13).random(80) < 0.5)
    path = tmp_path / "model"
    io.save_model(model, path)
    loaded = io.load_model(path, n_features=4)
    np.testing.assert_allclose(
        loaded.decision_function(X), model.decision_function(X), rtol=1e-12, atol=1e-12
    )


@pytest.mark.parametrize("density", [1.0, 0.1])
def test_two_clusters_far_apart(density):
    random = rng(14)
    X = np.where(random.random((100, 20)) < density, random.random((100, 20)), 0.0)
    X[50:] = np.where(X[50:] > 0.0, X[50:] + 1e8, 0.0)
    X[51] = X[50] + np.where(X[50] > 0, 0.25, 0.0)
    for form in forms(X).values():
        np.testing.assert_allclose(
            RBF(0.1)(form, form), exact(X, X, "rbf", 0.1), rtol=1e-11, atol=1e-300
        )


def test_a_feature_that_only_new_rows_have_wide():
    X = rng(15).random((30, 5))
    new = X.copy()
    new[::2, 3] = 1e9
    np.testing.assert_allclose(RBF()(new, X), exact(new, X, "rbf"), rtol=1e-12, atol=1e-300)
    np.testing.assert_allclose(RBF()(X, new), exact(X, new, "rbf"), rtol=1e-12, atol=1e-300)


def test_float32_samples():
    X = pairs(60, 4, 1e6, 16).astype(np.float32)
    np.testing.assert_allclose(RBF()(X, X), exact(X, X, "rbf"), rtol=1e-12, atol=1e-300)
    y = rng(17).random(60) < 0.5
    model = SVC(gamma=1.0, C=10.0).fit(X, y)
    f = exact(X, X, "rbf")[:, model.support_] @ model.dual_coef_[0] + model.intercept_[0]
    np.testing.assert_allclose(model.decision_function(X), f, atol=1e-10)


@pytest.mark.parametrize("C", [10.0, 1e4])
@pytest.mark.parametrize("kind", ["rbf", "laplacian"])
@pytest.mark.parametrize("big", [50.0, 200.0, 1e3, 3e3, 1e5])
def test_problems_large_enough_for_float32(big, kind, C):
    """On either side of where float32 holds the numbers whose differences are formed."""
    X = pairs(400, 4, big, 16)
    y = rng(17).random(400) < 0.5
    model = SVC(kernel=KERNELS[kind](gamma=1.0), C=C).fit(X, y)
    K = exact(X, X[model.support_], kind)
    f = K @ model.dual_coef_[0] + model.intercept_[0]
    alpha, margin = np.zeros(400), np.where(y, f, -f)
    alpha[model.support_] = abs(model.dual_coef_[0])
    short, over = (1.0 - margin)[alpha < C].max(), (margin - 1.0)[alpha > 0.0].max()
    assert model.certificate_.converged
    assert max(short, over) <= model.certificate_.kkt_violation + 1e-8
    np.testing.assert_allclose(model.decision_function(X), f, atol=1e-9)
