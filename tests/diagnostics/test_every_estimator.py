"""Every diagnostic with every estimator: it works, or says in one TypeError what it takes."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import svm as another_svm

import maxmargin
from maxmargin import (
    SVC,
    SVR,
    KernelPerceptron,
    LinearSVC,
    LinearSVR,
    NotFittedError,
    NuSVC,
    NuSVR,
    OneClassSVM,
    diagnostics,
    io,
)
from oracles.problems import rng

CLASSIFIERS = {
    "KernelPerceptron", "LinearSVC", "LinearSVCCV", "NuSVC", "Perceptron", "SGDClassifier", "SVC",
    "SVCCV",
}  # fmt: skip
REGRESSIONS = {"LinearSVR", "NuSVR", "QuantileSVR", "SVR"}
ALL = CLASSIFIERS | REGRESSIONS | {"OneClassSVM"}
PAIRWISE = {"NuSVC", "SVC", "SVCCV"}
KERNEL_MACHINES = {"NuSVR", "OneClassSVM", "QuantileSVR", "SVR"} | PAIRWISE

# name: (what it is defined for, its call, the shape of its result)
N = 60
DIAGNOSTICS = {
    "certificate": (
        KERNEL_MACHINES,
        lambda model, X, y: diagnostics.certificate(model, X, y).duality_gap,
        (),
    ),
    "functional_margin": (CLASSIFIERS, diagnostics.functional_margin, (N,)),
    "geometric_margin": (CLASSIFIERS, diagnostics.geometric_margin, (N,)),
    "margin_width": (CLASSIFIERS, lambda model, X, y: diagnostics.margin_width(model), ()),
    "slacks": (ALL, diagnostics.slacks, (N,)),
    "mistake_bound": (set(), diagnostics.mistake_bound, ()),
    "leave_one_out_bound": (PAIRWISE, diagnostics.leave_one_out_bound, ()),
    "leave_one_out_decisions": (
        KERNEL_MACHINES,
        diagnostics.leave_one_out_decisions,
        (N,),
    ),
    "leave_one_out_margins": (PAIRWISE, diagnostics.leave_one_out_margins, (N,)),
    "radius_margin_bound": (PAIRWISE, diagnostics.radius_margin_bound, ()),
}


def problem():
    X = rng(0).normal(size=(N, 3))
    return X, np.where(X[:, 0] > 0, 1, -1)


def estimators():
    public = (getattr(maxmargin, name) for name in maxmargin.__all__)
    return sorted(c.__name__ for c in public if inspect.isclass(c) and hasattr(c, "fit"))


def new(name):
    return getattr(maxmargin, name)()


def target(model, X, y):
    return X[:, 0] + 0.3 * y if type(model).__name__ in REGRESSIONS else y


def test_the_lists_are_whole():
    assert set(estimators()) == ALL
    assert set(DIAGNOSTICS) == set(diagnostics.__all__) - {"Certificate"}


@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("name", estimators())
@pytest.mark.parametrize("diagnostic", DIAGNOSTICS)
def test_a_diagnostic_works_or_says_what_it_takes(diagnostic, name, container):
    supported, call, shape = DIAGNOSTICS[diagnostic]
    X, y = problem()
    y = target(new(name), X, y)
    X = container(X)
    fitted = new(name).fit(X, y)
    if name in supported:
        result = np.asarray(call(fitted, X, y))
        assert result.shape == shape
        assert np.isfinite(result).all()
        with pytest.raises(NotFittedError, match=f"{name} instance is not fitted"):
            call(new(name), X, y)
    else:
        for either in (fitted, new(name)):
            with pytest.raises(TypeError, match=f"^{diagnostic} takes .*, got {name}$"):
                call(either, X, y)


@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize(
    "model",
    [SVC(C=2.0), SVR(C=2.0, epsilon=0.2), NuSVR(C=2.0, nu=0.4), OneClassSVM(nu=0.3)],
    ids=repr,
)
def test_the_slacks_are_those_of_the_primal_objective(model, container):
    X, y = problem()
    z = target(model, X, y)
    model.set_params(tol=1e-8).fit(container(X), z)
    xi = diagnostics.slacks(model, container(X), z)
    certificate = model.certificate_
    if isinstance(model, OneClassSVM):
        half_norm = certificate.dual_objective
        expected = half_norm + xi.sum() - model.nu * N * model.offset_
    else:
        beta = model.dual_coef_[0]
        gain = z[model.support_] @ beta
        if isinstance(model, SVR):
            gain -= model.epsilon * np.abs(beta).sum()
        half_norm = certificate.dual_objective + gain
        expected = half_norm + model.C * xi.sum()
        if isinstance(model, NuSVR):
            expected += model.C * N * model.nu * model.epsilon_
    assert xi.max() > 0
    assert expected == pytest.approx(certificate.primal_objective, rel=1e-6)


def test_slacks_of_a_linear_regression():
    X, y = problem()
    z = X @ [1.0, 2.0, 3.0] + 0.5 * y
    model = LinearSVR(epsilon=0.2).fit(X, z)
    residual = np.abs(z - X @ np.ravel(model.coef_) - model.intercept_)
    np.testing.assert_allclose(
        diagnostics.slacks(model, X, z), np.maximum(0.0, residual - 0.2), atol=1e-12
    )
    with pytest.raises(ValueError, match="59"):
        diagnostics.slacks(model, X, z[:59])


def test_the_width_of_the_margin_of_nu_and_linear_machines():
    X, y = problem()
    nu = NuSVC(nu=0.3, kernel="linear", tol=1e-8).fit(X, y)
    same = SVC(C=nu.C_[0], kernel="linear", tol=1e-8).fit(X, y)
    width = diagnostics.margin_width(same)
    assert diagnostics.margin_width(nu) == pytest.approx(width, rel=1e-6)
    linear = LinearSVC().fit(X, y)
    assert diagnostics.margin_width(linear) == pytest.approx(2 / np.linalg.norm(linear.coef_))


def test_what_is_no_estimator_is_refused_where_one_is_needed():
    X, y = problem()
    for call in (
        lambda: diagnostics.slacks(np.ones(3), X, y),
        lambda: diagnostics.margin_width(np.ones(3)),
        lambda: diagnostics.certificate(np.ones(3), X, y),
        lambda: diagnostics.leave_one_out_bound(np.ones(3), X, y),
    ):
        with pytest.raises(TypeError, match=r"takes a fitted .*, got ndarray$"):
            call()


def test_classifiers_of_others_have_margins():
    X, y = problem()
    theirs = another_svm.LinearSVC().fit(X, y)
    found = diagnostics.geometric_margin(theirs, X, y)
    norm = np.linalg.norm(theirs.coef_)
    np.testing.assert_allclose(found, y * theirs.decision_function(X) / norm)
    with pytest.raises(TypeError, match=r"takes a fitted classifier .*got LinearSVR"):
        diagnostics.functional_margin(another_svm.LinearSVR().fit(X, y), X, y)
    kernel_machine = another_svm.SVC().fit(X, y)
    found = diagnostics.functional_margin(kernel_machine, X, y)
    np.testing.assert_allclose(found, y * kernel_machine.decision_function(X))
    with pytest.raises(TypeError, match=r"maxmargin's kernel machines, got SVC\(\)"):
        diagnostics.geometric_margin(kernel_machine, X, y)


def test_a_given_kernel_matrix_has_slacks_but_no_length_of_w():
    X, y = problem()
    gram = X @ X.T
    model = SVC(kernel="precomputed", tol=1e-8).fit(gram, y)
    plain = SVC(kernel="linear", tol=1e-8).fit(X, y)
    np.testing.assert_allclose(
        diagnostics.slacks(model, gram, y), diagnostics.slacks(plain, X, y), atol=1e-6
    )
    for call in (
        lambda: diagnostics.margin_width(model),
        lambda: diagnostics.geometric_margin(model, gram, y),
    ):
        with pytest.raises(ValueError, match="the kernel matrix was given"):
            call()


def test_a_regression_from_a_file_has_no_slacks(tmp_path):
    X, _ = problem()
    for model in (SVR(epsilon=0.3), NuSVR()):
        io.save_model(model.fit(X, X[:, 0]), tmp_path / "model")
        loaded = io.load_model(tmp_path / "model")
        with pytest.raises(ValueError, match="from a file does not hold the epsilon"):
            diagnostics.slacks(loaded, X, X[:, 0])


def test_a_function_as_kernel_has_a_width():
    X, y = problem()
    model = SVC(kernel=lambda A, B: A @ B.T, tol=1e-8).fit(X, y)
    plain = SVC(kernel="linear", tol=1e-8).fit(X, y)
    width = diagnostics.margin_width(plain)
    assert diagnostics.margin_width(model) == pytest.approx(width, rel=1e-6)
    perceptron = KernelPerceptron(kernel="linear").fit(X, y)
    assert diagnostics.margin_width(perceptron) > 0
