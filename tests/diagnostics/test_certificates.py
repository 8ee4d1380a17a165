"""Certificates of fits and recomputed ones are true by the definitions, at every scale.

The problems have bounds up to 1e12, offsets of 1e6, rows that are equal, weights of 0, and
coefficients at their bounds; the oracle has 60 digits.
"""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import SVC, SVR, ConvergenceWarning, NuSVC, NuSVR, OneClassSVM, diagnostics
from oracles.certificates import definition, wide_kernel
from oracles.problems import rng

NO_SOLUTION = "margin is 0|positive semidefinite|overflow|feasible"


def fitted(model, X, y, weight):
    """The model, and whether it warned; None where the problem has no solution."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            model.fit(X, y, sample_weight=weight)
        except ValueError as error:
            if not re.search(NO_SOLUTION, str(error)):
                raise
            return None, False
    return model, any(issubclass(w.category, ConvergenceWarning) for w in caught)


def check(model, warned, X, y, weight):
    """Assert that both certificates are those of the model, within the rounding of float64."""
    ours, again = model.certificate_, diagnostics.certificate(model, X, y, weight)
    assert warned == (not ours.converged)
    pairs = zip(ours.machines or (ours,), again.machines or (again,), strict=True)
    truths = list(definition(model, X, y, weight))
    for (fit, recomputed), truth in zip(pairs, truths, strict=True):
        assert fit.converged == (fit.kkt_violation < tol_of(model, weight))
        for certificate in (fit, recomputed):
            # Rounding that shows counts; the objectives are then bounds.
            excess = certificate.primal_objective - truth.primal
            excess_of_dual = certificate.dual_objective - truth.dual
            little = 0.05 * abs(truth.primal + truth.dual)
            assert excess >= -1e-5 * truth.size_of_primal - little
            # Where the model's own is above 0, the primal's is the better bound.
            is_least = certificate.dual_objective == 0.0
            assert is_least or excess_of_dual >= -1e-5 * truth.size_of_dual - little
            tol = tol_of(model, weight)
            assert certificate.kkt_violation >= truth.violation - 2.0 * truth.rounding - 0.05 * tol
            if certificate.converged:
                share = 1e-6 * abs(truth.dual) + 0.1 * abs(truth.primal + truth.dual)
                # The bound on rounding has the greatest values in place of each.
                assert max(excess, excess_of_dual) <= 2.0 * truth.slack_of_objectives + share
                if model.kernel == "poly":
                    assert truth.rounding <= 30.0 * tol
                assert (
                    certificate.duality_gap >= -1e-9 * abs(truth.primal) - truth.slack_of_objectives
                )
                if isinstance(model, (SVC, SVR)) and model.kernel != "sigmoid":
                    assert certificate.primal_objective >= 0.0


def tol_of(model, weight):
    nu = getattr(model, "nu", 1.0)
    return model.tol * (min(1.0, nu * weight.sum()) if isinstance(model, OneClassSVM) else 1.0)


KERNELS = (
    {"kernel": "linear"},
    {"kernel": "rbf", "gamma": 0.3},
    {"kernel": "rbf", "gamma": 30.0},
    {"kernel": "poly", "gamma": 0.5, "coef0": 1.0},
    {"kernel": "sigmoid", "gamma": 0.05},
)


def problem(seed):
    """A model, X, y and weights."""
    r = rng(seed)
    n, d = int(r.integers(4, 60)), int(r.choice([1, 2, 5, 20]))
    X = r.normal(size=(n, d)) * 10.0 ** r.integers(-2, 2)
    if seed % 3 == 0:
        X = X[r.integers(0, max(2, n // 3), n)]  # equal rows
    X = X + (0.0, 0.0, 1e2, 1e3, 1e6)[r.integers(5)]
    weight = r.choice([0.0, 1.0, 1.0, 2.5], n) if seed % 2 else np.ones(n)
    weight[:3] = 1.0
    C = 10.0 ** r.uniform(-2, 12)
    tol = float(r.choice([1e-1, 1e-3, 1e-6]))
    params = dict(KERNELS[r.integers(len(KERNELS))], max_iter=20_000, tol=tol)
    nu = r.choice([0.1, 0.3, 0.5, 1.0])
    kind = seed % 7
    z = X[:, 0] - X[:, 0].mean() + r.normal(size=n)
    y = np.where(z > 0, 1, 0) + (r.random(n) < 0.2) * (kind == 1)
    y[:3] = 0, 1, min(2, y.max())
    model = (
        lambda: SVC(C=C, **params), lambda: SVC(C=C, **params),
        lambda: SVC(C=min(C, 1e6), loss="squared_hinge", **params),
        lambda: NuSVC(nu=0.3 * nu, **params),
        lambda: SVR(C=C, epsilon=float(r.choice([0.0, 0.1])), **params),
        lambda: NuSVR(C=C, nu=nu, **params), lambda: OneClassSVM(nu=nu, **params),
    )[kind]()  # fmt: skip
    if r.random() < 0.3:
        X = sp.csr_matrix(np.where(r.random(X.shape) < 0.5, X, 0.0))
    elif r.random() < 0.3:
        X = X.astype(np.float32)
    return model, X, z if isinstance(model, (SVR, NuSVR)) else y, weight


@pytest.mark.parametrize("seed", range(140))
def test_certificates_are_those_of_the_model(seed):
    model, X, y, weight = problem(seed)
    fit, warned = fitted(model, X, y, weight)
    if fit is not None:
        check(fit, warned, X, y, weight)


# -- known faults ----------------------------------------------------------------------------------


def test_what_two_variables_of_a_sample_have_in_common_costs_no_digits():
    y = np.array([0.0, 0.997494987, 0.141120008, -0.977530118])
    X, weight = np.arange(4.0)[:, None] * np.ones((1, 10)), np.array([1.0, 0.0, 0.0, 1.0])
    model = NuSVR(gamma=0.473, C=1e9, nu=0.5, tol=0.1).fit(X, y, sample_weight=weight)
    (truth,) = definition(model, X, y, weight)
    assert model.certificate_.primal_objective == pytest.approx(truth.primal, rel=1e-6)
    check(model, False, X, y, weight)


@pytest.mark.parametrize("tol", [1e-3, 1e-9])
def test_a_tube_that_should_have_no_width_is_as_wrong_as_it_is_wide(tol):
    """The sum of the coefficients is below what nu allows: only epsilon = 0 is optimal."""
    X, z = np.array([[0.0], [-2.0], [-3.0]]), np.array([-2.0, 1.0, -2.0])
    model = NuSVR(kernel="rbf", gamma=0.3, C=65.6, tol=tol).fit(X, z)
    errors = np.abs(z - model.predict(X))
    assert abs(model.dual_coef_).sum() < 0.9 * 0.5 * 65.6 * 3
    np.testing.assert_allclose(errors, model.epsilon_, rtol=1e-6, atol=1e-12)  # all are free
    assert model.epsilon_ <= model.certificate_.kkt_violation < tol
    recomputed = diagnostics.certificate(model, X, z)
    assert recomputed.kkt_violation == pytest.approx(model.certificate_.kkt_violation, rel=1e-6)


def test_bounds_whose_squares_overflow():
    """The coefficients of the squared hinge loss reach C times the loss."""
    r = rng(3)
    X, y = 1e-130 * r.normal(size=(40, 2)), np.arange(40) % 2
    model = SVC(C=1e264, loss="squared_hinge", kernel="linear").fit(X, y)
    assert abs(model.dual_coef_).max() > 1e200
    check(model, not model.certificate_.converged, X, y, np.ones(40))


def test_a_fit_that_was_stopped_when_it_was_there_has_converged():
    """As where the sums of alpha and alpha* say more than their difference, which is the model."""
    r = rng(11)
    X, weight = r.normal(size=(5, 2))[r.integers(0, 2, 5)], np.array([1.0, 1.0, 1.0, 2.5, 0.0])
    z = 0.1 * r.normal(size=5)
    model = NuSVR(nu=0.9, C=7e4, gamma=0.2, tol=0.08, max_iter=20)
    fit, warned = fitted(model, X, z, weight)
    assert fit.n_iter_ == 20
    assert fit.certificate_.converged
    check(fit, warned, X, z, weight)


@pytest.mark.parametrize("name", ["SVC", "SVR", "NuSVR"])
@pytest.mark.parametrize(
    ("value", "params"),
    [
        (1e6, {"kernel": "poly", "gamma": 0.0449, "coef0": 1.0}),
        (100.0, {"kernel": "poly", "gamma": 1.0, "coef0": 0.0}),
        (1.0, {"kernel": "poly", "gamma": 1.0, "coef0": 1e7}),
    ],
)
def test_an_offset_that_swallows_the_kernel_is_a_violation(name, value, params):
    r = rng(0)
    X, z = np.full((100, 3), value), r.normal(size=100)
    model = {"SVC": SVC(C=100.0, **params), "SVR": SVR(C=2.39, **params)}.get(
        name, NuSVR(C=2.39, **params)
    )
    y = np.where(z > 0.3, 1, 0) if name == "SVC" else z
    fit, warned = fitted(model, X, y, np.ones(100))
    certificate = fit.certificate_
    assert warned
    assert certificate.kkt_violation > model.tol
    assert certificate.primal_objective > 0.0
    assert certificate.duality_gap > 0.0
    check(fit, warned, X, y, np.ones(100))


@pytest.mark.parametrize(
    "model",
    [
        SVC(C=3.0),
        SVC(C=3.0, loss="squared_hinge"),
        NuSVC(nu=0.2),
        SVR(C=3.0),
        NuSVR(),
        OneClassSVM(),
    ],
    ids=repr,
)
def test_a_given_kernel_matrix_is_what_the_certificate_is_recomputed_from(model):
    X = rng(0).normal(size=(50, 3))
    K, _ = wide_kernel(X, X, "rbf", gamma=0.4)
    y = X[:, 0] if isinstance(model, (SVR, NuSVR)) else np.digitize(X[:, 0], [-0.5, 0.5])
    plain = diagnostics.certificate(model.set_params(kernel="rbf", gamma=0.4).fit(X, y), X, y)
    gram = K.astype(np.float64)
    model.set_params(kernel="precomputed", gamma="scale").fit(gram, y)
    again = diagnostics.certificate(model, gram, y)
    assert again.converged
    assert again.primal_objective == pytest.approx(plain.primal_objective, rel=1e-3)
    for ours, found in zip(
        model.certificate_.machines or (model.certificate_,),
        again.machines or (again,),
        strict=True,
    ):
        assert found.primal_objective == pytest.approx(ours.primal_objective, rel=1e-9)
        assert found.dual_objective == pytest.approx(ours.dual_objective, rel=1e-9)
        assert found.kkt_violation == pytest.approx(ours.kkt_violation, abs=1e-9)
    with pytest.raises(ValueError, match="dense matrix"):
        diagnostics.certificate(model, sp.csr_matrix(gram), y)
