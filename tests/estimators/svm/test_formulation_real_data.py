"""Real data: all five formulations agree with LIBSVM in objective and values."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
import scipy.sparse as sp
from libsvm import svm

from maxmargin import SVC, SVR, NuSVC, NuSVR, OneClassSVM

pytestmark = pytest.mark.slow

TOL = 1e-6
# LIBSVM's tolerance is for the problem before a nu-SVC is divided by its margin.
ORACLE_TOL = 1e-8

# name: (rows, scaled by column, stored sparse)
SETS = {
    "heart_scale": (270, False, False),
    "a1a": (1605, False, True),
    "diabetes": (768, True, False),
    "ionosphere": (351, False, False),
    "svmguide1": (1500, True, False),
    "housing": (506, True, False),
    "mpg": (392, True, False),
    "abalone": (1500, False, False),
    "cpusmall": (600, False, True),
}
SVC_CLASSES = ("heart_scale", "a1a", "diabetes", "ionosphere")
CLASSES = ("heart_scale", "a1a", "diabetes", "svmguide1")
TARGETS = ("housing", "mpg", "abalone", "cpusmall")
N_BINS = 8


def in_bins(X):
    """Every column as indicators of its quantile bins, of which a row has one each."""
    edges = np.quantile(X, np.linspace(0, 1, N_BINS + 1)[1:-1], axis=0)
    bins = np.stack([np.searchsorted(edges[:, j], X[:, j]) for j in range(X.shape[1])], axis=1)
    return np.eye(N_BINS)[bins].reshape(len(X), -1)


def load(shared_data, name):
    n, is_scaled, is_sparse = SETS[name]
    data = shared_data(name)
    rows = np.linspace(0, len(data.y) - 1, n).astype(int)  # sets may be sorted by class
    X = data.X[rows].astype(float)
    if name == "cpusmall":  # no regression set is sparse as it is
        X = in_bins(X)
    if is_scaled:
        X = (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)
    y = data.y[rows].astype(float)
    return (sp.csr_matrix(X) if is_sparse else X), (y - y.mean()) / y.std()


def libsvm_fit(X, y, flags):
    """LIBSVM's coefficients over all rows, its offset, and its values on the rows."""
    problem = svm.svm_problem(y, sp.csr_matrix(X))
    pointer = svm.libsvm.svm_train(problem, svm.svm_parameter(f"{flags} -e {ORACLE_TOL} -q -m 500"))
    model = svm.toPyModel(pointer)
    beta = np.zeros(X.shape[0])
    support = np.ctypeslib.as_array(model.sv_indices, (model.l,)) - 1
    beta[support] = np.ctypeslib.as_array(model.sv_coef[0], (model.l,))
    buffer = (ctypes.c_double * 1)()
    values = []
    for i in range(problem.l):
        svm.libsvm.svm_predict_values(pointer, problem.x[i], buffer)
        values.append(buffer[0])
    first = model.get_labels()[0] if model.get_svm_type() in (0, 1) else 1
    return beta, np.array(values), first


def gram(X, gamma):
    D = X.toarray() if sp.issparse(X) else X
    norms = (D * D).sum(axis=1)
    return np.exp(-gamma * np.maximum(norms[:, None] + norms - 2 * D @ D.T, 0.0))


def agree(model, X, y, found, flags, objective):
    gamma = model.gamma
    K = gram(X, gamma)
    beta, values, first = libsvm_fit(X, y, f"{flags} -t 2 -g {gamma!r}")
    if first < 0:
        beta, values = -beta, -values
    ours = np.zeros(len(y))
    ours[model.support_] = model.dual_coef_[0]
    # The same problem by the same float64 kernel matrix.
    assert objective(K, ours) == pytest.approx(objective(K, beta), rel=1e-6)
    assert model.certificate_.dual_objective == pytest.approx(objective(K, ours), rel=1e-6)
    np.testing.assert_allclose(found, values, atol=1e-4 * np.abs(values).max())


def quadratic(K, beta):
    return 0.5 * beta @ K @ beta


@pytest.mark.parametrize("name", SVC_CLASSES)
def test_c_svc(shared_data, name):
    X, y = load(shared_data, name)
    y = np.sign(y)
    model = SVC(C=2.0, gamma=0.1, tol=TOL).fit(X, y)

    def objective(K, beta):
        return quadratic(K, beta) - np.abs(beta).sum()

    agree(model, X, y, model.decision_function(X), "-s 0 -c 2", objective)


@pytest.mark.parametrize("name", CLASSES)
def test_nu_svc(shared_data, name):
    X, y = load(shared_data, name)
    y = np.sign(y)
    light = min((y > 0).mean(), (y < 0).mean())
    # A class whose alphas may all be at their bounds, of a whole number of samples, leaves the
    # margin an interval, of which LIBSVM takes another point.
    nu = float(0.87 * 2 * light)
    assert nu * len(y) / 2 % 1 > 0.01
    model = NuSVC(nu=nu, gamma=0.1, tol=TOL).fit(X, y)
    agree(model, X, y, model.decision_function(X), f"-s 1 -n {nu!r}", quadratic)


@pytest.mark.parametrize("name", CLASSES)
def test_one_class(shared_data, name):
    X, y = load(shared_data, name)
    model = OneClassSVM(nu=0.2, gamma=0.1, tol=TOL).fit(X)
    agree(model, X, y, model.decision_function(X), "-s 2 -n 0.2", quadratic)


@pytest.mark.parametrize("name", TARGETS)
def test_svr(shared_data, name):
    X, z = load(shared_data, name)
    model = SVR(C=2.0, epsilon=0.1, gamma=0.1, tol=TOL).fit(X, z)

    def objective(K, beta):
        return quadratic(K, beta) - z @ beta + 0.1 * np.abs(beta).sum()

    agree(model, X, z, model.predict(X), "-s 3 -c 2 -p 0.1", objective)


@pytest.mark.parametrize("name", TARGETS)
def test_nu_svr(shared_data, name):
    X, z = load(shared_data, name)
    model = NuSVR(C=2.0, nu=0.4, gamma=0.1, tol=TOL).fit(X, z)

    def objective(K, beta):
        return quadratic(K, beta) - z @ beta

    agree(model, X, z, model.predict(X), "-s 4 -c 2 -n 0.4", objective)
