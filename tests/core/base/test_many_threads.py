"""Eight threads that fit, predict and cancel at once, with the GIL or without."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.base import clone

from maxmargin import (
    SVC,
    SVR,
    Cancelled,
    KernelPerceptron,
    LinearSVC,
    OneClassSVM,
    Perceptron,
    SGDClassifier,
    kernels,
)
from maxmargin.io import load_svmlight
from oracles.problems import rng

N_THREADS = 8
X = rng(3).normal(size=(120, 6))
y = np.where(X[:, 0] * X[:, 1] + X[:, 2] > 0, "a", "b")
ESTIMATORS = [
    *(SVC(probability=True, random_state=0), SVC(kernel=kernels.RBF() + kernels.Linear())),
    *(LinearSVC(), Perceptron(max_iter=5), SGDClassifier(max_iter=5, tol=None, n_jobs=2)),
    *(KernelPerceptron(max_iter=5), OneClassSVM(), SVC(kernel=lambda A, B: A @ B.T)),
]
NEEDS_NO_GIL = """
import sys
import maxmargin
from maxmargin import SVC
SVC().fit([[0.0], [1.0]], [0, 1]).predict([[2.0]])
assert not sys._is_gil_enabled()
"""
# To read the exceptions of other threads stops them all where there is no GIL.
WATCHED = """
import sys
import numpy as np
calls, real = [], sys._current_exceptions
sys._current_exceptions = lambda: calls.append(0) or real()
from maxmargin import SVC, KernelPerceptron
X, y = np.arange(20.0).reshape(10, 2), np.arange(10) % 2
for model in (SVC(), SVC(kernel="linear"), KernelPerceptron()):
    model.fit(X, y)
    calls.clear()
    model.predict(X)
    assert not calls, model
    if model.kernel != "linear":
        model.predict(np.tile(X, (50_000, 1)))
        assert calls, model
"""


def at_once(work: Callable[[int], object]) -> list[object]:
    """Return work(0), work(1), ... of threads that begin at the same time."""
    barrier = threading.Barrier(N_THREADS)

    def begin(i: int) -> object:
        barrier.wait()
        return work(i)

    with ThreadPoolExecutor(N_THREADS) as pool:
        return list(pool.map(begin, range(N_THREADS)))


def facts(model: object) -> tuple[bytes, ...]:
    methods = ("predict", "decision_function", "predict_proba")
    return tuple(getattr(model, name)(X).tobytes() for name in methods if hasattr(model, name))


@pytest.mark.filterwarnings("ignore::maxmargin.ConvergenceWarning")
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_fits_of_different_estimators(n_jobs: int) -> None:
    models = [clone(model).set_params(n_jobs=n_jobs) for model in ESTIMATORS]
    alone = [facts(clone(model).fit(X, y)) for model in models]
    assert at_once(lambda i: facts(models[i].fit(X, y))) == alone


@pytest.mark.filterwarnings("ignore::maxmargin.ConvergenceWarning")
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda it: type(it).__name__)
def test_first_predictions_of_one_model(estimator: SVC) -> None:
    alone = facts(clone(estimator).fit(X, y))
    model = clone(estimator).fit(X, y)
    assert at_once(lambda _: facts(model)) == [alone] * N_THREADS


def test_first_predictions_after_a_write_into_the_intercept() -> None:
    model = SVC().fit(X, y)
    alone = model.decision_function(X)
    for k in range(1, 20):
        model.intercept_[0] += 1.0
        for values in at_once(lambda _: model.decision_function(X)):
            np.testing.assert_allclose(values, alone + k, rtol=0, atol=1e-12)


def test_cancelled_fits_next_to_others() -> None:
    z = X[:, 0]
    expected = SVR(C=100.0).fit(X, z).predict(X).tobytes()

    def work(i: int) -> object:
        if i % 2 == 0:
            return SVR(C=100.0).fit(X, z).predict(X).tobytes()
        called: list[dict[str, float]] = []
        slow = SVC(C=1e6, tol=1e-12, kernel="linear", callback=lambda r: called.append(r) or True)
        with pytest.raises(Cancelled):
            slow.fit(rng(i).normal(size=(3000, 30)), np.arange(3000) % 2)
        return len(called)

    assert at_once(work) == [expected, 1] * (N_THREADS // 2)


def test_limits_of_threads_files_and_kernels() -> None:
    controller = pytest.importorskip("threadpoolctl").threadpool_limits

    def work(i: int) -> object:
        with controller(1 + i):
            rows, labels = load_svmlight(b"1 1:2 3:4\n-1 2:1\n" * 50, dense=True)
            return kernels.RBF(gamma=0.1)(rows, rows).sum() + labels.sum()

    assert len(set(at_once(work))) == 1


@pytest.mark.skipif(
    getattr(sys, "_is_gil_enabled", lambda: True)(), reason="needs a free-threaded CPython"
)
def test_the_import_leaves_the_gil_off() -> None:
    subprocess.run([sys.executable, "-W", "error", "-c", NEEDS_NO_GIL], check=True)


def test_short_predictions_leave_other_threads_alone() -> None:
    subprocess.run([sys.executable, "-W", "ignore", "-c", WATCHED], check=True)
