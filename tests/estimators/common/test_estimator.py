"""How a fit of SVC ends, and how the estimator behaves among scikit-learn's."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.linear_model
import sklearn.svm
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_wine
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import maxmargin.diagnostics
import maxmargin.io
from maxmargin import (
    SVC,
    SVR,
    Cancelled,
    ConvergenceWarning,
    NotFittedError,
    NuSVR,
    OneClassSVM,
    Perceptron,
    SGDClassifier,
    _core,
)
from oracles.problems import overlapping, rng, scaled, slow_problem, two_classes

# -- how a fit ends --------------------------------------------------------------------------------


def test_stopping_early_warns_and_leaves_a_usable_model():
    X, y = two_classes()
    with pytest.warns(
        ConvergenceWarning, match=r"\(max_iter\): KKT violation .* > tol=0.001, relative .*Scal"
    ) as caught:
        model = SVC(C=100.0, max_iter=2).fit(X, y)
    gap = f"relative duality gap {model.certificate_.relative_gap:.4g}."
    assert gap in str(caught[0].message)
    assert model.fit_status_ == 1
    assert model.n_iter_.max() <= 2
    certificate = model.certificate_
    assert not certificate.converged
    assert certificate.stop_reason == "max_iter"
    assert certificate.kkt_violation > 1e-3
    assert certificate.duality_gap > 0
    assert "not converged (max_iter)" in str(certificate)
    assert np.isfinite(model.decision_function(X)).all()


def test_the_warning_says_which_machines():
    X, y = overlapping(n_classes=3)
    with pytest.warns(ConvergenceWarning, match="in 3 of 3 pairs of classes"):
        SVC(C=100.0, max_iter=1).fit(X, y)


def test_the_warning_is_also_scikit_learns():
    from sklearn.exceptions import ConvergenceWarning as Theirs

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Theirs)
        SVC(C=100.0, max_iter=1).fit(*two_classes())


def test_time_limit_stops_with_a_warning():
    X, y = slow_problem()
    with pytest.warns(ConvergenceWarning, match=r"\(time_limit\)"):
        model = SVC(C=1e5, time_limit=0.2).fit(X, y)
    assert model.certificate_.stop_reason == "time_limit"
    assert np.isfinite(model.decision_function(X[:100])).all()


def test_callback_sees_progress_and_can_stop():
    X, y = slow_problem()
    reports = []

    def stop_at_third(report):
        reports.append(report)
        return len(reports) == 3

    model = SVC(C=1e5, callback=stop_at_third)
    with pytest.raises(Cancelled):
        model.fit(X, y)
    assert len(reports) == 3
    assert set(reports[0]) == {
        *("n_iter", "kkt_violation", "dual_objective", "n_free", "n_bounded", "seconds"),
    }
    assert reports[0]["seconds"] < reports[2]["seconds"]
    assert reports[0]["n_iter"] <= reports[2]["n_iter"]
    with pytest.raises(NotFittedError):
        model.predict(X)


@pytest.mark.parametrize("estimator", [SVC(loss="squared_hinge"), SVR(), NuSVR(), OneClassSVM()])
def test_callback_sees_the_dual_objective_of_its_iteration(estimator):
    X, y = slow_problem()
    reports = []

    def stop_after_some(report):
        reports.append(report)
        return len(reports) >= 3 and report["n_iter"] > 0

    if not isinstance(estimator, OneClassSVM):
        estimator.set_params(C=1e5)
    estimator = clone(estimator).set_params(callback=stop_after_some)
    with pytest.raises(Cancelled):
        estimator.fit(X, y)
    estimator.set_params(callback=None, max_iter=reports[-1]["n_iter"])
    with pytest.warns(ConvergenceWarning):
        estimator.fit(X, y)
    assert reports[-1]["dual_objective"] == pytest.approx(
        estimator.certificate_.dual_objective, rel=1e-6
    )


def test_an_exception_in_the_callback_reaches_the_caller():
    def fail(report):
        raise KeyError("from the callback")

    with pytest.raises(KeyError, match="from the callback"):
        SVC(C=1e5, callback=fail).fit(*slow_problem())


def test_options_reach_the_core(monkeypatch):
    seen = {}

    def spy_on_options(**kwargs):
        seen.update(kwargs)
        return options(**kwargs)

    def spy(*args):
        seen.update(kernel=args[4])
        return fit(*args)

    fit, options = _core.svc_fit, _core.TrainingOptions
    monkeypatch.setattr(_core, "svc_fit", spy)
    monkeypatch.setattr(_core, "TrainingOptions", spy_on_options)
    SVC(
        kernel="poly", gamma=0.5, coef0=0.25, degree=2, tol=0.125, max_iter=1234, cache_size=1.5,
        shrinking=False, time_limit=77.0, n_jobs=3,
    ).fit(*two_classes())  # fmt: skip
    kernel = seen.pop("kernel")
    assert (kernel.type, kernel.gamma, kernel.coef0, kernel.degree) == ("poly", 0.5, 0.25, 2)
    assert 0.0 < seen.pop("time_limit") <= 77.0  # what is left of it
    assert seen == {
        "tol": 0.125, "max_iter": 1234, "cache_bytes": 3 << 19, "shrinking": False, "n_threads": 3,
    }  # fmt: skip
    SVC().fit(*two_classes())
    assert seen["n_threads"] == 0
    assert seen["time_limit"] == np.inf


# -- manners ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("estimator", "missing"),
    [
        (Perceptron, set()),
        (SGDClassifier, {"epsilon"}),
    ],
)
def test_online_estimators_have_scikit_learns_parameters(estimator, missing):
    theirs = getattr(sklearn.linear_model, estimator.__name__)().get_params()
    ours = estimator().get_params()
    assert set(theirs) - set(ours) == missing
    differ = {name for name in set(theirs) & set(ours) if theirs[name] != ours[name]}
    if estimator is Perceptron:  # Rosenblatt's rule is the default
        differ -= {"shuffle", "tol", "random_state"}
    if theirs["eta0"] == 0.0:  # until 1.8; 'optimal' does not use it
        differ -= {"eta0"}
    assert differ == set()


def test_parameters_are_scikit_learns_and_a_few_more():
    theirs = sklearn.svm.SVC().get_params()
    theirs.pop("probability", None)
    ours = SVC().get_params()
    assert {name: ours[name] for name in theirs} == theirs
    more = {"loss", "n_jobs", "time_limit", "callback"}
    assert set(ours) - set(theirs) - {"probability"} == more


def test_set_params_refuses_unknown_names():
    model = SVC()
    with pytest.raises(ValueError, match=r"Invalid parameter 'c'.*Valid parameters are"):
        model.set_params(C=2.0, c=1.0)
    assert model.C == 1.0
    assert model.set_params(C=2.0) is model
    assert model.C == 2.0


def test_representation_shows_what_was_changed():
    assert repr(SVC()) == "SVC()"
    assert repr(SVC(C=2.0, kernel="linear")) == "SVC(C=2.0, kernel='linear')"


def test_unfitted_estimators_say_so():
    from sklearn.exceptions import NotFittedError as Theirs

    for call in (SVC().predict, SVC().decision_function):
        with pytest.raises(NotFittedError, match="SVC instance is not fitted yet") as caught:
            call([[1.0]])
        assert isinstance(caught.value, Theirs)
        assert isinstance(pickle.loads(pickle.dumps(caught.value)), NotFittedError)
    for name in ("support_vectors_", "coef_", "dual_coef_", "intercept_", "n_support_", "classes_"):
        assert not hasattr(SVC(kernel="linear"), name)


@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("name", ["linear", "rbf"])
def test_copies_and_pickles_predict_the_same(container, name):
    X, y = scaled(load_wine)
    X = container(X)
    model = SVC(kernel=name, decision_function_shape="ovo").fit(X, y)
    expected = model.decision_function(X)
    for same in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model), copy.copy(model)):
        assert same.decision_function(X).tobytes() == expected.tobytes()
        assert same.certificate_ == model.certificate_
        assert repr(same) == repr(model)


def test_scikit_learns_tools():
    X, y = scaled(load_wine)
    assert is_classifier(SVC())
    search = GridSearchCV(SVC(), {"C": [0.1, 10.0], "gamma": ["scale", 0.01]}, cv=3).fit(X, y)
    theirs = GridSearchCV(
        sklearn.svm.SVC(), {"C": [0.1, 10.0], "gamma": ["scale", 0.01]}, cv=3
    ).fit(X, y)
    assert search.best_params_ == theirs.best_params_
    assert search.best_score_ == pytest.approx(theirs.best_score_, abs=0.01)
    pipeline = make_pipeline(StandardScaler(), SVC())
    assert cross_val_score(pipeline, X, y, cv=3).mean() > 0.9
    copied = clone(SVC(C=3.0, class_weight={0: 2.0}).fit(X, y))
    assert copied.get_params() == SVC(C=3.0, class_weight={0: 2.0}).get_params()
    assert not hasattr(copied, "support_")


def test_a_second_fit_replaces_the_first():
    X, y = scaled(load_wine)
    model = SVC(kernel="linear").fit(X, y)
    model.decision_function(X)
    model.fit(X[:, :4], y == 0)
    np.testing.assert_array_equal(
        model.decision_function(X[:, :4]),
        SVC(kernel="linear").fit(X[:, :4], y == 0).decision_function(X[:, :4]),
    )
    assert model.coef_.shape == (1, 4)


def test_score_takes_weights():
    X, y = two_classes()
    model = SVC().fit(X, y)
    weight = rng(0).random(80)
    expected = weight[model.predict(X) == y].sum() / weight.sum()
    assert model.score(X, y, sample_weight=weight) == pytest.approx(expected)


@pytest.mark.parametrize("name", ["linear", "poly"])
def test_wider_samples_for_a_model_from_a_file(name):
    X, y = two_classes()
    for container in (np.asarray, sp.csr_matrix):
        model = SVC(kernel=name, gamma=0.5).fit(container(X), y)
        expected = model.decision_function(X)
        model._model = model._model.widened(6)
        wide = np.c_[X, np.zeros((80, 2))]
        np.testing.assert_allclose(model.decision_function(wide), expected, rtol=1e-6, atol=1e-9)


def test_import_is_light():
    code = (
        "import sys, maxmargin; "
        "print(*[m for m in ('scipy', 'sklearn', 'argparse', 'maxmargin.io') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_public_names():
    for name in maxmargin.__all__:
        assert hasattr(maxmargin, name)
    for module in (maxmargin.io, maxmargin.diagnostics):
        assert dir(module) == sorted(module.__all__)
        assert all(hasattr(module, name) for name in module.__all__)


def test_configuration_is_printed(capsys):
    assert maxmargin.show_config() is None
    assert capsys.readouterr().out == f"{maxmargin.config.describe()}\n"
    assert maxmargin.config.describe().startswith(f"version        {maxmargin.__version__}\n")


def test_cancelled_has_a_public_name():
    assert Cancelled is _core.Cancelled is maxmargin.exceptions.Cancelled
    assert f"{Cancelled.__module__}.{Cancelled.__qualname__}" == "maxmargin.exceptions.Cancelled"
    assert type(pickle.loads(pickle.dumps(Cancelled("stopped")))) is Cancelled


# -- the certificate as text -----------------------------------------------------------------------


def certificate(**changes):
    values = {
        "dual_objective": -2.0, "primal_objective": 2.5, "duality_gap": 0.5, "kkt_violation": 1e-4,
        "converged": True, "stop_reason": "converged", "n_iter": 7, "kernel_rows": 3,
        "kernel_values": 120,
        "cache_hits": 1, "cache_misses": 3, "seconds": 0.25,
    }  # fmt: skip
    return maxmargin.Certificate(**{**values, **changes})


def test_certificate_prints_its_numbers():
    assert str(certificate()).splitlines() == [
        "dual objective    -2.00000000",
        "primal objective  2.50000000",
        "duality gap       5.00e-01 (2.00e-01 relative)",
        "KKT violation     1.00e-04, converged",
        "iterations        7",
        "kernel rows       3 computed, 1 cache hit (25% of requests)",
        "kernel values     120 computed",
        "seconds           0.250",
    ]
    stopped = str(certificate(converged=False, stop_reason="time_limit"))
    assert "KKT violation     1.00e-04, not converged (time_limit)\n" in stopped
    unasked = str(certificate(cache_hits=0, cache_misses=0))
    assert "kernel rows       3 computed, 0 cache hits\n" in unasked


def test_relative_gap_is_by_the_primal_objective_or_1():
    assert certificate().relative_gap == 0.2
    assert certificate(primal_objective=0.25, dual_objective=0.0).relative_gap == 0.5
