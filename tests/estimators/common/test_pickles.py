"""Pickles of other versions and pickles that were altered: a warning, a default or an error."""

from __future__ import annotations

import copy
import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from maxmargin import (
    SVC,
    SVCCV,
    SVR,
    KernelPerceptron,
    LinearSVC,
    LinearSVCCV,
    LinearSVR,
    NuSVC,
    NuSVR,
    OneClassSVM,
    Perceptron,
    QuantileSVR,
    SGDClassifier,
    __version__,
    kernels,
)
from maxmargin.kernels._parameter import Factors, KernelParams
from oracles.problems import rng

ESTIMATORS = [
    SVC(), NuSVC(nu=0.3), SVR(), NuSVR(), OneClassSVM(), LinearSVC(), LinearSVR(),
    SVCCV(Cs=2, gammas=2, cv=2), LinearSVCCV(cv=2), Perceptron(tol=0.0), SGDClassifier(),
    KernelPerceptron(max_iter=1000),
    QuantileSVR(),
]  # fmt: skip


def samples(n=60):
    X = rng(3).normal(size=(n, 4))
    return X, (X[:, 0] > 0).astype(int) + (X[:, 1] > 0.5)


def fitted(estimator, container=np.asarray):
    X, y = samples()
    return clone(estimator).fit(container(X), y)


def loaded(model, state):
    new = type(model).__new__(type(model))
    new.__setstate__(state)
    return new


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
def test_another_version_warns_and_names_both(estimator):
    model = fitted(estimator)
    state = {**model.__getstate__(), "_version": "9.8.7"}
    owner = type(model).__name__
    message = rf"this {owner} was pickled by maxmargin 9\.8\.7 and is loaded by {__version__}: "
    with pytest.warns(UserWarning, match=message):
        new = loaded(model, state)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for same in (new, model):
            again = pickle.loads(pickle.dumps(same))
            assert vars(again).keys() == vars(model).keys()
            copy.copy(same)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
def test_parameters_that_a_version_did_not_have_get_their_defaults(estimator):
    X, y = samples()
    model = fitted(estimator)
    for name in estimator.get_params():
        state = model.__getstate__()
        value = state.pop(name)
        new = loaded(model, state)
        assert getattr(new, name) == getattr(type(model)(), name)
        assert new.set_params(**{name: value}).predict(X).tobytes() == model.predict(X).tobytes()
        assert repr(new) == repr(model)
    new = loaded(model, {"_version": __version__}).set_params(**estimator.get_params())
    assert new.fit(X, y).predict(X).tobytes() == fitted(estimator).predict(X).tobytes()


class Ridged(SVC):
    """A subclass whose constructor hides parameters of the base class."""

    def __init__(self, ridge=1.0):
        super().__init__(C=1.0 / ridge)
        self.ridge = ridge


def test_a_subclass_gets_the_defaults_of_all_constructors():
    model = fitted(Ridged())
    state = model.__getstate__()
    del state["ridge"], state["break_ties"], state["n_jobs"]
    new = loaded(model, state)
    assert (new.ridge, new.break_ties, new.n_jobs) == (1.0, False, None)
    assert new.predict(samples()[0]).tobytes() == model.predict(samples()[0]).tobytes()


def test_what_a_version_does_not_know_is_kept():
    model = fitted(SVC())
    model.note = "of the user"
    new = pickle.loads(pickle.dumps(model))
    assert new.note == "of the user"
    assert repr(new) == "SVC()"


@pytest.mark.parametrize("state", [None, [1], "state", 5, {1: 2}, ({}, {})], ids=repr)
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
def test_a_state_is_a_dict_of_attributes(estimator, state):
    owner = type(estimator).__name__
    with pytest.raises(ValueError, match=rf"state of {owner} must be a dict of its attributes"):
        loaded(estimator, state)


@pytest.mark.parametrize("model", [None, 1, "m", np.ones(3), SVR().fit([[0.0], [1.0]], [0, 1])])
def test_a_model_of_another_kind_is_refused(model):
    state = vars(model)["_model"] if isinstance(model, SVR) else model
    with pytest.raises(ValueError, match="representation of SVC was altered: the model does not"):
        loaded(SVC(), {**SVC().__getstate__(), "_model": state})


def test_a_part_that_another_version_has_differently_is_an_error_with_its_name():
    trained = vars(fitted(SVC()))["_model"]
    state = trained.__getstate__()
    by_another = rf" \(pickled by maxmargin 9\.8\.7, loaded by {__version__}\)$"
    for version, hint in (("9.8.7", by_another), (__version__, r"[^)]$")):
        with pytest.raises(ValueError, match=f"altered: .*certainty.*{hint}"):
            loaded(trained, {**state, "version": version, "certainty": 1.0})


HOSTILE = [
    None, True, -1, 2**31, 2**62, 2**70, 1e300, float("nan"), "x", b"x", [1], (1, 2), {"a": 1},
    np.array(3), np.array([]), np.array([np.nan]), np.zeros((0, 0)), np.ones((2, 3)),
    np.array(["a"]), np.array([None, 1], object), np.array([2**62] * 3), np.array([-1, 1, 1]),
    np.ones((2, 3, 4)), np.ones(3, complex), np.ones((2, 3)) * 1e308,
    KernelParams("poly", 1e300, 1e300, 2**31 - 1), KernelParams("callable"),
    KernelParams("precomputed"), KernelParams("composed", steps=("+", "*")),
    KernelParams("composed", steps=((KernelParams("rbf"), 1.0),) * 40), KernelParams("rbf", "x"),
    KernelParams("composed", steps=(Factors((len,)),)), KernelParams("nosuch"), KernelParams(3),
    (np.ones(2), np.array([0, 5]), np.array([0, 2]), 2**62), sp.csr_matrix(np.eye(3)),
    (np.ones(2), np.array([0, 5]), np.array([0, 2**62]), 3), (1, 2, 3, 4),
]  # fmt: skip


@pytest.mark.parametrize(
    ("estimator", "container"),
    [
        (SVC(probability=True), np.asarray),
        (NuSVC(nu=0.3), sp.csr_matrix),
        (NuSVR(), np.asarray),
        (OneClassSVM(kernel="linear"), sp.csr_matrix),
        (SVC(kernel=kernels.RBF(0.5) + kernels.Linear()), sp.csr_matrix),
    ],
)
def test_hostile_parts_of_a_model_are_refused_or_do_no_harm(estimator, container):
    X, _ = samples(10)
    model = fitted(estimator, container)
    trained = vars(model)["_model"]
    state = trained.__getstate__()
    n_refused = 0
    for i, name in enumerate([*state["parts"], *(state.keys() - {"version"})]):
        for value in HOSTILE[i % 2 :: 2]:
            parts = state["parts"]
            if name in parts:
                altered = {**state, "parts": {**parts, name: value}}
            else:
                altered = {**state, name: value}
            try:
                new = loaded(model, {**model.__getstate__(), "_model": loaded(trained, altered)})
            except ValueError:
                n_refused += 1
                continue
            try:
                new.predict(X)
            except ValueError:
                continue
            {name: getattr(new, name, None) for name in dir(new)}
    assert n_refused > 200


@pytest.mark.parametrize("names", [5, "abcd", ["a", "b", "c", "d"], np.array(["a", None], object)])
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
def test_names_that_are_not_those_of_the_features_are_refused(estimator, names):
    model = vars(fitted(estimator))["_model"]
    with pytest.raises(ValueError, match="feature_names_in_ does not fit the rest of the model"):
        loaded(model, {**model.__getstate__(), "feature_names": names})


@pytest.mark.parametrize(
    "kernel",
    [kernels.RBF(0.5), 2.0 * kernels.Polynomial(2, 1.0, 1.0) + 1.0, kernels.Linear().normalised()],
    ids=repr,
)
def test_kernels_are_made_anew_of_their_parameters(kernel):
    assert pickle.loads(pickle.dumps(kernel)) == copy.deepcopy(kernel) == kernel
    assert vars(loaded(kernels.Polynomial(), {"degree": 5})) == vars(kernels.Polynomial(degree=5))
    for state in ({"gamma": -1.0}, {"gamma": "x"}, {"gama": 1.0}, [1.0], 5):
        with pytest.raises(ValueError, match=r"gamma must be|no state of a RBF"):
            loaded(kernels.RBF(), state)
