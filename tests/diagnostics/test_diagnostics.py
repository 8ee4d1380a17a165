"""Margins, the perceptron's mistake bound, and the certificate against definitions in float64."""

from __future__ import annotations

import dataclasses
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

from maxmargin import (
    SVC,
    SVR,
    Certificate,
    KernelPerceptron,
    NotFittedError,
    NuSVC,
    NuSVR,
    OneClassSVM,
    Perceptron,
    diagnostics,
)
from oracles.problems import rng
from oracles.svm import beta_of, dual_objective, kernel, kkt_violation, primal_objective

KERNELS = {
    "linear": {},
    "poly": {"gamma": 0.3, "coef0": 1.0, "degree": 3},
    "rbf": {"gamma": 0.3},
    "sigmoid": {"gamma": 0.05, "coef0": 0.1},
}


def problem(n=60):
    r = rng(0)
    X = r.normal(size=(n, 3))
    return X, np.where(X[:, 0] + 0.5 * r.normal(size=n) > 0, 1, -1)


def separable(n=100):
    X = rng(1).normal(size=(n, 2))
    X = X[np.abs(X @ [0.6, 0.8] + 0.2) > 0.1]
    return X, np.where(X @ [0.6, 0.8] + 0.2 > 0, 1, -1)


# -- margins ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix, lambda X: X.astype(np.float32)])
def test_margins_of_a_separator(container):
    X, y = problem()
    w, b = np.array([3.0, -1.0, 0.5]), 0.25
    expected = y * (X @ w + b)
    for labels in (y, y > 0, np.where(y > 0, "yes", "no")):
        found = diagnostics.functional_margin(w, container(X), labels, b=b)
        np.testing.assert_allclose(found, expected, atol=1e-6)
    found = diagnostics.geometric_margin(w, container(X), y, b=b)
    np.testing.assert_allclose(found, expected / np.sqrt(9 + 1 + 0.25), atol=1e-6)


def test_geometric_margin_does_not_depend_on_the_length_of_w():
    X, y = problem()
    w, b = np.array([3.0, -1.0, 0.5]), 0.25
    np.testing.assert_allclose(
        diagnostics.geometric_margin(7 * w, X, y, b=7 * b),
        diagnostics.geometric_margin(w, X, y, b=b),
    )


@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("name", KERNELS)
def test_margins_of_a_machine(name, container):
    X, y = problem()
    model = SVC(kernel=name, tol=1e-6, **KERNELS[name]).fit(container(X), y)
    K, beta = kernel(X, X, name, **KERNELS[name]), beta_of(model, len(y))
    expected = y * (K @ beta + model.intercept_[0])
    functional = diagnostics.functional_margin(model, container(X), y)
    np.testing.assert_allclose(functional, expected, atol=1e-5)
    geometric = diagnostics.geometric_margin(model, container(X), y)
    np.testing.assert_allclose(geometric, expected / np.sqrt(beta @ K @ beta), atol=1e-5)


def test_margins_of_perceptrons():
    X, y = separable()
    model = Perceptron().fit(X, y)
    expected = y * (X @ model.coef_[0] + model.intercept_[0]) / np.linalg.norm(model.coef_)
    np.testing.assert_allclose(diagnostics.geometric_margin(model, X, y), expected, atol=1e-9)
    model = KernelPerceptron(kernel="rbf", gamma=0.5).fit(X, y)
    K = kernel(X[model.support_], X, "rbf", gamma=0.5)
    beta = model.dual_coef_[0]
    norm = np.sqrt(beta @ K[:, model.support_] @ beta)
    expected = y * (beta @ K + model.intercept_[0]) / norm
    np.testing.assert_allclose(diagnostics.geometric_margin(model, X, y), expected, atol=1e-9)


def test_the_margin_of_separable_data_is_one_over_w():
    X, y = separable()
    model = SVC(kernel="linear", C=1e4, tol=1e-8).fit(X, y)
    assert diagnostics.functional_margin(model, X, y).min() == pytest.approx(1.0, abs=1e-6)
    least = diagnostics.geometric_margin(model, X, y).min()
    assert least == pytest.approx(1.0 / np.linalg.norm(model.coef_), rel=1e-6)
    # No other direction does better.
    for angle in np.linspace(0, 2 * np.pi, 50):
        w = np.array([np.cos(angle), np.sin(angle)])
        b = -((X @ w)[y > 0].min() + (X @ w)[y < 0].max()) / 2
        assert diagnostics.geometric_margin(w, X, y, b=b).min() <= least + 1e-9


def test_bad_arguments_of_margins_are_refused():
    X, y = problem()
    model = SVC().fit(X, y)
    for call, message in (
        (lambda: diagnostics.functional_margin([1.0, 2.0], X, y), "w must hold 3 finite numbers"),
        (lambda: diagnostics.functional_margin([1.0, 2.0, np.nan], X, y), "w must hold 3 finite"),
        (lambda: diagnostics.functional_margin(np.ones(3), X, y, b=np.inf), "b must be a finite"),
        (lambda: diagnostics.functional_margin(np.ones(3), X, np.arange(60) % 3), "two classes"),
        (lambda: diagnostics.functional_margin(model, X, y * 2), "y holds .*fitted on"),
        (lambda: diagnostics.functional_margin(model, X[:, :2], y), "X has 2 features"),
        (
            lambda: diagnostics.functional_margin(SVC().fit(X, np.arange(60) % 3), X, y),
            r"two classes, got \[0, 1, 2\]",
        ),
        (lambda: diagnostics.geometric_margin(np.zeros(3), X, y, b=1.0), "w = 0"),
    ):
        with pytest.raises(ValueError, match=message):
            call()


# -- the mistake bound -----------------------------------------------------------------------------


def perceptron_mistakes(X, y, max_passes=10_000):
    w, b, mistakes = np.zeros(X.shape[1]), 0.0, 0
    for _ in range(max_passes):
        before = mistakes
        for x, label in zip(X, y, strict=True):
            if label * (w @ x + b) <= 0:
                w, b, mistakes = w + label * x, b + label, mistakes + 1
        if mistakes == before:
            return mistakes
    raise AssertionError("the data are not separable")


@pytest.mark.parametrize("seed", range(5))
def test_a_perceptron_makes_no_more_mistakes_than_the_bound(seed):
    X, y = separable()
    order = rng(seed).permutation(len(X))
    X, y = X[order], y[order]
    mistakes = perceptron_mistakes(X, y)
    for w, b in (([0.6, 0.8], 0.2), ([6.0, 8.0], 2.0)):
        margins = y * (X @ w + b) / np.sqrt(np.dot(w, w) + b * b)
        expected = (np.square(X).sum(axis=1).max() + 1) / margins.min() ** 2
        bound = diagnostics.mistake_bound(w, X, y, b=b)
        assert bound == pytest.approx(expected)
        assert diagnostics.mistake_bound(w, sp.csr_matrix(X), y, b=b) == pytest.approx(expected)
        assert 0 < mistakes <= bound


def test_bound_of_two_points():
    # R^2 = 2 and the margin of w = 1 is 1.
    X, y = np.array([[1.0], [-1.0]]), np.array([1, -1])
    assert diagnostics.mistake_bound([1.0], X, y) == 2.0
    assert perceptron_mistakes(X, y) <= 2


def test_a_separator_that_does_not_separate_has_no_bound():
    X, y = separable()
    for w in ([-0.6, -0.8], [0.0, 0.0]):
        with pytest.raises(ValueError, match="does not separate the data"):
            diagnostics.mistake_bound(w, X, y)


# -- the certificate -------------------------------------------------------------------------------


@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("max_iter", [3, -1])
def test_certificate_is_what_the_definitions_give(name, container, max_iter):
    X, y = problem()
    weight, class_weight = rng(3).random(60), {-1: 0.5, 1: 4.0}
    weight[::7] = 0.0
    model = SVC(kernel=name, C=2.0, class_weight=class_weight, max_iter=max_iter, **KERNELS[name])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(container(X), y, sample_weight=weight)
    upper = 2.0 * np.where(y > 0, 4.0, 0.5) * weight
    K, beta = kernel(X, X, name, **KERNELS[name]), beta_of(model, 60)
    used = upper > 0
    expected = {
        "dual_objective": dual_objective(K, beta),
        "primal_objective": primal_objective(K, y, beta, model.intercept_[0], upper),
        "kkt_violation": kkt_violation(K[np.ix_(used, used)], y[used], beta[used], upper[used]),
    }
    expected["duality_gap"] = expected["primal_objective"] + expected["dual_objective"]
    again = diagnostics.certificate(model, container(X), y, sample_weight=weight)
    scale = max(1.0, abs(expected["primal_objective"]))
    for certificate, tolerance in ((again, 1e-11), (model.certificate_, 1e-6)):
        for field, value in expected.items():
            assert getattr(certificate, field) == pytest.approx(value, abs=tolerance * scale), field
    assert again.converged == model.certificate_.converged == (max_iter == -1)
    assert again.n_iter == model.certificate_.n_iter > 0


def test_the_gap_bounds_the_distance_to_the_optimum():
    X, y = problem()
    best = SVC(tol=1e-10).fit(X, y).certificate_
    assert best.relative_gap < 1e-6
    for tol in (1e-1, 1e-3):
        rough = SVC(tol=tol).fit(X, y).certificate_
        assert rough.kkt_violation < tol
        assert -rough.dual_objective - 1e-9 <= -best.dual_objective
        assert best.primal_objective <= rough.primal_objective + 1e-6
        assert rough.primal_objective - best.primal_objective <= rough.duality_gap + 1e-6


def test_certificate_of_several_classes():
    X, y = load_wine(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    model = SVC().fit(X, y)
    again = diagnostics.certificate(model, X, y)
    assert len(again.machines) == len(model.certificate_.machines) == 3
    for ours, theirs in zip(again.machines, model.certificate_.machines, strict=True):
        assert ours.dual_objective == pytest.approx(theirs.dual_objective, rel=1e-6)
        assert ours.kkt_violation == pytest.approx(theirs.kkt_violation, abs=1e-5)
    assert again.duality_gap == pytest.approx(sum(m.duality_gap for m in again.machines))
    assert again.n_iter == model.n_iter_.sum()


def test_a_changed_model_is_seen():
    X, y = problem()
    model = SVC(tol=1e-6).fit(X, y)
    right, trained = model.dual_coef_, model._model
    model._model = trained.changed(dual_coef=-right * 0.9)
    again = diagnostics.certificate(model, X, y)
    assert not again.converged
    assert ", not converged\n" in str(again)  # but the fit had
    assert again.kkt_violation > 1e-2
    for infeasible in (right * 1.1, right + np.eye(1, right.shape[1]) * 1e-4 * right[0, 0]):
        model._model = trained.changed(dual_coef=-infeasible)
        assert diagnostics.certificate(model, X, y).kkt_violation == np.inf


def test_certificate_needs_the_training_data():
    X, y = problem()
    with pytest.raises(NotFittedError):
        diagnostics.certificate(SVC(), X, y)
    model = SVC().fit(X, y)
    with pytest.raises(ValueError, match=r"X has shape \(59, 3\).*fitted on \(60, 3\)"):
        diagnostics.certificate(model, X[:59], y[:59])
    with pytest.raises(ValueError, match=r"classes \[0, 1\].*fitted on \[-1, 1\]"):
        diagnostics.certificate(model, X, (y + 1) // 2)
    model._model = dataclasses.replace(model._model, certificate=None)
    with pytest.raises(ValueError, match="from a file"):
        diagnostics.certificate(model, X, y)


def test_certificates_are_readable_and_frozen():
    certificate = SVC().fit(*problem()).certificate_
    text = str(certificate)
    for word in ("dual objective", "duality gap", "KKT violation", "converged", "iterations"):
        assert word in text
    assert f"{certificate.dual_objective:.8g}"[:-1] in text
    with pytest.raises(dataclasses.FrozenInstanceError):
        certificate.n_iter = 0
    assert isinstance(certificate, Certificate)


# -- bounds ----------------------------------------------------------------------------------------


def test_slacks_and_the_width_of_the_margin():
    X, y = problem()
    model = SVC(kernel="linear", C=0.5, tol=1e-8).fit(X, y)
    xi = diagnostics.slacks(model, X, y)
    np.testing.assert_allclose(xi, np.maximum(0, 1 - y * model.decision_function(X)))
    w = model.coef_[0]
    assert diagnostics.margin_width(model) == pytest.approx(2 / np.linalg.norm(w))
    upper = model.certificate_.primal_objective - 0.5 * w @ w
    assert 0.5 * xi.sum() == pytest.approx(upper, rel=1e-6)
    X, y = separable()
    hard = SVC(kernel="linear", C=np.inf, tol=1e-8).fit(X, y)
    closest = np.min(y * diagnostics.geometric_margin(hard, X, y))
    assert np.abs(closest) >= diagnostics.margin_width(hard) / 2 * (1 - 1e-6)
    three = SVC().fit(np.arange(6.0)[:, None], [0, 0, 1, 1, 2, 2])
    with pytest.raises(ValueError, match="two classes"):
        diagnostics.margin_width(three)


# -- certificates of the other formulations --------------------------------------------------------


@pytest.mark.parametrize("n", [60, 600])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize(
    "model",
    [
        SVC(loss="squared_hinge", C=2.0), NuSVC(nu=0.5), SVR(C=2.0, epsilon=0.2),
        NuSVR(C=2.0, nu=0.4), OneClassSVM(nu=0.3), OneClassSVM(nu=1e-3),
    ],
    ids=repr,
)  # fmt: skip
def test_certificates_of_all_formulations_are_recomputed(model, container, n):
    X, y = problem(n)
    target = X[:, 0] + 0.3 * y if isinstance(model, (SVR, NuSVR)) else y
    weight = rng(3).integers(0, 3, n).astype(float)
    model.fit(container(X), target, sample_weight=weight)
    ours, again = model.certificate_, diagnostics.certificate(model, container(X), target, weight)
    assert again.converged
    assert again.dual_objective == pytest.approx(ours.dual_objective, rel=1e-6, abs=1e-12)
    gap = max(ours.duality_gap, 1e-5 * abs(ours.primal_objective))
    assert again.primal_objective == pytest.approx(ours.primal_objective, abs=0.1 * gap + 1e-12)
    assert again.kkt_violation == pytest.approx(ours.kkt_violation, abs=1e-6)


def test_a_spoilt_model_shows_in_its_certificate():
    X, y = problem()
    for model in (NuSVC(nu=0.5), SVR(), NuSVR(), OneClassSVM()):
        target = X[:, 0] if isinstance(model, (SVR, NuSVR)) else y
        model.fit(X, target)
        assert diagnostics.certificate(model, X, target).converged
        model._model = model._model.changed(dual_coef=1.5 * model._model.core.dual_coef)
        assert not diagnostics.certificate(model, X, target).converged
