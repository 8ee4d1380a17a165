"""A callback hears of the end of every fit, however short, once and as the certificate is."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

from maxmargin import (
    SVC,
    SVCCV,
    SVR,
    LinearSVC,
    LinearSVCCV,
    LinearSVR,
    NuSVC,
    NuSVR,
    OneClassSVM,
    Perceptron,
)

KERNEL_MACHINES = [
    SVC(C=2.0), SVC(kernel="linear", loss="squared_hinge"), SVC(probability=True), NuSVC(nu=0.3),
    SVCCV(Cs=2, gammas=2), SVR(C=2.0), NuSVR(), OneClassSVM(nu=0.3),
]  # fmt: skip
LINEAR_MACHINES = [
    LinearSVC(), LinearSVC(loss="hinge"), LinearSVC(penalty="l1"),
    LinearSVC(multi_class="crammer_singer"), LinearSVR(), LinearSVCCV(Cs=[0.01, 1.0]),
]  # fmt: skip


def problem(n_classes=2):
    r = np.random.default_rng(0)
    X = r.normal(size=(90, 3))
    y = np.argmax(X[:, :n_classes] + 0.5 * r.normal(size=(90, n_classes)), axis=1)
    return X, y


def reports_of(estimator, X, y):
    reports = []
    estimator.set_params(callback=reports.append).fit(X, y)
    estimator.set_params(callback=None)
    return reports


@pytest.mark.parametrize("estimator", KERNEL_MACHINES + LINEAR_MACHINES, ids=repr)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_last_report_is_of_the_certificate(estimator, n_classes):
    is_linear, estimator = estimator in LINEAR_MACHINES, clone(estimator)
    reports = reports_of(estimator, *problem(n_classes))
    last, certificate = reports[-1], estimator.certificate_
    measure = "relative_gap" if is_linear else "kkt_violation"
    assert last.keys() == {
        *("n_iter", measure, "dual_objective", "n_free", "n_bounded", "seconds"),
    }
    assert last[measure] == getattr(certificate, measure) <= estimator.tol
    assert last["n_iter"] == certificate.n_iter > 0
    assert last["dual_objective"] == certificate.dual_objective
    assert last["seconds"] > 0.0
    ends = [report for report in reports if report["dual_objective"] == last["dual_objective"]]
    assert len(ends) == 1


@pytest.mark.parametrize(
    ("estimator", "bound"),
    [(SVC(C=2.0), 2.0), (SVC(loss="squared_hinge"), np.inf), (NuSVC(nu=0.3), None),
     (SVR(C=2.0), 2.0), (NuSVR(C=2.0), 2.0), (OneClassSVM(nu=0.3), 1.0)],
    ids=repr,
)  # fmt: skip
def test_the_last_report_counts_variables_by_their_bounds(estimator, bound):
    last = reports_of(estimator, *problem())[-1]
    if bound is None:
        bound = estimator.C_[0]
    is_bounded = np.abs(estimator.dual_coef_) >= bound * (1.0 - 1e-12)
    assert last["n_bounded"] == is_bounded.sum()
    assert last["n_free"] == (~is_bounded).sum() > 0


@pytest.mark.parametrize(
    "estimator",
    [SVR(C=2.0, epsilon=0.0, max_iter=60), SVR(C=2.0, epsilon=0.0, tol=1e-6),
     NuSVR(C=2.0, nu=1.0, max_iter=60), NuSVR(C=2.0, nu=1.0),
     NuSVR(C=2.0, nu=1.0, kernel="linear")],
    ids=repr,
)  # fmt: skip
@pytest.mark.parametrize("repeats", [1, 2])
@pytest.mark.filterwarnings("ignore::maxmargin.ConvergenceWarning")
def test_the_last_report_of_a_regression_without_a_tube_counts_samples(estimator, repeats):
    """alpha and alpha* may both be non-zero there."""
    X, y = problem()
    X, y = np.tile(X, (repeats, 1)), np.tile(y + 0.1 * X[:, 1], repeats)
    last = reports_of(estimator, X, y)[-1]
    is_bounded = np.abs(estimator.dual_coef_) == 2.0
    assert last["n_bounded"] == is_bounded.sum()
    assert last["n_free"] == (~is_bounded).sum() > 0


def test_what_the_callback_returns_at_the_end_has_no_effect():
    X, y = problem()
    expected = SVC().fit(X, y)
    stopped = []

    def is_done(report):
        stopped.append(report["n_iter"] > 0 and report["kkt_violation"] <= 1e-3)
        return stopped[-1]

    model = SVC(callback=is_done).fit(X, y)
    assert stopped[-1]
    np.testing.assert_array_equal(model.dual_coef_, expected.dual_coef_)


@pytest.mark.parametrize("error", [KeyError, KeyboardInterrupt])
@pytest.mark.parametrize("estimator", [SVC(), LinearSVC(), OneClassSVM()], ids=repr)
def test_an_exception_at_the_end_leaves_the_estimator_as_it_was(estimator, error, capsys):
    X, y = problem()
    estimator = clone(estimator).set_params(verbose=True).fit(X, y)
    before = estimator.decision_function(X)
    capsys.readouterr()

    def fail(report):
        if report["n_iter"] > 0:
            raise error

    with pytest.raises(error):
        estimator.set_params(callback=fail).fit(2.0 * X, y)
    np.testing.assert_array_equal(estimator.decision_function(X), before)
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize("estimator", [SVC(probability=True), LinearSVC()], ids=repr)
def test_a_verbose_fit_ends_with_one_line_of_the_last_report(estimator, capsys):
    (*_, last) = reports_of(estimator.set_params(verbose=True), *problem(3))
    line = capsys.readouterr().err
    measure = (
        "violation {kkt_violation:.3g}"
        if "kkt_violation" in last
        else "relative gap {relative_gap:.3g}"
    )
    assert line.endswith(f"  {last['seconds']:.1f} s\n")
    assert measure.format_map(last) in line
    assert line.count("\n") == 1


def test_what_a_callback_returns_to_the_last_report_is_not_looked_at():
    X, y = problem()
    for verbose in (False, True):
        model = SVC(verbose=verbose, callback=lambda report: np.zeros(3)).fit(X, y)
        assert model.certificate_.converged


def test_verbose_without_a_stream_shows_nothing(monkeypatch):
    monkeypatch.setattr("sys.stderr", None)
    for estimator in (SVC(verbose=1), LinearSVC(verbose=True), Perceptron(verbose=1, tol=1e-3)):
        assert estimator.fit(*problem()).classes_.tolist() == [0, 1]
