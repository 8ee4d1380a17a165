"""The caller's settings of numpy's errors: what underflows inside is no error of the caller's."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import maxmargin
from maxmargin import SVC, SVR, LinearSVCCV, diagnostics
from maxmargin.kernels import RBF, ChiSquared, Laplacian, Linear, Polynomial

CLASSIFIERS = ["SVC", "NuSVC", "LinearSVC", "SGDClassifier", "Perceptron", "KernelPerceptron"]
REGRESSIONS = ["SVR", "NuSVR", "LinearSVR"]

pytestmark = pytest.mark.filterwarnings("ignore::maxmargin.ConvergenceWarning")


def samples():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    return X, (X[:, 0] > 0).astype(int)


@pytest.fixture(autouse=True)
def errors_are_raised():
    with np.errstate(all="raise"):
        yield


@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("name", [*CLASSIFIERS, *REGRESSIONS])
def test_tiny_samples(name, container):
    X, y = samples()
    data = container(X * 1e-153)
    model = getattr(maxmargin, name)().fit(data, y)
    model.predict(data)
    model.score(data, y)


def test_tiny_weights_targets_and_bounds():
    X, y = samples()
    weight = np.where(y, 1e-300, 1.0)
    SVC(class_weight="balanced").fit(X, y, sample_weight=weight)
    with pytest.raises(ValueError, match="times every weight is 0"):
        SVC(C=1e-200).fit(X, y, sample_weight=np.full(60, 1e-200))
    SVR(epsilon=0.0).fit(X, y * 1e-200).score(X, y * 1e-200)
    LinearSVCCV(Cs=3).fit(X * 1e-153, y)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_probabilities_far_away(n_classes):
    X, _ = samples()
    model = SVC(C=1e6, probability=True).fit(100.0 * X, np.arange(60) % n_classes)
    far = np.full((4, 3), 1e4)
    assert np.isfinite(model.predict_proba(far)).all()
    model.predict_log_proba(100.0 * X)


def test_composed_kernels_and_certificates():
    X, y = samples()
    kernel = RBF(50.0) * RBF(50.0)
    for part in (kernel, Laplacian(1e3), ChiSquared(1e3)):
        part(30.0 * abs(X), np.full((4, 3), 1e3))
        part.by_definition(30.0 * abs(X), np.full((4, 3), 1e3))
    model = SVC(kernel=kernel).fit(30.0 * X, y)
    model.decision_function(np.full((4, 3), 1e3))
    diagnostics.certificate(model, 30.0 * X, y)


def test_norms_casts_and_products_of_tiny_numbers():
    X, y = samples()
    model = SVC(kernel="linear", C=1e-200).fit(X, y)
    assert diagnostics.margin_width(model) > 1e150
    diagnostics.geometric_margin(model, X, y)
    diagnostics.geometric_margin(np.array([1e-200, 1e-200, 0.0]), X, 2 * y - 1)
    SVC(class_weight="balanced").fit(X, y, sample_weight=np.full(60, 1e-310))
    loaded, _ = maxmargin.io.load_svmlight(b"1 1:1e-50\n", dtype=np.float32)
    assert loaded.toarray().tolist() == [[0.0]]
    SVC().fit(X.astype(np.longdouble) * np.longdouble("1e-320"), y)


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e150])
def test_calibration_of_values_of_all_sizes(scale):
    X, y = samples()
    weight = np.where(y, 1e-300, 1.0)
    model = SVC(kernel="linear", C=scale, probability=True).fit(X / scale, y, sample_weight=weight)
    model.predict_log_proba(X / scale)


@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix])
def test_factors_of_kernels_of_tiny_samples(container):
    X, y = samples()
    X[:, 1] *= 1e-200
    data = container(X)
    for kernel in (Linear().normalised(), Polynomial(2).normalised() * RBF(1.0)):
        SVC(kernel=kernel).fit(data, y).predict(data)


@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix])
def test_diagnostics_of_tiny_features_and_far_samples(container):
    X, y = samples()
    tiny, far = X * [1.0, 1e-200, 1e-300], 150.0 * X
    for model, data in ((SVC(kernel="linear", C=1e-120), tiny), (SVC(kernel=Laplacian()), far)):
        model.fit(container(data), y)
        for diagnostic in (
            *(diagnostics.certificate, diagnostics.geometric_margin),
            *(diagnostics.leave_one_out_margins, diagnostics.radius_margin_bound),
        ):
            diagnostic(model, container(data), y)
