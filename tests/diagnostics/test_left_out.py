"""leave_one_out_decisions against the fits without each sample."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from maxmargin import SVC, SVR, NuSVC, NuSVR, OneClassSVM, QuantileSVR, diagnostics
from maxmargin.diagnostics import _left_out, _removal
from oracles.problems import rng

N = 40
TOL = 1e-8
REGRESSIONS = (SVR, NuSVR, QuantileSVR)


def samples(kind=np.asarray):
    r = rng(0)
    X = r.normal(size=(N, 3))
    z = X[:, 0] + X[:, 1] ** 2 + 0.5 * r.normal(size=N)
    return kind(X), z


def target(model, z):
    return z if isinstance(model, REGRESSIONS) else (z > 0.8).astype(int)


def values(model, X):
    return model.predict(X) if isinstance(model, REGRESSIONS) else model.decision_function(X)


def refits(model, X, y, weight=None):
    """The values on each sample of the machine that is trained with its weight set to 0."""
    weight = np.ones(len(y)) if weight is None else weight
    found = []
    for i in range(len(y)):
        without = weight.copy()
        without[i] = 0.0
        one = clone(model).fit(X, y, sample_weight=without)
        found.append(values(one, X[i : i + 1])[0])
    return np.array(found)


def assert_exact(model, X, y, weight=None, atol=2e-7):
    model.set_params(tol=TOL).fit(X, y, sample_weight=weight)
    found = diagnostics.leave_one_out_decisions(model, X, y, weight)
    np.testing.assert_allclose(found, refits(model, X, y, weight), atol=atol)
    assert found.shape == values(model, X).shape


@pytest.fixture(autouse=True)
def _no_refits(monkeypatch, request):
    """Nothing here needs the machine to be trained again, unless it says so."""
    if "trains_again" not in request.fixturenames:
        monkeypatch.setattr(_left_out, "_trained_without", None)


@pytest.fixture
def trains_again(monkeypatch):
    monkeypatch.setattr(_removal, "_MOST_EXCHANGES", 0)
    monkeypatch.setattr(_removal, "_MOST_STEPS", 0)


MODELS = [
    *(SVC(C=C, gamma=0.5) for C in (0.01, 0.5, 10.0, 1000.0)),
    *(SVC(C=C, kernel="linear") for C in (0.01, 0.5, 1000.0)),
    SVC(C=2.0, gamma=0.5, loss="squared_hinge"),
    SVC(C=100.0, kernel="linear", loss="squared_hinge"),
    SVC(C=np.inf, gamma=5.0),
    SVR(C=0.1, gamma=0.5),
    SVR(C=10.0, epsilon=0.5, gamma=0.5),
    SVR(epsilon=0.0, gamma=0.5),
    SVR(kernel="linear"),
    SVR(epsilon=10.0),
    QuantileSVR(quantile=[0.2, 0.7], C=2.0, gamma=0.5),
    QuantileSVR(quantile=0.9, kernel="linear"),
    *(OneClassSVM(nu=nu, gamma=0.5) for nu in (0.01, 0.1, 0.5, 1.0)),
]


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_they_are_those_of_the_fits_without_each(model):
    X, z = samples()
    assert_exact(model, X, target(model, z))


@pytest.mark.parametrize("model", MODELS[1::5], ids=repr)
def test_weights_are_removal_and_repetition(model):
    X, z = samples()
    weight = rng(1).integers(0, 3, N).astype(float)
    assert_exact(model, X, target(model, z), weight)


@pytest.mark.parametrize(
    "model",
    [
        *(SVC(gamma=0.5), SVC(kernel="linear"), SVC(kernel="linear", C=0.01)),
        *(SVR(gamma=0.5), SVR(kernel="linear", epsilon=0.5), OneClassSVM(nu=0.3, gamma=0.5)),
    ],
    ids=repr,
)
def test_equal_rows_and_many_samples_on_the_margin(model):
    X, z = samples(np.round)
    assert_exact(model, X, target(model, np.round(z)), atol=1e-6)


def test_bounds_far_above_all_coefficients():
    X, z = samples()
    model = SVR(kernel="poly", gamma=2.4, coef0=1.0, C=2e8)
    assert_exact(model, X[:12], z[:12], atol=1e-5)


def test_the_only_free_sample_has_no_coefficient():
    X, z = samples()
    model = QuantileSVR(C=0.1, gamma=0.5, tol=TOL).fit(X[:5], z[:5])
    assert len(model.support_) == 4
    assert_exact(model, X[:5], z[:5])


@pytest.mark.parametrize("shape", ["ovr", "ovo"])
def test_several_classes(shape):
    X, z = samples()
    model = SVC(C=2.0, gamma=0.5, decision_function_shape=shape)
    assert_exact(model, X, np.digitize(z, [0.3, 1.2]))


@pytest.mark.parametrize("kind", [sp.csr_matrix, np.float32])
def test_samples_in_other_forms(kind):
    X, z = samples(np.float32)
    assert_exact(SVC(gamma=0.5), kind(X), target(SVC(), z))


def test_given_kernels():
    X, z = samples()
    y, gram = target(SVC(), z), X @ X.T + 1.0
    expected = diagnostics.leave_one_out_decisions(SVC(kernel="linear", tol=TOL).fit(X, y), X, y)
    by_matrix = SVC(kernel="precomputed", tol=TOL).fit(gram, y)
    found = diagnostics.leave_one_out_decisions(by_matrix, gram, y)
    np.testing.assert_allclose(found, expected, atol=1e-6)
    by_function = SVC(kernel=lambda A, B: A @ B.T + 1.0, tol=TOL).fit(X, y)
    found = diagnostics.leave_one_out_decisions(by_function, X, y)
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_of_a_pipeline_the_earlier_steps_stay():
    X, z = samples()
    y, scaled = target(SVC(), z), StandardScaler().fit_transform(X)
    pipeline = make_pipeline(StandardScaler(), SVC(gamma=0.5)).fit(X, y)
    np.testing.assert_array_equal(
        diagnostics.leave_one_out_decisions(pipeline, X, y),
        diagnostics.leave_one_out_decisions(SVC(gamma=0.5).fit(scaled, y), scaled, y),
    )


@pytest.mark.parametrize(
    ("nu", "same"),
    [
        (NuSVC(nu=0.4, gamma=0.5), lambda nu: SVC(C=nu.C_[0], gamma=0.5)),
        (NuSVR(nu=0.4, gamma=0.5), lambda nu: SVR(epsilon=nu.epsilon_, gamma=0.5)),
    ],
)
def test_a_nu_machine_is_the_one_with_its_c_or_epsilon(nu, same):
    X, z = samples()
    y = target(nu, z)
    nu.set_params(tol=TOL).fit(X, y)
    other = same(nu).set_params(tol=TOL).fit(X, y)
    np.testing.assert_allclose(
        diagnostics.leave_one_out_decisions(nu, X, y),
        diagnostics.leave_one_out_decisions(other, X, y),
        atol=1e-5,
    )


def test_samples_that_support_nothing_have_the_decision_of_the_model():
    X, z = samples()
    y = target(SVC(), z)
    model = SVC(C=1000.0, gamma=0.5).fit(X, y)
    others = np.setdiff1d(np.arange(N), model.support_)
    assert len(others) > 0
    found = diagnostics.leave_one_out_decisions(model, X, y)
    np.testing.assert_array_equal(found[others], model.decision_function(X)[others])


@pytest.mark.parametrize("tol", [1e-3, 1e-2])
def test_what_tol_leaves_is_within_it(tol):
    X, z = samples()
    y = target(SVC(), z)
    model = SVC(C=10.0, gamma=0.5, tol=tol).fit(X, y)
    found = diagnostics.leave_one_out_decisions(model, X, y)
    exact = refits(SVC(C=10.0, gamma=0.5, tol=TOL), X, y)
    np.testing.assert_allclose(found, exact, atol=2 * tol)


def test_without_the_only_sample_of_a_class_there_is_no_machine():
    X, y = [[0.0], [1.0], [2.0], [4.0], [5.0]], [0, 0, 1, 2, 2]
    found = diagnostics.leave_one_out_decisions(SVC().fit(X, y), X, y)
    assert np.isnan(found).all(axis=1).tolist() == [False, False, True, False, False]
    assert np.isfinite(found[[0, 1, 3, 4]]).all()
    weight = [1.0, 0.0, 1.0, 1.0, 1.0]
    model = SVC().fit(X, y, sample_weight=weight)
    found = diagnostics.leave_one_out_decisions(model, X, y, weight)
    assert np.isnan(found).all(axis=1).tolist() == [True, False, True, False, False]
    np.testing.assert_array_equal(found[1], model.decision_function(X)[1])
    for only in (SVR(), OneClassSVM(nu=1.0)):
        only.fit([[1.0]], [2.0])
        assert np.isnan(diagnostics.leave_one_out_decisions(only, [[1.0]], [2.0])).all()


def test_labels_and_weights_of_another_fit_are_refused():
    X, z = samples()
    y = target(SVC(), z)
    model = SVC(gamma=0.5).fit(X, y)
    for other, weight in ((1 - y, None), (y, np.full(N, 0.1))):
        with pytest.raises(ValueError, match="y and sample_weight must be those of the fit"):
            diagnostics.leave_one_out_decisions(model, X, other, weight)


@pytest.mark.usefixtures("trains_again")
@pytest.mark.parametrize(
    "model",
    [
        *(SVC(gamma=0.5), SVC(gamma=0.5, loss="squared_hinge"), SVC(C=np.inf, gamma=5.0)),
        *(SVR(gamma=0.5), QuantileSVR(quantile=0.3, gamma=0.5), OneClassSVM(nu=0.3, gamma=0.5)),
    ],
    ids=repr,
)
def test_where_the_exchanges_do_not_end_the_machine_is_trained_again(model):
    X, z = samples()
    assert_exact(model, X, target(model, z), atol=1e-6)
