"""A fit that is interrupted anywhere leaves the model as it was, or as it would have become."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import SVC, SVR, NuSVC, NuSVR, OneClassSVM, kernels
from support.interrupt import assert_old_or_new_at_every_line, assert_predictions_of_one_fit

# Hundreds of fits, raised in at lines of Python.
pytestmark = pytest.mark.no_sanitizer


class Table:
    """What pandas' data frames show of themselves."""

    def __init__(self, values, columns):
        self.values, self.columns = values, columns
        self.shape = values.shape

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.values, dtype=dtype)


def samples(seed, n_features, n_classes, n=40):
    r = np.random.default_rng(seed)
    X = r.normal(size=(n, n_features))
    y = np.arange(n) % n_classes
    X[:, 0] += y
    return X, y


def dot_products(A, B):
    return A @ B.T


def fit_on(X, y, model):
    return model.fit(X, y)


CASES = {
    "plain": (SVC(), {}),
    "probability": (SVC(probability=True), {}),
    "linear": (SVC(kernel="linear", decision_function_shape="ovo"), {"C": 5.0}),
    "callable": (SVC(kernel=dot_products), {"kernel": "rbf"}),
    "to a callable": (SVC(), {"kernel": dot_products}),
    "composed": (SVC(kernel=kernels.RBF(0.5) + kernels.Linear()), {}),
    "class weights": (SVC(class_weight="balanced"), {"break_ties": True}),
    "squared": (SVC(loss="squared_hinge"), {}),
    "nu": (NuSVC(nu=0.3, probability=True), {}),
    "svr": (SVR(), {}),
    "nu-svr": (NuSVR(), {}),
    "one-class": (OneClassSVM(), {"nu": 0.2}),
}


def check(case, container=np.asarray, **options):
    estimator, changed = CASES[case]
    (X, y), (X_new, y_new) = samples(0, 3, 2), samples(1, 4, 3)
    X, X_new = container(X), container(X_new)
    model = estimator.fit(X, y)

    def refit(model):
        return model.fit(X_new, y_new, np.linspace(1.0, 2.0, len(y_new)))

    model.set_params(**changed)
    assert_old_or_new_at_every_line(model, refit, X, X_new, **options)


@pytest.mark.parametrize("case", CASES)
def test_interrupted_at_any_line(case):
    check(case, at_last_turns=True)


@pytest.mark.parametrize("case", ["plain", "linear"])
def test_interrupted_at_any_line_with_sparse_samples(case):
    check(case, sp.csr_matrix, at_last_turns=True)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_interrupted_at_every_turn_of_every_line(case):
    check(case, error=MemoryError)


def test_interrupted_with_names_of_features_or_a_given_kernel():
    X, y = samples(0, 3, 2)
    X_new, y_new = samples(1, 4, 3)
    named, named_new = Table(X, ["a", "b", "c"]), Table(X_new, [*"abcd"])
    K, K_new = X @ X.T, X_new @ X_new.T
    given = SVC(kernel="precomputed").fit(K, y)
    for model, old, new in (
        (SVC().fit(named, y), named, named_new),
        (SVC().fit(named, y), named, X_new),
        (given, K, K_new),
    ):
        refit = partial(fit_on, new, y_new)
        assert_old_or_new_at_every_line(model, refit, old, new, at_last_turns=True)


@pytest.mark.parametrize(
    "estimator",
    [SVC(), SVC(kernel="linear"), SVC(probability=True, decision_function_shape="ovo"), SVR(),
     OneClassSVM()],
    ids=repr,
)  # fmt: skip
def test_predictions_of_other_threads_are_of_one_fit(estimator):
    X, y = samples(0, 3, 2)
    other = np.roll(y, 7) * 10 + 5
    fits = [lambda m: m.fit(X, y), lambda m: m.fit(X + 1.0, other)]
    assert_predictions_of_one_fit(estimator, fits, X)
