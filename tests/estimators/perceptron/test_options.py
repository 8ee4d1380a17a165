"""The averaged kernel perceptron, and that of Crammer and Singer, against their definitions."""

from __future__ import annotations

import re

import numpy as np
import pytest

from maxmargin import KernelPerceptron
from maxmargin.progress import ProgressLine
from oracles.kernel_perceptron import averaged, clouds, crammer_singer
from oracles.perceptron import FORMS, integers, kernel_perceptron, quiet_fit
from oracles.problems import rng
from oracles.svm import kernel


def fit(X, y, **parameters):
    return quiet_fit(KernelPerceptron(**parameters), X, y)


def spread_out(model, n):
    """The coefficients of all examples."""
    beta = np.zeros((len(model.dual_coef_), n))
    beta[:, model.support_] = model.dual_coef_
    return beta


# -- average ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["float64", "csr"])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("max_iter", [1, 2, 5])
def test_the_average_is_that_of_the_coefficients_after_every_example(form, fit_intercept, max_iter):
    X, y = integers(150, 5)
    K = X @ X.T + fit_intercept
    expected, mistakes = averaged(K, 2 * y - 1, max_iter)
    parameters = {"kernel": "linear", "max_iter": max_iter, "fit_intercept": fit_intercept}
    model = fit(FORMS[form](X), y, average=True, **parameters)
    np.testing.assert_allclose(spread_out(model, 150)[0], expected, rtol=1e-13)
    assert model.mistakes_per_pass_[0].tolist() == mistakes
    np.testing.assert_allclose(model.intercept_, fit_intercept * expected.sum(), atol=1e-12)
    np.testing.assert_allclose(model.decision_function(X), K @ expected, atol=1e-9)
    plain = fit(FORMS[form](X), y, **parameters)
    np.testing.assert_array_equal(model.alpha_, plain.alpha_)


@pytest.mark.parametrize("max_iter", [1, 2, 50])
def test_every_class_is_averaged_over_its_own_passes(max_iter):
    X, y = clouds(120, 3, 4, spread=0.4)
    K = kernel(X, X, gamma=0.5) + 1.0
    model = fit(X, y, gamma=0.5, max_iter=max_iter, average=True)
    for k in range(4):
        expected, mistakes = averaged(K, np.where(y == k, 1, -1), max_iter)
        assert model.mistakes_per_pass_[k].tolist() == mistakes
        np.testing.assert_allclose(spread_out(model, 120)[k], expected, rtol=1e-12)
    if max_iter == 50:
        assert len({len(passes) for passes in model.mistakes_per_pass_}) > 1


def test_the_average_follows_the_order_of_a_shuffled_pass():
    X, y = clouds(90, 3, 2)
    model = fit(X, y, gamma=0.5, max_iter=1, average=True, shuffle=True, random_state=2)
    # A mistake at step t of n counts for n - t steps, so the coefficients give the order.
    steps = 90 - np.rint(90 * np.abs(model.dual_coef_[0])).astype(int)
    assert len(set(steps)) == len(steps) == model.n_mistakes_[0]
    order = model.support_[np.argsort(steps)]
    K = kernel(X, X, gamma=0.5) + 1.0
    signs = 2 * y - 1
    for t, i in enumerate(order):
        assert signs[i] * (K[i, order[:t]] @ signs[order[:t]]) <= 0


# -- several classes -------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("max_iter", [1, 2, 5])
def test_crammer_singer_equals_the_definition_exactly_on_integers(form, average, max_iter):
    X, _ = integers(130, 4)
    y = rng(5).integers(0, 4, 130)
    y[:4] = [3, 1, 2, 0]
    alpha, beta, mistakes = crammer_singer(X @ X.T + 1.0, y, max_iter, average)
    model = fit(
        FORMS[form](X),
        y,
        kernel="linear",
        multi_class="crammer_singer",
        max_iter=max_iter,
        average=average,
    )
    np.testing.assert_array_equal(model.alpha_, alpha)
    np.testing.assert_allclose(spread_out(model, 130), beta, rtol=1e-12)
    assert [passes.tolist() for passes in model.mistakes_per_pass_] == [mistakes]
    assert model.n_mistakes_.tolist() == [alpha.sum()]
    np.testing.assert_allclose(model.intercept_, beta.sum(axis=1), atol=1e-12)


@pytest.mark.parametrize("name", ["rbf", "poly"])
def test_crammer_singer_equals_the_definition_for_kernels(name):
    X, y = clouds(400, 5, 6)
    parameters = {"gamma": 0.2, "coef0": 1.0, "degree": 2}
    alpha, beta, _ = crammer_singer(kernel(X, X, name, **parameters) + 1.0, y, 6)
    model = fit(X, y, kernel=name, multi_class="crammer_singer", max_iter=6, **parameters)
    np.testing.assert_array_equal(model.alpha_, alpha)
    np.testing.assert_array_equal(spread_out(model, 400), beta)


def test_with_two_classes_crammer_singer_makes_the_mistakes_of_one_problem():
    X, y = integers(200, 3)
    alpha, beta, mistakes = crammer_singer(X @ X.T + 1.0, y, 5)
    for multi_class in ("ovr", "crammer_singer"):
        model = fit(X, y, kernel="linear", max_iter=5, multi_class=multi_class)
        np.testing.assert_array_equal(model.alpha_, alpha)
        np.testing.assert_array_equal(spread_out(model, 200)[0], beta[1])
        assert model.mistakes_per_pass_[0].tolist() == mistakes


@pytest.mark.parametrize("spread", [0.3, 0.6])
def test_crammer_singer_stays_within_its_bound_and_classifies_what_it_was_trained_on(spread):
    X, y = clouds(150, 4, 5, spread=spread)
    model = KernelPerceptron(gamma=2.0, max_iter=10**4, multi_class="crammer_singer").fit(X, y)
    assert model.converged_
    assert (model.predict(X) == y).all()
    # Kesler's construction is a binary perceptron on phi(x) at y and -phi(x) at the rival, of norm
    # at most sqrt(2) R; any separator will do.
    K, beta = kernel(X, X, gamma=2.0) + 1.0, spread_out(model, 150)
    f = K @ beta.T
    rivals = np.where(np.arange(5) == y[:, np.newaxis], -np.inf, f).max(axis=1)
    margin = (f[np.arange(150), y] - rivals).min() / np.sqrt(np.einsum("pi,ij,pj", beta, K, beta))
    assert margin > 0
    assert model.n_mistakes_[0] <= 2 * K.diagonal().max() / margin**2


@pytest.mark.parametrize("max_iter", [1, 2, 3, 40])
@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("tol", [None, 0.01])
def test_one_against_the_rest_side_by_side_is_one_after_the_other(max_iter, shuffle, tol):
    X, y = clouds(300, 3, 4, spread=0.5)
    parameters = {"gamma": 0.5, "max_iter": max_iter, "shuffle": shuffle, "random_state": 4}
    model = fit(X, y, tol=tol, **parameters)
    for k in range(4):
        alone = fit(X, y == k, tol=tol, **parameters)
        np.testing.assert_array_equal(model.alpha_[k], alone.alpha_)
        assert model.mistakes_per_pass_[k].tolist() == alone.mistakes_per_pass_[0].tolist()


def test_the_warning_of_one_joint_problem_names_no_other():
    X, y = clouds(60, 2, 3, spread=2.0)
    with pytest.warns(UserWarning, match="^KernelPerceptron did not converge: "):
        KernelPerceptron(max_iter=2, multi_class="crammer_singer").fit(X, y)


@pytest.mark.slow
@pytest.mark.parametrize("max_iter", [1, 2, 3])
def test_the_classes_of_mnist_make_the_mistakes_of_the_definition(shared_data, max_iter):
    data = shared_data("mnist")
    X, y = data.X[:1500] / 255.0, data.y[:1500]
    model = fit(X, y, gamma=0.02, max_iter=max_iter)
    K = kernel(X, X, gamma=0.02)
    for k in range(10):
        alpha, mistakes = kernel_perceptron(K, np.where(y == k, 1, -1), max_iter)
        np.testing.assert_array_equal(model.alpha_[k], alpha)
        assert model.mistakes_per_pass_[k].tolist() == mistakes


@pytest.mark.parametrize("params", [{}, {"multi_class": "crammer_singer"}])
def test_verbose_tells_the_share_of_mistakes_in_the_last_pass(params, capsys, monkeypatch):
    X, y = rng(0).normal(size=(800, 4)), rng(1).integers(0, 3, 800)
    reports = []
    show = ProgressLine.show
    monkeypatch.setattr(
        ProgressLine, "show", lambda line, report: reports.append(report) or show(line, report)
    )
    model = fit(X, y, max_iter=40, verbose=1, random_state=0, **params)
    out, err = capsys.readouterr()
    share = np.mean(model.mistakes_per_pass_, axis=0) / 800
    line = f"iteration 40  share of mistakes {share[-1]:.3g}  "
    assert out == ""
    assert re.fullmatch(re.escape(line) + r"\d+\.\d s\n", err)
    for report in reports[:-1]:  # as many as there was time for
        passes = report["n_iter"] - 1
        assert report.get("mistake_rate") == pytest.approx(share[passes - 1] if passes else None)
    silent = fit(X, y, max_iter=40, random_state=0, **params)
    assert capsys.readouterr().err == ""
    assert silent.dual_coef_.tobytes() == model.dual_coef_.tobytes()
    with pytest.raises(ValueError, match="verbose must be"):
        KernelPerceptron(verbose=-1).fit(X, y)
