"""LinearSVC of all classes together against LIBLINEAR, the definition in float64 and a dense QP."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.datasets import load_iris

from maxmargin import Cancelled, ConvergenceWarning, LinearSVC, LinearSVCCV
from oracles.linear import joint_objective, liblinear
from oracles.problems import rng
from oracles.svm import unconverged_fit

FORMS = {
    "dense": np.asarray,
    "float32": lambda X: np.asarray(X, np.float32),
    "csr": sp.csr_matrix,
    "csr float32": lambda X: sp.csr_matrix(X, dtype=np.float32),
}


def classes(n=90, d=8, n_classes=4, seed=0):
    """Samples that float32 holds exactly, some of them zero, and classes that overlap."""
    r = rng(seed)
    X = (r.integers(-8, 9, (n, d)) * r.integers(0, 2, (n, d))) / 8.0
    values = X[:, :n_classes] + 0.4 * r.normal(size=(n, n_classes))
    return X, values.argmax(axis=1)


def joint(**parameters):
    return LinearSVC(multi_class="crammer_singer", **parameters)


def check(model, X, codes, C, scaling=1.0):
    """The certificate is that of the definition, and proves what it says; returns the objective."""
    c = model.certificate_
    objective = joint_objective(X, codes, model.coef_, model.intercept_, C, scaling)
    assert c.primal_objective == pytest.approx(objective, rel=1e-9)
    assert c.converged
    assert c.machines == ()
    assert 0.0 <= c.duality_gap <= model.tol * objective * (1 + 1e-9)
    return objective


@pytest.mark.parametrize("shape", [(90, 8, 4), (40, 60, 3), (60, 12, 10)], ids=str)
@pytest.mark.parametrize("C", [0.1, 1.0])
@pytest.mark.parametrize("scaling", [0.0, 1.0, 2.0])
def test_it_equals_liblinear(shape, C, scaling):
    X, codes = classes(*shape)
    parameters = {"fit_intercept": scaling > 0, "intercept_scaling": scaling or 1.0}
    model = joint(C=C, tol=1e-7, **parameters).fit(X, codes)
    W, b = liblinear(X, codes, 4, C=C, scaling=scaling or -1.0, tol=1e-10)
    assert model.coef_.shape == W.T.shape
    theirs = joint_objective(X, codes, W.T, b, C, scaling)
    # LIBLINEAR gives up after 1000 passes, some way from its least value.
    ours = check(model, X, codes, C, scaling)
    assert theirs * (1 - 1e-3) <= ours <= theirs * (1 + 1e-7)
    assert -model.certificate_.dual_objective <= theirs * (1 + 1e-12)
    np.testing.assert_allclose(model.coef_, W.T, atol=0.02)


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_every_form_of_the_samples_gives_the_model(form):
    X, codes = classes()
    X[7] = 0.0
    names = np.array(["d", "a", "c", "b"])[codes]
    model = joint(tol=1e-8).fit(form(X), names)
    assert model.classes_.tolist() == ["a", "b", "c", "d"]
    check(model, X, np.searchsorted(model.classes_, names), 1.0)
    values = X @ model.coef_.T + model.intercept_
    np.testing.assert_allclose(model.decision_function(form(X)), values, atol=1e-12)
    np.testing.assert_array_equal(model.predict(form(X)), model.classes_[values.argmax(axis=1)])
    dense = joint(tol=1e-8).fit(X, names)
    np.testing.assert_allclose(model.coef_, dense.coef_, atol=1e-3)


def least_dual_objective(X, codes, C):
    """By a dense solver, with a bias of scaling 1."""
    n, k = len(X), codes.max() + 1
    gram = X @ X.T + 1.0
    own = np.eye(k)[codes]

    def dual(shares):
        beta = C * own - shares.reshape(n, k)
        gradient = gram @ beta + (1.0 - own)
        return 0.5 * np.sum(beta * (gradient + 1.0 - own)), -gradient.ravel()

    sums = np.kron(np.eye(n), np.ones(k))
    simplex = {"type": "eq", "fun": lambda s: sums @ s - C, "jac": lambda s: sums}
    return minimize(
        dual, C * own.ravel(), jac=True, method="SLSQP", bounds=[(0.0, C)] * (n * k),
        constraints=[simplex], options={"ftol": 1e-12, "maxiter": 500},
    ).fun  # fmt: skip


def test_it_solves_the_dual_as_a_dense_solver_does():
    X, codes = classes(18, 5, 3, seed=2)
    model = joint(C=0.7, tol=1e-8).fit(X, codes)
    least = least_dual_objective(X, codes, 0.7)
    assert model.certificate_.dual_objective == pytest.approx(least, rel=1e-6)


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_few_features_of_far_apart_units_are_solved_to_the_last_digits(form):
    X, codes = classes(18, 3, 3, seed=3)
    X = X * [1.0, 8.0, 64.0]
    model = joint(C=4.0, tol=1e-9).fit(form(X), codes)
    check(model, X, codes, 4.0)
    least = least_dual_objective(X, codes, 4.0)
    assert model.certificate_.dual_objective == pytest.approx(least, rel=1e-6)
    for tol in (0.1, 1e-3):
        rough = joint(C=4.0, tol=tol).fit(form(X), codes).certificate_
        assert -rough.dual_objective <= -least * (1 + 1e-6) <= rough.primal_objective * (1 + 2e-6)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        joint(C=4.0, tol=1e-9, max_iter=1000).fit(form(X), codes)


@pytest.mark.parametrize("offset", [0.0, 1000.0])
@pytest.mark.parametrize("scaling", [0.0, 0.1])
def test_measurements_are_solved_or_warned_of_where_they_lie_far_from_the_origin(scaling, offset):
    X, codes = load_iris(return_X_y=True)
    X = X - np.array([0.0, 0.0, 0.0, offset])
    weight = np.ones(len(X))
    weight[::7] = 0.0
    model = joint(fit_intercept=scaling > 0, intercept_scaling=scaling or 1.0)
    models = [
        unconverged_fit(clone(model).set_params(n_jobs=n), X, codes, sample_weight=weight)
        for n in (1, 2)
    ]
    np.testing.assert_array_equal(models[0].coef_, models[1].coef_)
    if offset == 0.0:
        check(models[0], X, codes, weight, scaling)
    else:
        assert models[0].certificate_.stop_reason == "max_iter"
        objective = joint_objective(
            X, codes, models[0].coef_, models[0].intercept_, weight, scaling
        )
        assert models[0].certificate_.primal_objective == pytest.approx(objective, rel=1e-9)


def test_two_classes_have_one_weight_vector_as_in_scikit_learn():
    X, codes = classes(60, 8, 2)
    weight = rng(1).random(60)
    names = np.array(["yes", "no"])[codes]
    model = joint(C=0.4, tol=1e-9).fit(X, names, sample_weight=weight)
    W, b = liblinear(X, 1 - codes, 4, C=0.4, tol=1e-10)
    assert model.coef_.shape == (1, 8)
    hinge = LinearSVC(loss="hinge", C=0.8, tol=1e-9).fit(X, names, sample_weight=weight)
    np.testing.assert_array_equal(model.coef_, hinge.coef_)
    halves = np.vstack([-model.coef_, model.coef_]) / 2, np.r_[-1.0, 1.0] * model.intercept_ / 2
    objective = joint_objective(X, 1 - codes, *halves, 0.4 * weight)
    assert model.certificate_.primal_objective == pytest.approx(objective, rel=1e-9)
    plain = joint(C=0.4, tol=1e-9).fit(X, names)
    np.testing.assert_allclose(plain.coef_[0], W[:, 1] - W[:, 0], atol=1e-3)
    np.testing.assert_allclose(plain.intercept_, b[1] - b[0], atol=1e-3)


def test_weights_of_classes_and_samples_are_factors_of_the_penalty():
    X, codes = classes()
    model = joint(tol=1e-8, class_weight={0: 3.0, 2: 0.2}).fit(X, codes)
    W, b = liblinear(X, codes, 4, tol=1e-10, weights="-w0 3 -w2 0.2")
    factors = np.array([3.0, 1.0, 0.2, 1.0])[codes]
    ours = check(model, X, codes, factors)
    assert ours == pytest.approx(joint_objective(X, codes, W.T, b, factors), rel=1e-6)
    by_sample = joint(tol=1e-8).fit(X, codes, sample_weight=factors)
    np.testing.assert_array_equal(by_sample.coef_, model.coef_)

    factors[::3] = 0.0
    some = factors > 0.0
    left_out = joint(tol=1e-8).fit(X, codes, sample_weight=factors)
    without = joint(tol=1e-8).fit(X[some], codes[some], sample_weight=factors[some])
    check(left_out, X, codes, factors)
    np.testing.assert_allclose(left_out.coef_, without.coef_, atol=1e-3)


def test_penalty_loss_and_dual_have_no_effect():
    X, codes = classes()
    model = joint().fit(X, codes)
    for parameters in ({"loss": "hinge"}, {"penalty": "l1", "loss": "hinge"}, {"dual": False}):
        np.testing.assert_array_equal(joint(**parameters).fit(X, codes).coef_, model.coef_)
    with pytest.raises(ValueError, match="loss must be one of"):
        joint(loss="log").fit(X, codes)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_bias_without_penalty_is_refused(n_classes):
    X, codes = classes(n_classes=n_classes)
    model = joint(intercept_scaling=np.inf)
    with pytest.raises(ValueError, match=r"a finite number > 0 with multi_class='crammer_singer'"):
        model.fit(X, codes)
    assert not hasattr(model, "coef_")


def test_fits_repeat_bitwise_and_a_seed_moves_them_within_the_tolerance():
    X, codes = classes()
    models = [joint(n_jobs=n).fit(sp.csr_matrix(X), codes) for n in (1, 2, None)]
    for model in models[1:]:
        np.testing.assert_array_equal(model.coef_, models[0].coef_)
    other = joint(random_state=5).fit(sp.csr_matrix(X), codes)
    assert (other.coef_ != models[0].coef_).any()
    one, two = (m.certificate_.primal_objective for m in (models[0], other))
    assert one == pytest.approx(two, rel=1e-4)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_a_path_and_cross_validation_have_the_solutions_of_single_fits(n_classes):
    X, codes = classes(n_classes=n_classes)
    grid = [0.01, 0.1, 1.0]
    for model in joint(tol=1e-7).path(X, codes, grid):
        alone = joint(C=model.C, tol=1e-7).fit(X, codes)
        assert model.coef_.shape == alone.coef_.shape
        np.testing.assert_allclose(model.coef_, alone.coef_, atol=5e-3)
        assert model.certificate_.converged
    chosen = LinearSVCCV(Cs=grid, cv=3, multi_class="crammer_singer", tol=1e-7, random_state=1).fit(
        X, codes
    )
    assert grid[chosen.scores_.mean(axis=0).argmax()] == chosen.C_
    alone = joint(C=chosen.C_, tol=1e-7).fit(X, codes)
    np.testing.assert_allclose(chosen.coef_, alone.coef_, atol=5e-3)
    assert chosen.scores_.mean() > 1.5 / n_classes or n_classes == 2


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
@pytest.mark.parametrize("C", [1e-10, 1e10])
def test_extreme_scales_stay_finite_and_certified(scale, C):
    X, codes = classes()
    model = unconverged_fit(joint(C=C, max_iter=100), X * scale, codes)
    c = model.certificate_
    objective = joint_objective(X * scale, codes, model.coef_, model.intercept_, C)
    assert c.primal_objective == pytest.approx(objective, rel=1e-6)
    assert c.duality_gap >= 0.0
    assert c.converged == (c.duality_gap <= 1e-4 * c.primal_objective * (1 + 1e-9))


def test_caps_leave_a_usable_model_and_a_callback_ends_the_fit():
    X, codes = classes(300, 30)
    for cap in (0, 1, 3):
        with pytest.warns(ConvergenceWarning, match=r"max_iter\): relative duality gap "):
            model = joint(C=100.0, tol=1e-12, max_iter=cap).fit(X, codes)
        assert model.n_iter_ == cap
        objective = joint_objective(X, codes, model.coef_, model.intercept_, 100.0)
        assert model.certificate_.primal_objective == pytest.approx(objective, rel=1e-9)
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        joint(C=1e4, tol=1e-15, time_limit=1e-9).fit(X, codes)
    with pytest.raises(Cancelled):
        joint(C=1e4, tol=1e-15, max_iter=10**6, callback=lambda report: True).fit(X, codes)


def test_numbers_that_overflow_are_refused():
    X, codes = classes()
    with pytest.raises(ValueError, match="overflow"):
        joint(C=1e300).fit(X * 1e200, codes)


def test_equal_samples_of_several_classes_and_empty_rows():
    X = np.zeros((9, 3))
    codes = np.arange(9) % 3
    model = joint(fit_intercept=False).fit(X, codes)
    assert model.certificate_.primal_objective == pytest.approx(9.0)
    np.testing.assert_array_equal(model.coef_, 0.0)
    check(joint(tol=1e-9).fit(np.ones((9, 3)), codes), np.ones((9, 3)), codes, 1.0)
