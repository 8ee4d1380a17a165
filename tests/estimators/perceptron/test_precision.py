"""float32 kernel values: their error bounds, and that they do not change what is learned."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import KernelPerceptron, _core
from oracles.kernel_perceptron import averaged, clouds, crammer_singer
from oracles.perceptron import FORMS, kernel_perceptron, quiet_fit
from oracles.problems import rng
from oracles.svm import kernel


def fit(X, y, **parameters):
    return quiet_fit(KernelPerceptron(**parameters), X, y)


# -- the bound -------------------------------------------------------------------------------------


def samples_of(name):
    if name == "thirds":  # whose sums are rounded the same way again and again
        return np.full((64, 800), 1 / 3) * rng(0).integers(1, 4, size=(64, 1))
    X = rng(0).normal(size=(64, 3000 if name == "tail" else 90))
    if name in ("csr", "tail"):
        X[rng(1).random(X.shape) > 0.05] = 0.0
    if name == "far":
        X = 1e4 + X
    return X


@pytest.mark.parametrize("name", ["normal", "csr", "tail", "thirds", "far"])
@pytest.mark.parametrize("gamma", [1e-3, 0.05])
@pytest.mark.parametrize("kernel_name", ["rbf", "laplacian"])
def test_float32_values_are_within_their_bounds(name, gamma, kernel_name):
    from support.internal import internal

    X = samples_of(name).astype(np.float32)
    samples = X
    if name in ("csr", "tail"):
        S = sp.csr_matrix(X)
        samples = (S.data, S.indices, S.indptr, S.shape[1])
    params = _core.KernelParams(kernel_name, gamma)
    everything = np.arange(64)
    values = internal.kernel_rectangle(samples, params, False, everything, everything)
    errors = internal.relative_errors(samples, params)
    wide = X.astype(np.float64)
    power = 2 if kernel_name == "rbf" else 1
    distances = (np.abs(wide[:, np.newaxis] - wide) ** power).sum(axis=2)
    off = np.abs(values.astype(np.float64) - np.exp(-gamma * distances))
    assert (off <= errors[:64] * values + 1e-37).all()
    if name != "far":
        assert errors.max() < 0.1


def test_only_exponentials_have_bounds():
    from support.internal import internal

    X = rng(0).normal(size=(20, 3)).astype(np.float32)
    for params in (_core.KernelParams("linear"), _core.KernelParams("sigmoid", 0.1)):
        assert internal.relative_errors(X, params).size == 0


# -- what is learned -------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["float64", "float32", "csr"])
@pytest.mark.parametrize(
    ("max_iter", "cache_size", "fit_intercept"),
    [(1, 100.0, True), (2, 100.0, False), (5, 100.0, True), (5, 1e-9, False)],
)
def test_mistakes_are_those_of_the_definition(form, max_iter, cache_size, fit_intercept):
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


@pytest.mark.parametrize("max_iter", [1, 2, 4])
def test_crammer_singer_makes_the_mistakes_of_the_definition(max_iter):
    X, codes = clouds(1200, 40, 4, spread=2.0)
    model = fit(X, codes, gamma=0.02, max_iter=max_iter, multi_class="crammer_singer")
    alpha, _, mistakes = crammer_singer(kernel(X, X, gamma=0.02) + 1.0, codes, max_iter)
    np.testing.assert_array_equal(model.alpha_, alpha)
    assert model.mistakes_per_pass_[0].tolist() == mistakes


def mirrored(n_pairs, n):
    """Points with their mirror images, of the opposite sign, then points that all but lie in the
    mirror: float32 values do not tell on which side, so that all of their scores look like 0."""
    points = rng(0).normal(size=(n_pairs, 6))
    images = points * np.array([-1.0, 1, 1, 1, 1, 1])
    near = rng(1).normal(size=(n, 6))
    near[:, 0] = 1e-8 * np.where(rng(2).random(n) < 0.5, -1, 1)
    signs = rng(3).choice([-1, 1], n_pairs)
    X = np.concatenate([np.stack([points, images], axis=1).reshape(-1, 6), near])
    return X, np.stack([signs, -signs], axis=1).ravel()


MORE_PASSES = pytest.param(4, marks=pytest.mark.no_sanitizer)


@pytest.mark.parametrize("form", ["float64", "csr"])
@pytest.mark.parametrize("multi_class", ["ovr", "crammer_singer"])
@pytest.mark.parametrize("max_iter", [2, MORE_PASSES])
@pytest.mark.parametrize("n_pairs", [1, 150])  # few doubts, and so many that float64 takes over
def test_scores_that_float32_values_leave_in_doubt_are_settled(
    form, multi_class, max_iter, n_pairs
):
    X, signs = mirrored(n_pairs, 2000)
    K = kernel(X, X, gamma=0.1)
    m = len(signs)
    alpha, _ = kernel_perceptron(K[:m, :m], signs, 1)
    scores = K[m:, :m] @ (alpha * signs)
    # Those that even float64 values hardly tell from 0 are left out.
    kept = np.append(np.arange(m), m + np.flatnonzero(np.abs(scores) > 1e-11))
    y = np.concatenate([signs, np.sign(scores)])[kept]
    X, K = X[kept], K[np.ix_(kept, kept)]
    if multi_class == "ovr":
        expected, mistakes = kernel_perceptron(K, y, max_iter)
        assert mistakes[0] == alpha.sum()  # nothing near the mirror is mistaken
    else:
        y = np.where(np.arange(len(y)) == len(y) - 1, 2, y)  # a third class
        codes = np.unique(y, return_inverse=True)[1]
        expected, _, mistakes = crammer_singer(K + 1.0, codes, max_iter)
    model = fit(FORMS[form](X), y, gamma=0.1, max_iter=max_iter, multi_class=multi_class)
    np.testing.assert_array_equal(model.alpha_, expected)
    assert model.mistakes_per_pass_[0].tolist() == mistakes


def test_values_that_vanish_in_float32_still_count():
    X = np.repeat([-6.0, 6.0], 600)[:, np.newaxis] + 0.01 * rng(0).random((1200, 1))
    y = np.ones(1200, int)
    y[-1] = -1
    expected, mistakes = kernel_perceptron(kernel(X, X, gamma=1.0), y, 1, offset=0.0)
    assert mistakes == [2]  # exp(-144) is positive
    model = fit(X, y, gamma=1.0, max_iter=1, fit_intercept=False)
    np.testing.assert_array_equal(model.alpha_, expected)


def test_float64_values_take_over_where_float32_ones_do_not_pay():
    X, codes = clouds(1100, 3, 2, spread=5.0)
    model = fit(X, codes, gamma=0.02, max_iter=40, average=True)
    assert model.kernel_rows_ > len(X)  # every row, and again
    expected, mistakes = averaged(kernel(X, X, gamma=0.02) + 1.0, 2 * codes - 1, 40)
    assert model.mistakes_per_pass_[0].tolist() == mistakes
    np.testing.assert_allclose(model.dual_coef_[0], expected[model.support_], rtol=1e-9)


@pytest.mark.parametrize("form", ["float64", "csr"])
def test_the_threads_do_not_change_what_float32_values_lead_to(form):
    X, signs = mirrored(20, 1500)
    y = np.concatenate([signs, rng(4).choice([-1, 1], 1500)])
    models = [fit(FORMS[form](X), y, gamma=0.1, max_iter=4, n_jobs=n) for n in (1, 2, 3)]
    for model in models[1:]:
        np.testing.assert_array_equal(model.alpha_, models[0].alpha_)
        assert model.kernel_rows_ == models[0].kernel_rows_
