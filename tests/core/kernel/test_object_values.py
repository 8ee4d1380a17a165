"""The values of kernel objects, which the core makes, against the definition in numpy."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import SVC, _core
from maxmargin.kernels import (
    RBF,
    ChiSquared,
    Constant,
    HistogramIntersection,
    Laplacian,
    Linear,
    Polynomial,
    PowerSum,
    Sigmoid,
)
from oracles.problems import rng


def first_squared(X):
    return np.asarray(X.sum(axis=1)).ravel() ** 2 - 0.5


PRODUCTS = [Linear(), RBF(0.3), Polynomial(3, 0.5, 1.0), Sigmoid(0.2, -0.1), PowerSum(3)]
KERNELS = [
    *PRODUCTS,
    *(a + 0.5 * b for a, b in itertools.combinations(PRODUCTS, 2)),
    *(a * b for a, b in itertools.combinations(PRODUCTS, 2)),
    Constant(2.0),
    Polynomial(0),
    RBF(0.3) + RBF(0.1) + Polynomial(2, 1.0, 1.0),
    (RBF(0.3) + 0.1 * PowerSum(2)).normalised() + 1.0,
    (RBF(0.3).weighted(first_squared) + Linear()) * Polynomial(2, 0.5, 1.0),
    Laplacian(0.3),
    ChiSquared(0.3),
    HistogramIntersection(),
    (Laplacian(0.3) + 0.5 * HistogramIntersection()).normalised(),
    RBF(0.3) + Laplacian(0.3),  # not known to the core
]
FORMS = {
    "C": np.ascontiguousarray,
    "Fortran": np.asfortranarray,
    "float32": lambda X: X.astype(np.float32),
    "CSR": sp.csr_matrix,
    "list": lambda X: X.tolist(),
}


def samples(n, d, seed, density=1.0):
    random = rng(seed)
    return np.where(random.random((n, d)) < density, random.random((n, d)), 0.0)


def assert_close(values, expected):
    assert values.dtype == np.float64
    np.testing.assert_allclose(values, expected, rtol=1e-12, atol=1e-13 * np.abs(expected).max())


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_values_are_those_of_the_definition(kernel, form):
    A, B = samples(61, 7, 0, 0.7), samples(47, 7, 1, 0.7)
    A[3] = B[5] = 0.0
    A[4] = B[6]
    A, B = FORMS[form](A), FORMS[form](B)
    values = kernel(A, B)
    assert values.flags.c_contiguous
    assert_close(values, kernel.by_definition(A, B))


@pytest.mark.parametrize("kernel", [RBF(0.1), Polynomial() + RBF(0.1), Laplacian(0.1)], ids=repr)
@pytest.mark.parametrize("n_rows", [1, 2, 49, 130])
@pytest.mark.parametrize("n_columns", [1, 7, 9, 511, 513, 1030])
def test_blocks_of_any_size(kernel, n_rows, n_columns):
    for density in (1.0, 0.05):
        A, B = samples(n_rows, 40, 2, density), samples(n_columns, 40, 3, density)
        expected = kernel.by_definition(A, B)
        assert_close(kernel(A, B), expected)
        assert_close(kernel(sp.csr_matrix(A), sp.csr_matrix(B)), expected)
        assert_close(kernel(sp.csr_matrix(A), B), expected)
        assert_close(kernel(A, sp.csr_matrix(B)), expected)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_a_sample_with_itself(kernel):
    X = samples(60, 5, 4)
    K = kernel(X, X)
    assert_close(np.diag(K), kernel.diagonal(X))
    np.testing.assert_array_equal(K, K.T)


def test_wide_sparse_samples():
    X = sp.random(80, 50_000, 0.002, "csr", random_state=0)
    kernel = RBF(0.01) + 0.5 * Linear()
    assert_close(kernel(X[:33], X), kernel.by_definition(X[:33], X))


@pytest.mark.parametrize("unit", [1e-100, 1e100])
def test_units_far_from_1(unit):
    A, B = samples(9, 4, 5), samples(8, 4, 6)
    expected = RBF(1.0).by_definition(A, B)
    assert_close(RBF(1.0 / unit**2)(A * unit, B * unit), expected)


def test_products_of_normalised_kernels_stay_in_range():
    kernel = Polynomial(20).normalised() * Polynomial(20).normalised()
    for scale in (1e-4, 1.0, 1e4):
        X = scale * np.array([[1.0, 0.0], [1.0, 1.0]])
        assert_close(kernel(X, X), kernel.by_definition(X, X))
        np.testing.assert_allclose(np.diag(kernel(X, X)), 1.0, rtol=1e-12)


def test_columns_far_smaller_than_rows():
    A = np.array([[1.0, 2.0], [6.0, 1.0]])
    for tiny in (1e-155, 1e-160, 1e-200, 1e-280):
        B = np.array([[tiny, 0.0], [0.0, 0.0]])
        for kernel in (RBF(0.5), Linear(), Polynomial(1, 1e100), Laplacian(0.5)):
            for left, right in ((A, B), (B, A), (1e10 * A, B), (B, 1e10 * A)):
                expected = kernel.by_definition(left, right)
                np.testing.assert_allclose(kernel(left, right), expected, rtol=1e-12, atol=0)


@pytest.mark.parametrize("offset", [0.0, 2000.0, 1e5, 1.7e9])
def test_mostly_zero_samples_with_a_column_far_off(offset):
    """One-hot features with a time: the time's offset is not to swallow all distances."""
    random = rng(9)
    X = np.hstack([np.eye(10)[random.integers(0, 10, 200)], offset + 5 * random.random((200, 1))])
    difference = X[:, None, :] - X
    expected = np.exp(-0.5 * (difference**2).sum(axis=2))
    K = RBF(0.5)(X, X)
    np.testing.assert_allclose(K, expected, atol=1e-13)
    np.testing.assert_array_equal(K, K.T)
    y = np.sin(X[:, -1] - offset) > 0
    model = SVC(gamma=0.5, C=10.0).fit(X, y)
    sums = expected[:, model.support_] @ model.dual_coef_[0] + model.intercept_[0]
    np.testing.assert_allclose(model.decision_function(X), sums, atol=1e-11)
    assert model.score(X, y) > 0.95


def test_sums_of_sixteen_kernels_are_made_in_the_core():
    X = samples(40, 4, 10)
    kernel = sum(RBF(0.1 * k + 0.1) for k in range(16))
    assert kernel._core_params() is not None
    assert_close(kernel(X, X), kernel.by_definition(X, X))
    assert (kernel + RBF(5.0))._core_params() is None


def test_what_is_not_allowed():
    X = samples(5, 3, 7)
    for kernel in (RBF(), RBF() + Linear()):
        with pytest.raises(ValueError, match="as many features, got 3 and 2"):
            kernel(X, X[:, :2])
        with pytest.raises(ValueError, match="NaN"):
            kernel(X, np.full((2, 3), np.nan))
    with pytest.raises(ValueError, match="real numbers, got dtype complex128"):
        RBF().weighted(lambda A: np.ones(len(A), complex))(X, X)
    for kernel in (ChiSquared(), ChiSquared() + HistogramIntersection()):
        for A, B in ((-X, X), (X, -X)):
            with pytest.raises(ValueError, match="features >= 0"):
                kernel(A, B)
            with pytest.raises(ValueError, match="features >= 0"):
                kernel.by_definition(A, B)


def test_the_core_guards_its_memory():
    X, kernel = samples(5, 3, 8), _core.KernelParams("rbf")
    with pytest.raises(ValueError, match="as many features"):
        _core.kernel_values(X, X[:, :2].copy(), kernel)
    with pytest.raises(ValueError, match="function of two samples"):
        _core.kernel_values(X, X, _core.KernelParams("precomputed"))
    weighted = _core.KernelParams.composed([(kernel, 1.0), "factors"], np.ones((1, 5)))
    assert _core.kernel_values(X, X, weighted, np.ones((1, 5))).shape == (5, 5)
    with pytest.raises(ValueError, match="factors"):
        _core.kernel_values(X, X, weighted, np.ones((1, 4)))
    with pytest.raises(ValueError, match="factors"):
        _core.kernel_values(X, X[:4].copy(), weighted, np.ones((1, 5)))
