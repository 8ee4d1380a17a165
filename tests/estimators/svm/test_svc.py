"""SVC's answers against independent oracles."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.svm
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, load_wine

from maxmargin import SVC, diagnostics
from oracles.problems import overlapping, rng, scaled, two_classes
from oracles.svm import beta_of, check_binary, dual_objective, kernel, ovo_decisions, solve_c_svc

KERNELS = {
    "linear": {},
    "poly": {"gamma": 0.3, "coef0": 1.0, "degree": 3},
    "rbf": {"gamma": 0.3},
    "sigmoid": {"gamma": 0.002, "coef0": 0.1},
}


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_conditions_of_optimality_hold(name, C):
    X, y = two_classes()
    model = SVC(kernel=name, C=C, tol=1e-6, **KERNELS[name]).fit(X, y)
    objective = check_binary(model, X, y, **KERNELS[name])
    assert model.certificate_.dual_objective == pytest.approx(objective, rel=1e-9)


@pytest.mark.parametrize("name", ["linear", "poly", "rbf"])
@pytest.mark.parametrize("C", [0.1, 1.0, 30.0])
def test_objective_is_that_of_an_interior_point_method(name, C):
    X, y = two_classes(n=50)
    K = kernel(X, X, name, **KERNELS[name])
    expected = dual_objective(K, solve_c_svc(K, y, np.full(50, C)))
    for tol, rel in ((1e-3, 1e-3), (1e-6, 1e-6)):
        model = SVC(kernel=name, C=C, tol=tol, **KERNELS[name]).fit(X, y)
        assert dual_objective(K, beta_of(model, 50)) == pytest.approx(expected, rel=rel)


@settings(max_examples=40)
@given(
    n=st.integers(2, 30),
    d=st.integers(1, 5),
    name=st.sampled_from(["linear", "poly", "rbf"]),
    C=st.sampled_from([0.01, 1.0, 50.0]),
    grid=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
)
def test_any_small_problem_is_solved(n, d, name, C, grid, seed):
    r = rng(seed)
    # On a grid there are ties, duplicates and rows of zeros.
    X = r.integers(-2, 3, size=(n, d)).astype(float) if grid else r.normal(size=(n, d))
    y = np.r_[-1, 1, r.choice([-1, 1], size=n - 2)]
    weight = r.choice([0.5, 1.0, 3.0], size=n)
    model = SVC(kernel=name, C=C, tol=1e-5, **KERNELS[name]).fit(X, y, sample_weight=weight)
    objective = check_binary(model, X, y, sample_weight=weight, **KERNELS[name])
    K = kernel(X, X, name, **KERNELS[name])
    expected = dual_objective(K, solve_c_svc(K, y.astype(float), C * weight))
    assert objective == pytest.approx(expected, rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("load", [load_breast_cancer, load_iris, load_wine])
def test_decision_values_are_those_of_scikit_learn(name, load):
    X, y = scaled(load)
    params = {"kernel": name, "tol": 1e-6, **KERNELS[name]}
    ours, theirs = SVC(**params).fit(X, y), sklearn.svm.SVC(**params).fit(X, y)
    for shape in ("ovo", "ovr"):
        ours.decision_function_shape = theirs.decision_function_shape = shape
        expected = theirs.decision_function(X)
        scale = np.abs(expected).max()
        np.testing.assert_allclose(ours.decision_function(X), expected, atol=1e-5 * scale)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-4)
    assert ours.score(X, y) == theirs.score(X, y)


@pytest.mark.parametrize("name", KERNELS)
def test_model_attributes_give_the_decision_values(name):
    X, y = scaled(load_wine)
    model = SVC(kernel=name, decision_function_shape="ovo", tol=1e-6, **KERNELS[name]).fit(X, y)
    n_sv = len(model.support_)
    assert model.support_vectors_.shape == (n_sv, 13)
    assert model.dual_coef_.shape == (2, n_sv)
    assert model.intercept_.shape == model.n_iter_.shape == (3,)
    assert model.n_support_.sum() == n_sv
    assert model.shape_fit_ == X.shape
    assert model.fit_status_ == 0
    np.testing.assert_array_equal(model.support_vectors_, X[model.support_])
    np.testing.assert_array_equal(y[model.support_], np.repeat([0, 1, 2], model.n_support_))
    for ascending in np.split(model.support_, np.cumsum(model.n_support_)[:-1]):
        assert (np.diff(ascending) > 0).all()
    expected = ovo_decisions(model, X, model.support_vectors_, **KERNELS[name])
    scale = np.abs(expected).max()
    np.testing.assert_allclose(model.decision_function(X), expected, atol=1e-5 * scale)


def test_weights_of_the_linear_kernel():
    for load in (load_breast_cancer, load_wine):
        X, y = scaled(load)
        model = SVC(kernel="linear", tol=1e-6, decision_function_shape="ovo").fit(X, y)
        theirs = sklearn.svm.SVC(kernel="linear", tol=1e-6).fit(X, y)
        np.testing.assert_allclose(model.coef_, theirs.coef_, atol=1e-4)
        values = X @ model.coef_.T + model.intercept_
        np.testing.assert_allclose(
            model.decision_function(X), values[:, 0] if values.shape[1] == 1 else values, atol=1e-9
        )
        for A in (sp.csr_matrix(X), X.astype(np.float32)):
            same = clone(model).fit(A, y)
            coef = same.coef_.toarray() if sp.issparse(A) else same.coef_
            np.testing.assert_allclose(coef, model.coef_, atol=2e-4)
    with pytest.raises(AttributeError, match="linear kernel"):
        _ = SVC().fit(X, y).coef_


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("load", [load_breast_cancer, load_wine])
def test_every_form_of_the_data_gives_the_same_model(name, load):
    X, y = scaled(load)
    X = X.astype(np.float32).astype(np.float64)  # values that all forms hold exactly
    X[np.abs(X) < 0.3] = 0.0
    params = {"kernel": name, "tol": 1e-6, **KERNELS[name]}
    expected = SVC(**params).fit(X, y).decision_function(X)
    scale = np.abs(expected).max()
    wide = sp.csr_matrix(X)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    forms = [X.astype(np.float32), sp.csr_matrix(X), sp.csr_array(X.astype(np.float32)), wide]
    for A in forms:
        model = SVC(**params).fit(A, y)
        for B in (X, A):
            np.testing.assert_allclose(model.decision_function(B), expected, atol=2e-5 * scale)
        vectors = model.support_vectors_
        vectors = vectors.toarray() if sp.issparse(vectors) else vectors
        np.testing.assert_array_equal(vectors, X[model.support_])


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix])
def test_number_of_threads_does_not_change_a_bit(name, container):
    X, y = scaled(load_breast_cancer)
    models = [SVC(kernel=name, n_jobs=n, **KERNELS[name]).fit(container(X), y) for n in (1, 2, 3)]
    for model in models[1:]:
        assert model.dual_coef_.tobytes() == models[0].dual_coef_.tobytes()
        assert model.intercept_.tobytes() == models[0].intercept_.tobytes()
        assert model.decision_function(container(X)).tobytes() == (
            models[0].decision_function(container(X)).tobytes()
        )


@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix])
def test_shrinking_changes_the_cost_only(container):
    # Large enough to be shrunk several times, with many variables at either bound.
    r = rng(0)
    X = (r.random(size=(3000, 40)) < 0.1) * r.normal(size=(3000, 40))
    y = np.where(X[:, 0] + X[:, 1] + 0.5 * r.normal(size=3000) > 0.1, 1, -1)
    params = {"gamma": 0.1, "C": 1.0}
    objectives = []
    for shrinking in (True, False):
        model = SVC(shrinking=shrinking, **params).fit(container(X), y)
        alpha = y[model.support_] * model.dual_coef_[0]
        assert (alpha > 0).all()
        assert (alpha <= 1.0).all()
        assert abs(model.dual_coef_.sum()) < 1e-9 * alpha.sum()
        again = diagnostics.certificate(model, X, y)
        assert again.kkt_violation == pytest.approx(model.certificate_.kkt_violation, abs=1e-9)
        assert again.converged
        objectives.append(again.dual_objective)
    assert objectives[0] == pytest.approx(objectives[1], rel=1e-5)


def test_points_beyond_the_margin_do_not_matter():
    X, y = two_classes(n=200)
    model = SVC(tol=1e-9, gamma=0.3).fit(X, y)
    margins = y * model.decision_function(X)
    keep = margins < 1.01
    assert 20 < keep.sum() < 180
    fewer = SVC(tol=1e-9, gamma=0.3).fit(X[keep], y[keep])
    np.testing.assert_allclose(fewer.decision_function(X), model.decision_function(X), atol=1e-6)


def test_distinct_points_are_separable_under_rbf():
    X, y = rng(0).normal(size=(60, 2)), rng(1).integers(0, 2, 60)
    assert SVC(gamma=1e3, C=1e6).fit(X, y).score(X, y) == 1.0


# -- several classes -------------------------------------------------------------------------------


def test_machines_are_those_of_the_pairs():
    X, y = scaled(load_wine)
    model = SVC(gamma=0.1, tol=1e-8, decision_function_shape="ovo").fit(X, y)
    values = model.decision_function(X)
    for p, (i, j) in enumerate(combinations(range(3), 2)):
        rows = (y == i) | (y == j)
        pair = SVC(gamma=0.1, tol=1e-8).fit(X[rows], y[rows])
        np.testing.assert_allclose(values[:, p], -pair.decision_function(X), atol=1e-6)
        one = model.certificate_.machines[p]
        assert one.dual_objective == pytest.approx(pair.certificate_.dual_objective, rel=1e-9)
    total = model.certificate_
    assert total.dual_objective == pytest.approx(sum(m.dual_objective for m in total.machines))
    assert total.kkt_violation == max(m.kkt_violation for m in total.machines)


def test_votes_and_ties_follow_the_documented_rule():
    X, y = overlapping()
    first = np.array([y.tolist().index(label) for label in range(5)])  # row where each occurs
    assert (first != np.sort(first)).any()
    model = SVC(decision_function_shape="ovo").fit(X, y)
    votes = np.zeros((len(X), 5))
    for values, (i, j) in zip(model.decision_function(X).T, combinations(range(5), 2), strict=True):
        votes[np.arange(len(X)), np.where(values > 0, i, j)] += 1
    assert (np.sort(votes, axis=1)[:, -1] == np.sort(votes, axis=1)[:, -2]).any()  # there are ties
    by_occurrence = np.argsort(first)
    winners = by_occurrence[votes[:, by_occurrence].argmax(axis=1)]
    np.testing.assert_array_equal(model.predict(X), winners)


def test_break_ties_predicts_the_greatest_decision_value():
    X, y = overlapping()
    labels = np.array(list("abcde"))[y]
    by_votes, by_value = SVC().fit(X, labels), SVC(break_ties=True).fit(X, labels)
    others = rng(5).normal(size=(3000, 3))
    values = by_value.decision_function(others)
    assert values.shape == (3000, 5)
    expected = by_value.classes_[values.argmax(axis=1)]
    np.testing.assert_array_equal(by_value.predict(others), expected)
    assert (by_votes.predict(others) != expected).any()


def test_a_decision_value_of_zero_is_the_positive_class():
    X = np.array([[-1.0], [1.0]])
    model = SVC(kernel="linear", tol=1e-12).fit(X, ["a", "b"])
    assert model.decision_function([[0.0]])[0] == 0.0
    assert model.predict([[0.0]])[0] == "b"


# -- weights ---------------------------------------------------------------------------------------


def test_sample_weight_equals_repetition():
    X, y = overlapping(n_classes=3, n=60)
    counts = rng(1).integers(0, 4, 60)
    params = {"gamma": 0.2, "tol": 1e-9, "decision_function_shape": "ovo"}
    weighted = SVC(**params).fit(X, y, sample_weight=counts)
    repeated = SVC(**params).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    np.testing.assert_allclose(
        weighted.decision_function(X), repeated.decision_function(X), atol=1e-6
    )
    assert (counts[weighted.support_] > 0).all()


def test_class_weight_equals_sample_weight():
    X, y = overlapping(n_classes=3)
    factors = np.array([0.3, 2.0, 5.0])
    by_class = SVC(gamma=0.5, class_weight=dict(enumerate(factors)), tol=1e-6).fit(X, y)
    by_sample = SVC(gamma=0.5, tol=1e-6).fit(X, y, sample_weight=factors[y])
    assert by_class.dual_coef_.tobytes() == by_sample.dual_coef_.tobytes()
    by_name = SVC(gamma=0.5, class_weight={"x": 0.3, "y": 2.0, "z": 5.0}, tol=1e-6).fit(
        X, np.array(list("xyz"))[y]
    )
    assert by_name.dual_coef_.tobytes() == by_sample.dual_coef_.tobytes()
