"""Real data: known results, LIBSVM's predictions, and one model whatever the form of the data."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from libsvm import svmutil

from maxmargin import SVC, diagnostics

pytestmark = pytest.mark.slow

A9A = {"gamma": 1 / 123, "tol": 1e-3}


def libsvm_predictions(X, y, X_test, *, kernel, C, gamma):
    """Train LIBSVM's C-SVC to its own tolerance of 1e-3 and return its labels for X_test."""
    numbers = {"linear": 0, "poly": 1, "rbf": 2, "sigmoid": 3}
    X, X_test = sp.csr_matrix(X, dtype=np.float64), sp.csr_matrix(X_test, dtype=np.float64)
    problem = svmutil.svm_problem(np.asarray(y, dtype=np.float64), X)
    options = f"-q -s 0 -t {numbers[kernel]} -c {C:.17g} -g {gamma:.17g} -e 0.001 -m 1000"
    model = svmutil.svm_train(problem, svmutil.svm_parameter(options))
    labels, _, _ = svmutil.svm_predict([], X_test, model, "-q")
    return np.array(labels)


def to_unit_range(X, *others):
    """Scale every column to [0, 1] by its range in X."""
    X = X.astype(np.float64)
    low, width = X.min(axis=0), np.ptp(X, axis=0)
    width[width == 0] = 1.0
    return [(A - low) / width for A in (X, *others)]


def assert_certified(model, X, y):
    """The model is feasible, and as good as its certificate says."""
    again = diagnostics.certificate(model, X, y)
    ours = model.certificate_
    assert again.converged
    assert ours.converged
    # The rounding of float32 kernel values that a certificate may show.
    assert ours.dual_objective == pytest.approx(again.dual_objective, rel=1e-6)
    sum_alpha = np.abs(model.dual_coef_).sum()
    share = max(again.duality_gap, 1e-2 * model.tol * sum_alpha)
    assert ours.primal_objective == pytest.approx(again.primal_objective, abs=0.1 * share)
    assert ours.kkt_violation == pytest.approx(again.kkt_violation, abs=1e-7 * model.C)


# -- a9a -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["float32", "float64", "csr"])
def test_a9a_reaches_the_known_objective(shared_data, form):
    data = shared_data("a9a")
    X = sp.csr_matrix(data.X) if form == "csr" else data.X.astype(form)
    model = SVC(C=1.0, **A9A).fit(X, data.y)
    assert model.certificate_.dual_objective == pytest.approx(-11596.356, rel=1e-6)
    assert model.certificate_.kkt_violation < 1e-3
    if form == "float32":
        assert_certified(model, X, data.y)


def test_a9a_classifies_as_many_test_rows_as_libsvm(shared_data):
    data = shared_data("a9a")
    model = SVC(C=5.0, **A9A).fit(data.X, data.y)
    assert abs((model.predict(data.X_test) == data.y_test).sum() - 13_834) <= 8


def test_a9a_is_one_model_in_every_form(shared_data):
    data = shared_data("a9a")
    forms = [data.X, data.X.astype(np.float64), sp.csr_matrix(data.X)]
    tests = [data.X_test, data.X_test.astype(np.float64), sp.csr_matrix(data.X_test)]
    models = [SVC(C=1.0, **A9A).fit(X, data.y) for X in forms]
    values = [model.decision_function(X) for model, X in zip(models, tests, strict=True)]
    for other in values[1:]:
        np.testing.assert_allclose(other, values[0], atol=1e-2 * np.abs(values[0]).max())
        assert ((other > 0) == (values[0] > 0)).mean() > 0.999
    # One model, asked in every form.
    for X in tests:
        found = models[0].decision_function(X)
        np.testing.assert_allclose(found, values[0], atol=1e-5 * np.abs(values[0]).max())


@pytest.mark.parametrize("form", ["dense", "csr"])
def test_a9a_does_not_depend_on_threads(shared_data, form):
    data = shared_data("a9a")
    X = sp.csr_matrix(data.X) if form == "csr" else data.X
    X_test = sp.csr_matrix(data.X_test) if form == "csr" else data.X_test
    one, two = (SVC(C=1.0, n_jobs=n, **A9A).fit(X, data.y) for n in (1, 2))
    assert one.support_.tobytes() == two.support_.tobytes()
    assert one.dual_coef_.tobytes() == two.dual_coef_.tobytes()
    assert one.intercept_.tobytes() == two.intercept_.tobytes()
    assert one.decision_function(X_test).tobytes() == two.decision_function(X_test).tobytes()


# -- LIBSVM's predictions --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "C", "gamma", "scaled"),
    [
        ("letter", 16.0, 0.5, False),
        ("usps", 10.0, 1 / 256, False),
        ("satimage", 16.0, 1.0, True),
        ("shuttle", 32.0, 2.0, True),
        ("dna", 4.0, 1 / 64, False),
    ],
)
def test_predictions_are_those_of_libsvm(shared_data, name, C, gamma, scaled):
    data = shared_data(name)
    X, X_test = to_unit_range(data.X, data.X_test) if scaled else (data.X, data.X_test)
    model = SVC(C=C, gamma=gamma).fit(X, data.y)
    ours = model.predict(X_test)
    theirs = libsvm_predictions(X, data.y, X_test, kernel="rbf", C=C, gamma=gamma)
    assert (ours == theirs).mean() >= 0.998
    assert (ours == data.y_test).mean() == pytest.approx((theirs == data.y_test).mean(), abs=0.002)
    if len(X) < 10_000:
        assert_certified(model, X, data.y)


@pytest.mark.parametrize(
    ("name", "kernel", "C", "gamma", "n_rows"),
    [("w8a", "rbf", 4.0, 0.05, 8000), ("news20ng", "linear", 1.0, 1.0, 1000)],
)
def test_predictions_on_sparse_data_are_those_of_libsvm(
    shared_data, name, kernel, C, gamma, n_rows
):
    # LIBSVM takes minutes on all of these sets: both learn from a random part and predict others.
    data = shared_data(name)
    order = np.random.default_rng(0).permutation(len(data.y))
    rows, others = order[:n_rows], order[n_rows : 2 * n_rows]
    X, y, X_test = data.X[rows], data.y[rows], data.X[others]
    model = SVC(kernel=kernel, C=C, gamma=gamma).fit(X, y)
    ours = model.predict(X_test)
    theirs = libsvm_predictions(X, y, X_test, kernel=kernel, C=C, gamma=gamma)
    assert (ours == theirs).mean() >= 0.998
    assert_certified(model, X, y)


@pytest.mark.parametrize(
    ("name", "params", "least_accuracy"),
    [
        ("w8a", {"C": 4.0, "gamma": 0.05}, 0.99),
        ("news20ng", {"kernel": "linear"}, 0.77),
    ],
)
def test_whole_sparse_sets_are_solved(shared_data, name, params, least_accuracy):
    data = shared_data(name)
    model = SVC(tol=3e-4, **params).fit(data.X, data.y)
    assert model.certificate_.converged
    assert model.certificate_.relative_gap < 1e-3
    for p, machine in enumerate(model.certificate_.machines or (model.certificate_,)):
        assert machine.kkt_violation < 3e-4, p
    test = (data.X, data.y) if data.X_test is None else (data.X_test, data.y_test)
    assert model.score(*test) > least_accuracy
