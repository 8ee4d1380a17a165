"""The Cholesky factor of a matrix with a ridge, against the products of the solution."""

from __future__ import annotations

import numpy as np
import pytest

from support.internal import internal


@pytest.mark.parametrize("n", [1, 2, 7, 63, 64, 65, 200, 301])
def test_cholesky_solves(n):
    rng = np.random.default_rng(n)
    root = rng.normal(size=(n, n + 3))
    A, b = root @ root.T, rng.normal(size=n)
    x = internal.cholesky_solve(A, b, 0.25)
    np.testing.assert_allclose((A + 0.25 * np.eye(n)) @ x, b, rtol=1e-8, atol=1e-8)


def test_cholesky_tells_of_a_matrix_that_is_not_positive_definite():
    assert internal.cholesky_solve(np.diag([1.0, 1.0, -1.0]), np.ones(3), 1e-10) is None
    assert internal.cholesky_solve(np.ones((70, 70)), np.ones(70), 0.0) is None
