"""The bias that dual coordinate descent returns."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize_scalar

from maxmargin import ConvergenceWarning, LinearSVC, LinearSVR
from oracles.linear import primal_objective
from oracles.problems import rng


@pytest.mark.parametrize("scaling", [0.3, 1.0, 1e3, np.inf])
@pytest.mark.parametrize("loss", ["squared_hinge", "squared_epsilon_insensitive"])
@pytest.mark.parametrize("max_iter", [1, 3, 6])
def test_bias_is_about_the_best_for_the_weights(loss, scaling, max_iter):
    """Also where passes end early, and with it the certificate counts the objective."""
    r = rng(max_iter)
    X = sp.random(300, 900, 0.02, "csr", random_state=r)
    f = X @ r.normal(size=900) + 0.5
    if loss == "squared_hinge":
        y = np.where(f > 0.0, 1.0, -1.0)
        model = LinearSVC(loss=loss, intercept_scaling=scaling, max_iter=max_iter)
    else:
        y = 5.0 + f
        model = LinearSVR(loss=loss, epsilon=0.1, intercept_scaling=scaling, max_iter=max_iter)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y)
    epsilon = getattr(model, "epsilon", 0.0)

    def objective(b):
        return primal_objective(
            X, y, model.coef_.ravel(), b, 1.0, loss, scaling=scaling, epsilon=epsilon
        )

    b = float(np.ravel(model.intercept_)[0])
    certificate = model.certificate_
    assert not certificate.converged
    assert certificate.primal_objective == pytest.approx(objective(b), rel=1e-12)
    least = minimize_scalar(objective, bracket=(b - 0.1, b + 0.1), tol=1e-10).fun
    assert objective(b) - least <= 0.02 * certificate.duality_gap


@pytest.mark.parametrize("seed", [44, 50, *range(6)])
def test_certificate_counts_the_objective_where_the_bias_was_far_off(seed):
    """Some of these biases begin where the objective is 1e20 times what it is in the end."""
    r = rng(seed)
    X = sp.random(50, 800, 0.001, "csr", random_state=r)
    y = np.where(r.random(50) < 0.3, 1.0, -1.0)
    C, scaling = 1e9, 1e8
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = LinearSVC(C=C, intercept_scaling=scaling, max_iter=2000).fit(X, y)
    w, b = model.coef_.ravel(), model.intercept_[0]
    primal = primal_objective(X, y, w, b, C, model.loss, scaling=scaling)
    assert model.certificate_.primal_objective == pytest.approx(primal, rel=1e-9)
    assert 0.0 < model.certificate_.duality_gap <= primal


def test_there_is_no_bias_where_none_is_asked_for():
    r = rng(0)
    X = sp.random(100, 300, 0.05, "csr", random_state=r)
    model = LinearSVC(fit_intercept=False).fit(X, np.where(r.random(100) < 0.8, 1, 0))
    assert model.intercept_ == 0.0
