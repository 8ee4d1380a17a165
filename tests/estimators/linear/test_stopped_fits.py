"""Fits that are stopped, or hard to converge: the best model so far, and one that converges."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import ConvergenceWarning, LinearSVC, LinearSVR
from oracles.linear import primal_objective
from oracles.problems import rng

CAPS = (0, 1, 2, 3, 5, 8, 13, 30, 100, 170, 1000, 3000)


def hard(n, d, seed, spread=6):
    """Labels without sense on features whose units lie far apart."""
    r = rng(seed)
    X = r.normal(size=(n, d)) * 10 ** r.uniform(-spread, spread, d)
    return X, np.where(r.random(n) < 0.5, 1, -1)


def objectives(model, X, y, **fit):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        certificate = model.fit(X, y, **fit).certificate_
    parts = certificate if isinstance(certificate, list) else [certificate]
    return np.array([part.primal_objective for part in parts]), [p.converged for p in parts]


def assert_never_worse(make, X, y):
    before, tol = np.inf, 0.0
    for cap in CAPS:
        found, converged = objectives(make(max_iter=cap), X, y)
        tol = 1e-4 * np.array(converged)  # the best is only known up to that
        assert np.all(found <= before * (1 + 1e-12 + tol))
        before = np.minimum(found, before)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_more_passes_make_no_worse_classifier(loss, seed):
    r = rng(100 + seed)
    n, d = int(r.integers(5, 40)), int(r.integers(3, 60))
    X, y = hard(n, d, seed)
    C, scaling = 10.0 ** r.uniform(-2, 6), float(r.choice([0.0, 1.0, 30.0, np.inf]))

    def make(max_iter):
        return LinearSVC(loss=loss, C=C, max_iter=max_iter, intercept_scaling=scaling or 1.0,
                         fit_intercept=scaling > 0)  # fmt: skip

    assert_never_worse(make, sp.csr_matrix(X) if seed % 2 else X, y)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
def test_more_passes_make_no_worse_regression(loss, seed):
    X, y = hard(20, 30, seed)
    target = y + rng(seed).normal(size=20)

    def make(max_iter):
        return LinearSVR(loss=loss, C=10.0**seed, epsilon=0.1, max_iter=max_iter)

    assert_never_worse(make, X, target)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("parameters", [
    {"penalty": "l1"}, {"loss": "hinge"}, {"multi_class": "crammer_singer"}
], ids=str)  # fmt: skip
def test_more_passes_make_no_machine_of_several_classes_worse(parameters, seed):
    X, _ = hard(24, (8, 40)[seed % 2], seed, spread=3)
    y = np.arange(24) % 3

    def make(max_iter):
        return LinearSVC(C=10.0 ** (seed - 1), max_iter=max_iter, **parameters)

    assert_never_worse(make, X, y)


def test_a_public_report_of_passes_that_made_it_worse():
    X, y = hard(23, 37, 2)
    for cap in (1000, 10000, 100000):
        model = LinearSVC(loss="hinge", C=6.8e4, max_iter=cap).fit(X, y)
        assert model.certificate_.converged
        assert model.score(X, y) == 1.0


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix, np.float32])
@pytest.mark.parametrize("scaling", [0.0, 1.0, np.inf])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_few_samples_of_many_features_converge(loss, scaling, form):
    r = rng(7)
    X, y = hard(40, 700, 7)
    X = np.asarray(form(X), dtype=float) if form is np.float32 else X
    X[:, r.random(700) < 0.2] = 0.0
    weight = r.integers(0, 3, 40).astype(float)
    model = LinearSVC(loss=loss, C=1e5, intercept_scaling=scaling or 1.0, tol=1e-6,
                      fit_intercept=scaling > 0).fit(form(X), y, sample_weight=weight)  # fmt: skip
    certificate = model.certificate_
    assert certificate.converged
    assert certificate.n_iter < 300
    expected = primal_objective(X, y, model.coef_[0], model.intercept_[0], 1e5 * weight, loss,
                                scaling=scaling or 1.0)  # fmt: skip
    assert certificate.primal_objective == pytest.approx(expected, rel=1e-9)


def test_few_samples_of_a_regression_converge():
    X, _ = hard(30, 200, 3, spread=2)
    z = rng(3).normal(size=30)
    for loss in ("epsilon_insensitive", "squared_epsilon_insensitive"):
        for epsilon in (0.0, 0.1):
            model = LinearSVR(loss=loss, C=1e5, epsilon=epsilon, tol=1e-5).fit(X, z)
            assert model.certificate_.converged
            assert np.all(abs(model.predict(X) - z) <= epsilon + 1e-2)
