"""Decision values of a fitted model, dense and CSR; kernel values per second."""

import numpy as np
import pytest

import maxmargin
import samples

DTYPES = [np.float32, np.float64]


def decide(benchmark, figures, X, y, X_new, **parameters):
    model = maxmargin.SVC(decision_function_shape="ovo", **parameters).fit(X, y)
    values = benchmark.pedantic(model.decision_function, args=(X_new,), rounds=5, warmup_rounds=1)
    assert len(values) == X_new.shape[0]
    n_values = len(model.support_) * X_new.shape[0]
    figures(
        lambda seconds: {
            "n_support": len(model.support_),
            "kernel_values_per_ns": n_values / seconds / 1e9,
        }
    )


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("d", [10, 100, 800])
def test_two_classes(benchmark, figures, quick, d, dtype):
    X, y = samples.two_clouds(300 if quick else 4_000, d, dtype)
    X_new, _ = samples.two_clouds(300 if quick else 10_000, d, dtype, seed=1)
    decide(benchmark, figures, X, y, X_new, kernel="rbf", gamma=0.5 / d)


@pytest.mark.parametrize("dtype", DTYPES)
def test_ten_classes(benchmark, figures, quick, dtype):
    X, y = samples.clouds(300 if quick else 4_000, 30, 10, dtype)
    X_new, _ = samples.clouds(300 if quick else 10_000, 30, 10, dtype, seed=1)
    decide(benchmark, figures, X, y, X_new, kernel="rbf", gamma=1 / 60)


@pytest.mark.parametrize("dtype", DTYPES)
def test_sparse(benchmark, figures, quick, dtype):
    X, y = samples.sparse_rows(300 if quick else 3_000, 20_000, 60, dtype)
    X_new, _ = samples.sparse_rows(300 if quick else 5_000, 20_000, 60, dtype, seed=1)
    decide(benchmark, figures, X, y, X_new, kernel="rbf", gamma=1.0)


@pytest.mark.parametrize("dtype", DTYPES)
def test_linear_kernel(benchmark, figures, quick, dtype):
    X, y = samples.two_clouds(300 if quick else 2_000, 100, dtype)
    X_new, _ = samples.two_clouds(300 if quick else 100_000, 100, dtype, seed=1)
    decide(benchmark, figures, X, y, X_new, kernel="linear")


def test_one_row_at_a_time(benchmark, figures, quick):
    """The cost of a call: 200 calls for one row each."""
    X, y = samples.two_clouds(300 if quick else 4_000, 20)
    model = maxmargin.SVC(kernel="rbf", gamma=0.025).fit(X, y)
    rows = [X[i : i + 1] for i in range(200)]

    def call():
        for row in rows:
            model.decision_function(row)

    benchmark.pedantic(call, rounds=5, warmup_rounds=1)
    figures(lambda seconds: {"us_per_call": seconds / len(rows) * 1e6})
