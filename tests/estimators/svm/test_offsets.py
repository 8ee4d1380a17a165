"""The offset, and the C or epsilon that goes with nu, by the optimality conditions in float64.

Problems that end with all coefficients at their bounds are made on purpose: there an offset has an
interval, whose middle it is (LIBSVM's rule). A coefficient that rounding leaves next to its bound
would hide that.
"""

from __future__ import annotations

import numpy as np
import pytest

from maxmargin import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from oracles.problems import rng
from oracles.svm import beta_of, kernel

N = 40
TOL = 1e-8


def level(gradient, beta, lower, upper):
    """The mean gradient of the free variables, or the middle (the only end) of the interval."""
    near = 1e-9 * np.abs(beta).max()
    may_fall, may_grow = beta > lower + near, beta < upper - near
    free = may_fall & may_grow
    if free.any():
        return gradient[free].mean()
    ends = [end(gradient[of]) for of, end in ((may_grow, np.min), (may_fall, np.max)) if of.any()]
    return np.mean(ends)


def no_dust(values, bound):
    """Every coefficient is 0, or the bound, or far from both."""
    at = (values == 0.0) | (values == bound)
    return (at | ((values > 1e-12 * bound) & (bound - values > 1e-12 * bound))).all()


def problem(seed):
    r = rng(seed)
    X = r.normal(size=(N, 3))
    z = X[:, 0] + r.normal(size=N) * (0.3 if seed % 2 else 1.0)
    y = np.where(z > np.median(z), 1, -1)
    nu = (0.3, 0.5, 0.6, 0.7, 0.8)[seed % 5]
    linear = seed % 3 == 0
    params = {"kernel": "linear"} if linear else {"kernel": "rbf", "gamma": 0.3}
    return X, y, z, nu, params, kernel(X, X, **params)


@pytest.mark.parametrize("seed", range(60))
def test_nu_svc(seed):
    X, y, _, nu, params, K = problem(seed)
    try:
        model = NuSVC(nu=nu, tol=TOL, **params).fit(X, y)
    except ValueError as error:
        if "margin is 0" not in str(error):
            raise
        return
    beta, C = beta_of(model, N), model.C_[0]
    assert no_dust(y * beta, C)
    assert beta.sum() == pytest.approx(0.0, abs=1e-12 * np.abs(beta).sum())
    assert np.abs(beta).sum() == pytest.approx(nu * N * C, rel=1e-12)
    lower, upper = np.where(y > 0, 0.0, -C), np.where(y > 0, C, 0.0)
    above, below = (level((K @ beta)[s], beta[s], lower[s], upper[s]) for s in (y > 0, y < 0))
    assert above - below == pytest.approx(2.0, abs=1e-6)
    assert model.intercept_[0] == pytest.approx(-(above + below) / 2, abs=1e-6)


@pytest.mark.parametrize("seed", range(60))
def test_nu_svr(seed):
    X, _, z, nu, params, K = problem(seed)
    C = (0.07, 0.1, 3.0)[seed // 2 % 3]
    model = NuSVR(C=C, nu=nu, tol=TOL, **params).fit(X, z)
    beta = beta_of(model, N)
    assert no_dust(np.abs(beta), C)
    assert beta.sum() == pytest.approx(0.0, abs=1e-12 * np.abs(beta).sum())
    gradient = K @ beta - z
    above = level(gradient, np.maximum(beta, 0.0), 0.0, C)
    below = level(gradient, np.minimum(beta, 0.0), -C, 0.0)
    if below - above < 1e-3:  # alpha and alpha* of one sample may both be positive
        return
    assert np.abs(beta).sum() == pytest.approx(nu * N * C, rel=1e-12)
    assert model.epsilon_ == pytest.approx((below - above) / 2, abs=1e-6)
    assert model.intercept_[0] == pytest.approx(-(above + below) / 2, abs=1e-6)


@pytest.mark.parametrize("seed", range(20))
def test_svc_svr_and_one_class(seed):
    X, y, z, nu, params, K = problem(seed)
    C = (0.01, 0.07, 3.0)[seed // 2 % 3]
    model = SVC(C=C, tol=TOL, **params).fit(X, y)
    beta = beta_of(model, N)
    lower, upper = np.where(y > 0, 0.0, -C), np.where(y > 0, C, 0.0)
    assert no_dust(y * beta, C)
    assert model.intercept_[0] == pytest.approx(-level(K @ beta - y, beta, lower, upper), abs=1e-6)

    model = SVR(C=C, epsilon=0.2, tol=TOL, **params).fit(X, z)
    beta = beta_of(model, N)
    assert no_dust(np.abs(beta), C)
    both = np.r_[np.maximum(beta, 0.0), np.minimum(beta, 0.0)]
    gradient = np.r_[K @ beta - z + 0.2, K @ beta - z - 0.2]
    lower, upper = np.r_[np.zeros(N), np.full(N, -C)], np.r_[np.full(N, C), np.zeros(N)]
    assert model.intercept_[0] == pytest.approx(-level(gradient, both, lower, upper), abs=1e-6)

    model = OneClassSVM(nu=nu, tol=TOL, **params).fit(X)
    beta = beta_of(model, N)
    assert no_dust(beta, 1.0)
    assert beta.sum() == pytest.approx(nu * N, rel=1e-12)
    assert model.offset_ == pytest.approx(level(K @ beta, beta, 0.0, 1.0), abs=1e-6)
