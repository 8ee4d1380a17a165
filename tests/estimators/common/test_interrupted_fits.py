"""Ctrl-C and MemoryError at every line of a fit: the old model or the new one, never a mixture."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

from maxmargin import (
    SVC,
    SVCCV,
    KernelPerceptron,
    LinearSVC,
    LinearSVCCV,
    LinearSVR,
    Perceptron,
    SGDClassifier,
)
from oracles.problems import rng
from support.interrupt import assert_old_or_new_at_every_line, assert_predictions_of_one_fit

# Hundreds of fits, raised in at lines of Python.
pytestmark = pytest.mark.no_sanitizer

ESTIMATORS = [
    SVC(),
    LinearSVC(),
    LinearSVC(multi_class="crammer_singer"),
    LinearSVR(),
    LinearSVCCV(Cs=[1.0], cv=2),
    SVCCV(Cs=[1.0], gammas=[0.1], cv=2),
    Perceptron(max_iter=2),
    Perceptron(average=True, early_stopping=True),
    SGDClassifier(max_iter=3, tol=None),
    SGDClassifier(max_iter=3, tol=None, penalty="l1", warm_start=True),
    KernelPerceptron(max_iter=1000),
]
ONLINE = [Perceptron(), SGDClassifier(average=True), SGDClassifier(multi_class="crammer_singer")]


def samples(seed, classes, n=20):
    X = rng(seed).normal(size=(n, 3))
    codes = np.arange(n) % len(classes)
    X[:, 0] += 4 * codes
    return X, np.array(classes)[codes]


def others_than(model):
    """Other classes, where the model takes them."""
    return [0, 1, 2] if getattr(model, "warm_start", False) else [5, 6, 7, 8]


@pytest.mark.filterwarnings("ignore::maxmargin.ConvergenceWarning")
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_a_refit_on_other_data(estimator):
    model = clone(estimator).set_params(n_jobs=1).fit(*samples(1, [0, 1, 2]))
    new = samples(2, others_than(model))
    assert_old_or_new_at_every_line(model, lambda m: m.fit(*new), new[0])


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
@pytest.mark.parametrize("estimator", [LinearSVC(), LinearSVR(), Perceptron(), KernelPerceptron()])
def test_a_first_fit(estimator, error):
    X, y = samples(1, [0, 1])
    model = clone(estimator).set_params(n_jobs=1)
    assert_old_or_new_at_every_line(model, lambda model: model.fit(X, y), X, error=error)


@pytest.mark.parametrize("estimator", ONLINE, ids=repr)
def test_further_passes(estimator):
    X, y = samples(1, [0, 1, 2])
    model = clone(estimator).set_params(n_jobs=1).partial_fit(X[::-1], y[::-1], [0, 1, 2])
    for train in (lambda model: model.partial_fit(X, y), lambda model: model.fit_stream([(X, y)])):
        assert_old_or_new_at_every_line(model, train, X)


@pytest.mark.filterwarnings("ignore::maxmargin.ConvergenceWarning")
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_a_prediction_during_fits_is_by_one_of_them(estimator):
    model = clone(estimator).set_params(n_jobs=1)
    if "warm_start" in model.get_params():  # then every fit is another
        model.set_params(warm_start=False)
    first, second = samples(1, [0, 1, 2]), samples(2, others_than(model))
    fits = [lambda model: model.fit(*first), lambda model: model.fit(*second)]
    assert_predictions_of_one_fit(model, fits, first[0], 5)
