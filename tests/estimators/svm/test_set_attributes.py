"""Fitted attributes that a caller sets: they count in whatever the model does, or are refused."""

from __future__ import annotations

import copy
import pickle
from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import (
    SVC,
    SVR,
    NotFittedError,
    NuSVC,
    NuSVR,
    OneClassSVM,
    diagnostics,
    io,
    kernels,
)
from support.interrupt import facts


def samples(n=60):
    r = np.random.default_rng(5)
    X = 0.4 * r.normal(size=(n, 3))
    y = np.arange(n) % 3
    X[:, 0] += y
    return X, y


def dot_products(A, B):
    return A @ B.T


MODELS = {
    "two classes": (SVC(), 2),
    "three classes": (SVC(decision_function_shape="ovo"), 3),
    "linear": (SVC(kernel="linear", decision_function_shape="ovo"), 3),
    "probability": (SVC(probability=True), 2),
    "nu": (NuSVC(nu=0.3), 2),
    "svr": (SVR(), 3),
    "linear svr": (SVR(kernel="linear"), 3),
    "nu-svr": (NuSVR(), 3),
    "one-class": (OneClassSVM(), 1),
    "callable": (SVC(kernel=dot_products, decision_function_shape="ovo"), 3),
    "composed": (SVR(kernel=kernels.RBF(0.5) + kernels.Linear()), 3),
    "normalised": (SVR(kernel=(kernels.Linear() + 1.0).normalised()), 3),
}


@pytest.fixture(params=MODELS)
def model(request):
    return fitted(request.param)


def fitted(name, container=np.asarray):
    estimator, n_classes = MODELS[name]
    X, y = samples()
    return copy.copy(estimator).fit(container(X), np.minimum(y, n_classes - 1))


def values(model, X=None):
    X = samples()[0] if X is None else X
    return getattr(model, "decision_function", model.predict)(X)


def by_definition(model):
    """Return the decision values that the shown attributes define."""
    X, _ = samples()
    vectors, dual_coef, b = model.support_vectors_, model.dual_coef_, model.intercept_
    K = kernel_values(model, X, vectors.toarray() if sp.issparse(vectors) else vectors)
    if len(getattr(model, "classes_", [])) <= 2:
        return K @ dual_coef[0] + b[0]
    ends = np.cumsum([0, *model.n_support_])
    machines = []
    for p, (i, j) in enumerate(combinations(range(len(model.classes_)), 2)):
        of_i, of_j = slice(*ends[i : i + 2]), slice(*ends[j : j + 2])
        sums = K[:, of_i] @ dual_coef[j - 1, of_i] + K[:, of_j] @ dual_coef[i, of_j]
        machines.append(sums + b[p])
    return np.column_stack(machines)


def kernel_values(model, A, B):
    if callable(model.kernel):
        return model.kernel(A, B)
    if model.kernel == "linear":
        return A @ B.T
    gamma = 1.0 / (3 * samples()[0].var())
    return np.exp(-gamma * np.square(A[:, np.newaxis] - B).sum(axis=2))


def check_all_follow(model):
    X, _ = samples()
    np.testing.assert_allclose(values(model), by_definition(model), rtol=1e-9, atol=1e-9)
    expected = facts(model, X)
    for same in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model), copy.copy(model)):
        assert facts(same, X) == expected


def test_an_intercept_that_is_set_counts(model):
    before, b = values(model), model.intercept_.copy()
    model.intercept_ = (b + 0.25).tolist()
    np.testing.assert_allclose(values(model), before + 0.25, rtol=0, atol=1e-12)
    model.intercept_ -= 0.5
    np.testing.assert_allclose(values(model), before - 0.25, rtol=0, atol=1e-12)
    check_all_follow(model)
    model.intercept_[0] = b[0] + 1.0
    assert model.intercept_[0] == b[0] + 1.0
    check_all_follow(model)
    model.intercept_[:] = b
    assert pickle.loads(pickle.dumps(model)).intercept_.tolist() == b.tolist()
    np.testing.assert_allclose(values(model), before, rtol=0, atol=1e-12)


def test_coefficients_that_are_set_count(model):
    before, b = values(model), model.intercept_.copy()
    coefficients = model.dual_coef_
    model.dual_coef_ = 2 * coefficients
    assert model.dual_coef_.tolist() == (2 * coefficients).tolist()
    two = values(model)
    model.intercept_ = 2 * b
    np.testing.assert_allclose(values(model), 2 * before, rtol=1e-9, atol=1e-12)
    assert (two != before).any()
    with pytest.raises(ValueError, match="read-only"):
        model.dual_coef_[0, 0] = 1.0
    check_all_follow(model)


@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix, lambda X: X.tolist()])
def test_support_vectors_that_are_set_count(model, container):
    vectors = model.support_vectors_
    before = values(model)
    model.support_vectors_ = container(1.5 * vectors)
    assert (values(model) != before).any()
    if not (callable(model.kernel) and sp.issparse(model.support_vectors_)):
        check_all_follow(model)
    model.support_vectors_ = vectors
    np.testing.assert_allclose(values(model), before, rtol=0, atol=1e-12)


def test_an_offset_that_is_set_moves_the_region():
    X, _ = samples()
    model = fitted("one-class")
    scores, before = model.score_samples(X), model.decision_function(X)
    model.offset_ -= 0.25
    assert model.offset_ == -model.intercept_[0]
    np.testing.assert_allclose(model.decision_function(X), before + 0.25, rtol=0, atol=1e-12)
    np.testing.assert_allclose(model.score_samples(X), scores, rtol=0, atol=1e-12)
    assert model.predict(X).tolist() == np.where(model.decision_function(X) >= 0, 1, -1).tolist()
    model.offset_ = np.array([np.median(scores)])  # as scikit-learn has it
    assert (model.predict(X) == 1).mean() == 0.5
    check_all_follow(model)


@pytest.mark.parametrize("name", ["two classes", "three classes", "svr", "one-class", "linear"])
def test_files_hold_what_was_set(name, tmp_path):
    model = fitted(name)
    model.intercept_ -= 0.125
    model.dual_coef_ = 0.5 * model.dual_coef_
    io.save_model(model, tmp_path / "model")
    loaded = io.load_model(tmp_path / "model")
    loaded.set_params(**{k: v for k, v in model.get_params().items() if "shape" in k})
    np.testing.assert_allclose(values(loaded), values(model), rtol=1e-12)
    loaded.intercept_ += 1.0
    if len(loaded.intercept_) == 1 or "ovo" in repr(loaded):
        np.testing.assert_allclose(values(loaded), values(model) + 1.0, rtol=0, atol=1e-12)


BAD = [
    None, "x", float("nan"), [float("inf")], [[1.0]], [], [1.0, 2.0, 3.0, 4.0, 5.0], [1j], ["a"],
    [[1.0], [1.0, 2.0]], np.array([None]), np.ones((2, 2, 2)), object(), {"a": 1.0},
]  # fmt: skip


@pytest.mark.parametrize("value", BAD, ids=range(len(BAD)))
@pytest.mark.parametrize("name", ["intercept_", "dual_coef_", "support_vectors_", "offset_"])
def test_what_does_not_fit_is_refused_and_changes_nothing(name, value):
    X, _ = samples()
    for model in (fitted("one-class"), fitted("three classes"), fitted("callable")):
        if hasattr(model, name):
            expected = facts(model, X)
            with pytest.raises((TypeError, ValueError), match=name):
                setattr(model, name, value)
            assert facts(model, X) == expected


def test_what_does_not_fit_in_place_is_refused_and_changes_nothing():
    X, _ = samples()
    model = fitted("three classes")
    expected = facts(model, X)
    with pytest.raises(ValueError, match="intercept_ must hold finite real numbers"):
        model.intercept_ *= np.nan
    assert facts(model, X) == expected
    model.intercept_[0] = np.nan
    with pytest.raises(ValueError, match="intercept_ must hold finite real numbers"):
        model.predict(X)
    assert facts(model, X) == expected


def test_classes_that_are_set_are_what_is_predicted():
    X, y = samples()
    model = fitted("three classes")
    predicted = model.predict(X)
    model.classes_ = ["a", "b", "c"]
    assert model.predict(X).tolist() == np.array(["a", "b", "c"])[predicted].tolist()
    assert model.score(X, np.array(["a", "b", "c"])[y]) == (predicted == y).mean()
    check_all_follow(model)
    expected = facts(model, X)
    for value in (None, ["a", "b"], ["b", "a", "c"], ["a", "a", "b"], [["a", "b", "c"]], 3):
        with pytest.raises(ValueError, match="classes_ does not fit the rest of the model"):
            model.classes_ = value
        assert facts(model, X) == expected


@pytest.mark.parametrize("name", ["two classes", "svr", "one-class"])
def test_diagnostics_are_of_the_model_as_it_is(name):
    X, y = samples()
    y = np.minimum(y, 1) if name == "two classes" else y
    model = fitted(name)
    of_fit = diagnostics.certificate(model, X, y)
    model.intercept_ -= 0.5
    of_now = diagnostics.certificate(model, X, y)
    assert of_now.primal_objective > of_fit.primal_objective + 0.1


def test_what_scikit_learn_computes_is_not_set():
    model = fitted("linear")
    for name in ("coef_", "n_support_"):
        with pytest.raises(AttributeError, match="setter"):
            setattr(model, name, getattr(model, name))


def test_samples_for_a_kernel_that_was_given_are_refused():
    X, y = samples()
    model = SVC(kernel="precomputed").fit(X @ X.T, y)
    with pytest.raises(ValueError, match="support_vectors_ cannot be set: the kernel matrix"):
        model.support_vectors_ = X
    model = SVC(kernel=kernels.ChiSquared()).fit(np.abs(X), y)
    with pytest.raises(ValueError, match="needs features >= 0"):
        model.support_vectors_ = -model.support_vectors_


def test_before_fit_there_is_nothing_to_set():
    for name in ("intercept_", "dual_coef_", "support_vectors_", "offset_"):
        with pytest.raises(NotFittedError):
            setattr(OneClassSVM(), name, 1.0)


def test_sparse_models():
    model = fitted("three classes", sp.csr_matrix)
    model.intercept_ += 1.0
    model.support_vectors_ = model.support_vectors_ * 2.0
    check_all_follow(model)
    assert sp.issparse(model.support_vectors_)
    np.testing.assert_allclose(values(model, sp.csr_matrix(samples()[0])), values(model))
