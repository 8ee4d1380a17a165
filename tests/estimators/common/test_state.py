"""Fitted state: what there is before `fit`, the same bits in pickles, and altered ones refused."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from maxmargin import (
    SVC,
    SVR,
    KernelPerceptron,
    LinearSVC,
    LinearSVR,
    NotFittedError,
    NuSVC,
    NuSVR,
    OneClassSVM,
    Perceptron,
    QuantileSVR,
    SGDClassifier,
    _core,
    kernels,
)
from maxmargin._input.sparse import CsrMatrix
from oracles.problems import rng

FEATURES = 4


def samples(n=60):
    X = rng(3).normal(size=(n, FEATURES))
    return X, (X[:, 0] > 0).astype(int) + (X[:, 1] > 0.5)


def fitted(estimator, container=np.asarray):
    X, y = samples()
    return estimator.fit(container(X), y)


def values(model):
    X, _ = samples(20)
    return getattr(model, "decision_function", model.predict)(X)


ESTIMATORS = [
    SVC(),
    SVC(kernel="linear", C=10.0),
    SVC(probability=True),
    SVC(kernel=kernels.RBF(0.5) + kernels.Linear()),
    NuSVC(nu=0.3),
    SVR(),
    NuSVR(),
    QuantileSVR(quantile=[0.2, 0.8]),
    OneClassSVM(),
    LinearSVC(),
    LinearSVR(),
    KernelPerceptron(max_iter=1000),
    Perceptron(tol=0.0),
]


LINEAR = [LinearSVC(), LinearSVR(), Perceptron(tol=0.0), SGDClassifier(max_iter=5, tol=None)]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_attributes_that_fit_is_to_find_say_so_before(estimator):
    names = [name for name in dir(fitted(clone(estimator))) if name[0] != "_" and name[-1] == "_"]
    assert {"n_features_in_", "n_iter_", "intercept_"} <= {*names}
    for name in names:
        new = clone(estimator)
        assert not hasattr(new, name)
        with pytest.raises(
            NotFittedError, match=f"{type(new).__name__} instance is not fitted yet"
        ):
            getattr(new, name)
    with pytest.raises(AttributeError, match="has no attribute 'coef'"):
        estimator.coef  # noqa: B018


@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix])
def test_pickles_of_every_protocol_answer_with_the_same_bits_in_another_process(
    container, tmp_path
):
    models = [fitted(estimator, container) for estimator in ESTIMATORS]
    X, _ = samples(20)
    np.save(tmp_path / "X.npy", X)
    protocols = range(pickle.HIGHEST_PROTOCOL + 1)
    for protocol in protocols:
        (tmp_path / str(protocol)).write_bytes(pickle.dumps(models, protocol))
    program = (
        "import pickle, sys, numpy as np\n"
        "X = np.load('X.npy')\n"
        f"for protocol in range({len(protocols)}):\n"
        "    for model in pickle.load(open(str(protocol), 'rb')):\n"
        "        values = getattr(model, 'decision_function', model.predict)(X)\n"
        "        sys.stdout.buffer.write(values.tobytes())\n"
    )
    path = os.pathsep.join(os.path.abspath(part) for part in sys.path if part)
    run = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path, capture_output=True, check=True, env={**os.environ, "PYTHONPATH": path},
    )  # fmt: skip
    expected = b"".join(values(model).tobytes() for model in models)
    assert run.stdout == expected * len(protocols)


def with_last(value, bad):
    changed = value.copy()
    changed[..., -1] = bad
    return changed


def with_indices_beyond(vectors):
    return vectors._replace(indices=np.full_like(vectors.indices, 1000))


def with_indptr_beyond(vectors):
    indptr = vectors.indptr.copy()
    indptr[-1] *= 1000
    return vectors._replace(indptr=indptr)


def with_indptr_descending(vectors):
    indptr = vectors.indptr.copy()
    indptr[1] = indptr[-1]
    return vectors._replace(indptr=indptr)


def altered_part(model, name, change):
    """Return such a state, changed in the trained machine or in a part of the core's model."""
    state = model.__getstate__()
    trained = copy.copy(model._model)
    parts = {**trained.__getstate__()}
    inner = parts.get("parts", {})
    if name in parts:
        parts[name] = change(parts[name])
    elif "core" in parts:
        arrays = {key: getattr(parts["core"], key) for key in ("coef", "intercept", "n_classes")}
        # As in a pickle, in which what makes the core's model stands for it.
        parts["core"] = lambda: _core.LinearModel(**{**arrays, name: change(arrays[name])})
    else:
        parts["parts"] = {**inner, name: change(inner[name])}
    return {**state, "_model": (type(trained), parts)}


def load_altered(state):
    """Unpickle what `altered_part` made."""
    kind, parts = state["_model"]
    if callable(parts.get("core")):
        parts["core"] = parts["core"]()
    kind.__new__(kind).__setstate__(parts)


ALTERATIONS = [
    ("dual_coef", lambda v: v[:, :-1]),
    ("dual_coef", lambda v: np.vstack([v, v])),
    ("dual_coef", lambda v: with_last(v, np.nan)),
    ("dual_coef", lambda v: None),
    ("rho", lambda v: with_last(v, np.inf)),
    ("rho", lambda v: v[:0]),
    ("support_vectors", lambda v: v[:-1]),
    ("support_vectors", lambda v: np.ascontiguousarray(v[:, :-1])),
    ("support_vectors", lambda v: np.asfortranarray(v)),
    ("support_vectors", lambda v: v.astype(object)),
    ("support_vectors", lambda v: None),
    ("support_vectors", lambda v: with_last(v, np.nan)),
    ("support", lambda v: v[:-1]),
    ("support", lambda v: v - len(samples()[0])),
    ("support", lambda v: v * 0),
    ("kernel", lambda v: "rbf"),
    ("n_features", lambda v: 1000),
]
OF_CLASSIFIERS = [
    ("n_support", lambda v: np.array([1_000_000, *v[1:]])),
    ("n_support", lambda v: np.array([-1, v[0] + v[1] + 1, *v[2:]])),
    ("n_support", lambda v: v[:-1]),
    ("vote_order", lambda v: np.array([5, 6, 7])),
    ("vote_order", lambda v: v * 0),
    ("sigmoids", lambda v: np.ones((2, 1))),
    ("sigmoids", lambda v: np.full((2, 3), np.nan)),
    ("class_weight", lambda v: v[:-1]),
    ("equivalent", lambda v: v[:-1]),
]
ALTERED_CLASSES = [
    lambda v: v[:2],
    lambda v: 3,
    lambda v: v[::-1],
    lambda v: v[[0, 0, 1]],
    lambda v: v[:, np.newaxis],
    lambda v: v.tolist(),
    lambda v: np.array([0, "a", None], dtype=object),
]


@pytest.mark.parametrize(
    ("estimator", "name", "change"),
    [
        *[(model, *case) for model in (SVC(), SVR(), OneClassSVM()) for case in ALTERATIONS],
        *[(NuSVC(nu=0.3), *case) for case in OF_CLASSIFIERS],
    ],
)  # fmt: skip
def test_an_altered_pickle_is_refused(estimator, name, change):
    with pytest.raises(ValueError, match=r"internal representation of a model was altered: \w+"):
        load_altered(altered_part(fitted(estimator), name, change))


def test_parts_of_a_model_cannot_be_written_to():
    model = fitted(NuSVC(nu=0.3))
    for part in (model.support_, model.support_vectors_, model.n_support_, model.dual_coef_):
        with pytest.raises(ValueError, match="read-only"):
            part[...] = 0


@pytest.mark.parametrize("change", ALTERED_CLASSES)
@pytest.mark.parametrize(
    "labels", [np.array([2, 5, 7]), np.array(["a", "b", "c"])], ids=["int", "str"]
)
def test_classes_that_are_not_sorted_and_distinct_are_refused(labels, change):
    X, y = samples()
    for estimator in (SVC(), NuSVC(nu=0.3), LinearSVC(), KernelPerceptron(), *LINEAR[2:]):
        model = clone(estimator).fit(X, labels[y])
        with pytest.raises(
            ValueError, match=r"a model was altered: ((classes|dual_coef)_ does|.<. not)"
        ):
            load_altered(altered_part(model, "classes", change))


@pytest.mark.parametrize(
    "change", [with_indices_beyond, with_indptr_beyond, with_indptr_descending]
)
@pytest.mark.parametrize("estimator", [SVC(kernel="linear"), SVC(), SVR()])
def test_altered_sparse_support_vectors_are_refused(estimator, change):
    model = fitted(estimator, sp.csr_matrix)
    with pytest.raises(ValueError, match=r"a model was altered: (indptr|column|data)"):
        load_altered(altered_part(model, "support_vectors", lambda v: tuple(change(CsrMatrix(*v)))))


@pytest.mark.parametrize(
    "change", [with_indices_beyond, with_indptr_beyond, with_indptr_descending]
)
def test_altered_sparse_support_vectors_of_a_kernel_perceptron_are_refused(change):
    model = fitted(KernelPerceptron(), sp.csr_matrix)
    with pytest.raises(ValueError, match="support_vectors_ does not fit"):
        load_altered(altered_part(model, "vectors", change))


def test_a_state_that_lacks_a_part_is_refused():
    model = fitted(SVC())
    state = model._model.__getstate__()
    for name in ("rho", "dual_coef", "support_vectors", "n_support"):
        parts = {key: value for key, value in state["parts"].items() if key != name}
        with pytest.raises(ValueError, match="internal representation of a model was altered"):
            load_altered({"_model": (type(model._model), {**state, "parts": parts})})
    del state["kernel"]
    with pytest.raises(ValueError, match="internal representation of a model was altered"):
        load_altered({"_model": (type(model._model), state)})


def test_columns_of_a_given_kernel_matrix_stay_within_it():
    X, y = samples()
    model = SVC(kernel="precomputed").fit(X @ X.T, y)
    with pytest.raises(ValueError, match="must be numbers of training samples"):
        load_altered(altered_part(model, "support_vectors", lambda v: v + 1000))


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("dual_coef", lambda v: v[:, :-1]),
        ("dual_coef", lambda v: with_last(v, np.nan)),
        ("intercept", lambda v: v[:-1]),
        ("intercept", lambda v: with_last(v, np.nan)),
        ("vectors", lambda v: v[:-1]),
        ("vectors", lambda v: with_last(v, np.nan)),
        ("kernel", lambda v: "rbf"),
        ("alpha", lambda v: v[:-1]),
        ("alpha", lambda v: v[:, :5]),
        ("alpha", lambda v: v.astype(str)),
        ("support", lambda v: v[:-1]),
        ("support", lambda v: v * 0),
    ],
)
def test_an_altered_kernel_perceptron_is_refused(name, change):
    model = fitted(KernelPerceptron())
    with pytest.raises(ValueError, match=r"internal representation of a model was altered: \w+"):
        load_altered(altered_part(model, name, change))


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("coef", lambda v: np.vstack([v, v])),
        ("coef", lambda v: v[0]),
        ("coef", lambda v: with_last(v, np.nan)),
        ("coef", lambda v: with_last(v, np.inf)),
        ("intercept", lambda v: v[:-1]),
        ("intercept", lambda v: with_last(v, np.nan)),
        ("n_classes", lambda v: v + 1),
        ("n_classes", lambda v: -1),
    ],
)
@pytest.mark.parametrize("estimator", LINEAR, ids=repr)
def test_altered_weights_are_refused(estimator, name, change):
    model = fitted(clone(estimator))
    with pytest.raises(ValueError, match=r"(coef|intercept|n_classes) (must|holds)"):
        load_altered(altered_part(model, name, change))


@pytest.mark.parametrize("estimator", LINEAR, ids=repr)
def test_weights_without_a_part_of_the_model_are_refused(estimator):
    model = fitted(clone(estimator))._model
    state = model.__getstate__()
    for name in {"core", "classes", "states", "passes", "certificate"} & state.keys():
        if state[name] is not None:
            part = {key: value for key, value in state.items() if key != name}
            with pytest.raises(ValueError, match=rf"a model was altered: .*{name}"):
                load_altered({"_model": (type(model), part)})


@pytest.mark.parametrize(
    "change",
    [
        lambda _: None,
        lambda _: Perceptron().partial_fit([[0], [1]], [0, 1], [0, 1])._model.states,
    ],
)
def test_another_state_of_training_is_refused(change):
    for estimator in LINEAR[2:]:
        model = fitted(clone(estimator))
        with pytest.raises(ValueError, match=r"a model was altered: .*(state of training|shape)"):
            load_altered(altered_part(model, "states", change))


@pytest.mark.parametrize("estimator", [SVC(kernel="linear"), SVR(kernel="linear")])
def test_weights_that_are_computed_cannot_be_written_to(estimator):
    model = fitted(estimator)
    with pytest.raises(ValueError, match="read-only"):
        model.coef_[0, 0] = 1.0
