"""What falls through to scikit-learn under the patch, and the errors, which are scikit-learn's."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.linear_model import Perceptron
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR, NuSVC, NuSVR, OneClassSVM

import maxmargin
from maxmargin import sklearn_patched, unpatch_sklearn

X, y = load_iris(return_X_y=True)
TWO = X[:100], y[:100]


def negative_weights(n):
    return {"sample_weight": np.r_[-1.0, np.ones(n - 1)]}


FALLING = [
    (SVC(gamma=0.0), {}, "gamma must be"),
    (SVC(), negative_weights(100), "sample_weight must not be negative"),
    (SVR(C=np.inf), {}, "C must be a finite number"),
    (NuSVR(), negative_weights(100), "sample_weight must not be negative"),
    (OneClassSVM(gamma=0.0), {}, "gamma must be"),
    (Perceptron(penalty="l2"), {}, "what tol is applied to"),
    (Perceptron(class_weight={0: 2.0}), {}, "what tol is applied to"),
    (Perceptron(), {"sample_weight": np.full(100, 2.0)}, "what tol is applied to"),
    (Perceptron(early_stopping=True), {}, "early_stopping"),
]


@pytest.mark.parametrize(("learner", "fit_params", "reason"), FALLING)
def test_what_falls_through_is_scikit_learns_model(learner, fit_params, reason, capsys):
    theirs = clone(learner).fit(*TWO, **fit_params)
    with sklearn_patched(verbose=True):
        model = clone(learner).fit(*TWO, **fit_params)
    name = type(learner).__name__
    assert f"{name} falls through to scikit-learn in fit" in (written := capsys.readouterr().err)
    assert reason in written
    for key, other in vars(theirs).items():
        if isinstance(other, np.ndarray):
            np.testing.assert_array_equal(getattr(model, key), other)


def test_every_fit_chooses_anew(patched, reasons):
    model = SVC(gamma=0.0).fit(*TWO)
    assert len(reasons) == 1
    for _ in range(2):
        model.set_params(gamma=1.0).fit(*TWO)
        model.predict(X)
        expected = maxmargin.SVC(gamma=1.0).fit(*TWO).decision_function(X)
        np.testing.assert_allclose(model.decision_function(X), expected, rtol=1e-12)
    assert len(reasons) == 1


def test_a_search_over_parameters_that_fall_through_and_that_do_not(patched):
    grid = {"gamma": [0.0, 0.1], "C": [0.5, 5.0]}
    ours = GridSearchCV(SVC(), grid, cv=3).fit(X, y)
    unpatch_sklearn()
    theirs = GridSearchCV(SVC(), grid, cv=3).fit(X, y)
    assert ours.best_params_ == theirs.best_params_
    np.testing.assert_allclose(
        ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"], atol=0.01
    )


FAULTS = [
    (SVC(probability="foo"), X, y),
    (SVC(verbose="foo"), X, y),
    (SVC(random_state="foo"), X, y),
    (SVC(kernel="RBF"), X, y),
    (LinearSVC(max_iter=-1), X, y),
    (LinearSVC(loss="hinge", dual=False), X, y),
    (LinearSVC(penalty="l1", dual=True), X, y),
    (LinearSVR(loss="epsilon_insensitive", dual=False), X, y),
    (SVC(), np.full((150, 4), np.nan), y),
    (SVC(), X, np.zeros(150)),
    (SVC(kernel="precomputed"), X, y),
    (NuSVC(nu=1.0), X[:90], y[:90]),
    (Perceptron(), X, np.zeros(150)),
]


@pytest.mark.parametrize(("learner", "features", "labels"), FAULTS)
def test_errors_are_scikit_learns(learner, features, labels, patched):
    faults = []
    for is_patched in (True, False):
        if not is_patched:
            unpatch_sklearn()
        with pytest.raises(ValueError) as caught:
            clone(learner).fit(features, labels)
        faults.append((caught.type, str(caught.value)))
    assert faults[0] == faults[1]


def test_errors_of_predictions_are_scikit_learns(patched):
    model = SVC().fit(X, y)
    for learner in (SVC(), SVR(), OneClassSVM()):
        with pytest.raises(ValueError, match=r"sparse input in '.*' trained on dense data"):
            learner.fit(X, y).predict(sp.csr_matrix(X))
    with pytest.raises(AttributeError, match="has no attribute 'predict_proba'"):
        model.predict_proba(X)
    model._n_support = model._n_support + 1
    with pytest.raises(ValueError, match="internal representation of SVC was altered"):
        model.predict(X)
