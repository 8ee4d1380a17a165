"""Kernels: objects and their rules, given matrices and functions, and feature maps."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

from maxmargin import SVC, SVR, KernelPerceptron, NuSVC, NuSVR, OneClassSVM, kernels
from maxmargin.kernels import (
    RBF,
    ChiSquared,
    Constant,
    HistogramIntersection,
    Laplacian,
    Linear,
    Polynomial,
    PowerSum,
    Sigmoid,
    feature_map,
)
from oracles.problems import rng, two_classes
from oracles.svm import kernel as kernel_matrix


def plus_one(X):
    return np.asarray(X.sum(axis=1)).ravel() ** 2 + 1.0


def rbf_function(A, B):
    return RBF(0.3)(A, B)


LEAVES = {
    "linear": (Linear(), lambda x, z: x @ z),
    "poly": (Polynomial(2, 0.5, 1.0), lambda x, z: (0.5 * x @ z + 1) ** 2),
    "sigmoid": (Sigmoid(0.1, -0.5), lambda x, z: np.tanh(0.1 * x @ z - 0.5)),
    "rbf": (RBF(0.3), lambda x, z: np.exp(-0.3 * ((x - z) ** 2).sum())),
    "power_sum": (PowerSum(3), lambda x, z: x @ z + (x @ z) ** 2 + (x @ z) ** 3),
    "laplacian": (Laplacian(0.3), lambda x, z: np.exp(-0.3 * np.abs(x - z).sum())),
    "chi_squared": (
        ChiSquared(0.3),
        lambda x, z: np.exp(
            -0.3 * sum((a - b) ** 2 / (a + b) for a, b in zip(x, z, strict=True) if a + b > 0)
        ),
    ),
    "intersection": (HistogramIntersection(), lambda x, z: np.minimum(x, z).sum()),
    "constant": (Constant(0.5), lambda x, z: 0.5),
}


def by_definition(function, A, B):
    return np.array([[function(a, b) for b in B] for a in A])


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("name", LEAVES)
def test_values_are_those_of_the_definition(name, sparse):
    kernel, function = LEAVES[name]
    A, B = rng(0).random((7, 4)), rng(1).random((5, 4))
    A[2] = 0
    B[1, 2] = A[0, 1] = 0
    wrap = sp.csr_matrix if sparse else np.asarray
    expected = by_definition(function, A, B)
    np.testing.assert_allclose(kernel(wrap(A), wrap(B)), expected, rtol=1e-12, atol=1e-14)
    squares = np.diag(by_definition(function, A, A))
    np.testing.assert_allclose(kernel.diagonal(wrap(A)), squares, rtol=1e-12, atol=1e-14)


def test_rules_of_composition():
    A, B = rng(0).random((6, 3)), rng(1).random((4, 3))
    rbf, poly, linear = RBF(0.5), Polynomial(2, coef0=1.0), Linear()
    K = {k: k.by_definition(A, B) for k in (rbf, poly, linear)}
    cases = {
        rbf + poly: K[rbf] + K[poly],
        rbf + 0.5 * poly + 2: K[rbf] + 0.5 * K[poly] + 2,
        1 + rbf: K[rbf] + 1,
        rbf * poly * linear: K[rbf] * K[poly] * K[linear],
        rbf * 3: 3 * K[rbf],
        (rbf + linear) * poly: (K[rbf] + K[linear]) * K[poly],
        poly.weighted(plus_one): plus_one(A)[:, None] * K[poly] * plus_one(B),
        poly.normalised(): K[poly] / np.sqrt(np.outer(poly.diagonal(A), poly.diagonal(B))),
    }
    for kernel, expected in cases.items():
        np.testing.assert_allclose(kernel(A, B), expected, rtol=1e-12)
        np.testing.assert_allclose(kernel.diagonal(A), np.diag(kernel(A, A)), rtol=1e-12)
        again = pickle.loads(pickle.dumps(kernel))
        assert again == kernel
        assert hash(again) == hash(kernel)
        assert again != rbf
        eigenvalues = np.linalg.eigvalsh(kernel(A, A))
        assert eigenvalues.min() > -1e-9 * eigenvalues.max()


def test_representation_reads_as_it_was_written():
    names = {name: getattr(kernels, name) for name in kernels.__all__}
    for text in (
        "RBF(gamma=2.0) + 0.5 * Polynomial(degree=2, gamma=1.0, coef0=1.0)",
        "(0.5 * (Linear() + RBF(gamma=1.0))) * Sigmoid(gamma=1.0, coef0=0.0)",
        "(Linear() + 1.0) * PowerSum(degree=2)",
        "(Linear() * Laplacian(gamma=1.0)).normalised() + 2.0",
        "2.0 * (3.0 * HistogramIntersection())",
    ):
        assert repr(eval(text, names)) == text
    assert "weighted(plus_one)" in repr(RBF().weighted(plus_one))


@pytest.mark.parametrize(
    "make",
    [
        lambda: RBF(gamma=0), lambda: RBF(gamma=np.nan), lambda: Polynomial(degree=-1),
        lambda: Polynomial(degree=1.5), lambda: PowerSum(0), lambda: Constant(-1),
        lambda: -1 * RBF(), lambda: RBF() * np.inf, lambda: RBF().weighted(3),
        lambda: HistogramIntersection()([[-1.0]], [[1.0]]), lambda: ChiSquared()([[-1.0]], [[1.0]]),
        lambda: RBF()([[1.0]], [[1.0, 2.0]]), lambda: RBF()([[np.nan]], [[1.0]]),
        lambda: RBF().weighted(lambda X: [1.0])([[1.0], [2.0]], [[1.0]]),
        lambda: feature_map(Polynomial(2, coef0=-1.0), [[1.0]]),
        lambda: feature_map(Polynomial(9), np.ones((2, 60))),
    ],
)  # fmt: skip
def test_bad_numbers_are_refused(make):
    with pytest.raises(ValueError, match=r"must|needs|finite|numbers|monomials|NaN"):
        make()


def test_sums_with_other_things_are_type_errors():
    for wrong in ("a", None, [1]):
        with pytest.raises(TypeError):
            RBF() + wrong
        with pytest.raises(TypeError):
            wrong * RBF()
    with pytest.raises(TypeError, match="kernel must be"):
        feature_map(RBF(), [[1.0]])


# -- estimators ------------------------------------------------------------------------------------

ESTIMATORS = {
    "SVC": (SVC, {"C": 2.0}),
    "NuSVC": (NuSVC, {"nu": 0.7}),
    "SVR": (SVR, {"C": 2.0}),
    "NuSVR": (NuSVR, {"nu": 0.3}),
    "OneClassSVM": (OneClassSVM, {"nu": 0.3}),
}


def values_of(model, X):
    return (
        model.predict(X)
        if hasattr(model, "epsilon") or isinstance(model, NuSVR)
        else (model.decision_function(X))
    )


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_plain_kernel_object_is_the_kernel_of_that_name(name):
    make, params = ESTIMATORS[name]
    X, y = two_classes(60)
    named = make(kernel="poly", degree=2, gamma=0.3, coef0=1.0, **params).fit(X, y)
    as_object = make(kernel=Polynomial(2, 0.3, 1.0), **params).fit(X, y)
    assert values_of(named, X).tobytes() == values_of(as_object, X).tobytes()


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_functions_and_matrices_give_the_model_of_the_named_kernel(name, sparse):
    make, params = ESTIMATORS[name]
    X, y = two_classes(80)
    X_test = two_classes(30, seed=5)[0]
    K, K_test = kernel_matrix(X, X, gamma=0.3), kernel_matrix(X_test, X, gamma=0.3)
    params = {**params, "tol": 1e-8}
    expected = values_of(make(gamma=0.3, **params).fit(X, y), X_test)
    given = make(kernel="precomputed", **params).fit(K, y)
    scale = np.abs(expected).max()
    np.testing.assert_allclose(values_of(given, K_test), expected, atol=1e-6 * scale)
    np.testing.assert_allclose(
        values_of(given, K_test[:, given.support_]), values_of(given, K_test), atol=1e-12 * scale
    )
    for form in (np.asfortranarray(K), K.astype(np.float32), K[::-1][::-1]):
        other = make(kernel="precomputed", **params).fit(form, y)
        np.testing.assert_allclose(values_of(other, K_test), expected, atol=1e-4 * scale)
    wrap = sp.csr_matrix if sparse else np.asarray
    composed = make(kernel=0.5 * RBF(0.3) + RBF(0.3) * 0.5, **params).fit(wrap(X), y)
    np.testing.assert_allclose(values_of(composed, wrap(X_test)), expected, atol=1e-6 * scale)
    function = make(kernel=rbf_function, **params).fit(wrap(X), y)
    np.testing.assert_allclose(values_of(function, wrap(X_test)), expected, atol=1e-6 * scale)
    again = pickle.loads(pickle.dumps(function))
    assert values_of(again, wrap(X_test)).tobytes() == values_of(function, wrap(X_test)).tobytes()


COMPOSED = [
    RBF(0.5) + 0.1 * Polynomial(2, 0.5, 1.0),
    RBF(0.5) * Polynomial(2, 0.5, 1.0) + 2.0,
    0.5 * (RBF(0.5) + PowerSum(3)) * (Linear() + 1.0),
    PowerSum(2),
    RBF(0.2) + (RBF(0.5) + (RBF(1.0) + (RBF(2.0) + Linear() * Linear()))),
    RBF(0.5) + Constant(0.0),
]


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("kernel", COMPOSED, ids=repr)
def test_the_core_evaluates_composed_kernels(kernel, sparse):
    X, y = two_classes(400)
    X = np.where(np.abs(X) > 0.5, X, 0.0) if sparse else X
    wrap = sp.csr_matrix if sparse else np.asarray
    params = {"C": 0.5, "tol": 1e-7}
    in_core = SVC(kernel=kernel, **params).fit(wrap(X), y)
    assert in_core._model.kernel.type == "composed"
    by_matrix = SVC(kernel="precomputed", **params).fit(kernel.by_definition(X, X), y)
    np.testing.assert_allclose(
        in_core.decision_function(wrap(X)),
        by_matrix.decision_function(kernel.by_definition(X, X)),
        atol=1e-4,
    )
    again = pickle.loads(pickle.dumps(in_core))
    assert repr(again) == repr(in_core)
    values = in_core.decision_function(wrap(X))
    assert again.decision_function(wrap(X)).tobytes() == values.tobytes()


def test_large_compositions_are_evaluated_before():
    X, y = two_classes(60)
    kernel = sum(RBF(0.1 * k) for k in range(1, 17)) * RBF(0.1)
    model = SVC(kernel=kernel, tol=1e-7).fit(X, y)
    assert model._model.kernel.type == "callable"
    by_matrix = SVC(kernel="precomputed", tol=1e-7).fit(kernel.by_definition(X, X), y)
    np.testing.assert_allclose(
        model.decision_function(X),
        by_matrix.decision_function(kernel.by_definition(X, X)),
        atol=1e-5,
    )


def test_several_classes_with_a_given_kernel():
    r = rng(0)
    y = r.integers(0, 4, 400)
    X = r.normal(size=(400, 3)) + y[:, None]
    K = kernel_matrix(X, X, gamma=0.5)
    named = SVC(gamma=0.5, tol=1e-7, decision_function_shape="ovo").fit(X, y)
    given = SVC(kernel="precomputed", tol=1e-7, decision_function_shape="ovo").fit(K, y)
    np.testing.assert_allclose(given.decision_function(K), named.decision_function(X), atol=1e-5)


@pytest.mark.parametrize("make", [SVC, SVR, OneClassSVM])
def test_given_matrices_are_cut_for_cross_validation(make):
    X, y = two_classes(60)
    K = kernel_matrix(X, X, gamma=0.3)
    assert make(kernel="precomputed").__sklearn_tags__().input_tags.pairwise
    assert not make().__sklearn_tags__().input_tags.pairwise
    if make is not OneClassSVM:
        given = cross_val_score(make(kernel="precomputed", tol=1e-6), K, y)
        named = cross_val_score(make(gamma=0.3, tol=1e-6), X, y)
        np.testing.assert_allclose(given, named, atol=1e-3)


def test_kernel_objects_are_immutable_and_sum_up():
    kernel = RBF(2.0)
    with pytest.raises(AttributeError, match="immutable"):
        kernel.gamma = 3.0
    assert sum([kernel, Linear()]) == kernel + Linear()
    X, y = two_classes(20)
    with pytest.raises(ValueError, match=r"pass an instance, RBF\(\.\.\.\)"):
        SVC(kernel=RBF).fit(X, y)


def test_the_certificate_of_a_composed_kernel_is_true():
    X, y = two_classes(300)
    kernel = RBF(0.5) + 0.1 * Polynomial(2) * Linear().weighted(plus_one)
    model = SVC(kernel=kernel, C=3.0).fit(X, y)
    beta = np.zeros(300)
    beta[model.support_] = model.dual_coef_[0]
    K = kernel.by_definition(X, X)
    assert model.certificate_.dual_objective == pytest.approx(
        0.5 * beta @ K @ beta - np.abs(beta).sum(), rel=1e-6
    )
    assert model.certificate_.converged


def test_given_kernels_of_wrong_form_are_refused():
    X = rng(0).normal(size=(30, 2))
    y = np.r_[np.ones(18), -np.ones(12)]
    K = X @ X.T
    with pytest.raises(ValueError, match=r"\(30, 30\), got \(30, 20\)"):
        SVC(kernel="precomputed").fit(K[:, :20], y)
    model = SVC(kernel="precomputed").fit(K, y)
    with pytest.raises(ValueError, match=r"29 features.*expecting 30 .* all samples"):
        model.predict(K[:5, :29])
    assert model.support_vectors_.size == 0
    with pytest.raises(ValueError, match="dense"):
        SVC(kernel="precomputed").fit(sp.csr_matrix(K), y)
    with pytest.raises(ValueError, match="dense"):
        model.predict(sp.csr_matrix(K))
    bad = K.copy()
    bad[0, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        SVC(kernel="precomputed").fit(bad, y)
    bad[0, 1] = K[0, 1] + 0.5
    with pytest.raises(ValueError, match=r"not symmetric.* samples 0 and 1 differ by 0\.5"):
        SVC(kernel="precomputed").fit(bad, y)


@pytest.mark.parametrize("make", [SVC, NuSVC, SVR, NuSVR, OneClassSVM, KernelPerceptron])
@pytest.mark.parametrize("kernel", [RBF(), 2.0 * Linear() + 1.0, RBF(0.5).normalised()])
def test_numbers_beside_a_kernel_object_are_refused(make, kernel):
    X, y = two_classes()
    if make is KernelPerceptron:
        kernel = RBF(2.0)  # it takes plain kernels only
    make(kernel=kernel, gamma="scale", coef0=0, degree=3).fit(X, y)
    for name, value in {"gamma": 3.0, "coef0": 1.0, "degree": 2}.items():
        with pytest.raises(ValueError, match=rf"^{name} must be .* got {value}$") as caught:
            clone(make(kernel=kernel, **{name: value})).fit(X, y)
        assert f"with kernel={kernel!r}, " in str(caught.value)


def test_numbers_beside_a_kernel_function_or_matrix_have_no_effect():
    X, y = two_classes()
    K = kernel_matrix(X, X, gamma=0.3)
    numbers = {"gamma": 3.0, "coef0": 1.0, "degree": 2}
    for kernel, samples in ((rbf_function, X), ("precomputed", K)):
        with_numbers = SVC(kernel=kernel, **numbers).fit(samples, y)
        without = SVC(kernel=kernel).fit(samples, y)
        np.testing.assert_array_equal(with_numbers.dual_coef_, without.dual_coef_)


def test_the_kernel_perceptron_takes_plain_kernel_objects():
    X, y = two_classes(40)
    named = KernelPerceptron(kernel="rbf", gamma=2.0, max_iter=5, tol=None).fit(X, y)
    as_object = KernelPerceptron(kernel=RBF(2.0), max_iter=5, tol=None).fit(X, y)
    np.testing.assert_array_equal(named.decision_function(X), as_object.decision_function(X))


# -- feature maps ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kernel",
    [Linear(), Polynomial(2, 0.5, 1.5), Polynomial(3, 2.0, 0.0), Polynomial(0), PowerSum(3)],
)
@pytest.mark.parametrize("d", [1, 2, 5])
def test_kernel_values_are_products_of_features(kernel, d):
    A, B = rng(0).normal(size=(6, d)), rng(1).normal(size=(4, d))
    products = feature_map(kernel, A) @ feature_map(kernel, sp.csr_matrix(B)).T
    np.testing.assert_allclose(products, kernel(A, B), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("kernel", [Polynomial(2, 0.5, 1.0), PowerSum(2)])
def test_a_linear_model_on_the_features_is_the_kernel_model(kernel):
    X, y = two_classes(80)
    on_features = SVC(kernel="linear", C=0.5, tol=1e-7).fit(feature_map(kernel, X), y)
    with_kernel = SVC(kernel=kernel, C=0.5, tol=1e-7).fit(X, y)
    np.testing.assert_allclose(
        on_features.decision_function(feature_map(kernel, X)),
        with_kernel.decision_function(X),
        atol=1e-4,
    )


@pytest.mark.parametrize("seed", range(3))
def test_distinct_points_are_separable_under_rbf(seed):
    r = rng(seed)
    X, y = r.normal(size=(60, 2)), np.arange(60) % 2
    model = SVC(kernel=RBF(50.0), C=np.inf).fit(X, r.permutation(y))
    assert model.score(X, model.classes_[(model.decision_function(X) > 0).astype(int)]) == 1.0
