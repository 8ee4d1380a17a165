"""Weighted and normalised kernels in the core: f(x) K(x, z) f(z) against the definition."""

from __future__ import annotations

import dataclasses
import pickle

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import SVC, SVR, KernelPerceptron, NuSVC, NuSVR, OneClassSVM, diagnostics, io
from maxmargin.kernels import (
    RBF,
    ChiSquared,
    HistogramIntersection,
    Laplacian,
    Linear,
    Polynomial,
    PowerSum,
    Sigmoid,
)
from maxmargin.kernels._parameter import KernelParams
from oracles.problems import rng, two_classes


def tilt(X):
    """A factor of both signs, which a normalised kernel has to give back."""
    return np.asarray(X[:, 0] if isinstance(X, np.ndarray) else X[:, [0]].todense()).ravel() + 0.3


def plus_one(X):
    return np.asarray(X.sum(axis=1)).ravel() ** 2 + 1.0


POLY = Polynomial(3, 0.5, 1.0)
FUSED = [
    POLY.normalised(),
    Linear().normalised(),
    RBF(0.5).weighted(plus_one),
    (RBF(0.5) + 0.1 * POLY).normalised(),
    0.5 * POLY.normalised() + RBF(0.5),
    POLY.normalised() + 0.5 * RBF(0.5).weighted(tilt),
    0.3 * POLY.normalised() * RBF(0.2).weighted(tilt),
    2.0 * (POLY.normalised() + RBF(0.5) * Linear().weighted(tilt)).normalised(),
    (PowerSum(2) + 1.0).weighted(tilt).normalised().weighted(plus_one),
    (RBF(0.5) + (RBF(0.1) + Linear().normalised()).weighted(tilt) * POLY.normalised()) * RBF(0.1),
    (0.5 * Laplacian(0.3) + Laplacian(0.1).weighted(plus_one)).normalised(),
]
ESTIMATORS = {
    "SVC": (SVC, {"C": 2.0}),
    "NuSVC": (NuSVC, {"nu": 0.5}),
    "SVR": (SVR, {"C": 2.0}),
    "NuSVR": (NuSVR, {"nu": 0.3}),
    "OneClassSVM": (OneClassSVM, {"nu": 0.3}),
}


def values_of(model, X):
    return model.predict(X) if isinstance(model, (SVR, NuSVR)) else model.decision_function(X)


def samples(n=400, *, sparse=False, dtype=np.float64, seed=0):
    """Samples of two classes, of which the last is a row of zeros."""
    X, y = two_classes(n, seed=seed)
    X = np.where(np.abs(X) > 0.5, X, 0.0) if sparse else X
    X[-1] = 0.0
    return (sp.csr_matrix if sparse else np.asarray)(X.astype(dtype)), y


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("kernel", FUSED, ids=repr)
def test_the_core_evaluates_weighted_and_normalised_kernels(kernel, sparse):
    X, y = samples(sparse=sparse)
    fused = SVC(kernel=kernel, C=0.5, tol=1e-7).fit(X, y)
    assert fused._model.kernel.type == "composed"
    K = kernel.by_definition(X, X)
    by_matrix = SVC(kernel="precomputed", C=0.5, tol=1e-7).fit(K, y)
    expected = by_matrix.decision_function(K)
    np.testing.assert_allclose(fused.decision_function(X), expected, atol=1e-4)
    assert fused.certificate_.dual_objective == pytest.approx(
        by_matrix.certificate_.dual_objective, rel=1e-6
    )
    assert diagnostics.certificate(fused, X, y).converged
    again = pickle.loads(pickle.dumps(fused))
    assert again.decision_function(X).tobytes() == fused.decision_function(X).tobytes()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_formulation_takes_them(name, sparse, dtype):
    make, params = ESTIMATORS[name]
    X, y = samples(300, sparse=sparse, dtype=dtype)
    X_test = samples(50, sparse=sparse, dtype=dtype, seed=5)[0]
    kernel = 0.5 * POLY.normalised() + RBF(0.5).weighted(tilt)
    fused = make(kernel=kernel, tol=1e-7, **params).fit(X, y)
    by_matrix = make(kernel="precomputed", tol=1e-7, **params).fit(kernel.by_definition(X, X), y)
    expected = values_of(by_matrix, kernel.by_definition(X_test, X))
    scale = np.abs(expected).max()
    np.testing.assert_allclose(values_of(fused, X_test), expected, atol=1e-5 * scale)


@pytest.mark.parametrize("sparse", [False, True])
def test_more_samples_than_are_evaluated_at_a_time(sparse):
    X, y = samples(1300, sparse=sparse)
    kernel = 0.5 * POLY.normalised() + RBF(0.5).weighted(tilt)
    model = SVC(kernel=kernel, C=0.02, tol=1e-5).fit(X, rng(0).permutation(y))
    assert len(model.support_) > 1100
    expected = (
        kernel.by_definition(X, model.support_vectors_) @ model.dual_coef_[0] + model.intercept_[0]
    )
    np.testing.assert_allclose(model.decision_function(X), expected, atol=1e-10)
    again = diagnostics.certificate(model, X, rng(0).permutation(y))
    assert again.kkt_violation < 1.01e-5


def test_a_normalised_kernel_trains_the_machine_of_libsvm():
    libsvm = pytest.importorskip("libsvm.svmutil")
    X, y = samples(200)
    kernel = (RBF(0.5) + 0.1 * POLY).normalised()
    numbered = np.column_stack([np.arange(1, 201), kernel.by_definition(X, X)])
    problem = libsvm.svm_problem(y, numbered, isKernel=True)
    theirs = libsvm.svm_train(problem, libsvm.svm_parameter("-t 4 -c 2 -e 1e-8 -q"))
    values = np.array(libsvm.svm_predict(y, numbered, theirs, "-q")[2])[:, 0]
    values = values if theirs.get_labels()[0] == 1 else -values
    ours = SVC(kernel=kernel, C=2.0, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), values, atol=1e-5)


@pytest.mark.parametrize("sparse", [False, True])
def test_classes_and_probabilities(sparse):
    r = rng(0)
    y = r.integers(0, 4, 400)
    X = r.normal(size=(400, 40)) + y[:, None]  # so expensive that pairs after the first are stored
    X = sp.csr_matrix(X * (r.random(X.shape) < 0.4)) if sparse else X
    kernel = Polynomial(2, 0.1, 1.0).normalised() + 0.1 * RBF(0.05).weighted(plus_one)
    params = {"tol": 1e-7, "decision_function_shape": "ovo", "probability": True}
    fused = SVC(kernel=kernel, **params).fit(X, y)
    K = kernel.by_definition(X, X)
    by_matrix = SVC(kernel="precomputed", **params).fit(K, y)
    np.testing.assert_allclose(
        fused.decision_function(X), by_matrix.decision_function(K), atol=1e-4
    )
    np.testing.assert_allclose(fused.predict_proba(X), by_matrix.predict_proba(K), atol=1e-3)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(
    "kernel", [POLY.normalised(), HistogramIntersection().normalised(), FUSED[7]], ids=repr
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_predictions_depend_on_neither_other_rows_nor_threads(kernel, sparse, dtype):
    X, y = samples(300, sparse=sparse, dtype=dtype)
    X = abs(X)
    model = SVC(kernel=kernel, n_jobs=1).fit(X, y)
    values = model.decision_function(X)
    one_by_one = [model.decision_function(X[i : i + 1]) for i in range(60)]
    assert np.concatenate(one_by_one).tobytes() == values[:60].tobytes()
    other = SVC(kernel=kernel, n_jobs=3).fit(X, y)
    assert other.decision_function(X).tobytes() == values.tobytes()


def test_a_function_sees_every_sample_once_and_cannot_change_it():
    X, y = samples(300)
    seen = []

    def weight(A):
        seen.append(len(A))
        with pytest.raises(ValueError, match="read-only"):
            A[0, 0] = 1.0
        return 1.0 + A[:, 0] ** 2

    model = SVC(kernel=RBF().weighted(weight) + Linear()).fit(X, y)
    assert seen == [300]
    model.decision_function(X)
    model.decision_function(X[:7])
    assert seen == [300, 300, 7]  # the support vectors' were known


def test_functions_that_fail_leave_the_model_as_it_was():
    X, y = samples(60)
    answer = [plus_one]
    model = SVC(kernel=RBF().weighted(lambda A: answer[0](A))).fit(X, y)
    values = model.decision_function(X)
    for wrong in (lambda A: [1.0], lambda A: np.full(len(A), np.nan)):
        answer[0] = wrong
        with pytest.raises(ValueError, match="must return 60 finite numbers"):
            model.fit(X, y)
        with pytest.raises(ValueError, match="must return 60 finite numbers"):
            model.decision_function(X)
    answer[0] = plus_one
    assert model.decision_function(X).tobytes() == values.tobytes()


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("kernel", [Linear(), Sigmoid(0.5, -0.5)], ids=repr)
def test_samples_without_a_positive_square_have_value_zero(kernel, sparse):
    """Zero rows; and under an indefinite kernel, all that have K(x, x) <= 0."""
    X, y = samples(300, sparse=sparse)
    unit = kernel.normalised()
    is_nothing = kernel.diagonal(X) <= 0.0
    assert is_nothing[-1]
    assert (unit(X, X)[is_nothing] == 0.0).all()
    model = SVC(kernel=unit, tol=1e-6).fit(X, y)
    values = model.decision_function(X)
    assert (values[is_nothing] == model.intercept_[0]).all()
    assert np.isfinite(values).all()


def test_values_beyond_float32_are_normalised_in_float64():
    X, y = samples(400)
    kernel = Polynomial(40, 10.0, 1.0).normalised()
    assert Polynomial(40, 10.0, 1.0).diagonal(X).max() > 1e60
    K = kernel.by_definition(X, X)
    expected = SVC(kernel="precomputed", tol=1e-6).fit(K, y).decision_function(K)
    values = SVC(kernel=kernel, tol=1e-6).fit(X, y).decision_function(X)
    np.testing.assert_allclose(values, expected, atol=1e-4)


@pytest.mark.parametrize("n", [60, 400])
def test_squares_beyond_float64_are_refused(n):
    X, y = samples(n)
    model = SVC(kernel=Polynomial(40).normalised()).fit(X, y)
    X[n // 2] *= 1e6
    for fails in (model.decision_function, lambda X: model.fit(X, y)):
        with pytest.raises(ValueError, match="overflows"):
            fails(X)


@pytest.mark.parametrize("name", ["SVC", "SVR", "OneClassSVM"])
def test_equal_samples_are_trained_as_one(name):
    make, params = ESTIMATORS[name]
    X, y = samples(40)
    X, y = np.tile(X, (8, 1)), np.tile(y, 8)
    kernel = POLY.normalised() + RBF(0.5).weighted(tilt)
    fused = make(kernel=kernel, tol=1e-7, **params).fit(X, y)
    K = kernel.by_definition(X, X)
    by_matrix = make(kernel="precomputed", tol=1e-7, **params).fit(K, y)
    np.testing.assert_allclose(values_of(fused, X), values_of(by_matrix, K), atol=1e-5)
    assert fused.certificate_.kernel_values < by_matrix.certificate_.kernel_values / 16


def test_the_kernel_perceptron_makes_the_mistakes_of_the_definition():
    X, y = samples(80)
    kernel = 0.5 * POLY.normalised() + RBF(0.5).weighted(tilt)
    model = KernelPerceptron(kernel=kernel, max_iter=20, tol=0.0).fit(X, y)
    K, alpha = kernel.by_definition(X, X) + 1.0, np.zeros(80)
    for _ in range(model.n_iter_):
        for i in range(80):
            alpha[i] += y[i] * (K[i] @ (alpha * y)) <= 0
    np.testing.assert_array_equal(model.alpha_, alpha)
    np.testing.assert_allclose(model.decision_function(X), K @ (alpha * y), rtol=1e-9)


def test_models_that_were_trained_on_a_matrix_still_predict():
    """Their pickles say that the kernel is a function."""
    X, y = samples(100)
    kernel = POLY.normalised()
    model = SVC(kernel=kernel).fit(X, y)
    values = model.decision_function(X)
    given, vectors = KernelParams("callable", function=kernel), model.support_vectors_
    numbers = np.arange(1.0, len(vectors) + 1.0)[:, np.newaxis]
    by_matrix = {"support_vectors": numbers, "kernel": given.to_core(vectors)}
    trained = model._model.changed(len(vectors), **by_matrix)
    model._model = dataclasses.replace(
        trained, kernel=given, vectors=vectors, n_features=X.shape[1]
    )
    old = pickle.loads(pickle.dumps(model))
    np.testing.assert_allclose(old.decision_function(X), values, atol=1e-9)


def test_model_files_do_not_know_them(tmp_path):
    X, y = samples(60)
    model = SVC(kernel=POLY.normalised()).fit(X, np.where(y > 0, 1, 0))
    with pytest.raises(ValueError, match="does not know kernels that are callables or composed"):
        io.save_model(model, tmp_path / "model")


def test_what_the_core_does_not_know_is_evaluated_before():
    X, y = samples(60)
    X = abs(X)
    too_many = sum(RBF(0.1 * k).weighted(plus_one) for k in range(1, 18)).normalised()
    for kernel in (too_many, (RBF(0.3) + ChiSquared(0.3)).normalised()):
        model = SVC(kernel=kernel, tol=1e-7).fit(X, y)
        assert model._model.kernel.type == "callable"
        by_matrix = SVC(kernel="precomputed", tol=1e-7).fit(kernel.by_definition(X, X), y)
        np.testing.assert_allclose(
            model.decision_function(X),
            by_matrix.decision_function(kernel.by_definition(X, X)),
            atol=1e-5,
        )
