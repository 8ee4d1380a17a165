"""Whole fits through the public interface: dense and CSR, both precisions, two and many classes."""

import numpy as np
import pytest

import maxmargin
import samples

DTYPES = [np.float32, np.float64]


def fit(benchmark, figures, X, y, **parameters):
    model = maxmargin.SVC(kernel="rbf", cache_size=1024, **parameters)
    benchmark.pedantic(model.fit, args=(X, y), rounds=3, warmup_rounds=1)
    certificate = model.certificate_
    assert certificate.converged
    figures(
        lambda seconds: {
            "n_support": len(model.support_),
            "n_iter": certificate.n_iter,
            "kernel_rows": certificate.kernel_rows,
            "dual_objective": certificate.dual_objective,
            "kkt_violation": certificate.kkt_violation,
        }
    )


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("d", [10, 100])
def test_two_classes(benchmark, figures, quick, d, dtype):
    X, y = samples.two_clouds(400 if quick else 10_000, d, dtype)
    fit(benchmark, figures, X, y, C=1.0, gamma=0.5 / d)


@pytest.mark.parametrize("dtype", DTYPES)
def test_large_c(benchmark, figures, quick, dtype):
    X, y = samples.two_clouds(200 if quick else 3_000, 20, dtype)
    fit(benchmark, figures, X, y, C=100.0, gamma=0.025)


@pytest.mark.parametrize("dtype", DTYPES)
def test_ten_classes(benchmark, figures, quick, dtype):
    X, y = samples.clouds(400 if quick else 10_000, 30, 10, dtype)
    fit(benchmark, figures, X, y, C=1.0, gamma=1 / 60)


@pytest.mark.parametrize("dtype", DTYPES)
def test_sparse(benchmark, figures, quick, dtype):
    X, y = samples.sparse_rows(400 if quick else 5_000, 20_000, 60, dtype)
    fit(benchmark, figures, X, y, C=10.0, gamma=1.0)
