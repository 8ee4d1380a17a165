"""Diagnostics and pictures of pipelines and searches: those of the estimator in them."""

from __future__ import annotations

import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import svm as another_svm
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, TunedThresholdClassifierCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import maxmargin
from maxmargin import (
    SVC,
    SVR,
    KernelPerceptron,
    LinearSVC,
    NotFittedError,
    NuSVC,
    OneClassSVM,
    Perceptron,
    diagnostics,
    plotting,
)
from oracles.problems import rng


def problem(n=60):
    """Two classes in the plane, whose features differ in scale and lie far from 0."""
    r = rng(0)
    X = r.normal(size=(n, 2))
    y = np.where(X[:, 0] + 0.5 * X[:, 1] + 0.3 * r.normal(size=n) > 0, "b", "a")
    return X * [0.1, 2000.0] + [5.0, 9000.0], y


def separable():
    X, _ = problem()
    return X, np.where(scaled(X) @ [1.0, 0.5] > 0.05, "b", "a")


def scaled(X):
    return (X - X.mean(axis=0)) / X.std(axis=0)


WRAPPERS = {
    "pipeline": lambda model: make_pipeline(StandardScaler(), model),
    "two steps and none": lambda model: Pipeline(
        [("spread", StandardScaler(with_mean=False)), ("none", None), ("pass", "passthrough"),
         ("centre", StandardScaler(with_std=False)), ("model", model)]
    ),
    "pipelines in a pipeline": lambda model: make_pipeline(
        make_pipeline(StandardScaler()), make_pipeline("passthrough", model)
    ),
    "search": lambda model: GridSearchCV(
        make_pipeline(StandardScaler(), model), {"standardscaler__with_mean": [True]}, cv=2
    ),
    "search in a pipeline": lambda model: make_pipeline(
        StandardScaler(), GridSearchCV(model, {"tol": [model.tol]}, cv=2)
    ),
}  # fmt: skip
OTHERS = {"Certificate", "certificate", "margin_width", "mistake_bound"}


# -- diagnostics -----------------------------------------------------------------------------------


@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_diagnostics_are_those_of_the_machine_on_scaled_samples(wrapper):
    X, y = problem()
    alone = SVC(tol=1e-8).fit(scaled(X), y)
    model = WRAPPERS[wrapper](SVC(tol=1e-8)).fit(X, y)
    for name in sorted(set(diagnostics.__all__) - OTHERS):
        diagnose = getattr(diagnostics, name)
        np.testing.assert_allclose(
            diagnose(model, X, y), diagnose(alone, scaled(X), y), rtol=1e-5, atol=1e-6, err_msg=name
        )
    width = diagnostics.margin_width(model)
    assert width == pytest.approx(diagnostics.margin_width(alone), rel=1e-6)
    ours, theirs = diagnostics.certificate(model, X, y), alone.certificate_
    assert ours.converged
    assert ours.primal_objective == pytest.approx(theirs.primal_objective, rel=1e-6)
    assert ours.kkt_violation < 1e-7
    with pytest.raises(TypeError, match=f"takes the weights w, got {type(model).__name__}$"):
        diagnostics.mistake_bound(model, X, y)


def test_weights_of_samples_are_passed_on():
    X, y = problem()
    weight = rng(1).random(len(y))
    model = make_pipeline(StandardScaler(), SVC(tol=1e-6)).fit(X, y, svc__sample_weight=weight)
    recorded = model[-1].certificate_
    again = diagnostics.certificate(model, X, y, weight)
    assert again.primal_objective == pytest.approx(recorded.primal_objective, rel=1e-6)
    assert diagnostics.certificate(model, X, y).kkt_violation > 1e-2


def test_a_search_without_a_pipeline_is_its_best_estimator():
    X, y = problem()
    search = GridSearchCV(SVC(), {"C": [0.1, 10.0]}, cv=2).fit(scaled(X), y)
    best = diagnostics.certificate(search.best_estimator_, scaled(X), y)
    assert diagnostics.certificate(search, scaled(X), y) == best


def test_regressions_and_one_class_machines_have_slacks():
    X, _ = problem()
    target = scaled(X)[:, 0]
    model = make_pipeline(StandardScaler(), SVR(epsilon=0.2)).fit(X, target)
    expected = np.maximum(0.0, np.abs(target - model.predict(X)) - 0.2)
    np.testing.assert_allclose(diagnostics.slacks(model, X, target), expected)
    model = make_pipeline(StandardScaler(), OneClassSVM(nu=0.3)).fit(X)
    expected = np.maximum(0.0, -model.decision_function(X))
    np.testing.assert_allclose(diagnostics.slacks(model, X), expected)


# -- pictures --------------------------------------------------------------------------------------


@pytest.fixture
def pyplot():
    matplotlib = pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    yield pyplot
    pyplot.close("all")


def lines(ax):
    """The sets of contour lines of the axes."""
    return [c for c in ax.collections if hasattr(c, "levels") and not c.filled]


def points_on(contours, level):
    (index,) = np.flatnonzero(contours.levels == level)
    return contours.get_paths()[index].vertices


def rings(ax):
    """The places of the rings around support vectors, or None where there are none."""
    found = [c for c in ax.collections if str(c.get_label()).startswith("support vectors")]
    return found[0].get_offsets() if found else None


@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_decision_regions_are_in_the_plane_of_the_samples(wrapper, pyplot):
    X, y = problem()
    model = WRAPPERS[wrapper](SVC()).fit(X, y)
    ax = plotting.plot_decision_regions(model, X, y)
    (contours,) = lines(ax)
    assert list(contours.levels) == [-1.0, 0.0, 1.0]
    for level in (-1.0, 0.0, 1.0):
        points = points_on(contours, level)
        assert len(points) > 2
        assert np.ptp(points[:, 1]) > 1000
        np.testing.assert_allclose(model.decision_function(points), level, atol=2e-3)
    alone = SVC().fit(scaled(X), y)
    np.testing.assert_array_equal(rings(ax), X[alone.support_])


@pytest.mark.parametrize(
    "step",
    [PCA(), FunctionTransformer(sp.csr_matrix), FunctionTransformer(np.float32)],
    ids=["rotated", "sparse", "float32"],
)
@pytest.mark.parametrize("machine", [SVC(), another_svm.SVC(), KernelPerceptron()])
def test_support_vectors_are_found_among_the_samples(step, machine, pyplot):
    X, y = separable()
    model = make_pipeline(StandardScaler(), step, machine).fit(X, y)
    found = rings(plotting.plot_decision_regions(model, X, y, resolution=10))
    np.testing.assert_array_equal(found, X[model[-1].support_])


def test_other_samples_have_no_rings(pyplot):
    X, y = problem()
    model = make_pipeline(StandardScaler(), SVC()).fit(X, y)
    for others in (slice(None, None, -1), slice(10), slice(1, None)):
        ax = plotting.plot_decision_regions(model, X[others], y[others], resolution=10)
        assert rings(ax) is None
        (contours,) = lines(ax)
        assert list(contours.levels) == [-1.0, 0.0, 1.0]


class Sampler:
    """A step that repeats samples in `fit`, as other packages have them."""

    def fit_resample(self, X, y):
        return np.repeat(X, 2, axis=0), np.repeat(y, 2)


class OtherPipeline:
    """A pipeline of another package: two steps, of which the first samples."""

    def __init__(self, sampler, model):
        self.steps = [("sampler", sampler), ("model", model)]

    def fit(self, X, y):
        self.steps[1][1].fit(*self.steps[0][1].fit_resample(X, y))
        return self

    def predict(self, X):
        return self.steps[1][1].predict(X)

    def decision_function(self, X):
        return self.steps[1][1].decision_function(X)


def test_pipelines_that_resample_are_drawn_without_rings_and_not_diagnosed(pyplot):
    X, y = problem()
    model = OtherPipeline(Sampler(), SVC()).fit(X, y)
    ax = plotting.plot_decision_regions(model, X, y, resolution=10)
    assert list(lines(ax)[0].levels) == [-1.0, 0.0, 1.0]
    assert rings(ax) is None
    with pytest.raises(TypeError, match=r"must have transform, but 'sampler' is .*Sampler"):
        diagnostics.slacks(model, X, y)


def test_frames_keep_their_names(pyplot):
    pandas = pytest.importorskip("pandas")
    X, y = problem()
    frame = pandas.DataFrame(X, columns=["height", "mass"])
    by_name = ColumnTransformer([("scale", StandardScaler(), ["height", "mass"])])
    for model in (SVC(), Perceptron(max_iter=5)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", category=maxmargin.ConvergenceWarning)
            fitted = make_pipeline(by_name, model).fit(frame, y)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            ax = plotting.plot_decision_regions(fitted, frame, y, resolution=10)
            assert (ax.get_xlabel(), ax.get_ylabel()) == ("height", "mass")
            if isinstance(model, Perceptron):
                ax = plotting.plot_passes(fitted, frame, y)
                assert (ax.get_xlabel(), ax.get_ylabel()) == ("height", "mass")
            else:
                assert len(rings(ax)) == len(model.support_)
                assert diagnostics.certificate(fitted, frame, y).converged


def test_many_and_one_class(pyplot):
    X, y = problem()
    y = np.where(X[:, 1] > 10_000, "c", y)
    model = make_pipeline(StandardScaler(), NuSVC(nu=0.2)).fit(X, y)
    ax = plotting.plot_decision_regions(model, X, y)
    assert len(lines(ax)) == 3
    np.testing.assert_array_equal(rings(ax), X[model[-1].support_])
    model = make_pipeline(StandardScaler(), OneClassSVM(nu=0.3)).fit(X)
    ax = plotting.plot_decision_regions(model, X)
    assert list(lines(ax)[0].levels) == [0.0]
    (outside,) = [c for c in ax.collections if c.get_label() == "outside"]
    np.testing.assert_array_equal(outside.get_offsets(), X[model.predict(X) == -1])


@pytest.mark.parametrize("perceptron", [Perceptron(), KernelPerceptron(kernel="linear")])
@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_passes_of_a_perceptron(wrapper, perceptron, pyplot):
    X, y = separable()
    if not hasattr(perceptron, "tol") and "search in" in wrapper:
        pytest.skip("has no tol to search")
    model = WRAPPERS[wrapper](perceptron).fit(X, y)
    ax = plotting.plot_passes(model, X, y, n_lines=3)
    points = points_on(lines(ax)[-1], 0.0)
    assert np.ptp(points[:, 1]) > 1000
    np.testing.assert_allclose(model.decision_function(points), 0, atol=1e-6)
    alone = type(perceptron)(**perceptron.get_params()).fit(scaled(X), y)
    ax = plotting.plot_mistakes(model)
    assert f"{alone.mistakes_per_pass_[0].sum()} mistakes" in ax.get_title()


# -- what is refused -------------------------------------------------------------------------------

CALLS = {
    "functional_margin": diagnostics.functional_margin,
    "slacks": diagnostics.slacks,
    "certificate": diagnostics.certificate,
    "leave_one_out_bound": diagnostics.leave_one_out_bound,
    "margin_width": lambda model, X, y: diagnostics.margin_width(model),
    "plot_decision_regions": plotting.plot_decision_regions,
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("wrapper", [name for name in WRAPPERS if "search" not in name])
def test_pipelines_that_are_not_fitted(wrapper, call, pyplot):
    X, y = problem()
    model = WRAPPERS[wrapper](SVC())
    with pytest.raises(NotFittedError if call == "margin_width" else ValueError) as caught:
        CALLS[call](model, X, y)
    assert type(caught.value).__name__ == "NotFittedError"
    assert "is not fitted yet" in str(caught.value)
    assert pyplot.get_fignums() == []


@pytest.mark.parametrize("call", [*CALLS, "plot_mistakes", "plot_passes"])
def test_searches_without_a_best_estimator(call, pyplot):
    X, y = problem()
    X = scaled(X)
    calls = {
        **CALLS,
        "plot_mistakes": lambda model, X, y: plotting.plot_mistakes(model),
        "plot_passes": plotting.plot_passes,
    }
    for search in (
        GridSearchCV(SVC(), {"C": [1.0]}),
        GridSearchCV(SVC(), {"C": [1.0]}, cv=2, refit=False).fit(X, y),
    ):
        with pytest.raises(NotFittedError, match="GridSearchCV instance has no best_estimator_"):
            calls[call](search, X, y)
    assert pyplot.get_fignums() == []


@pytest.mark.parametrize("call", CALLS)
def test_pipelines_without_an_estimator_at_the_end(call, pyplot):
    X, y = problem()
    for model, last in (
        (make_pipeline(StandardScaler()), r"StandardScaler\(\)"),
        (make_pipeline(StandardScaler(), "passthrough"), "'passthrough'"),
        (make_pipeline(StandardScaler(), None), "None"),
    ):
        message = f"a Pipeline must end in an estimator that predicts, got {last}$"
        with pytest.raises(TypeError, match=message):
            CALLS[call](model.fit(X, y), X, y)


def test_estimators_at_the_end_that_alone_are_refused():
    X, y = problem()
    for last in (LogisticRegression(), CalibratedClassifierCV(SVC(), cv=2), another_svm.SVC()):
        model, name = make_pipeline(StandardScaler(), last).fit(X, y), type(last).__name__
        for diagnose in (diagnostics.certificate, diagnostics.slacks):
            with pytest.raises(TypeError, match=f"takes a fitted .*, got {name}$"):
                diagnose(model, X, y)
    model = make_pipeline(StandardScaler(), SVC()).fit(X, y)
    with pytest.raises(ValueError, match="fitted perceptron"):
        plotting.plot_mistakes(model)
    with pytest.raises(ValueError, match="fitted perceptron of two classes"):
        plotting.plot_passes(model, X, y)
    regression = make_pipeline(StandardScaler(), SVR()).fit(X, X[:, 0])
    with pytest.raises(ValueError, match="must be a fitted classifier or one-class machine"):
        plotting.plot_decision_regions(regression, X, y)
    theirs = make_pipeline(StandardScaler(), LinearSVC()).fit(X, y)
    with pytest.raises(TypeError, match=r"certificate takes a fitted SVC.*, got LinearSVC$"):
        diagnostics.certificate(theirs, X, y)


def test_what_the_last_step_may_be_alone_it_may_be_in_a_pipeline(pyplot):
    X, y = problem()
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    signs = np.where(y == "b", 1.0, -1.0)
    margin = diagnostics.functional_margin(model, X, y)
    np.testing.assert_allclose(margin, signs * model.decision_function(X))
    norm = np.linalg.norm(model[-1].coef_)
    np.testing.assert_allclose(diagnostics.geometric_margin(model, X, y), margin / norm)
    assert list(lines(plotting.plot_decision_regions(model, X, y))[0].levels) == [0.0]
    tuned = TunedThresholdClassifierCV(LogisticRegression(), cv=2).fit(scaled(X), y)  # no search
    assert len(lines(plotting.plot_decision_regions(tuned, scaled(X), y))) == 1


def test_scikit_learn_is_not_imported():
    code = """
import sys
import numpy as np
from maxmargin import SVC, diagnostics

class Scaled:
    def transform(self, X):
        return np.asarray(X) / 2

class Pipeline:
    steps = [("scaled", Scaled()), ("svc", SVC())]
    predict = None

X, y = [[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1]
Pipeline.steps[1][1].fit(Scaled().transform(X), y)
print(diagnostics.certificate(Pipeline(), X, y).converged, "sklearn" in sys.modules)
"""
    path = str(Path(maxmargin.__file__).parent.parent)
    run = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {path!r})\n{code}"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert run.stdout == "True False\n"
