"""NuSVC, SVR, NuSVR and OneClassSVM: optimality from its definition, and LIBSVM's results."""

from __future__ import annotations

import ctypes
import tempfile
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from libsvm import svm

from maxmargin import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from oracles.libsvm_models import sparse_samples, svmutil
from oracles.problems import rng, two_classes
from oracles.svm import beta_of, kernel

GAMMA = 0.3


def regression_data(n=120, d=4, seed=0):
    r = rng(seed)
    X = r.normal(size=(n, d))
    return X, np.sin(X[:, 0]) + 0.5 * X[:, 1] ** 2 + 0.2 * r.normal(size=n)


def libsvm_fit(X, y, options):
    """LIBSVM's model, through a file: what svm_train returns needs the samples to stay alive."""
    model = svmutil.svm_train(list(y), sparse_samples(X), f"-q -m 500 {options}")
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder, "model"))
        svmutil.svm_save_model(path, model)
        return svmutil.svm_load_model(path)


def libsvm_predict(model, X):
    """LIBSVM's labels (or predictions) and decision values.

    Its own svm_predict gives the values of a nu-SVC of several classes too little room.
    """
    n_values = model.nr_class * (model.nr_class - 1) // 2
    buffer, labels, values = (ctypes.c_double * n_values)(), [], []
    for row in sparse_samples(X):
        nodes, _ = svm.gen_svm_nodearray(row)
        labels.append(svm.libsvm.svm_predict_values(model, nodes, buffer))
        values.append(list(buffer))
    return np.array(labels), np.array(values)


# -- optimality, from the definitions --------------------------------------------------------------


def svr_violation(K, z, beta, b, C, epsilon):
    """How far the KKT conditions of epsilon-SVR are from holding at every sample."""
    residual = z - (K @ beta + b)
    inside = np.maximum(np.abs(residual) - epsilon, 0.0)  # beta = 0: |residual| <= epsilon
    above = np.where(beta < C, residual - epsilon, -np.inf)  # 0 < beta: residual >= epsilon
    worst = np.where(beta == 0.0, inside, 0.0)
    free = (beta != 0.0) & (np.abs(beta) < C)
    on_edge = np.abs(residual - np.sign(beta) * epsilon)
    worst = np.where(free, on_edge, worst)
    at_bound = np.maximum(epsilon - np.sign(beta) * residual, 0.0)
    worst = np.where(np.abs(beta) == C, at_bound, worst)
    assert np.isfinite(above[np.abs(beta) < C]).all()
    return worst.max()


@pytest.mark.parametrize("precision", ["auto", "float32"])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(
    ("n", "C", "epsilon"),
    [(60, 1.0, 0.1), (700, 5.0, 0.2),
     pytest.param(3000, 1.0, 0.05, marks=pytest.mark.no_sanitizer)],
)  # fmt: skip
def test_svr_satisfies_its_kkt_conditions(n, C, epsilon, sparse, precision, monkeypatch):
    from maxmargin import _core

    options = _core.TrainingOptions
    monkeypatch.setattr(
        _core, "TrainingOptions", lambda **given: options(precision=precision, **given)
    )
    X, z = regression_data(n)
    if sparse:
        X = np.where(np.abs(X) > 0.7, X, 0.0)
    model = SVR(gamma=GAMMA, C=C, epsilon=epsilon, tol=1e-4).fit(
        sp.csr_matrix(X) if sparse else X, z
    )
    K = kernel(X, X, gamma=GAMMA)
    beta, b = beta_of(model, n), model.intercept_[0]
    assert np.abs(beta).max() <= C
    assert abs(beta.sum()) < 1e-9 * C * n
    assert svr_violation(K, z, beta, b, C, epsilon) < 1.01e-4
    dual = 0.5 * beta @ K @ beta - z @ beta + epsilon * np.abs(beta).sum()
    losses = np.maximum(np.abs(z - K @ beta - b) - epsilon, 0.0).sum()
    certificate = model.certificate_
    assert certificate.converged
    assert certificate.dual_objective == pytest.approx(dual, rel=1e-6)
    assert certificate.primal_objective == pytest.approx(
        0.5 * beta @ K @ beta + C * losses, rel=1e-6
    )
    assert 0 <= certificate.duality_gap < 1e-4 * np.abs(beta).sum() + 1e-6 * abs(dual)
    np.testing.assert_allclose(model.predict(X), K @ beta + b, atol=1e-9)


@pytest.mark.parametrize(("n", "nu"), [(60, 0.5), (400, 0.2), (2500, 0.4)])
def test_nu_svc_is_the_svc_of_its_counterpart(n, nu):
    X, y = two_classes(n)
    model = NuSVC(gamma=GAMMA, nu=nu, tol=1e-7).fit(X, y)
    same = SVC(gamma=GAMMA, C=model.C_[0], tol=1e-7).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), same.decision_function(X), atol=1e-4)
    alpha = np.abs(model.dual_coef_[0]) / model.C_[0]
    assert alpha.max() <= 1 + 1e-12
    assert alpha.sum() == pytest.approx(nu * n, rel=1e-9)
    assert abs(model.dual_coef_[0].sum()) < 1e-6 * model.C_[0]
    margins = np.where(y == 1, 1, -1) * model.decision_function(X)
    assert (margins < 1 - 1e-5).mean() <= nu <= len(model.support_) / n
    certificate = model.certificate_
    assert certificate.duality_gap < 1e-4 * abs(certificate.dual_objective)


@pytest.mark.parametrize(("n", "nu"), [(60, 0.5), (400, 0.2), (2500, 0.4)])
def test_nu_svr_is_the_svr_of_its_counterpart(n, nu):
    X, z = regression_data(n)
    model = NuSVR(gamma=GAMMA, nu=nu, C=2.0, tol=1e-7).fit(X, z)
    same = SVR(gamma=GAMMA, epsilon=model.epsilon_, C=2.0, tol=1e-7).fit(X, z)
    np.testing.assert_allclose(model.predict(X), same.predict(X), atol=1e-4)
    outside = np.abs(z - model.predict(X)) > model.epsilon_ + 1e-5
    assert outside.mean() <= nu <= len(model.support_) / n
    assert np.abs(model.dual_coef_).max() <= 2.0
    certificate = model.certificate_
    assert abs(certificate.duality_gap) < 1e-4 * abs(certificate.dual_objective)


@pytest.mark.parametrize(("n", "nu"), [(60, 0.5), (400, 0.05), (2500, 0.3)])
def test_one_class_satisfies_its_kkt_conditions(n, nu):
    X, _ = regression_data(n)
    model = OneClassSVM(gamma=GAMMA, nu=nu, tol=1e-5).fit(X)
    K = kernel(X, X, gamma=GAMMA)
    alpha = beta_of(model, n)
    assert alpha.min() >= 0
    assert alpha.max() <= 1
    assert alpha.sum() == pytest.approx(nu * n, rel=1e-9)
    values = K @ alpha - model.offset_
    assert values[alpha == 0].min() >= -1.01e-5
    assert values[alpha == 1].max(initial=-1) <= 1.01e-5
    assert np.abs(values[(alpha > 0) & (alpha < 1)]).max() <= 1.01e-5
    np.testing.assert_allclose(model.decision_function(X), values, atol=1e-9)
    np.testing.assert_allclose(model.score_samples(X), K @ alpha, atol=1e-9)
    assert model.certificate_.dual_objective == pytest.approx(0.5 * alpha @ K @ alpha, rel=1e-6)
    assert abs(model.certificate_.duality_gap) < 1e-4 * nu * n


# -- LIBSVM's results ------------------------------------------------------------------------------


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("kernel_name", ["linear", "rbf", "poly", "sigmoid"])
@pytest.mark.parametrize("formulation", ["nu_svc", "one_class", "svr", "nu_svr"])
def test_values_are_those_of_libsvm(formulation, kernel_name, sparse):
    X, z = regression_data(150)
    X = np.where(np.abs(X) > 0.4, X, 0.0)
    y = np.where(z > np.median(z), 1, -1)
    if y[0] != 1:
        y = -y  # LIBSVM's first label is its positive one
    numbers = {"linear": 0, "poly": 1, "rbf": 2, "sigmoid": 3}
    params = {"kernel": kernel_name, "gamma": 0.1, "coef0": 0.5, "degree": 2, "tol": 1e-6}
    shared = f"-t {numbers[kernel_name]} -g 0.1 -r 0.5 -d 2 -e 1e-5"
    if formulation == "one_class":
        X = X + 2.0  # off the origin, which a linear kernel parts the samples from
    data = sp.csr_matrix(X) if sparse else X
    if formulation == "nu_svc":
        found = NuSVC(nu=0.8, **params).fit(data, y).decision_function(data)
        known = libsvm_fit(X, y, f"-s 1 -n 0.8 {shared}")
    elif formulation == "one_class":
        found = OneClassSVM(nu=0.4, **params).fit(data).decision_function(data)
        known = libsvm_fit(X, y, f"-s 2 -n 0.4 {shared}")
    elif formulation == "svr":
        found = SVR(C=0.5, epsilon=0.2, **params).fit(data, z).predict(data)
        known = libsvm_fit(X, z, f"-s 3 -c 0.5 -p 0.2 {shared}")
    else:
        found = NuSVR(C=0.5, nu=0.4, **params).fit(data, z).predict(data)
        known = libsvm_fit(X, z, f"-s 4 -c 0.5 -n 0.4 {shared}")
    values = libsvm_predict(known, X)[1][:, 0]
    if kernel_name == "sigmoid":
        return  # not positive semidefinite: any KKT point will do
    np.testing.assert_allclose(found, values, atol=1e-3 * np.abs(values).max())


def test_nu_svc_of_several_classes_is_that_of_libsvm():
    r = rng(3)
    y = np.repeat([0, 1, 2, 3], 40)
    X = r.normal(size=(160, 3)) + 0.8 * y[:, None]
    model = NuSVC(nu=0.3, gamma=0.3, tol=1e-7, decision_function_shape="ovo").fit(X, y)
    known = libsvm_fit(X, y, "-s 1 -n 0.3 -g 0.3 -e 1e-7")
    labels, values = libsvm_predict(known, X)
    np.testing.assert_allclose(model.decision_function(X), values, atol=1e-3)
    assert (model.predict(X) == labels).all()


# -- weights ---------------------------------------------------------------------------------------

WEIGHTED = {
    "nu_svc": lambda: NuSVC(gamma=0.5, nu=0.3, tol=1e-8),
    "svr": lambda: SVR(gamma=0.5, C=1.0, tol=1e-8),
    "nu_svr": lambda: NuSVR(gamma=0.5, nu=0.3, tol=1e-8),
    "one_class": lambda: OneClassSVM(gamma=0.5, nu=0.3, tol=1e-8),
}


def values_of(model, X):
    return model.predict(X) if isinstance(model, (SVR, NuSVR)) else model.decision_function(X)


@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("name", WEIGHTED)
def test_weight_0_is_a_row_less_and_weight_2_is_the_row_twice(name, container):
    X, z = regression_data(40)
    target = np.where(z > np.median(z), 1, -1) if name == "nu_svc" else z
    weight = rng(1).integers(0, 3, 40).astype(float)
    rows = np.repeat(np.arange(40), weight.astype(int))
    model = WEIGHTED[name]().fit(container(X), target, sample_weight=weight)
    repeated = WEIGHTED[name]().fit(container(X[rows]), target[rows])
    np.testing.assert_allclose(values_of(model, X), values_of(repeated, X), atol=1e-6)
    assert (weight[model.support_] > 0).all()
    vectors = model.support_vectors_
    vectors = vectors.toarray() if sp.issparse(vectors) else vectors
    np.testing.assert_array_equal(vectors, X[model.support_])


def test_class_weights_of_nu_svc_are_sample_weights():
    X, y = two_classes(60)
    factors = np.where(y == 1, 0.5, 2.0)
    one = NuSVC(nu=0.2, gamma=0.5, tol=1e-8, class_weight={1: 0.5, -1: 2.0}).fit(X, y)
    two = NuSVC(nu=0.2, gamma=0.5, tol=1e-8).fit(X, y, sample_weight=factors)
    np.testing.assert_array_equal(one.decision_function(X), two.decision_function(X))


@pytest.mark.parametrize("name", WEIGHTED)
def test_threads_change_no_bit_and_pickles_predict_the_same(name):
    import pickle

    X, z = regression_data(3000)
    target = np.where(z > np.median(z), 1, -1) if name == "nu_svc" else z
    make = WEIGHTED[name]
    one = make().set_params(n_jobs=1, tol=1e-3).fit(X, target)
    two = make().set_params(n_jobs=2, tol=1e-3, cache_size=0.01).fit(X, target)
    assert one.dual_coef_.tobytes() == two.dual_coef_.tobytes()
    assert one.intercept_.tobytes() == two.intercept_.tobytes()
    again = pickle.loads(pickle.dumps(one))
    assert values_of(again, X).tobytes() == values_of(one, X).tobytes()


@pytest.mark.parametrize("shrinking", [False, True])
@pytest.mark.parametrize("name", WEIGHTED)
def test_shrinking_changes_nothing_but_time(name, shrinking):
    X, z = regression_data(4000, d=3)
    target = np.where(z > np.median(z), 1, -1) if name == "nu_svc" else z
    model = WEIGHTED[name]().set_params(tol=1e-5, shrinking=shrinking).fit(X, target)
    assert model.certificate_.converged
    assert model.certificate_.kkt_violation < 1e-5
    gap = abs(model.certificate_.duality_gap)
    assert gap < 1e-5 * max(
        1.0, np.abs(model.dual_coef_).sum(), abs(model.certificate_.dual_objective)
    )
