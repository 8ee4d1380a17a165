"""A weight of 0 is removal, a weight of 2 repetition, in every estimator and every count."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import (
    SVC,
    SVR,
    LinearSVC,
    LinearSVCCV,
    LinearSVR,
    NuSVC,
    NuSVR,
    OneClassSVM,
    Perceptron,
    SGDClassifier,
)
from maxmargin._input import check_matrix
from maxmargin._input.parameters import gamma_of

CLASSIFIERS = [
    SVC(tol=1e-9, class_weight="balanced"),
    SVC(tol=1e-9, kernel="poly", degree=2, coef0=1.0, loss="squared_hinge"),
    NuSVC(nu=0.2, tol=1e-9),
    LinearSVC(tol=1e-9, class_weight="balanced", loss="squared_hinge"),
    LinearSVC(tol=1e-9, class_weight="balanced", loss="hinge"),
]
REGRESSIONS = [SVR(tol=1e-9), NuSVR(tol=1e-9), LinearSVR(tol=1e-9, epsilon=0.1)]
ONLINE = [
    SGDClassifier(shuffle=False, class_weight="balanced"),
    Perceptron(shuffle=False, class_weight="balanced", max_iter=5),
    SGDClassifier(early_stopping=True, validation_fraction=0.3, shuffle=False),
]
OTHERS = {"OneClassSVM": OneClassSVM(tol=1e-9, nu=0.3)}


def samples(n_classes: int = 2):
    rng = np.random.default_rng(5)
    y = np.arange(90) % n_classes
    X = 3.0 * rng.normal(size=(90, 3)) + 2.0 * y[:, np.newaxis]
    weight = rng.integers(0, 3, 90).astype(float)
    X[weight == 0.0] += 1e4  # what a removed sample must not move
    return X, y, weight


def values(model, X):
    return getattr(model, "decision_function", model.predict)(X)


@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("estimator", [*CLASSIFIERS, *REGRESSIONS, *OTHERS.values()], ids=repr)
def test_weights_are_copies(estimator, n_classes, container):
    X, y, weight = samples(n_classes)
    times = weight.astype(int)
    copies = estimator.__class__(**estimator.get_params())
    weighted = estimator.fit(container(X), y, sample_weight=weight)
    copies = copies.fit(container(np.repeat(X, times, axis=0)), np.repeat(y, times))
    Z = np.random.default_rng(6).normal(size=(30, 3)) + 1.0
    expected = values(copies, Z)
    np.testing.assert_allclose(
        values(weighted, Z), expected, rtol=1e-4, atol=1e-4 * abs(expected).max()
    )


@pytest.mark.filterwarnings("ignore::maxmargin.ConvergenceWarning")
@pytest.mark.parametrize("estimator", ONLINE, ids=repr)
def test_online_estimators_do_not_see_what_weighs_nothing(estimator):
    X, y, weight = samples()
    X, weight = np.where(X > 1e3, X - 1e4, X), np.minimum(weight, 1.0)
    removed = estimator.__class__(**estimator.get_params()).fit(X[weight > 0], y[weight > 0])
    weighted = estimator.fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(weighted.coef_, removed.coef_)


@pytest.mark.parametrize("make", [SVC, NuSVC, LinearSVC, SGDClassifier, Perceptron])
def test_every_class_must_keep_a_weight(make):
    X, y, _ = samples(3)
    with pytest.raises(ValueError, match="class 2 has no weight"):
        make().fit(X, y, sample_weight=np.where(y == 2, 0.0, 1.0))


def test_folds_do_not_see_what_weighs_nothing():
    X, y, weight = samples(3)
    X, weight = np.where(X > 1e3, X - 1e4, X), np.minimum(weight, 1.0)
    weighted = LinearSVCCV(Cs=4, cv=3).fit(X, y, sample_weight=weight)
    removed = LinearSVCCV(Cs=4, cv=3).fit(X[weight > 0], y[weight > 0])
    np.testing.assert_array_equal(weighted.scores_, removed.scores_)
    assert weighted.C_ == removed.C_


def test_a_validation_part_leaves_the_classes_their_weight():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), np.arange(60) % 2
    X[:, 0] += 3 * y
    weight = np.zeros(60)
    weight[[0, 2, 1, 3]] = 1.0
    model = SGDClassifier(early_stopping=True, validation_fraction=0.5, random_state=5, max_iter=50)
    assert model.fit(X, y, sample_weight=weight).score(X, y) > 0.8


@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_weighted_variance_takes_little_memory(dtype, container):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20000, 60)).astype(dtype)
    weight = rng.integers(1, 4, 20000)
    matrix = check_matrix(container(X), "SVC")
    tracemalloc.start()
    gamma = gamma_of("scale", matrix, weight.astype(float))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    copies = np.repeat(X.astype(np.float64), weight, axis=0)
    assert gamma == pytest.approx(1.0 / (60 * copies.var()), rel=1e-9)
    assert peak < 8 * X.size  # no float64 for each element


def test_gamma_scale_and_balanced_bear_huge_weights():
    X, y, weight = samples()
    plain = SVC(class_weight="balanced", C=1.0).fit(X, y, sample_weight=weight)
    huge = SVC(class_weight="balanced", C=2.0**-1000).fit(X, y, sample_weight=weight * 2.0**1000)
    np.testing.assert_array_equal(plain.decision_function(X), huge.decision_function(X))


# --- calibration -------------------------------------------------------------------------------


def unbalanced(seed: int = 0):
    rng = np.random.default_rng(seed)
    y = (rng.random(600) < 0.06).astype(int)
    return rng.normal(size=(600, 2)) + 1.6 * y[:, np.newaxis], y


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_calibration_does_not_change_predictions(kernel):
    X, y = unbalanced()
    for weights in ({}, {"class_weight": "balanced"}):
        plain = SVC(kernel=kernel, **weights).fit(X, y)
        calibrated = SVC(kernel=kernel, probability=True, random_state=0, **weights).fit(X, y)
        np.testing.assert_array_equal(calibrated.predict(X), plain.predict(X))


def test_probabilities_follow_the_weights_of_samples_and_classes():
    X, y = unbalanced()
    plain = SVC(kernel="linear", probability=True, random_state=0)
    copies = plain.fit(np.r_[X, X[y == 1], X[y == 1]], np.r_[y, y[y == 1], y[y == 1]])
    expected = copies.predict_proba(X)[:, 1]
    by_sample = SVC(kernel="linear", probability=True, random_state=0)
    by_class = SVC(kernel="linear", probability=True, random_state=0, class_weight={1: 3.0})
    for model, weight in ((by_sample, np.where(y == 1, 3.0, 1.0)), (by_class, None)):
        found = model.fit(X, y, sample_weight=weight).predict_proba(X)[:, 1]
        # The folds differ, so that the values that are calibrated do.
        assert abs(found.mean() - expected.mean()) < 0.02
        assert np.abs(found - expected).max() < 0.1


@pytest.mark.parametrize("tiny", [1e-305, 1e-310, 5e-324])
@pytest.mark.parametrize(
    "estimator",
    [
        LinearSVC(),
        LinearSVC(penalty="l1"),
        LinearSVC(loss="hinge"),
        LinearSVCCV(Cs=3, cv=2),
        LinearSVR(loss="squared_epsilon_insensitive"),
    ],
    ids=repr,
)
def test_a_tiny_weight_is_as_good_as_none(estimator, tiny):
    X, y, _ = samples()
    X[3] = 1.0
    weight = np.ones(90)
    weight[3] = tiny
    found = values(estimator.fit(X, y, sample_weight=weight), X)
    weight[3] = 0.0
    np.testing.assert_allclose(
        found, values(estimator.fit(X, y, sample_weight=weight), X), rtol=1e-9, atol=1e-9
    )
