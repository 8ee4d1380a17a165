"""The bound on the rounding of sums of kernel values, against sums to 60 digits."""

from __future__ import annotations

import numpy as np
import pytest

from maxmargin import _core
from oracles.certificates import wide, wide_kernel
from oracles.problems import rng

KERNELS = {
    "linear": {},
    "poly": {"gamma": 0.1, "coef0": 1.0, "degree": 3},
    "rbf": {"gamma": 0.1},
    "sigmoid": {"gamma": 0.05, "coef0": 0.5},
}


@pytest.mark.parametrize("offset", [0.0, 100.0, 1e6])
@pytest.mark.parametrize("n", [3, 50, 400])
@pytest.mark.parametrize("name", KERNELS)
def test_the_bound_holds_and_is_not_far_above(name, n, offset):
    r = rng(n)
    X = r.normal(size=(n, 5)) + offset
    coef = r.choice([-1.0, 0.0, 1.0], n) * 10.0 ** r.integers(-2, 3, n)
    coef[0] = 1.0
    kernel = _core.KernelParams(name, **KERNELS[name])
    targets = X[:: max(1, n // 10)].copy()
    K, _ = wide_kernel(targets, X, name, **KERNELS[name])
    exact = (K @ wide(coef)).astype(float)
    actual = float(np.abs(_core.kernel_values(targets, X, kernel) @ coef - exact).max())
    bound = sum(_core.rounding_error(X, coef, kernel, False, coef.sum(), 0.0))
    size = float((np.abs(K) @ wide(np.abs(coef))).max())
    assert actual <= bound
    assert bound <= 2e-14 * max(
        size, (np.square(X).sum(axis=1).max() if name == "sigmoid" else 0.0)
    )


def test_a_sum_that_is_off_counts_with_the_largest_value():
    X, coef = np.array([[3.0], [5.0]]), np.array([1e8, -1e8])
    kernel = _core.KernelParams("linear")
    exact = _core.rounding_error(X, coef, kernel, False, 0.0, 0.0)
    assert exact[0] < 1e-5
    assert exact[1] == 0.0
    off = _core.rounding_error(X, coef, kernel, False, 2.0, 0.0)
    assert off == (exact[0], pytest.approx(2.0 * 25.0))


def test_a_loose_bound_serves_where_it_is_below_the_tolerance():
    X, coef = rng(0).normal(size=(50, 4)), np.ones(50)
    kernel = _core.KernelParams("rbf", 0.5)
    tight, _ = _core.rounding_error(X, coef, kernel, False, 50.0, 0.0)
    assert tight <= _core.rounding_error(X, coef, kernel, False, 50.0, 1e-3)[0] < 1e-11
