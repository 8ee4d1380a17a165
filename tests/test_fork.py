"""Threads are OpenMP's: its limits hold, and a child forked after they ran works on one thread."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping

import pytest

from maxmargin import _core

FORK = """
import faulthandler, os, sys
import numpy as np
from maxmargin import SVC, _core

rng = np.random.default_rng(0)
X = rng.normal(size=(600, 40))
y = X[:, 0] * X[:, 1] + X[:, 2] > 0
before = SVC(gamma=0.05).fit(X, y)
expected = before.decision_function(X)
assert _core.thread_count() == 2

child = os.fork()
if child == 0:
    faulthandler.dump_traceback_later(100, exit=True)  # a child that waits for lost threads
    assert _core.thread_count() == 1, _core.thread_count()
    assert np.array_equal(before.decision_function(X), expected)
    after = SVC(gamma=0.05).fit(X, y)
    assert np.array_equal(after.dual_coef_, before.dual_coef_)
    assert np.array_equal(after.predict(X), before.predict(X))
    sys.stdout.flush()
    os._exit(0)
_, status = os.waitpid(child, 0)
assert os.waitstatus_to_exitcode(status) == 0, status

assert _core.thread_count() == 2  # the parent keeps its threads
assert np.array_equal(SVC(gamma=0.05).fit(X, y).dual_coef_, before.dual_coef_)
"""

SMALL = """
import os
import numpy as np
import scipy.sparse as sp
import maxmargin as mm

def n_threads():
    return len(os.listdir("/proc/self/task"))

rng = np.random.default_rng(0)
X = rng.normal(size=(40, 10))
y = rng.integers(0, 4, 40)
before = n_threads()
for estimator in (mm.SVC(gamma=0.1), mm.NuSVC(nu=0.3, gamma=0.1), mm.SVR(gamma=0.1),
                  mm.OneClassSVM(gamma=0.1), mm.LinearSVC(), mm.LinearSVC(loss="hinge"),
                  mm.Perceptron(), mm.KernelPerceptron(gamma=0.1)):
    for samples in (X, sp.csr_matrix(X * (X > 1.0))):
        estimator.fit(samples, y).predict(samples)
assert n_threads() == before, (n_threads(), before)
X = rng.normal(size=(2000, 40))
mm.SVC(gamma=0.02).fit(X, X[:, 0] > 0)
assert n_threads() > before
"""


def run(code: str, environment: Mapping[str, str]) -> str:
    result = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", code],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout.strip()


needs_threads = pytest.mark.skipif(
    _core.thread_count(2) == 1, reason="maxmargin was built without OpenMP"
)


@needs_threads
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
def test_a_forked_child_fits_and_predicts() -> None:
    run(FORK, {"OMP_NUM_THREADS": "2", "PYTHONWARNINGS": "ignore::DeprecationWarning"})


@needs_threads
@pytest.mark.skipif(not os.path.exists("/proc/self/task"), reason="needs Linux")
def test_small_fits_start_no_threads() -> None:
    run(SMALL, {"OMP_NUM_THREADS": "2", "PYTHONWARNINGS": "ignore"})


@needs_threads
@pytest.mark.parametrize("threads", ["1", "3"])
def test_omp_num_threads(threads: str) -> None:
    code = "from maxmargin import _core; print(_core.thread_count(), _core.thread_count(2))"
    assert run(code, {"OMP_NUM_THREADS": threads}) == f"{threads} 2"


@needs_threads
def test_threadpoolctl() -> None:
    threadpoolctl = pytest.importorskip("threadpoolctl")
    with threadpoolctl.threadpool_limits(limits=3, user_api="openmp"):
        assert _core.thread_count() == 3
    with threadpoolctl.threadpool_limits(limits=1, user_api="openmp"):
        assert _core.thread_count() == 1
