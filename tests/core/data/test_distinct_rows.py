"""Samples that are equal are trained as one, and the solution is one of all of them."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import svm

from maxmargin import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from oracles.formulations import FIVE, values_of
from oracles.problems import rng
from oracles.svm import c_svc_checks, kernel, ovo_decisions

GAMMA = 0.5
REPEATS = rng(9).integers(1, 6, 60)


def distinct(name):
    X = rng(0).normal(size=(60, 3))
    noisy = X[:, 0] + X[:, 1] ** 2 + rng(1).normal(size=60)
    return X, np.digitize(noisy, [0.5, 1.5]) if name in ("SVC", "NuSVC") else noisy


def repeated(name):
    """The samples several times each, in an order that separates equal ones."""
    order = rng(2).permutation(np.repeat(np.arange(60), REPEATS))
    X, y = distinct(name)
    return X[order], y[order], order


def made(name, **parameters):
    nu = {} if name in ("SVC", "SVR") else {"nu": 0.3}
    return FIVE[name](gamma=GAMMA, tol=1e-8, **nu, **parameters)


@pytest.mark.parametrize("form", [np.asarray, np.float32, sp.csr_array])
@pytest.mark.parametrize("name", FIVE)
def test_repetitions_are_weights(name, form):
    X, y = distinct(name)
    X_all, y_all, _ = repeated(name)
    X, X_all = form(np.float32(X)), form(np.float32(X_all))
    weighted = made(name).fit(X, y, sample_weight=REPEATS)
    whole = made(name).fit(X_all, y_all)
    np.testing.assert_allclose(values_of(whole, X), values_of(weighted, X), atol=1e-6)
    assert whole.certificate_.dual_objective == pytest.approx(
        weighted.certificate_.dual_objective, rel=1e-9
    )


@pytest.mark.parametrize("name", FIVE)
def test_as_many_steps_as_without_repetitions(name):
    # In the order of the first of each, the problem to be solved is the same, but for rounding.
    X, y = distinct(name)
    X_all, y_all, order = repeated(name)
    first = list(dict.fromkeys(order))
    weighted = made(name).fit(X[first], y[first], sample_weight=REPEATS[first])
    whole = made(name).fit(X_all, y_all)
    np.testing.assert_allclose(whole.n_iter_, weighted.n_iter_, rtol=0.1)


@pytest.mark.parametrize("name", FIVE)
def test_every_sample_has_its_own_coefficient(name):
    X, y, _ = repeated(name)
    reports = []
    model = made(name, callback=reports.append).fit(X, y)
    assert (np.diff(model.support_) > 0).all() or name in ("SVC", "NuSVC")
    assert len(set(model.support_)) == len(model.support_)
    bound = {"SVC": 1.0, "SVR": 1.0, "NuSVR": 1.0, "OneClassSVM": 1.0}.get(name)
    if name == "NuSVC":
        bound = model.C_.max()
    magnitudes = np.abs(model.dual_coef_)
    assert magnitudes.max() <= bound * (1 + 1e-12)
    np.testing.assert_array_equal(model.support_vectors_, X[model.support_])
    if name in ("SVC", "NuSVC"):
        return
    last = reports[-1]
    assert last["n_free"] + last["n_bounded"] == len(model.support_)
    assert last["n_bounded"] == np.isclose(magnitudes, bound, rtol=1e-12, atol=0).sum()


@pytest.mark.parametrize("weight", [None, rng(5).uniform(0.2, 3.0, REPEATS.sum())])
def test_kkt_conditions_hold_for_all_samples(weight):
    X, y, _ = repeated("SVC")
    y = np.where(y == 1, 1, -1)
    reports = []
    model = made("SVC", C=10.0, callback=reports.append).fit(X, y, sample_weight=weight)
    beta = np.zeros(len(y))
    beta[model.support_] = model.dual_coef_[0]
    upper = 10.0 * (np.ones(len(y)) if weight is None else weight)
    K = kernel(X, X, gamma=GAMMA)
    objective = c_svc_checks(K, y, beta, model.intercept_[0], upper, 1e-8)
    assert model.certificate_.dual_objective == pytest.approx(objective, rel=1e-9)
    alpha = np.abs(beta)
    assert reports[-1]["n_bounded"] == (alpha[alpha > 0] == upper[alpha > 0]).sum()
    peer = svm.SVC(C=10.0, gamma=GAMMA, tol=1e-8).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(model.decision_function(X), peer.decision_function(X), atol=1e-5)


def test_squared_hinge_divides_in_proportion():
    X, y, order = repeated("SVC")
    y = np.where(y == 1, 1, -1)
    weight = rng(5).uniform(0.2, 3.0, len(y))
    reports = []
    model = made("SVC", loss="squared_hinge", callback=reports.append).fit(
        X, y, sample_weight=weight
    )
    alpha = np.zeros(len(y))
    alpha[model.support_] = np.abs(model.dual_coef_[0])
    losses = np.maximum(0.0, 1.0 - y * model.decision_function(X))
    np.testing.assert_allclose(alpha, 2.0 * weight * losses, atol=1e-6)
    assert len(model.support_) > len(set(order[model.support_]))
    assert reports[-1]["n_free"] == len(model.support_)


def test_hard_margin():
    X = np.repeat([[0.0, 0.0], [1.0, 1.0], [2.0, 0.0]], [3, 2, 4], axis=0)
    y = np.repeat([-1, 1, 1], [3, 2, 4])
    model = SVC(kernel="linear", C=np.inf, tol=1e-8).fit(X, y)
    once = SVC(kernel="linear", C=np.inf, tol=1e-8).fit(X[[0, 3, 5]], y[[0, 3, 5]])
    np.testing.assert_allclose(model.coef_, once.coef_, atol=1e-7)


def test_no_coefficient_for_a_first_copy_without_weight():
    X, y = [[0.0], [0.0], [2.0], [2.0]], [0, 0, 1, 1]
    model = SVC(kernel="linear", C=np.inf).fit(X, y, sample_weight=[0, 1, 0, 1])
    assert list(model.support_) == [1, 3]


def test_a_weight_that_is_lost_in_the_sum_has_its_bound():
    X, y = [[0.0], [0.0], [1.0], [1.0], [0.5]], [0, 0, 1, 1, 0]
    model = SVC(gamma=GAMMA).fit(X, y, sample_weight=[1.0, 1e-15, 1.0, 1e-15, 1.0])
    alpha = dict(zip(model.support_, np.abs(model.dual_coef_[0]), strict=True))
    assert (alpha[2], alpha[3]) == (1.0, 1e-15)


def test_a_part_of_the_samples_at_their_bounds_is_counted_as_that():
    # Two of four samples fill up the sum of the coefficients, half of the bound of all.
    reports = []
    model = OneClassSVM(nu=0.5, callback=reports.append).fit(np.zeros((4, 1)))
    np.testing.assert_array_equal(model.dual_coef_, [[1.0, 1.0]])
    assert (reports[-1]["n_free"], reports[-1]["n_bounded"]) == (0, 2)


def test_equal_samples_with_other_labels_stay_apart():
    X = np.zeros((6, 2))
    y = np.array([0.0, 1.0, 2.0, 0.0, 1.0, 2.0])
    model = SVR(gamma=GAMMA, C=0.5, epsilon=0.1).fit(X, y)
    assert abs(model.predict(X[:1])[0] - 1.0) <= 0.1 + model.tol
    assert set(np.round(np.abs(model.dual_coef_[0]), 12)) == {0.5}
    classes = SVC(gamma=GAMMA).fit(X, y.astype(int))
    assert list(classes.n_support_) == [2, 2, 2]


@pytest.mark.parametrize("model", [NuSVC(nu=1.0), NuSVR(nu=1.0), OneClassSVM(nu=1.0)])
def test_at_the_largest_nu(model):
    X = np.repeat(rng(3).normal(size=(10, 2)), 4, axis=0)
    y = np.tile([0, 0, 1, 1], 10)
    model.set_params(gamma=GAMMA).fit(X, y)
    assert np.isfinite(model.dual_coef_).all()
    assert len(model.support_) == 40 or isinstance(model, NuSVR)


@pytest.mark.parametrize("form", [np.asarray, np.float32, sp.csr_array])
@pytest.mark.parametrize("name", FIVE)
def test_decision_values_are_those_of_all_support_vectors(name, form):
    X, y, _ = repeated(name)
    y[::3] = 0  # equal samples of other classes, too
    model = made(name).fit(form(X), y)
    assert len(np.unique(X[model.support_], axis=0)) < len(model.support_)
    values = values_of(model, form(X[:7]))
    support_vectors = (
        np.asarray(form(X)[model.support_].todense())
        if form is sp.csr_array
        else (form(X)[model.support_])
    )
    if name in ("SVC", "NuSVC"):
        model.decision_function_shape = "ovo"
        values = model.decision_function(form(X[:7]))
        expected = ovo_decisions(model, form(X[:7]), support_vectors, gamma=GAMMA)
    else:
        K = kernel(form(X[:7]), support_vectors, gamma=GAMMA)
        expected = K @ model.dual_coef_[0] + model.intercept_
    np.testing.assert_allclose(values, expected, atol=1e-9)


@pytest.mark.parametrize("model", [SVC(), SVR(), NuSVR(), OneClassSVM()])
def test_samples_without_any_entry(model):
    X, y = sp.csr_array((6, 3)), [0, 1] * 3
    predicted = model.fit(X, y).predict(X)
    model.fit(X.toarray(), y)
    assert np.array_equal(predicted, model.predict(X.toarray()))
