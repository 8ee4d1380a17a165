"""Penalty l1 around the least C at which a weight leaves 0."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import LinearSVC
from oracles.problems import rng


def least_c(X, signs, weight, scaling):
    """At weights of 0 the slopes of the losses are 2 C sum_i weight_i y_i x_ij."""
    steepest = abs((2 * weight * signs) @ np.column_stack([X, np.full(len(X), scaling)])).max()
    return 1.0 / steepest


@pytest.mark.parametrize("shape", [(30, 4), (600, 3), (20, 30), (10, 700)], ids=str)
@pytest.mark.parametrize("scaling", [0.0, 1.0, 10.0])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_weights_are_0_up_to_the_least_c_and_not_above(form, scaling, shape):
    r = rng(sum(shape))
    X, y = r.normal(size=shape), np.arange(shape[0]) % 2
    weight = r.integers(1, 4, len(y)).astype(float)
    least = least_c(X, 2 * y - 1, weight, scaling)
    parameters = {"penalty": "l1", "fit_intercept": scaling > 0}
    if scaling > 0:
        parameters["intercept_scaling"] = scaling
    for factor, is_zero in [(0.5, True), (1 - 1e-9, True), (1 + 1e-6, False), (1.01, False)]:
        model = LinearSVC(C=factor * least, **parameters).fit(form(X), y, sample_weight=weight)
        assert model.certificate_.converged
        assert np.all(np.append(model.coef_, model.intercept_) == 0.0) == is_zero, factor


@pytest.mark.parametrize("n_features", [4, 40])
def test_every_machine_of_several_classes_has_its_own_least_c(n_features):
    X, y = rng(1).normal(size=(30, n_features)), np.arange(30) % 3
    least = np.array([least_c(X, np.where(y == k, 1, -1), np.ones(30), 1.0) for k in range(3)])
    for C in np.sort(least) * 1.001:
        model = LinearSVC(penalty="l1", C=C).fit(X, y)
        weights = np.column_stack([model.coef_, model.intercept_])
        np.testing.assert_array_equal(np.any(weights != 0.0, axis=1), least < C)


@pytest.mark.parametrize("scaling", [0.0, 1.0, 10.0])
def test_the_bound_is_that_of_scikit_learn(scaling):
    l1_min_c = pytest.importorskip("sklearn.svm").l1_min_c
    X, y = [[-1, 0], [0, 1], [1, 1], [1, 1]], [0, 1, 1, 1]
    has_bias = {"fit_intercept": scaling > 0, "intercept_scaling": scaling or 1.0}
    least = l1_min_c(X, y, loss="squared_hinge", **has_bias)
    for C, is_zero in [(least, True), (1.01 * least, False)]:
        model = LinearSVC(penalty="l1", C=C, dual=False, **has_bias).fit(X, y)
        assert np.all(np.append(model.coef_, model.intercept_) == 0.0) == is_zero
