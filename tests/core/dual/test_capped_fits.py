"""What a cap leaves of a fit: the objective that a method makes fall is the least it has had."""

from __future__ import annotations

import numpy as np
import pytest

from maxmargin import SVC, SVR, LinearSVC, LinearSVR, NuSVC, NuSVR, OneClassSVM
from oracles.problems import rng

pytestmark = pytest.mark.filterwarnings("ignore::maxmargin.ConvergenceWarning")

N = 80


def samples(n_features, is_separable=False, seed=0):
    """Samples, two classes of them and targets."""
    r = rng(seed)
    X = r.normal(size=(N, n_features))
    values = X @ r.normal(size=n_features)
    noise = 0.0 if is_separable else values.std() * r.normal(size=N)
    return X, np.where(values + noise > 0, 1, -1), values + 0.3 * r.standard_t(2, size=N)


def indefinite():
    A = rng(7).normal(size=(N, N))
    return A + A.T


def assert_never_rises(estimator, X, y, objective, caps):
    values = []
    for cap in caps:
        certificate = estimator.set_params(max_iter=cap).fit(X, y).certificate_
        values.append(getattr(certificate, objective))
        if isinstance(estimator, NuSVC):  # what it solves, before f is divided by the margin
            values[-1] /= estimator.C_[0] ** 2
    assert len({*values}) > 2
    rounding = 1e-11 * np.abs(values).max()
    assert np.diff(values).max() <= rounding


@pytest.mark.parametrize(
    "estimator",
    [SVC(C=100.0), SVC(C=100.0, loss="squared_hinge"), SVC(kernel="sigmoid", gamma=1.0, coef0=-1.0),
     SVC(kernel="precomputed"), NuSVC(nu=0.6), SVR(C=100.0),
     SVR(kernel="precomputed"), NuSVR(C=100.0), NuSVR(kernel="precomputed"), OneClassSVM(nu=0.3),
     OneClassSVM(kernel="precomputed")],
    ids=repr,
)  # fmt: skip
def test_the_dual_objective_of_a_kernel_machine_never_rises(estimator):
    """Neither where the kernel is not positive semidefinite."""
    X, y, targets = samples(4)
    if estimator.kernel == "precomputed":
        X = indefinite()
    y = targets if isinstance(estimator, (SVR, NuSVR)) else y
    assert_never_rises(estimator, X, y, "dual_objective", [1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144])


@pytest.mark.parametrize(
    "estimator",
    [LinearSVC(loss="hinge"), LinearSVC(C=10.0), LinearSVC(multi_class="crammer_singer"),
     LinearSVR(), LinearSVR(loss="squared_epsilon_insensitive", C=10.0)],
    ids=repr,
)  # fmt: skip
def test_the_dual_objective_of_coordinate_descent_never_rises(estimator):
    X, y, targets = samples(2 * N)
    if isinstance(estimator, LinearSVR):
        y = targets
    elif estimator.multi_class == "crammer_singer":
        y = np.digitize(targets, [-3.0, 3.0])
    estimator.set_params(tol=1e-9)
    assert_never_rises(estimator, X, y, "dual_objective", [*range(1, 13), 20, 40])


@pytest.mark.parametrize(
    ("estimator", "is_separable", "seed"),
    [(LinearSVC(loss="hinge", C=1e6), True, 0), (LinearSVC(loss="hinge", C=1e6), True, 4),
     (LinearSVC(penalty="l1", C=1e6), True, 0), (LinearSVC(penalty="l1", C=1e6), True, 1),
     (LinearSVC(C=10.0), False, 0), (LinearSVC(penalty="l1", C=10.0), False, 0),
     (LinearSVR(C=1e3), False, 1), (LinearSVR(epsilon=0.1, C=10.0), False, 0)],
    ids=repr,
)  # fmt: skip
def test_the_primal_objective_of_a_second_order_method_never_rises(estimator, is_separable, seed):
    """Though steps of Newton's method on smooth losses and the stages of penalty l1 may let it."""
    X, y, targets = samples(5, is_separable, seed)
    y = targets if isinstance(estimator, LinearSVR) else y
    estimator.set_params(tol=1e-9)
    assert_never_rises(estimator, X, y, "primal_objective", range(1, 30))


def test_the_primal_objective_of_coordinate_descent_on_features_never_rises():
    X, y, _ = samples(2 * N)
    estimator = LinearSVC(penalty="l1", C=10.0, tol=1e-9)
    assert_never_rises(estimator, X, y, "primal_objective", [*range(1, 13), 20, 40])
