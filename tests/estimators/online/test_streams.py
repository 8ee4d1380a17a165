"""Training from chunks: what goes on from one to the next, and what a broken stream leaves."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import SGDClassifier
from oracles.online import noisy
from oracles.problems import rng


@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("penalty", [None, "l2", "l1", "elasticnet"])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("multi_class", ["ovr", "crammer_singer"])
@pytest.mark.parametrize("batch_size", [1, 5])
def test_chunks_equal_one_pass_over_the_whole(average, penalty, n_classes, multi_class, batch_size):
    X = noisy(90, 5)[0]
    y = rng(9).integers(0, n_classes, 90)
    parameters = {
        "average": average,
        "penalty": penalty,
        "multi_class": multi_class,
        "learning_rate": "pegasos",
        "shuffle": False,
        "alpha": 0.02,
        "batch_size": batch_size,
    }
    whole = SGDClassifier(**parameters, max_iter=1, tol=None).fit(X, y)
    first = 7 if batch_size == 1 else 10
    cuts = [slice(0, first), slice(first, 40), slice(40, 90)]
    forms = [np.asarray, sp.csr_matrix, np.asfortranarray]
    parts = SGDClassifier(**parameters)
    chunks = ((form(X[cut]), y[cut]) for form, cut in zip(forms, cuts, strict=True))
    assert parts.fit_stream(chunks, classes=np.arange(n_classes)) is parts
    np.testing.assert_allclose(parts.coef_, whole.coef_, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(parts.intercept_, whole.intercept_, rtol=1e-9, atol=1e-11)
    np.testing.assert_array_equal(parts.n_mistakes_, whole.n_mistakes_)
    one_by_one = SGDClassifier(**parameters)
    for cut in cuts:
        one_by_one.partial_fit(X[cut], y[cut], classes=np.arange(n_classes))
    np.testing.assert_allclose(one_by_one.coef_, parts.coef_, rtol=1e-12, atol=1e-13)
    loaded = pickle.loads(pickle.dumps(one_by_one)).partial_fit(X, y)
    assert loaded.coef_.tobytes() == one_by_one.partial_fit(X, y).coef_.tobytes()


def test_a_stream_that_breaks_off_leaves_the_estimator_as_it_was():
    X, y = noisy()
    model = SGDClassifier().fit_stream([(X, y, np.ones(60))], classes=[0, 1])
    before = pickle.dumps(model)

    def broken():
        yield X, y
        raise OSError("the line went dead")

    for chunks, error in (
        (broken(), OSError),
        ([(X, y), (X * np.nan, y)], ValueError),
        ([(X, y), (X,)], ValueError),
        ([(X, y), X], ValueError),
        ([], ValueError),
    ):
        with pytest.raises(error):
            model.fit_stream(chunks)
        assert pickle.dumps(model) == before
    with pytest.raises(ValueError, match="classes must be passed"):
        SGDClassifier().fit_stream([(X, y)])
    for nothing in (None, 3.0):
        with pytest.raises(TypeError, match="chunks must be an iterable of tuples, got"):
            model.fit_stream(nothing)
        assert pickle.dumps(model) == before


def test_sparse_chunks_equal_one_pass_under_an_l1_penalty():
    X, y = noisy(300, 40, density=0.1)
    parameters = {"penalty": "l1", "alpha": 0.01, "shuffle": False}
    X = sp.csr_matrix(X)
    whole = SGDClassifier(**parameters, max_iter=1, tol=None).fit(X, y)
    chunks = [(X[k : k + 50], y[k : k + 50]) for k in range(0, 300, 50)]
    parts = SGDClassifier(**parameters).fit_stream(chunks, classes=[0, 1])
    np.testing.assert_allclose(parts.coef_, whole.coef_, rtol=1e-9, atol=1e-12)
