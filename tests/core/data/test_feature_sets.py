"""Samples whose non-zeros are all one number: kernel values from counts of differences."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import SVC, SVR, OneClassSVM, _core
from oracles.problems import rng
from oracles.svm import kernel
from support.internal import internal

LARGEST_SET, MOST_FEATURES = 127, 4096


def sets(n, n_features, share, value=1.0, seed=0):
    return np.where(rng(seed).random((n, n_features)) < share, value, 0.0)


def one_hot(n, sizes=(7, 16, 5, 9, 2, 41), seed=0):
    """Categories, and classes that go with some of them."""
    random = rng(seed)
    codes = np.column_stack([random.integers(0, size, n) for size in sizes])
    X = np.hstack([np.eye(size)[code] for size, code in zip(sizes, codes.T, strict=True)])
    score = (codes[:, 0] < 3) + (codes[:, 1] % 3 == 0) * (codes[:, 2] - 2) + random.normal(size=n)
    return X, np.where(score > 0.5, 1, 0)


def in_form(X, form):
    if form == "dense":
        return X
    S = sp.csr_matrix(X)
    return (S.data, S.indices, S.indptr, S.shape[1])


def values_of(X, form="csr", name="rbf", gamma=0.1):
    values = internal.kernel_square(in_form(X, form), _core.KernelParams(name, gamma))
    return values[:, : len(X)]


def is_seen(X, form="csr", name="rbf", gamma=0.1):
    """Whether X is found to consist of sets."""
    return internal.rate_of_difference(in_form(X, form), _core.KernelParams(name, gamma)) > 0.0


def has_sets(target):
    return internal.set_values(target, np.eye(16), 1.0, [1.0] * 16) is not None


needs_sets = pytest.mark.skipif(
    not has_sets(_core.active_target()), reason="the target has no fast table look-up"
)


@pytest.mark.parametrize("target", filter(has_sets, _core.simd_targets()))
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [16, 64, 150])
@pytest.mark.parametrize("share", [0.05, 0.4])
def test_every_target_counts_differences(target, dtype, n, share):
    X = sets(n, 200, share).astype(dtype)
    coef = rng(1).normal(size=n)
    values, sums = internal.set_values(target, X, 0.02, coef)
    difference = (X[:, np.newaxis] != X[: min(n, 64)]).sum(axis=2)
    expected = np.exp(-0.02 * difference)
    np.testing.assert_allclose(values, expected, rtol=2 * np.finfo(dtype).eps)
    np.testing.assert_allclose(sums, coef @ expected, rtol=1e-5 if dtype == np.float32 else 1e-12)


@pytest.mark.parametrize("form", ["dense", "csr"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("name", "value"),
    [("rbf", 1.0), ("rbf", -0.7), ("laplacian", -0.7), ("laplacian", 3.0), ("chi_squared", 0.6)],
)
@pytest.mark.parametrize(("n", "n_features"), [(1, 3), (2, 1), (70, 20), (130, 300)])
def test_values_are_those_of_the_definition(form, dtype, name, value, n, n_features):
    X = sets(n, n_features, 0.1, value).astype(dtype)
    expected = kernel(X.astype(np.float64), X.astype(np.float64), name, gamma=0.1)
    values = values_of(X, form, name)
    counts = has_sets(_core.active_target())
    rounding = 1e-14 if dtype == np.float64 else 1e-6 if counts else 5e-6
    np.testing.assert_allclose(values, expected, rtol=rounding)
    assert (np.diagonal(values) == 1).all()
    assert not counts or (values == values.T).all()


@needs_sets
@pytest.mark.parametrize("form", ["dense", "csr"])
def test_what_counts_as_a_set(form):
    X = sets(300, 200, 0.1)
    assert is_seen(X, form)
    assert is_seen(-0.5 * X, form)
    other = X.copy()
    other[299, np.nonzero(X[299])[0][-1]] = 2.0
    assert not is_seen(other, form)
    assert not is_seen(np.zeros((20, 5)), form)
    assert not is_seen(1e30 * X, form, gamma=1e300)


@needs_sets
@pytest.mark.parametrize("size", [LARGEST_SET, LARGEST_SET + 1])
def test_sets_of_the_largest_size(size):
    X = np.zeros((40, 1000))
    X[0, :size] = 1.0
    X[1, -size:] = 1.0
    X[2:] = sets(38, 1000, 0.05)
    assert is_seen(X) == (size == LARGEST_SET)
    expected = kernel(X, X, gamma=0.01)
    np.testing.assert_allclose(values_of(X, gamma=0.01), expected, rtol=1e-13)
    assert expected[0, 1] == pytest.approx(np.exp(-0.01 * 2 * size))


@needs_sets
@pytest.mark.parametrize("n_features", [MOST_FEATURES, MOST_FEATURES + 1])
def test_as_many_features_as_a_table_holds(n_features):
    X = sets(40, n_features, 0.005)
    X[:20, -1] = 1.0
    assert is_seen(X) == (n_features == MOST_FEATURES)
    np.testing.assert_allclose(values_of(X), kernel(X, X, gamma=0.1), rtol=1e-13)


def test_stored_zeros_are_no_features():
    X = sets(50, 60, 0.2)
    S = sp.csr_matrix(X)
    S.data[::3] = 0.0
    full = S.toarray()
    samples = (S.data, S.indices, S.indptr, S.shape[1])
    values = internal.kernel_square(samples, _core.KernelParams("rbf", 0.1))
    np.testing.assert_allclose(values[:, :50], kernel(full, full, gamma=0.1), rtol=1e-14)


@pytest.mark.parametrize("gamma", [1e-300, 1e-3, 20.0, 1e300])
def test_values_near_the_ends_of_the_range(gamma):
    X = sets(60, 300, 0.1)
    for dtype in (np.float32, np.float64):
        values = values_of(X.astype(dtype), gamma=gamma)
        with np.errstate(under="ignore"):
            expected = kernel(X, X, gamma=gamma).astype(dtype)
        tiny = np.finfo(dtype).tiny
        np.testing.assert_allclose(values, expected, rtol=1e-5, atol=4 * tiny)


@pytest.mark.parametrize(
    ("form", "dtype", "gamma"),
    [(np.asarray, np.float32, 0.02), (sp.csr_matrix, np.float64, 0.5)],
)
def test_a_fit_is_that_on_the_kernel_matrix(form, dtype, gamma):
    """With samples set aside on the way, and taken up again."""
    X, y = one_hot(2600)
    K = kernel(X, X, gamma=gamma)
    options = {"C": 5.0, "tol": 1e-6}
    model = SVC(gamma=gamma, **options).fit(form(X.astype(dtype)), y)
    other = SVC(kernel="precomputed", **options).fit(K, y)
    assert model.certificate_.dual_objective == pytest.approx(
        other.certificate_.dual_objective, rel=1e-9
    )
    expected = other.decision_function(K)
    np.testing.assert_allclose(
        model.decision_function(form(X.astype(dtype))), expected, atol=1e-4 * np.ptp(expected)
    )


@pytest.mark.no_sanitizer  # seconds without one
def test_sets_that_threads_find_keep_their_order():
    X = sets(600, MOST_FEATURES, 0.01)
    expected = kernel(X, X, gamma=0.02)
    for _ in range(20):
        np.testing.assert_allclose(values_of(X, "dense", gamma=0.02), expected, rtol=1e-12)


@pytest.mark.parametrize("estimator", [SVC(C=10.0), SVR(C=3.0), OneClassSVM(nu=0.2)], ids=str)
def test_threads_change_no_bit(estimator):
    X, y = one_hot(3000, seed=3)
    y = y + (X[:, 0] > 0)
    estimator.set_params(gamma=0.3)
    fits = [
        estimator.set_params(n_jobs=n_jobs).fit(sp.csr_matrix(X), y).dual_coef_.copy()
        for n_jobs in (1, 2, 3)
    ]
    assert all((fit == fits[0]).all() for fit in fits)
