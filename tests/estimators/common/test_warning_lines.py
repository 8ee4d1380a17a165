"""Warnings name the line that called into the package, and leave little behind."""

import warnings

import numpy as np
import pytest

from maxmargin import (
    SVC,
    SVR,
    KernelPerceptron,
    LinearSVC,
    LinearSVR,
    NuSVC,
    NuSVR,
    OneClassSVM,
    Perceptron,
    SGDClassifier,
)
from oracles.problems import two_classes

X, y = two_classes(120)
Z = X[:, 0] + 0.1 * np.arange(len(X)) % 3
WITH_TARGETS = [SVC, NuSVC, SVR, NuSVR, LinearSVC, LinearSVR, Perceptron, KernelPerceptron]
UNFINISHED = [
    (SVC(max_iter=1), y),
    (NuSVC(max_iter=1, nu=0.2), y),
    (SVR(max_iter=1), Z),
    (OneClassSVM(max_iter=1, nu=0.3), None),
    (LinearSVC(max_iter=1, tol=1e-12, loss="hinge"), y),
    (LinearSVR(max_iter=1, tol=1e-12), Z),
    (Perceptron(max_iter=1), y),
    (KernelPerceptron(max_iter=1, kernel="linear"), y),
    (SGDClassifier(max_iter=1), y),
]


def files_of(call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    return {warning.filename for warning in caught}


@pytest.mark.parametrize("make", WITH_TARGETS)
def test_of_a_column_of_labels(make):
    targets = Z if make in (SVR, NuSVR, LinearSVR) else y
    assert files_of(lambda: make().fit(X, targets[:, np.newaxis])) == {__file__}


@pytest.mark.parametrize(("model", "targets"), UNFINISHED, ids=repr)
def test_of_fits_that_did_not_converge(model, targets):
    assert files_of(lambda: model.fit(X, targets)) == {__file__}


def test_a_warning_seen_before_leaves_nothing_more():
    namespace = {"__name__": "caller", "model": SVC(max_iter=1), "X": X, "y": y}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(5):
            exec("model.fit(X, y)", namespace)
    assert len(caught) == 1
    assert len([key for key in namespace["__warningregistry__"] if key != "version"]) == 1
