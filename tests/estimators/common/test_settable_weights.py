"""Weights, offsets and classes that users put into a fitted model, and old pickles of it."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import linear_model
from sklearn.base import clone

from maxmargin import (
    KernelPerceptron,
    LinearSVC,
    LinearSVCCV,
    LinearSVR,
    Perceptron,
    SGDClassifier,
)
from oracles.problems import rng

X = rng(0).normal(size=(60, 4))
CODES = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0.5)
CLASSIFIERS = [LinearSVC(), LinearSVCCV(Cs=[1.0], cv=2), Perceptron(tol=0.0), SGDClassifier()]
ESTIMATORS = [*CLASSIFIERS, LinearSVR()]
pytestmark = pytest.mark.filterwarnings(
    "ignore::maxmargin.ConvergenceWarning", "ignore:.* was pickled by maxmargin 0.1.0"
)


def fitted(estimator, n_classes=3):
    return clone(estimator).fit(X, np.minimum(CODES, n_classes - 1))


def values(model):
    return getattr(model, "decision_function", model.predict)(X)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_weights_that_are_set_take_effect(estimator, dtype, n_classes):
    model = fitted(estimator, n_classes)
    coef = np.round(8 * model.coef_).astype(dtype)
    model.coef_ = coef
    model.intercept_ = np.arange(1, 1 + len(model.intercept_), dtype=dtype)
    expected = X @ np.atleast_2d(coef).T.astype(float) + np.arange(1, 1 + len(model.intercept_))
    expected = expected[:, 0] if expected.shape[1] == 1 else expected
    np.testing.assert_allclose(values(model), expected, rtol=1e-12, atol=1e-12)
    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert values(other).tobytes() == values(model).tobytes()
        assert other.coef_.dtype == np.float64
    if n_classes == 3 and hasattr(model, "classes_"):
        np.testing.assert_array_equal(model.predict(X), expected.argmax(axis=1))


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_changes_in_place_take_effect(estimator):
    model = fitted(estimator)
    before = values(model)
    model.intercept_ -= 0.5
    np.testing.assert_allclose(values(model), before - 0.5, atol=1e-12)
    model.coef_ *= 2.0
    model.coef_[..., 1] = 0.0
    expected = X @ np.atleast_2d(model.coef_).T + model.intercept_
    np.testing.assert_allclose(values(model), np.squeeze(expected), atol=1e-12)
    model.intercept_ = 0.0  # as of scikit-learn's models without one
    np.testing.assert_array_equal(model.intercept_, np.zeros(len(model.intercept_)))


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_sparse_weights_answer_as_dense_ones_and_go_through_pickles(estimator):
    model = fitted(estimator)
    before, coef = values(model), np.atleast_2d(model.coef_)
    assert model.sparsify() is model
    for other in (model, pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert sp.issparse(other.coef_)
        np.testing.assert_array_equal(other.coef_.toarray(), coef)
        assert values(other).tobytes() == before.tobytes()
    assert model.densify().coef_.tobytes() == coef.tobytes()
    if coef.shape == model.coef_.shape:
        model.coef_ = sp.csr_matrix(2.0 * coef)
        assert sp.issparse(pickle.loads(pickle.dumps(model)).coef_)
        np.testing.assert_allclose(values(model), 2 * before - model.intercept_, atol=1e-12)


@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=repr)
def test_classes_that_are_set_name_the_predictions(estimator):
    model = fitted(estimator)
    before = model.predict(X)
    model.classes_ = np.array(["a", "b", "c"])
    np.testing.assert_array_equal(model.predict(X), np.array(["a", "b", "c"])[before])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("coef_", np.ones((3, 3))),
        ("coef_", np.ones((2, 4))),
        ("coef_", np.ones(12)),
        ("coef_", 1.0),
        ("coef_", np.full((3, 4), np.nan)),
        ("coef_", np.full((3, 4), "a")),
        ("coef_", np.full((3, 4), 1j)),
        ("coef_", sp.csr_matrix((4, 3))),
        ("intercept_", np.ones(2)),
        ("intercept_", np.ones((3, 1))),
        ("intercept_", np.inf),
        ("intercept_", None),
        ("classes_", np.array([0, 1])),
        ("classes_", np.array([0, 1, 1])),
    ],
)
@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=repr)
def test_what_does_not_fit_is_refused_and_changes_nothing(estimator, name, value):
    model = fitted(estimator)
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match=name.rstrip("_")):
        setattr(model, name, value)
    assert pickle.dumps(model) == before


def test_training_goes_on_from_weights_that_are_set():
    y = CODES
    for estimator in (Perceptron(), SGDClassifier(learning_rate="constant", shuffle=False)):
        model = clone(estimator).partial_fit(X, y, [0, 1, 2])
        other = clone(estimator).partial_fit(-X, y, [0, 1, 2])
        other.coef_, other.intercept_ = model.coef_, model.intercept_
        assert other.partial_fit(X, y).coef_.tobytes() == model.partial_fit(X, y).coef_.tobytes()


@pytest.mark.parametrize("name", ["Perceptron", "SGDClassifier"])
def test_t_counts_as_in_scikit_learn(name):
    ours, theirs = {"Perceptron": Perceptron, "SGDClassifier": SGDClassifier}, linear_model
    for y, passes in ((CODES > 0, 1), (CODES, 3)):
        model = ours[name](max_iter=passes, tol=None).fit(X, y)
        peer = getattr(theirs, name)(max_iter=passes, tol=None).fit(X, y)
        if model.n_iter_ == passes:
            assert model.t_ == peer.t_ == 1 + passes * len(X)
        assert isinstance(model.t_, float)
        t = model.t_
        assert model.partial_fit(X, y).t_ == t + len(X)


def test_attributes_that_only_training_finds_cannot_be_set():
    for estimator, name in ((LinearSVC(), "certificate_"), (Perceptron(), "t_")):
        with pytest.raises(AttributeError, match=name):
            setattr(fitted(estimator), name, 3)


# -- pickles of 0.1.0, whose estimators held the parts of the model ------------------------------


def state_of_version_0_1(model):
    names = {name for name in dir(model) if name.endswith("_") and not name.startswith("_")}
    names -= {"t_"} | ({"support_vectors_"} if isinstance(model, KernelPerceptron) else set())
    state = {name: value for name, value in vars(model).items() if name != "_model"}
    state |= {name: getattr(model, name) for name in names if hasattr(model, name)}
    trained = model._model
    if isinstance(model, KernelPerceptron):
        parts = {"_kernel_params": trained.kernel, "_support_vectors": trained.vectors}
        return {**state, **parts, "_dual_coef": model.dual_coef_, "_cache": {}}
    if isinstance(model, (Perceptron, SGDClassifier)):
        state["_state"] = trained.states
    if isinstance(model, SGDClassifier):
        state["_has_diverged"] = False
    return state


@pytest.mark.parametrize(
    "estimator",
    [
        *ESTIMATORS,
        LinearSVC(multi_class="crammer_singer"),
        Perceptron(average=True, tol=0.0),
        KernelPerceptron(),
        KernelPerceptron(multi_class="crammer_singer", average=True),
    ],
    ids=repr,
)
@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_pickles_of_version_0_1_load(estimator, container, n_classes):
    model = clone(estimator).fit(container(X), np.minimum(CODES, n_classes - 1))
    old = clone(estimator)
    state = state_of_version_0_1(model)
    old.__setstate__(state)
    assert values(old).tobytes() == values(model).tobytes()
    assert vars(old).keys() == vars(model).keys()
    for name in state:
        if name.endswith("_") and name != "certificate_":
            np.testing.assert_equal(getattr(old, name), getattr(model, name), err_msg=name)
    if hasattr(model, "partial_fit"):
        y = np.minimum(CODES, n_classes - 1)
        assert old.partial_fit(X, y).coef_.tobytes() == model.partial_fit(X, y).coef_.tobytes()


@pytest.mark.parametrize("estimator", [*ESTIMATORS, KernelPerceptron()], ids=repr)
def test_an_altered_pickle_of_version_0_1_is_refused(estimator):
    state = state_of_version_0_1(fitted(estimator))
    changes = {
        "n_features_in_": 5,
        "intercept_": np.ones(7),
        "classes_": np.array([0, 1]),
        "coef_": np.full_like(state.get("coef_", 0.0), np.nan),
        "_state": None,
    }
    for name in changes.keys() & state.keys():
        with pytest.raises(ValueError, match=rf"of {type(estimator).__name__} was altered: "):
            clone(estimator).__setstate__({**state, name: changes[name]})
        lacking = {key: value for key, value in state.items() if key != name}
        if name not in ("n_features_in_", "classes_"):
            with pytest.raises(ValueError, match=rf"of {type(estimator).__name__} was altered: "):
                clone(estimator).__setstate__(lacking)
