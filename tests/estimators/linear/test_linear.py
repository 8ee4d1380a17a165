"""LinearSVC and LinearSVR against LIBLINEAR, definitions in float64 and SVC."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import LinearSVC, LinearSVR
from oracles.linear import liblinear, primal_objective
from oracles.problems import rng

SOLVERS = {
    "hinge": 3,
    "squared_hinge": 1,
    "epsilon_insensitive": 13,
    "squared_epsilon_insensitive": 12,
}
FORMS = {
    "dense": np.asarray,
    "float32": lambda X: np.asarray(X, np.float32),
    "csr": sp.csr_matrix,
    "csr64": lambda X: sp.csr_matrix(
        (
            sp.csr_matrix(X).data,
            *(a.astype(np.int64) for a in (sp.csr_matrix(X).indices, sp.csr_matrix(X).indptr)),
        ),
        shape=X.shape,
    ),
}


def noisy(n=120, d=6, seed=0):
    """Samples that float32 holds exactly, half of them zero, and labels that overlap."""
    r = rng(seed)
    X = (r.integers(-8, 9, (n, d)) * r.integers(0, 2, (n, d))) / 8.0
    return X, (X[:, 0] - X[:, 1] + r.normal(size=n) > 0.2).astype(int)


def check_certificate(model, X, signs, C, loss, **parameters):
    """The certificate is that of the definition, and proves what it says."""
    c = model.certificate_
    w, b = np.ravel(model.coef_), float(model.intercept_[0])
    primal = primal_objective(X, signs, w, b, C, loss, **parameters)
    assert c.primal_objective == pytest.approx(primal, rel=1e-9)
    assert c.converged
    assert -1e-12 * primal <= c.duality_gap <= model.tol * primal * (1 + 1e-9)
    assert c.relative_gap == pytest.approx(c.duality_gap / primal, rel=1e-6, abs=1e-15)
    return primal


# The shape decides about the solver: few features and many samples, or the other way round.
SHAPES = [(120, 6), (60, 90)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("scaling", [0.0, 1.0, 2.0])
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_svc_equals_liblinear(loss, scaling, form, shape):
    X, y = noisy(*shape)
    model = LinearSVC(
        loss=loss, C=0.7, tol=1e-6, fit_intercept=scaling > 0, intercept_scaling=scaling or 1.0
    ).fit(form(X), y)
    W, b = liblinear(X, y, SOLVERS[loss], C=0.7, scaling=scaling or -1.0)
    ours = check_certificate(model, X, 2 * y - 1, 0.7, loss, scaling=scaling)
    theirs = primal_objective(X, 2 * y - 1, W[:, 0], b[0], 0.7, loss, scaling=scaling)
    # LIBLINEAR gives up after 300 passes for the hinge, some way from its least value.
    assert theirs * (1 - 1e-2) <= ours <= theirs * (1 + 1e-5)
    if loss == "squared_hinge":
        np.testing.assert_allclose(model.coef_[0], W[:, 0], atol=2e-3)
    values = X @ model.coef_[0] + model.intercept_[0]
    np.testing.assert_allclose(model.decision_function(form(X)), values, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
@pytest.mark.parametrize("epsilon", [0.0, 0.3])
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_svr_equals_liblinear(loss, epsilon, form, shape):
    X, _ = noisy(*shape)
    z = X[:, :6] @ np.arange(6.0) + 1.0 + rng(1).normal(size=len(X))
    model = LinearSVR(loss=loss, epsilon=epsilon, C=0.5, tol=1e-5).fit(form(X), z)
    W, b = liblinear(X, z, SOLVERS[loss], C=0.5, epsilon=epsilon)
    ours = check_certificate(model, X, z, 0.5, loss, epsilon=epsilon)
    theirs = primal_objective(X, z, W[:, 0], b[0], 0.5, loss, epsilon=epsilon)
    # Ours is at its least value to 1e-5; LIBLINEAR may give up after 1,000 passes.
    assert theirs * (1 - 1e-3) <= ours <= theirs * (1 + 1e-5)
    np.testing.assert_allclose(model.predict(form(X)), X @ W[:, 0] + b[0], atol=0.05)


@pytest.mark.parametrize("scaling", [100.0, 1e3, 1e5, np.inf])
@pytest.mark.parametrize("C", [0.1, 10.0])
@pytest.mark.parametrize("loss", SOLVERS)
@pytest.mark.parametrize("scale", [1.0, 1e-4])
def test_a_bias_may_have_hardly_any_penalty(loss, C, scaling, scale):
    # On fewer samples than features; turned into their span, where another solver takes them.
    X, y = noisy(40, 60)
    X *= scale
    few = np.linalg.qr(X.T)[1].T
    targets = 2 * y - 1 if "hinge" in loss else X[:, 0] + 1.5
    given = {"loss": loss, "C": C, "tol": 1e-5, "intercept_scaling": scaling}
    make = LinearSVC if "hinge" in loss else LinearSVR
    objectives = [
        check_certificate(make(**given).fit(Z, targets), Z, targets, C, loss, scaling=scaling)
        for Z in (X, few)
    ]
    assert objectives[0] == pytest.approx(objectives[1], rel=2e-5)


def test_many_classes_are_trained_one_against_the_rest():
    X, _ = noisy()
    y = np.array(["c", "a", "b"])[np.digitize(X[:, 0] + X[:, 2], [-0.3, 0.4])]
    model = LinearSVC(tol=1e-8, class_weight={"a": 3.0}).fit(X, y)
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert model.coef_.shape == (3, 6)
    codes = np.searchsorted(model.classes_, y)
    W, b = liblinear(X, codes, 1, weights="-w0 3")
    np.testing.assert_allclose(model.coef_, W.T, atol=1e-4)
    np.testing.assert_allclose(model.intercept_, b, atol=1e-4)
    winners = (X @ model.coef_.T + model.intercept_).argmax(axis=1)
    np.testing.assert_array_equal(model.predict(X), model.classes_[winners])
    total = model.certificate_
    assert [machine.converged for machine in total.machines] == [True] * 3
    assert total.primal_objective == sum(m.primal_objective for m in total.machines)
    assert "one for each class" in str(total)


def test_fits_repeat_bitwise_for_any_number_of_threads():
    X, _ = noisy(60, 90)
    y = np.arange(len(X)) % 4
    models = [LinearSVC(loss="hinge", n_jobs=n).fit(sp.csr_matrix(X), y) for n in (1, 2, 4, None)]
    for model in models[1:]:
        np.testing.assert_array_equal(model.coef_, models[0].coef_)
        np.testing.assert_array_equal(model.intercept_, models[0].intercept_)
    again = pickle.loads(pickle.dumps(models[0]))
    np.testing.assert_array_equal(again.decision_function(X), models[0].decision_function(X))


def test_a_seed_moves_the_solution_within_the_tolerance():
    X, y = noisy(60, 90)
    one, two = (LinearSVC(random_state=seed).fit(X, y) for seed in (0, 5))
    assert (one.coef_ != two.coef_).any()
    one, two = (model.certificate_.primal_objective for model in (one, two))
    assert one == pytest.approx(two, rel=2e-4)


@pytest.mark.parametrize("C", [0.1, 1.0, 100.0])
@pytest.mark.parametrize("scaling", [0.0, 1.0, 10.0])
def test_l1_equals_liblinear(C, scaling):
    X, y = noisy()
    parameters = {"fit_intercept": scaling > 0, "intercept_scaling": scaling or 1.0}
    model = LinearSVC("l1", C=C, tol=1e-6, **parameters).fit(sp.csr_matrix(X), y)
    W, b = liblinear(X, y, 5, C=C, scaling=scaling or -1.0)
    checked = {"scaling": scaling, "penalty": "l1"}
    ours = check_certificate(model, X, 2 * y - 1, C, "squared_hinge", **checked)
    theirs = primal_objective(X, 2 * y - 1, W[:, 0], b[0], C, "squared_hinge", **checked)
    assert ours == pytest.approx(theirs, rel=2e-6)
    np.testing.assert_array_equal(model.coef_[0] == 0.0, W[:, 0] == 0.0)
    assert model.coef_[0] == pytest.approx(W[:, 0], abs=1e-3)


def test_l1_drops_features_and_a_bias_without_penalty_balances_the_losses():
    X, y = noisy()
    model = LinearSVC("l1", C=0.1, tol=1e-5, intercept_scaling=np.inf).fit(X + 3.0, y)
    assert 0 < np.count_nonzero(model.coef_) < 6
    signs = 2 * y - 1
    check_certificate(model, X + 3.0, signs, 0.1, "squared_hinge", scaling=np.inf, penalty="l1")
    slopes = signs * np.maximum(0.0, 1.0 - signs * model.decision_function(X + 3.0))
    assert slopes.sum() == pytest.approx(0.0, abs=1e-3)
    with pytest.raises(ValueError, match="penalty='l1' is available with loss='squared_hinge'"):
        LinearSVC("l1", "hinge").fit(X, y)
