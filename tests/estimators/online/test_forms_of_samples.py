"""CSR and dense rows of one matrix give one model under an l1 penalty, ties included."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import Perceptron, SGDClassifier
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
