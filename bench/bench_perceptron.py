"""One pass of the linear perceptron against a plain sum over the same array.

Both read every number once, so that the sum's seconds over the pass's is the share of the memory
bandwidth that a pass reaches. A pass is the difference between fits of 6 passes and of 1, divided
by 5: what a fit does besides (validation, allocation) drops out.
"""

import time
import warnings

import numpy as np
import pytest

import maxmargin
import samples


def best_of(rounds, call):
    seconds = []
    for _ in range(rounds):
        begin = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - begin)
    return min(seconds)


def noisy_rows(n, d, dtype):
    """Two distant clouds with 0.5 % of the labels wrong: few mistakes, but some in every pass."""
    X, y = samples.two_clouds(n, d, dtype, distance=8.0)
    wrong = np.random.default_rng(1).random(n) < 0.005
    return X, np.where(wrong, 1 - y, y)


def fit(X, y, n_passes):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it did not separate the data, which it cannot
        return maxmargin.Perceptron(max_iter=n_passes, tol=None, shuffle=False).fit(X, y)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_pass(benchmark, figures, quick, dtype):
    n, d = (2_000, 100) if quick else (200_000, 100)
    X, y = noisy_rows(n, d, dtype)
    model = benchmark.pedantic(fit, args=(X, y, 6), rounds=1 if quick else 5, warmup_rounds=1)
    assert model.n_iter_ == 6
    one_pass = (best_of(5, lambda: fit(X, y, 6)) - best_of(5, lambda: fit(X, y, 1))) / 5
    plain_sum = best_of(9, X.sum)
    figures(
        lambda seconds: {
            "pass_ms": one_pass * 1e3,
            "sum_ms": plain_sum * 1e3,
            "pass_GB_per_s": X.nbytes / one_pass / 1e9,
            "sum_GB_per_s": X.nbytes / plain_sum / 1e9,
            "share_of_bandwidth": plain_sum / one_pass,
        }
    )
