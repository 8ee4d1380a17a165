"""CSR and dense rows of one matrix: one model under an l1 penalty, and always one by the rule."""

from __future__ import annotations

import itertools
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import Perceptron, SGDClassifier
from oracles import online
from oracles.perceptron import quiet_fit
from oracles.problems import rng


def random_samples(r):
    n, d = int(r.integers(4, 60)), int(r.integers(1, 12))
    X = r.integers(-2, 3, (n, d)).astype(float) if r.random() < 0.6 else r.normal(size=(n, d))
    X[r.random((n, d)) < r.choice([0.0, 0.3, 0.8])] = 0.0
    return X.astype(r.choice(["f4", "f8"])), np.arange(n) % int(r.integers(2, 4))


def random_parameters(r):
    return {
        "penalty": str(r.choice(["l1", "elasticnet"])),
        "alpha": float(10.0 ** r.uniform(-4, -1)),
        "average": bool(r.random() < 0.4),
        "fit_intercept": bool(r.random() < 0.6),
        "multi_class": str(r.choice(["ovr", "crammer_singer"])),
        "eta0": float(r.choice([1.0, 0.1, 0.25])),
        "max_iter": int(r.integers(1, 12)),
        "shuffle": True,
        "tol": None,
    }


def forms(X):
    with_zeros = sp.csr_matrix(np.ones_like(X))
    with_zeros.data[:] = X.ravel()
    return X, sp.csr_matrix(X), with_zeros


@pytest.mark.parametrize("seed", range(60))
def test_forms_of_one_matrix_give_one_model_under_an_l1_penalty(seed):
    r = rng(seed)
    X, y = random_samples(r)
    parameters = random_parameters(r)
    losses = {
        "loss": str(r.choice(["perceptron", "perceptron", "hinge"])),
        "learning_rate": str(r.choice(["constant", "optimal", "invscaling"])),
        "batch_size": int(r.choice([1, 1, 3])),
    }
    weight = r.integers(0, 3, len(y)).astype(float)
    weight[: len(set(y))] = 1.0
    make = Perceptron if seed % 4 == 0 else partial(SGDClassifier, **losses)
    fits = [quiet_fit(make(**parameters), form, y, sample_weight=weight) for form in forms(X)]
    dense, sparse, with_zeros = fits
    np.testing.assert_array_equal(sparse.coef_, dense.coef_)
    np.testing.assert_array_equal(sparse.intercept_, dense.intercept_)
    for found, expected in zip(sparse.mistakes_per_pass_, dense.mistakes_per_pass_, strict=True):
        np.testing.assert_array_equal(found, expected)
    if losses["loss"] == "hinge":  # of which ties have no part
        np.testing.assert_allclose(with_zeros.coef_, dense.coef_, rtol=1e-6, atol=1e-9)


def test_chunks_of_both_forms_may_follow_each_other():
    X, y = random_samples(rng(1))
    parameters = {"penalty": "elasticnet", "alpha": 0.01, "average": True, "shuffle": False}
    found = []
    for first, second in [(np.asarray, sp.csr_matrix), (sp.csr_matrix, np.asarray)]:
        model = SGDClassifier(**parameters)
        model.partial_fit(first(X), y, classes=np.unique(y)).partial_fit(second(X), y)
        found.append(model.coef_.copy())
    np.testing.assert_array_equal(found[0], found[1])


@pytest.mark.parametrize("penalty", ["l2", None])
@pytest.mark.parametrize("seed", range(12))
def test_dense_and_sparse_samples_with_ties_follow_the_rule(penalty, seed):
    r = rng(seed)
    X = r.integers(-2, 3, size=(12, 3)) * 0.1
    y = np.r_[0, 1, r.integers(0, 2, 10)]
    alpha = 0.1

    def by_rule(ties):
        return online.subgradient(
            *(X, 2 * y - 1, 6), loss="perceptron", l2=alpha * (penalty == "l2"),
            step=online.step_of("optimal", alpha, 0.01, 0.5, "perceptron"), ties=ties,
        )[0]  # fmt: skip

    allowed = [*itertools.islice(online.branches(by_rule), 500)]
    for form in (np.asarray, sp.csr_matrix):
        model = SGDClassifier(
            loss="perceptron", penalty=penalty, alpha=alpha, max_iter=6, tol=None,
            shuffle=False, learning_rate="optimal",
        ).fit(form(X), y)  # fmt: skip
        apart = [np.abs(model.coef_[0] - w).max() for w in allowed]
        assert min(apart) < 1e-9


@pytest.mark.parametrize(("last", "expected"), [(-0.2, [0.0, 0.5]), (-0.1, [0.1])])
def test_the_oracle_takes_both_sides_of_a_tie_and_of_no_other_margin(last, expected):
    # w is 0.3, 0.2, and then 0.1 or what rounding leaves of 0.2 - 0.2.
    X = np.array([[0.3], [-0.1], [last], [0.5]])

    def by_rule(ties):
        return online.subgradient(
            X, np.ones(4), 1, loss="perceptron", fit_intercept=False, ties=ties
        )[0][0]

    np.testing.assert_allclose(sorted(online.branches(by_rule)), expected, atol=1e-12)
