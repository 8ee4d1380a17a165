"""Laplacian, chi-squared and histogram intersection kernels in the core."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import SVC, KernelPerceptron, diagnostics
from maxmargin.kernels import RBF, ChiSquared, HistogramIntersection, Laplacian
from oracles.problems import two_classes

FEATUREWISE = [
    Laplacian(0.3),
    ChiSquared(0.5),
    HistogramIntersection(),
    0.5 * Laplacian(0.3) * HistogramIntersection() + 1.0,
    ChiSquared(0.2) + ChiSquared(1.0),
]


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix, lambda X: X.astype(np.float32)])
@pytest.mark.parametrize("kernel", FEATUREWISE, ids=repr)
def test_the_core_evaluates_featurewise_kernels(kernel, form):
    X, y = two_classes(400)
    X = np.where(np.abs(X) > 0.5, np.abs(X), 0.0)
    params = {"C": 0.5, "tol": 1e-6}
    in_core = SVC(kernel=kernel, **params).fit(form(X), y)
    assert not in_core._model.kernel.is_given
    K = kernel(form(X), form(X))
    by_matrix = SVC(kernel="precomputed", **params).fit(K, y)
    np.testing.assert_allclose(
        in_core.decision_function(form(X)), by_matrix.decision_function(K), atol=1e-4
    )
    again = diagnostics.certificate(in_core, form(X), y)
    assert again.converged
    assert again.dual_objective == pytest.approx(by_matrix.certificate_.dual_objective, rel=1e-6)


@pytest.mark.parametrize("shift", [0.0, 1e6])
@pytest.mark.parametrize("unit", [1e-140, 1.0, 1e140])
def test_laplacian_kernels_do_not_depend_on_origin_and_unit(shift, unit):
    X, y = two_classes(100)
    X = np.round(X, 3)
    expected = SVC(kernel=Laplacian(0.3), tol=1e-6).fit(X, y).decision_function(X)
    moved = (X + shift) * unit
    model = SVC(kernel=Laplacian(0.3 / unit), tol=1e-6).fit(moved, y)
    np.testing.assert_allclose(model.decision_function(moved), expected, atol=1e-4)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_kernels_of_histograms_refuse_negative_features(form):
    X, y = two_classes(40)
    for kernel in (ChiSquared(), 0.5 * HistogramIntersection() + 1.0, ChiSquared().normalised()):
        for make in (SVC, KernelPerceptron) if kernel._core_params() else (SVC,):
            with pytest.raises(ValueError, match="needs features >= 0, got -"):
                make(kernel=kernel).fit(form(X), y)
            model = make(kernel=kernel, tol=0.1).fit(form(np.abs(X)), y)
            with pytest.raises(ValueError, match="needs features >= 0, got -"):
                model.predict(form(X))


def test_parts_that_pair_numbers_in_different_ways_are_evaluated_before():
    X, y = two_classes(60)
    kernel = RBF(0.3) + Laplacian(0.3)
    model = SVC(kernel=kernel, tol=1e-7).fit(X, y)
    assert model._model.kernel.type == "callable"
    by_matrix = SVC(kernel="precomputed", tol=1e-7).fit(kernel.by_definition(X, X), y)
    np.testing.assert_allclose(
        model.decision_function(X),
        by_matrix.decision_function(kernel.by_definition(X, X)),
        atol=1e-5,
    )
