"""Rectangles of kernel values, of every kind of samples, against the definition."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import _core
from oracles.problems import rng
from oracles.svm import kernel
from support.internal import internal


@pytest.mark.parametrize("form", ["dense", "csr", "tail", "precomputed", "stored"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("n_rows", "n_columns"), [(1, 1), (3, 20), (100, 9), (70, 130)])
def test_rectangles_of_kernel_values_are_those_of_the_definition(form, dtype, n_rows, n_columns):
    X = rng(0).normal(size=(64, 5))
    if form in ("csr", "tail"):
        X = rng(0).normal(size=(64, 3000 if form == "tail" else 50))
        X[rng(1).random(X.shape) > 0.05] = 0.0
    X = X.astype(dtype)
    expected = kernel(X, X, gamma=0.1)
    params = _core.KernelParams("rbf", 0.1)
    samples = X
    if form in ("csr", "tail"):
        S = sp.csr_matrix(X)
        samples = (S.data, S.indices, S.indptr, S.shape[1])
    elif form != "dense":
        samples, params = expected.astype(dtype), _core.KernelParams("precomputed")
    rows, columns = rng(2).integers(0, 64, n_rows), rng(3).integers(0, 64, n_columns)
    values = internal.kernel_rectangle(samples, params, form == "stored", rows, columns)
    tolerance = 1e-5 if dtype == np.float32 else 1e-13
    np.testing.assert_allclose(
        values[:, :n_columns], expected[np.ix_(rows, columns)], atol=tolerance
    )
    if form not in ("precomputed", "stored"):
        factors = rng(4).uniform(-1, 1, (1, 64))
        weighed = _core.KernelParams.composed([(params, 1.0), "factors"], factors)
        values = internal.kernel_rectangle(samples, weighed, False, rows, columns)
        expected = np.outer(factors, factors) * expected
        np.testing.assert_allclose(
            values[:, :n_columns], expected[np.ix_(rows, columns)], atol=tolerance
        )
