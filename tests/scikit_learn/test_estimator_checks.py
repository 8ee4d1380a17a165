"""The estimators among scikit-learn's: its checks, its tools, data frames and metadata."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris
from sklearn.metrics import get_scorer
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_checks, shuffle

from maxmargin import (
    SVC,
    SVR,
    ConvergenceWarning,
    KernelPerceptron,
    LinearSVC,
    LinearSVR,
    NuSVC,
    NuSVR,
    OneClassSVM,
    Perceptron,
    QuantileSVR,
    SGDClassifier,
    kernels,
)

X, y = shuffle(*load_iris(return_X_y=True), random_state=0)

# -- scikit-learn's checks -------------------------------------------------------------------------

EQUIVALENCE = (
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
)
TO_TOL = "equal to tol, not to 1e-7"
IN_ORDER = "a repeated sample is seen again, a weighted one makes a larger step"
INFEASIBLE = "nu is infeasible with weights of the classes as unequal as the check's"
# scikit-learn expects the same of its own estimators, and no others.
EXPECTED = {
    "SVC": dict.fromkeys(EQUIVALENCE, TO_TOL),
    "NuSVC": dict.fromkeys([*EQUIVALENCE, "check_class_weight_classifiers"], INFEASIBLE),
    "SVR": dict.fromkeys(EQUIVALENCE, TO_TOL),
    "NuSVR": dict.fromkeys(EQUIVALENCE, TO_TOL),
    "QuantileSVR": dict.fromkeys(EQUIVALENCE, TO_TOL),
    "OneClassSVM": dict.fromkeys(EQUIVALENCE, TO_TOL),
    "LinearSVC": dict.fromkeys(EQUIVALENCE, TO_TOL),
    "LinearSVR": dict.fromkeys(EQUIVALENCE, TO_TOL),
    "Perceptron": dict.fromkeys(EQUIVALENCE, IN_ORDER),
    "SGDClassifier": dict.fromkeys(EQUIVALENCE, IN_ORDER),
}

with warnings.catch_warnings():
    # That an estimator need not inherit from scikit-learn's base class is the point.
    warnings.filterwarnings("ignore", message=".*does not inherit from")
    scikit_learns_checks = estimator_checks.parametrize_with_checks(
        [
            SVC(), SVC(kernel="precomputed"), NuSVC(), SVR(), NuSVR(), OneClassSVM(), LinearSVC(),
            LinearSVR(), Perceptron(), SGDClassifier(random_state=0), KernelPerceptron(),
            QuantileSVR(),
        ],
        expected_failed_checks=lambda estimator: (
            {} if getattr(estimator, "kernel", None) == "precomputed"
            else EXPECTED.get(type(estimator).__name__, {})
        ),
    )  # fmt: skip


@scikit_learns_checks
def test_scikit_learns_checks(estimator, check):
    with warnings.catch_warnings():
        # Its checks skip, with a warning, what needs packages that are not installed.
        warnings.filterwarnings("ignore", category=DeprecationWarning)
        warnings.filterwarnings("ignore", category=ConvergenceWarning)
        check(estimator)


@pytest.mark.parametrize("check", EQUIVALENCE)
@pytest.mark.parametrize("estimator", [SVC(), NuSVC(nu=0.3), SVR(), NuSVR(), QuantileSVR()])
def test_weights_are_repetitions_at_a_small_tol(estimator, check):
    # A gamma that does not depend on how often a sample is repeated.
    estimator = clone(estimator).set_params(gamma=0.5, tol=1e-10)
    getattr(estimator_checks, check)(type(estimator).__name__, estimator)


# -- its tools -------------------------------------------------------------------------------------


def test_a_pipeline_passes_parameters_and_weights_on():
    pipeline = Pipeline([("scale", StandardScaler()), ("svc", SVC(kernel=kernels.RBF(0.1)))])
    pipeline.set_params(svc__C=3.0, svc__kernel__gamma=0.25)
    weight = np.where(y == 0, 0.1, 1.0)
    scaled = StandardScaler().fit_transform(X)
    alone = SVC(C=3.0, gamma=0.25).fit(scaled, y, sample_weight=weight)
    pipeline.fit(X, y, svc__sample_weight=weight)
    np.testing.assert_array_equal(pipeline.decision_function(X), alone.decision_function(scaled))
    assert pipeline.score(X, y) == alone.score(scaled, y)


def test_grid_search_with_processes_finds_what_one_process_finds():
    grid = {"C": [0.1, 1.0], "kernel__k1__gamma": [0.01, 1.0], "kernel__k2__factor": [0.0, 1.0]}
    model = SVC(kernel=kernels.RBF() + 0.5 * kernels.Linear())
    one, two = (GridSearchCV(model, grid, cv=3, n_jobs=n).fit(X, y) for n in (None, 2))
    np.testing.assert_array_equal(
        one.cv_results_["mean_test_score"], two.cv_results_["mean_test_score"]
    )
    assert one.best_params_ == two.best_params_
    direct = kernels.RBF(one.best_params_["kernel__k1__gamma"]) + (
        one.best_params_["kernel__k2__factor"] * kernels.Linear()
    )
    assert one.best_estimator_.kernel == direct
    assert model.kernel == kernels.RBF() + 0.5 * kernels.Linear()


@pytest.mark.parametrize(
    "estimator",
    [SVC(), NuSVC(nu=0.3), SVR(), NuSVR(), Perceptron(tol=0.01), KernelPerceptron(tol=0.01)],
)
def test_cross_validation(estimator):
    scores = cross_val_score(make_pipeline(StandardScaler(), estimator), X, y, cv=5)
    assert scores.shape == (5,)
    assert scores.mean() > 0.8


def test_calibration_gives_probabilities():
    for ensemble in (True, False):
        model = CalibratedClassifierCV(SVC(), ensemble=ensemble, cv=3).fit(X, y)
        probabilities = model.predict_proba(X)
        np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
        assert np.mean(probabilities.argmax(axis=1) == y) > 0.9


@pytest.mark.parametrize("wrapper", [OneVsRestClassifier, OneVsOneClassifier])
@pytest.mark.parametrize("estimator", [SVC(), NuSVC(nu=0.2), Perceptron(tol=0.01)])
def test_classes_by_scikit_learns_wrappers(wrapper, estimator):
    model = wrapper(estimator).fit(X, y)
    assert len(model.estimators_) == 3
    assert model.score(X, y) > 0.8


def test_decision_boundaries_are_drawn():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from sklearn.inspection import DecisionBoundaryDisplay

    two = X[:, :2]
    for model in (SVC(), OneClassSVM(), Perceptron(tol=0.01), SVR()):
        display = DecisionBoundaryDisplay.from_estimator(model.fit(two, y), two, grid_resolution=5)
        assert display.response.shape[:2] == (5, 5)
    matplotlib.pyplot.close("all")


def test_scorers_use_decision_values():
    model = SVC().fit(X, y == 2)
    assert get_scorer("roc_auc")(model, X, y == 2) > 0.99
    assert cross_val_predict(SVC(), X, y, method="decision_function", cv=3).shape == (150, 3)


def test_joblib_runs_fits_in_threads_and_processes(tmp_path):
    joblib = pytest.importorskip("joblib")
    expected = SVC().fit(X, y).decision_function(X).tobytes()
    for backend in ("threading", "loky"):
        models = joblib.Parallel(n_jobs=2, backend=backend)(
            joblib.delayed(SVC().fit)(X, y) for _ in range(2)
        )
        assert [model.decision_function(X).tobytes() for model in models] == [expected] * 2
    joblib.dump(models[0], tmp_path / "model")
    assert joblib.load(tmp_path / "model").decision_function(X).tobytes() == expected


# -- parameters of kernels -------------------------------------------------------------------------


def test_parameters_of_a_kernel_are_the_estimators_too():
    kernel = kernels.RBF(2.0) + 0.5 * kernels.Polynomial(2) * kernels.Linear()
    model = SVC(kernel=kernel)
    deep = model.get_params()
    assert deep["kernel"] is kernel
    assert deep["kernel__k1__gamma"] == 2.0
    assert deep["kernel__k2__k1__kernel__degree"] == 2
    assert not any(name.startswith("kernel__") for name in model.get_params(deep=False))
    assert not any(name.startswith("kernel__") for name in SVC().get_params())
    model.set_params(kernel__k1__gamma=3.0, kernel__k2__k1__factor=4.0, C=2.0)
    assert model.kernel == kernels.RBF(3.0) + 4.0 * kernels.Polynomial(2) * kernels.Linear()
    assert kernel == kernels.RBF(2.0) + 0.5 * kernels.Polynomial(2) * kernels.Linear()
    model.set_params(kernel=kernels.Polynomial(), kernel__degree=5)
    assert model.kernel == kernels.Polynomial(5)


def test_a_kernel_with_other_parameters_is_another_kernel():
    kernel = kernels.RBF(0.5)
    assert kernel.with_params(gamma=2.0) == kernels.RBF(2.0)
    assert kernel == kernels.RBF(0.5)
    assert (1 + kernel).with_params(k1=2.0) == 2 + kernel
    assert kernel.normalised().with_params(kernel__gamma=1.0) == kernels.RBF(1.0).normalised()
    with pytest.raises(ValueError, match=r"gamma must be a finite number > 0, got -1"):
        kernel.with_params(gamma=-1)
    with pytest.raises(ValueError, match=r"k2 must be one of maxmargin.kernels, got 'rbf'"):
        (1 + kernel).with_params(k2="rbf")


@pytest.mark.parametrize(
    ("model", "name", "message"),
    [
        (SVC(), "kernel__gamma", "kernel='rbf' has no parameters of its own"),
        (SVC(kernel=kernels.RBF()), "kernel__degree", r"'degree' for kernel RBF.*\['gamma'\]"),
        (SVC(kernel=1 + kernels.RBF()), "kernel__k3__gamma", r"k3__gamma.*\['k1', 'k2'\]"),
        (SVC(), "kernels__gamma", "Invalid parameter 'kernels__gamma' for estimator SVC"),
    ],
)
def test_unknown_nested_parameters_are_refused(model, name, message):
    with pytest.raises(ValueError, match=message):
        model.set_params(C=2.0, **{name: 1})
    assert model.C == 1.0


def test_a_kernel_of_scikit_learn_has_nested_parameters():
    from sklearn.gaussian_process.kernels import RBF

    model = clone(SVC(kernel=RBF(length_scale=2.0))).set_params(kernel__length_scale=3.0)
    assert model.kernel.length_scale == 3.0
    ours = SVC(kernel=kernels.RBF(1 / 18.0)).fit(X, y)
    assert (model.fit(X, y).predict(X) == ours.predict(X)).all()


def test_clones_keep_kernels():
    for kernel in (kernels.RBF(2.0), 1 + kernels.Linear() * kernels.RBF(1.0), "rbf"):
        assert clone(SVC(kernel=kernel)).kernel == kernel


# -- data frames -----------------------------------------------------------------------------------


class Frame:
    """What the estimators ask of a data frame."""

    def __init__(self, values, columns):
        self.values, self.columns = values, columns

    @property
    def shape(self):
        return self.values.shape

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.values, dtype=dtype)


@pytest.mark.parametrize("estimator", [SVC(), SVR(), OneClassSVM(), Perceptron(tol=0.01)])
def test_names_of_features_are_kept_and_compared(estimator):
    names = ["a", "b", "c", "d"]
    model = clone(estimator).fit(Frame(X, names), y)
    assert model.feature_names_in_.tolist() == names
    assert model.feature_names_in_.dtype == object
    np.testing.assert_array_equal(
        model.predict(Frame(X, names)), clone(estimator).fit(X, y).predict(X)
    )
    with pytest.raises(ValueError, match="should match those that were passed during fit"):
        model.predict(Frame(X, names[::-1]))
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.predict(X)
    assert not hasattr(model.fit(X, y), "feature_names_in_")


# -- metadata --------------------------------------------------------------------------------------


@pytest.fixture
def _routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.mark.usefixtures("_routing")
def test_weights_are_routed_to_the_methods_that_ask_for_them():
    weight = np.where(y == 0, 0.01, 1.0)
    asking = SVC(C=0.1).set_fit_request(sample_weight=True).set_score_request(sample_weight="w")
    for model in (asking, clone(asking), pickle.loads(pickle.dumps(asking))):
        search = GridSearchCV(model, {"gamma": [0.01]}, cv=3)
        search.fit(X, y, sample_weight=weight, w=weight)
        alone = SVC(C=0.1, gamma=0.01).fit(X, y, sample_weight=weight)
        np.testing.assert_array_equal(search.decision_function(X), alone.decision_function(X))
    pipeline = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), asking)
    pipeline.fit(X, y, sample_weight=weight)
    unasked = GridSearchCV(SVC(), {"gamma": [0.01]}, cv=3)
    with pytest.raises(sklearn.exceptions.UnsetMetadataPassedError, match="sample_weight"):
        unasked.fit(X, y, sample_weight=weight)


@pytest.mark.usefixtures("_routing")
def test_only_metadata_of_the_method_can_be_requested():
    with pytest.raises(TypeError, match=r"Unexpected args: \['weights'\] in fit"):
        SVC().set_fit_request(weights=True)
    model = Perceptron().set_partial_fit_request(classes=True)
    assert model.get_metadata_routing().partial_fit.requests["classes"] is True
    for method in ("fit", "score"):
        request = f"set_{method}_request"
        has_weights = hasattr(sklearn.svm.SVC(), request)
        assert hasattr(SVC(), request) == has_weights
    assert not hasattr(SVC(), "set_partial_fit_request")
    assert not hasattr(OneClassSVM(), "set_score_request")


def test_requests_need_routing_to_be_enabled():
    with pytest.raises(RuntimeError, match="only available when metadata routing is enabled"):
        SVC().set_fit_request(sample_weight=True)
