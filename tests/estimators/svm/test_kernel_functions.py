"""Kernels that are a user's function of two matrices."""

import time

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import SVC, SVR, KernelPerceptron, NuSVC, OneClassSVM
from maxmargin.kernels import RBF, Laplacian, _parameter
from oracles.problems import rng, two_classes


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_functions_whose_rounding_is_not_symmetric(dtype):
    # As that of a product of matrices is, which sums in another order at the edge of a block.
    X, y = two_classes()
    K = X @ X.T
    noise = rng(5).uniform(-1.0, 1.0, K.shape) * np.finfo(dtype).eps * np.abs(K).max()

    def rounded(A, B):
        assert len(A) == len(B) == len(X)
        return (K + noise).astype(dtype)

    assert (rounded(X, X) != rounded(X, X).T).any()
    model = SVC(kernel=rounded, tol=1e-10).fit(X, y)
    even = 0.5 * (rounded(X, X).astype(float) + rounded(X, X).T.astype(float))
    expected = SVC(kernel="precomputed", tol=1e-10).fit(even, y)
    assert model.certificate_.converged
    np.testing.assert_allclose(model.dual_coef_, expected.dual_coef_, rtol=1e-12)


def test_kernel_functions_of_wrong_form_are_refused():
    X = rng(0).normal(size=(30, 2))
    y = np.r_[np.ones(18), -np.ones(12)]
    ignores_B = SVC(kernel=lambda A, B: A @ A.T).fit(X, y)
    with pytest.raises(ValueError, match=r"shape \(3, \d+\), but returned shape \(3, 3\)"):
        ignores_B.predict(X[:3])
    for function, text in (
        (lambda A, B: np.full((len(A), len(B)), np.nan), "NaN"),
        (lambda A, B: A @ B.T * 1j, "real numbers"),
        (lambda A, B: A @ B.T + np.arange(len(A))[:, None], "not symmetric"),
        (lambda A, B: 1.0, "shape"),
    ):
        with pytest.raises(ValueError, match=text):
            SVC(kernel=function).fit(X, y)
    calls = []
    with pytest.raises(ValueError, match=r"nu must be <= 0\.8"):
        NuSVC(nu=0.9, kernel=lambda A, B: calls.append(1) or A @ B.T).fit(X, y)
    assert calls == []
    with pytest.raises(ValueError, match="kernel must be one of"):
        SVC(kernel=3).fit(X, y)
    with pytest.raises(ZeroDivisionError):
        SVC(kernel=lambda A, B: 1 / 0).fit(X, y)


def test_a_weight_of_samples_may_be_a_column_of_csr():
    X, y = two_classes()
    by_column = RBF().weighted(lambda A: A[:, 0])
    K = by_column(X, X)
    np.testing.assert_allclose(by_column(sp.csr_matrix(X), sp.csr_matrix(X)), K, rtol=1e-12)
    dense = SVC(kernel=by_column).fit(X, y)
    sparse = SVC(kernel=by_column).fit(sp.csr_matrix(X), y)
    np.testing.assert_array_equal(sparse.predict(sp.csr_matrix(X)), dense.predict(X))


def test_functions_cannot_change_what_they_are_given():
    X, y = two_classes()

    def changes_first(A, B):
        A *= 2.0
        return A @ B.T

    with pytest.raises(ValueError, match="read-only"):
        SVC(kernel=changes_first).fit(X, y)


def test_kernels_that_a_kernel_perceptron_does_not_take_are_named():
    X, y = two_classes()
    for kernel in (RBF() + Laplacian(), lambda A, B: A @ B.T, "precomputed"):
        with pytest.raises(ValueError, match="16 at most, all functions of the same sum"):
            KernelPerceptron(kernel=kernel).fit(X, y)


@pytest.mark.parametrize("estimator", [SVC(), NuSVC(), SVR(), OneClassSVM()])
def test_a_time_limit_that_ends_between_blocks_of_a_kernel_in_python(estimator, monkeypatch):
    X, y = two_classes()
    data = (X,) if isinstance(estimator, OneClassSVM) else (X, y)
    before = estimator.fit(*data)._model
    sizes = []

    def slow(A, B):
        sizes.append(len(A))
        time.sleep(0.3)  # longer than the limit
        return A @ B.T

    monkeypatch.setattr(_parameter, "_LIMITED_ELEMENTS", 4 * len(X))
    estimator.set_params(kernel=slow, time_limit=0.2)
    with pytest.raises(TimeoutError, match=rf"time_limit=0.2 ended .* of {len(X)} samples"):
        estimator.fit(*data)
    assert sizes in ([4], [])  # none where the machine kept the fit waiting
    assert estimator._model is before
    with pytest.raises(TimeoutError):  # the core knows neither sum of features of the other
        estimator.set_params(kernel=RBF(0.1) * Laplacian(0.1), time_limit=1e-9).fit(*data)
    estimator.set_params(kernel=lambda A, B: 1.0 + A @ B.T, time_limit=600.0).fit(*data)
    assert estimator.certificate_.converged
