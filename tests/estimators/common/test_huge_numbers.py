"""Numbers that float64 cannot hold, and what is no number: errors that name the parameter."""

from __future__ import annotations

from fractions import Fraction

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
    Perceptron,
    SGDClassifier,
)

HUGE = 10**400


def samples():
    X = np.random.default_rng(0).normal(size=(20, 2))
    return X, (X[:, 0] > 0).astype(int)


@pytest.mark.parametrize(
    ("make", "parameter"),
    [
        *((SVC, name) for name in ("C", "gamma", "tol", "cache_size", "max_iter", "time_limit")),
        *((lambda **p: SVC(kernel="poly", **p), name) for name in ("coef0", "degree")),
        *((LinearSVC, name) for name in ("C", "tol", "intercept_scaling")),
        *((SGDClassifier, name) for name in ("alpha", "eta0", "l1_ratio")),
        (NuSVC, "nu"),
        (SVR, "epsilon"),
    ],
)
@pytest.mark.parametrize("value", [HUGE, -HUGE, Fraction(HUGE, 3)], ids=["huge", "-huge", "ratio"])
def test_parameters(make, parameter, value):
    X, y = samples()
    with pytest.raises(ValueError, match=parameter):
        make(**{parameter: value}).fit(X, y)


def test_class_weights_targets_and_grids():
    X, y = samples()
    with pytest.raises(ValueError, match="class_weight must map class 0 to a finite number"):
        SVC(class_weight={0: HUGE}).fit(X, y)
    with pytest.raises(ValueError, match="y must hold real numbers"):
        SVR().fit(X, [HUGE] + [1] * 19)
    with pytest.raises(ValueError, match="Cs must hold real numbers"):
        LinearSVCCV(Cs=[1, HUGE]).fit(X, y)


@pytest.mark.parametrize(
    "weight",
    [
        [HUGE] + [1] * 19,
        np.ones(20, complex),
        np.ones(20, "M8[s]"),
        np.ones(20, "m8[s]"),
        np.ones(20, [("a", float)]),
        ["1"] * 20,
    ],
    ids=["huge", "complex", "dates", "durations", "records", "texts"],
)
def test_weights(weight):
    X, y = samples()
    for make in (SVC, LinearSVC, SGDClassifier):
        with pytest.raises(ValueError, match="sample_weight must hold real numbers"):
            make().fit(X, y, sample_weight=weight)


@pytest.mark.parametrize(
    "estimator", [LinearSVC(), LinearSVR(), LinearSVCCV(), Perceptron(), SGDClassifier()], ids=repr
)
def test_features_whose_weights_no_memory_holds_are_refused(estimator):
    indices = np.array([0, 2**62 - 1] * 6)
    X = sp.csr_array((np.ones(12), indices, np.arange(0, 13, 2)), shape=(6, 2**62))
    with pytest.raises(ValueError, match=f"X has {2**62} features, and {type(estimator).__name__}"):
        estimator.fit(X, [0, 1] * 3)
    SVC(kernel="linear").fit(X, [0, 1] * 3).predict(X)  # which holds samples
