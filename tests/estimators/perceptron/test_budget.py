"""Kernel perceptrons with a budget against their papers."""

from __future__ import annotations

import _thread
import pickle
import threading
import time

import numpy as np
import pytest

from maxmargin import KernelPerceptron, NotFittedError
from oracles.kernel_perceptron import Forgetron, Projectron, Random, clouds, with_budget
from oracles.perceptron import FORMS, integers, quiet_fit
from oracles.problems import rng
from oracles.svm import kernel

POLICIES = ("random", "forgetron", "projectron")


def fit(X, y, **parameters):
    return quiet_fit(KernelPerceptron(**parameters), X, y)


def spread_out(model, n):
    """The coefficients of all examples."""
    beta = np.zeros((len(model.dual_coef_), n))
    beta[:, model.support_] = model.dual_coef_
    return beta


def oracle(name, budget, K, eta, seed):
    """The policy of the first problem of a fit."""
    return {
        "random": lambda: Random(budget, seed + 1),
        "forgetron": lambda: Forgetron(budget, K.diagonal().max()),
        "projectron": lambda: Projectron(budget, eta),
    }[name]()


# -- the rules -------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("form", ["float64", "csr float32"])
@pytest.mark.parametrize("max_iter", [1, 3])
@pytest.mark.parametrize("budget", [1, 7, 40])
def test_two_classes_equal_the_paper(policy, form, max_iter, budget):
    X, y = clouds(260, 4, 2, spread=1.2)
    X = X.astype(np.float32)
    K = kernel(X, X, gamma=0.3) + 1.0
    alpha, beta, mistakes = with_budget(
        K, 2 * y - 1, max_iter, oracle(policy, budget, K, 0.3, seed=9)
    )
    model = fit(
        FORMS[form](X),
        y,
        gamma=0.3,
        max_iter=max_iter,
        budget=budget,
        budget_policy=policy,
        eta=0.3,
        random_state=9,
    )
    np.testing.assert_array_equal(model.alpha_, alpha)
    np.testing.assert_allclose(spread_out(model, 260), beta, rtol=1e-7, atol=1e-9)
    assert model.mistakes_per_pass_[0].tolist() == mistakes
    assert len(model.support_) <= budget
    np.testing.assert_allclose(model.decision_function(X), K @ beta[0], rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(model.intercept_, beta.sum(axis=1), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_other_kernels_equal_the_paper(policy, fit_intercept):
    X, y = clouds(200, 6, 2, spread=1.2)
    parameters = {"degree": 2, "gamma": 0.5, "coef0": 1.0}
    K = kernel(X, X, "poly", **parameters) + fit_intercept
    alpha, beta, _ = with_budget(K, 2 * y - 1, 3, oracle(policy, 12, K, 2.0, seed=0))
    model = fit(
        X,
        y,
        kernel="poly",
        max_iter=3,
        budget=12,
        budget_policy=policy,
        eta=2.0,
        random_state=0,
        fit_intercept=fit_intercept,
        **parameters,
    )
    np.testing.assert_array_equal(model.alpha_, alpha)
    np.testing.assert_allclose(spread_out(model, 200), beta, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("policy", ["random", "projectron"])
def test_crammer_singer_on_a_budget_equals_the_definition(policy):
    X, y = clouds(250, 4, 5)
    K = kernel(X, X, gamma=0.3) + 1.0
    alpha, beta, _ = with_budget(K, y, 2, oracle(policy, 30, K, 0.4, seed=1))
    model = fit(
        X,
        y,
        gamma=0.3,
        max_iter=2,
        budget=30,
        budget_policy=policy,
        eta=0.4,
        random_state=1,
        multi_class="crammer_singer",
    )
    np.testing.assert_array_equal(model.alpha_, alpha)
    np.testing.assert_allclose(spread_out(model, 250), beta, rtol=1e-6, atol=1e-8)
    assert len(model.support_) <= 30


@pytest.mark.parametrize("policy", ["forgetron", "projectron"])
def test_one_against_the_rest_has_a_budget_for_each_class(policy):
    X, y = clouds(300, 4, 4)
    K = kernel(X, X, gamma=0.3) + 1.0
    model = fit(X, y, gamma=0.3, max_iter=2, budget=15, budget_policy=policy, eta=0.5)
    for k in range(4):
        signs = np.where(y == k, 1, -1)
        alpha, beta, _ = with_budget(K, signs, 2, oracle(policy, 15, K, 0.5, seed=0))
        np.testing.assert_array_equal(model.alpha_[k], alpha)
        np.testing.assert_allclose(spread_out(model, 300)[k], beta[0], rtol=1e-6, atol=1e-8)
    assert (np.count_nonzero(model.dual_coef_, axis=1) <= 15).all()


@pytest.mark.parametrize("policy", ["forgetron", "projectron"])
def test_every_class_ends_when_it_is_separated(policy):
    X, y = clouds(240, 3, 4, spread=0.45)
    X[y == 3] += 6.0
    K = kernel(X, X, gamma=0.5) + 1.0
    model = fit(X, y, gamma=0.5, max_iter=12, budget=25, budget_policy=policy, eta=0.1)
    for k in range(4):
        signs = np.where(y == k, 1, -1)
        alpha, beta, mistakes = with_budget(K, signs, 12, oracle(policy, 25, K, 0.1, seed=0))
        assert model.mistakes_per_pass_[k].tolist() == mistakes
        np.testing.assert_array_equal(model.alpha_[k], alpha)
        np.testing.assert_allclose(spread_out(model, 240)[k], beta[0], rtol=1e-6, atol=1e-8)
    assert min(map(len, model.mistakes_per_pass_)) < model.n_iter_


def test_classes_draw_removals_of_their_own():
    X, y = clouds(200, 3, 3, spread=2.0)
    model = fit(X, y, gamma=0.5, max_iter=1, budget=10, random_state=6)
    K = kernel(X, X, gamma=0.5) + 1.0
    for k in range(3):
        signs = np.where(y == k, 1, -1)
        alpha, beta, _ = with_budget(K, signs, 1, Random(10, 6 + 1 + k))
        np.testing.assert_array_equal(model.alpha_[k], alpha)
        np.testing.assert_array_equal(spread_out(model, 200)[k], beta[0])


@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("budget", [None, 20])
def test_the_projectron_may_be_averaged(average, budget):
    X, y = clouds(200, 3, 2, spread=1.5)
    K = kernel(X, X, gamma=0.2) + 1.0
    policy = Projectron(budget or 10**9, 0.2)
    _, beta, _ = with_budget(K, 2 * y - 1, 2, policy, average=average)
    parameters = {"budget": budget, "budget_policy": "projectron", "eta": 0.2}
    model = fit(X, y, gamma=0.2, max_iter=2, average=average, **parameters)
    assert 1 < len(model.support_) < model.n_mistakes_[0]
    np.testing.assert_allclose(spread_out(model, 200), beta, rtol=1e-6, atol=1e-8)


# -- what follows from the rules -------------------------------------------------------------------


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("shuffle", [False, True])
def test_a_budget_that_suffices_changes_nothing(policy, n_classes, shuffle):
    X, y = clouds(700, 5, n_classes)
    parameters = {"gamma": 0.3, "max_iter": 4, "shuffle": shuffle, "random_state": 1}
    plain = fit(X, y, **parameters)
    model = fit(X, y, budget=700, budget_policy=policy, eta=0.0, **parameters)
    np.testing.assert_array_equal(model.alpha_, plain.alpha_)
    if policy != "projectron" or n_classes == 2:
        np.testing.assert_allclose(model.dual_coef_, plain.dual_coef_, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_projection_at_distance_0_is_the_same_function_with_no_more_vectors_than_dimensions(
    fit_intercept,
):
    X, y = rng(0).normal(size=(400, 6)), rng(1).integers(0, 2, 400)
    parameters = {"kernel": "linear", "max_iter": 3, "fit_intercept": fit_intercept}
    plain = fit(X, y, **parameters)
    model = fit(X, y, budget_policy="projectron", eta=0.0, **parameters)
    assert len(model.support_) == 6 + fit_intercept
    np.testing.assert_array_equal(model.alpha_, plain.alpha_)
    values = plain.decision_function(X)
    np.testing.assert_allclose(model.decision_function(X), values, rtol=1e-8, atol=1e-8)


def test_a_greater_eta_keeps_fewer_support_vectors():
    X, y = clouds(600, 4, 2)
    counts = [
        len(fit(X, y, gamma=0.2, max_iter=2, budget_policy="projectron", eta=eta).support_)
        for eta in (0.0, 0.1, 0.4, 0.8)
    ]
    assert counts == sorted(counts, reverse=True)
    assert len(set(counts)) == 4


def test_without_a_budget_a_policy_of_removal_has_nothing_to_do():
    X, y = clouds(300, 4, 3)
    plain = fit(X, y, gamma=0.3, max_iter=3)
    for policy in ("random", "forgetron"):
        model = fit(X, y, gamma=0.3, max_iter=3, budget_policy=policy, random_state=8)
        np.testing.assert_array_equal(model.dual_coef_, plain.dual_coef_)


@pytest.mark.parametrize("policy", POLICIES)
def test_samples_that_are_zero_in_feature_space_are_no_support_vectors(policy):
    X, y = np.zeros((6, 2)), [0, 1, 0, 1, 0, 1]
    parameters = {"kernel": "linear", "fit_intercept": False, "max_iter": 2}
    model = fit(X, y, budget=2, budget_policy=policy, **parameters)
    assert model.n_mistakes_.tolist() == [12]
    assert (model.decision_function(X) == 0.0).all()
    assert len(model.support_) == (0 if policy == "projectron" else 2)


# -- speed must not change results -----------------------------------------------------------------


@pytest.mark.parametrize("form", ["float64", "csr"])
@pytest.mark.parametrize("policy", POLICIES)
def test_threads_do_not_change_the_result_and_seeds_repeat_it(form, policy):
    X, y = clouds(1200, 20, 3, spread=2.0)
    X = FORMS[form](X)
    parameters = {"gamma": 0.02, "max_iter": 2, "budget": 100, "budget_policy": policy, "eta": 0.1}
    runs = [
        fit(X, y, random_state=seed, n_jobs=n_jobs, shuffle=True, **parameters)
        for seed, n_jobs in ((3, 1), (3, 2), (3, 3), (4, 1))
    ]
    coefs = [(model.support_.tobytes(), model.dual_coef_.tobytes()) for model in runs]
    assert coefs[0] == coefs[1] == coefs[2] != coefs[3]


def test_a_budget_bounds_the_kernel_values_of_a_pass():
    X, y = rng(0).normal(size=(4000, 10)), rng(1).integers(0, 2, 4000)
    model = fit(X, y, budget=64, max_iter=1)
    # 4000 values with 64 support vectors, and those of the blocks with themselves
    assert model.kernel_rows_ <= 64 + 2


@pytest.mark.parametrize("policy", POLICIES)
def test_a_model_survives_pickling(policy):
    X, y = clouds(120, 3, 3)
    model = fit(X, y, budget=9, budget_policy=policy, max_iter=3)
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.decision_function(X), model.decision_function(X))


# -- errors ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", POLICIES)
def test_ctrl_c_ends_a_fit_on_a_budget(policy):
    X, y = integers(3000, 30)
    model = KernelPerceptron(gamma=0.01, max_iter=10**7, budget=500, budget_policy=policy)
    timer = threading.Timer(0.3, _thread.interrupt_main)
    timer.start()
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert time.monotonic() - begin < 20.0
    timer.join()
    with pytest.raises(NotFittedError):
        model.predict(X)


@pytest.mark.parametrize("policy", POLICIES)
def test_a_kernel_that_overflows_is_an_error(policy):
    X, y = integers(30, 3)
    model = KernelPerceptron(
        kernel="poly", degree=400, gamma=1.0, coef0=10.0, budget=5, budget_policy=policy
    )
    with pytest.raises(ValueError, match="overflows on these data"):
        model.fit(X, y)
