"""The decision values of linear machines by every SIMD target that this machine can run."""

from __future__ import annotations

import numpy as np
import pytest

from maxmargin import _core
from support.internal import internal


@pytest.mark.parametrize("target", _core.simd_targets())
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [0, 1, 2, 3, 8, 17, 45, 300])
def test_linear_values_have_the_same_bits_however_they_are_split(target, dtype, n):
    rng = np.random.default_rng(n)
    rows, w, b = rng.normal(size=(19, n + 5)), rng.normal(size=(130, n)), rng.normal(size=130)
    X = np.full((19, n + 5), np.nan, dtype)[:, :n]  # what stands between the rows is not read
    X[:] = rows[:, :n]
    values = internal.linear_values(target, X, w, b)
    exact = X.astype(float) @ w.T + b
    assert (abs(values - exact) <= 1e-14 * (abs(X) @ abs(w.T) + abs(b))).all()
    for i in range(19):
        one_row = internal.linear_values(target, X[i : i + 1], w, b)
        np.testing.assert_array_equal(one_row[0], values[i])
    for k in [1, 2, 3, 5, 7]:
        some = internal.linear_values(target, X[k:], w[-k:], b[-k:])
        np.testing.assert_array_equal(some, values[k:, -k:])
    assert internal.linear_values(target, X[:0], w, b).shape == (0, 130)
