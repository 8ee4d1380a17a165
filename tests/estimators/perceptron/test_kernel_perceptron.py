"""The kernel perceptron against its definition and against the primal perceptron."""

from __future__ import annotations

import _thread
import pickle
import threading

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import ConvergenceWarning, KernelPerceptron, NotFittedError, Perceptron, _core
from maxmargin.diagnostics import functional_margin, geometric_margin
from oracles.kernel_perceptron import clouds
from oracles.perceptron import FORMS, integers, kernel_perceptron, quiet_fit
from oracles.problems import rng
from oracles.svm import kernel

KERNELS = {
    "linear": {},
    "poly": {"degree": 2, "gamma": 0.25, "coef0": 1.0},
    "rbf": {"gamma": 0.3},
    "sigmoid": {"gamma": 0.05, "coef0": -0.5},
}


def fit(X, y, **parameters):
    return quiet_fit(KernelPerceptron(**parameters), X, y)


# -- the rule --------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("shape", [(2, 1), (3, 2), (9, 5), (101, 7), (600, 12)])
def test_equals_the_definition_exactly_on_integers(form, fit_intercept, shape):
    X, y = integers(*shape)
    alpha, mistakes = kernel_perceptron(X @ X.T, 2 * y - 1, 6, float(fit_intercept))
    model = fit(FORMS[form](X), y, kernel="linear", max_iter=6, fit_intercept=fit_intercept)
    np.testing.assert_array_equal(model.alpha_, alpha)
    assert model.alpha_.dtype == np.int64
    assert model.mistakes_per_pass_[0].tolist() == mistakes
    assert model.n_mistakes_.tolist() == [alpha.sum()]
    assert model.n_iter_ == len(mistakes)
    assert model.converged_ == (mistakes[-1] == 0)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", KERNELS)
def test_equals_the_definition_for_every_kernel(form, name):
    X, y = rng(3).normal(size=(250, 4)).astype(np.float32), rng(4).integers(0, 2, 250)
    K = kernel(X, X, name, **KERNELS[name])
    alpha, mistakes = kernel_perceptron(K, 2 * y - 1, 10)
    model = fit(FORMS[form](X), y, kernel=name, max_iter=10, **KERNELS[name])
    np.testing.assert_array_equal(model.alpha_, alpha)
    assert model.mistakes_per_pass_[0].tolist() == mistakes


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("data", ["integers", "normal", "separable"])
def test_the_linear_kernel_makes_the_mistakes_of_the_primal_perceptron(
    form, shuffle, fit_intercept, data
):
    X, y = integers(500, 8)
    if data != "integers":
        X = rng(1).normal(size=(500, 8)).astype(np.float32)
    if data == "separable":
        y = (X @ rng(2).normal(size=8) > 0).astype(int)
    X = FORMS[form](X)
    parameters = {"shuffle": shuffle, "random_state": 5, "fit_intercept": fit_intercept}
    model = fit(X, y, kernel="linear", max_iter=20, **parameters)
    primal = quiet_fit(Perceptron(max_iter=20, **parameters), X, y)
    assert model.mistakes_per_pass_[0].tolist() == primal.mistakes_per_pass_[0].tolist()
    signed = model.alpha_ * (2 * y - 1)
    np.testing.assert_allclose(signed @ X, primal.coef_[0], rtol=1e-9, atol=1e-9)
    assert model.intercept_[0] == primal.intercept_[0]
    values = primal.decision_function(X)
    np.testing.assert_allclose(model.decision_function(X), values, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("form", ["float64", "csr"])
@pytest.mark.parametrize("max_iter", [1, 4])
def test_scores_near_zero_are_on_the_right_side(form, max_iter):
    # Points with their mirror images, of the opposite sign, then points that almost lie in the
    # mirror, so that their scores are small.
    points, signs = rng(0).normal(size=(150, 6)), rng(3).choice([-1, 1], 150)
    images = points * np.array([-1.0, 1, 1, 1, 1, 1])
    near = rng(1).normal(size=(800, 6))
    near[:, 0] = 1e-8 * np.where(rng(2).random(800) < 0.5, -1, 1)
    X = np.concatenate([np.stack([points, images], axis=1).reshape(-1, 6), near])
    signs = np.stack([signs, -signs], axis=1).ravel()
    K = kernel(X, X, gamma=0.1)
    alpha, _ = kernel_perceptron(K[:300, :300], signs, 1)
    scores = K[300:, :300] @ (alpha * signs)
    kept = np.append(np.arange(300), 300 + np.flatnonzero(np.abs(scores) > 1e-11))
    y = np.concatenate([signs, np.sign(scores)])[kept]
    expected, mistakes = kernel_perceptron(K[np.ix_(kept, kept)], y, max_iter)
    assert mistakes[0] == alpha.sum()  # none near the mirror
    model = fit(FORMS[form](X[kept]), y, gamma=0.1, max_iter=max_iter)
    np.testing.assert_array_equal(model.alpha_, expected)
    assert model.mistakes_per_pass_[0].tolist() == mistakes


def test_distinct_points_are_separated_under_rbf_whatever_their_labels():
    X, y = rng(0).normal(size=(300, 3)), rng(1).integers(0, 2, 300)
    model = KernelPerceptron(gamma=5.0, max_iter=10**4).fit(X, y)
    assert model.converged_
    assert (model.predict(X) == y).all()
    assert functional_margin(model, X, y).min() > 0
    assert geometric_margin(model, X, y).min() > 0


@pytest.mark.parametrize("name", ["rbf", "poly"])
def test_mistakes_are_within_novikoffs_bound(name):
    X, y = rng(0).normal(size=(200, 3)), rng(1).integers(0, 2, 200)
    if name == "poly":
        y = (np.square(X).sum(axis=1) > 2.0).astype(int)
    model = KernelPerceptron(kernel=name, degree=2, gamma=2.0, coef0=1.0, max_iter=10**5).fit(X, y)
    # Any separator of positive margin gives a bound, in the feature space of K + 1; the one found
    # will do.
    K = kernel(X, X, name, gamma=2.0, degree=2, coef0=1.0) + 1.0
    beta = model.alpha_ * (2 * y - 1)
    margin = ((2 * y - 1) * (K @ beta)).min() / np.sqrt(beta @ K @ beta)
    assert margin > 0
    assert model.n_mistakes_[0] <= K.diagonal().max() / margin**2


# -- several classes -------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
def test_several_classes_are_one_problem_each_against_the_rest(form):
    X, _ = integers(120, 5)
    y = np.arange(120) % 4
    model = fit(FORMS[form](X), y, kernel="linear", max_iter=5)
    assert model.alpha_.shape == (4, 120)
    for k in range(4):
        alpha, mistakes = kernel_perceptron(X @ X.T, np.where(y == k, 1, -1), 5)
        np.testing.assert_array_equal(model.alpha_[k], alpha)
        assert model.mistakes_per_pass_[k].tolist() == mistakes
    values = model.decision_function(FORMS[form](X))
    assert values.shape == (120, 4)
    np.testing.assert_array_equal(model.predict(X), values.argmax(axis=1))


@pytest.mark.parametrize("form", ["float64", "float32", "csr"])
@pytest.mark.parametrize(
    ("max_iter", "cache_size", "fit_intercept"),
    [(1, 100.0, True), (2, 100.0, False), (5, 100.0, True), (5, 1e-9, False)],
)
def test_several_classes_make_the_mistakes_of_the_definition(
    form, max_iter, cache_size, fit_intercept
):
    X, codes = clouds(1200, 40, 3, spread=2.0)
    X[rng(5).random(X.shape) > 0.8] = 0.0
    X = X.astype(np.float32)
    parameters = {"gamma": 0.02, "max_iter": max_iter, "fit_intercept": fit_intercept}
    model = fit(FORMS[form](X), codes, cache_size=cache_size, **parameters)
    K = kernel(X, X, gamma=0.02)
    for p in range(3):
        signs = np.where(codes == p, 1, -1)
        alpha, mistakes = kernel_perceptron(K, signs, max_iter, float(fit_intercept))
        np.testing.assert_array_equal(model.alpha_[p], alpha)
        assert model.mistakes_per_pass_[p].tolist() == mistakes


def test_problems_share_kernel_rows():
    X, _ = integers(300, 40)
    y = np.arange(300) % 3
    model = fit(X, y, kernel="linear", max_iter=4)
    assert model.kernel_rows_ <= 300 < model.n_mistakes_.sum()


# -- the model -------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("n", [3, 101])
def test_decision_values_are_those_of_the_attributes(form, name, n_classes, n):
    X = rng(6).normal(size=(n, 5)).astype(np.float32)
    y = np.array(["a", "b", "c"])[np.arange(n) % n_classes]
    model = fit(FORMS[form](X), y, kernel=name, max_iter=4, **KERNELS[name])
    np.testing.assert_array_equal(
        model.support_, np.flatnonzero(np.atleast_2d(model.alpha_).any(axis=0))
    )
    problems = [model.classes_[1]] if n_classes == 2 else model.classes_
    for row, (alpha, positive) in enumerate(
        zip(np.atleast_2d(model.alpha_), problems, strict=True)
    ):
        beta = np.where(y == positive, alpha, -alpha)
        np.testing.assert_array_equal(model.dual_coef_[row], beta[model.support_])
        assert model.intercept_[row] == beta.sum()
    vectors = model.support_vectors_
    assert sp.issparse(vectors) == form.startswith("csr")
    vectors = vectors.toarray() if sp.issparse(vectors) else vectors
    np.testing.assert_array_equal(vectors, X[model.support_])
    Z = rng(7).normal(size=(17, 5))
    expected = kernel(Z, vectors, name, **KERNELS[name]) @ model.dual_coef_.T + model.intercept_
    expected = expected[:, 0] if n_classes == 2 else expected
    for T in (Z, sp.csr_matrix(Z)):
        np.testing.assert_allclose(model.decision_function(T), expected, rtol=1e-9, atol=1e-9)
    assert model.decision_function(Z[:1]).tolist() == model.decision_function(Z)[:1].tolist()


def test_gamma_scale_and_auto_are_the_numbers_they_stand_for():
    X, y = rng(0).normal(size=(60, 4)) * 3.0, rng(1).integers(0, 2, 60)
    for name, number in (("scale", 1 / (4 * X.var())), ("auto", 0.25)):
        named, by_number = fit(X, y, gamma=name), fit(X, y, gamma=number)
        np.testing.assert_array_equal(named.alpha_, by_number.alpha_)


def test_a_model_survives_pickling():
    X, y = integers(60, 3)
    model = fit(X, y, max_iter=5)
    values = model.decision_function(X)
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.decision_function(X), values)


# -- speed must not change results -----------------------------------------------------------------


@pytest.mark.parametrize("form", ["float64", "csr"])
def test_threads_and_cache_do_not_change_the_result(form):
    X, y = rng(0).normal(size=(1000, 40)), rng(1).integers(0, 2, 1000)
    X = FORMS[form](X)
    reference = fit(X, y, gamma=0.05, max_iter=6, n_jobs=1)
    for parameters in ({"n_jobs": 2}, {"n_jobs": 3}, {"cache_size": 1e-9}, {"cache_size": 3.0}):
        model = fit(X, y, gamma=0.05, max_iter=6, **parameters)
        np.testing.assert_array_equal(model.alpha_, reference.alpha_)
        assert (
            model.decision_function(X[:100]).tobytes()
            == reference.decision_function(X[:100]).tobytes()
        )


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("cache_size", [1e-9, 100.0])
def test_fewer_passes_are_the_first_of_more(shuffle, cache_size):
    X, y = clouds(900, 6, 5, spread=1.5)
    parameters = {"shuffle": shuffle, "random_state": 3, "cache_size": cache_size, "gamma": 0.1}
    longest = fit(X, y, max_iter=4, **parameters)
    for max_iter in (1, 2, 3):
        model = fit(X, y, max_iter=max_iter, **parameters)
        for some, all_passes in zip(
            model.mistakes_per_pass_, longest.mistakes_per_pass_, strict=True
        ):
            assert some.tolist() == all_passes[:max_iter].tolist()


def test_a_cache_saves_kernel_rows():
    X, y = rng(0).normal(size=(1500, 40)), rng(1).integers(0, 2, 1500)
    small = fit(X, y, kernel="linear", max_iter=4, cache_size=1e-9)
    large = fit(X, y, kernel="linear", max_iter=4, cache_size=100.0)
    assert large.kernel_rows_ == len(large.support_) < small.kernel_rows_ <= small.n_mistakes_[0]


def test_memory_layout_does_not_matter_and_nothing_is_changed():
    X, y = integers(40, 6)
    reference = fit(X, y, gamma=0.1, max_iter=5)
    big = np.ones((80, 12))
    big[::2, ::2] = X
    read_only = X.copy()
    read_only.flags.writeable = False
    for form in (np.asfortranarray(X), read_only, big[::2, ::2], X.astype(object), X.tolist()):
        before = np.array(form, copy=True)
        np.testing.assert_array_equal(fit(form, y, gamma=0.1, max_iter=5).alpha_, reference.alpha_)
        np.testing.assert_array_equal(np.asarray(form), before)


def test_shuffling_follows_the_seed():
    X, y = integers(200, 4)
    runs = [
        fit(X, y, max_iter=3, shuffle=True, random_state=seed).alpha_.tobytes()
        for seed in (1, 1, 2)
    ]
    assert runs[0] == runs[1] != runs[2]


# -- stopping and errors ---------------------------------------------------------------------------


def test_a_warning_tells_the_mistakes_of_the_last_pass():
    X, y = integers(50, 3)
    _, mistakes = kernel_perceptron(X @ X.T, 2 * y - 1, 5)
    with pytest.warns(ConvergenceWarning, match=f"{mistakes[-1]} mistakes in the last of 5"):
        KernelPerceptron(kernel="linear", max_iter=5).fit(X, y)
    three = np.arange(50) % 3
    with pytest.warns(
        ConvergenceWarning,
        match="^KernelPerceptron did not converge in 3 of 3 one-vs-rest problems: ",
    ):
        KernelPerceptron(kernel="linear", max_iter=5).fit(X, three)


def test_tol_stops_and_does_not_warn():
    X, y = integers(200, 3)
    model = KernelPerceptron(kernel="linear", tol=0.01, max_iter=10**6).fit(X, y)
    primal = Perceptron(tol=0.01, max_iter=10**6).fit(X, y)
    assert not model.converged_
    assert model.n_iter_ == primal.n_iter_


def test_ctrl_c_ends_a_fit():
    X, y = integers(4000, 30)
    timer = threading.Timer(0.3, _thread.interrupt_main)
    model = KernelPerceptron(kernel="linear", max_iter=10**9)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    timer.join()
    with pytest.raises(NotFittedError):
        model.predict(X)
    fit(X[:50], y[:50], max_iter=2)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"kernel": "laplace"}, "kernel must be one of"),
        ({"gamma": -1.0}, "gamma must be 'scale', 'auto' or a finite number > 0, got -1.0"),
        ({"degree": -1}, "degree"),
        ({"coef0": np.nan}, "coef0"),
        ({"max_iter": 0}, "max_iter must be an integer >= 1"),
        ({"tol": -0.5}, "tol"),
        ({"cache_size": 0}, "cache_size"),
        ({"fit_intercept": "yes"}, "fit_intercept"),
        ({"average": 1}, "average must be True or False, got 1"),
        ({"multi_class": "ovo"}, "multi_class must be one of 'ovr', 'crammer_singer', got 'ovo'"),
        ({"random_state": "seed"}, "random_state"),
        ({"n_jobs": 0}, "n_jobs"),
    ],
)
def test_bad_parameters_are_named(parameters, message):
    X, y = integers(10, 2)
    with pytest.raises(ValueError, match=message):
        KernelPerceptron(**parameters).fit(X, y)


def test_a_kernel_that_overflows_is_an_error_and_leaves_the_model():
    X, y = integers(30, 3)
    model = fit(X, y, max_iter=3)
    alpha = model.alpha_.copy()
    model.set_params(kernel="poly", degree=400, gamma=1.0, coef0=10.0)
    with pytest.raises(ValueError, match="overflows on these data"):
        model.fit(X, y)
    np.testing.assert_array_equal(model.alpha_, alpha)
    with pytest.raises(ValueError, match="X"):
        KernelPerceptron().fit(np.where(X > 0, 1e308, -1e308), y)


def test_bad_data_are_refused():
    X, y = integers(10, 2)
    with pytest.raises(ValueError, match="one class"):
        KernelPerceptron().fit(X, np.ones(10))
    with pytest.raises(ValueError, match="9 labels"):
        KernelPerceptron().fit(X, y[:9])
    with pytest.raises(NotFittedError):
        KernelPerceptron().predict(X)
    model = fit(X, y)
    with pytest.raises(ValueError, match="3 features"):
        model.predict(np.ones((2, 3)))


# -- the core --------------------------------------------------------------------------------------


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("n_vectors", [1, 8, 13, 600])
@pytest.mark.parametrize("n_machines", [1, 5])
def test_one_vs_rest_decisions_are_sums_over_all_support_vectors(sparse, n_vectors, n_machines):
    V, Z = rng(0).normal(size=(n_vectors, 6)), rng(1).normal(size=(50, 6))
    coef, rho = rng(2).normal(size=(n_machines, n_vectors)), rng(3).normal(size=n_machines)
    S = sp.csr_matrix(V)
    vectors = (S.data, S.indices, S.indptr, 6) if sparse else V
    params = _core.KernelParams("rbf", 0.2)
    decision = _core.Decision(vectors, coef, rho, params)
    expected = kernel(Z, V, "rbf", gamma=0.2) @ coef.T - rho
    for threads in (1, 2):
        np.testing.assert_allclose(decision.decision_function(Z, threads), expected, atol=1e-11)
    with pytest.raises(ValueError):
        _core.Decision(vectors, coef[:, 1:].copy(), rho, params)
