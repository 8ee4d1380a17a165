"""What the tests of threads run in fresh processes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping

import pytest

needs_linux = pytest.mark.skipif(not os.path.exists("/proc/self/task"), reason="needs Linux")

# A fit that pays for several threads, what one thread makes of it, and the threads of the process.
FIT = """
import os, signal, sys, threading, time
import numpy as np
import maxmargin as mm
from maxmargin import SVC, _core

def end_if_it_hangs():
    if hasattr(signal, "alarm"):
        signal.alarm(120)

end_if_it_hangs()

rng = np.random.default_rng(0)
X = rng.normal(size=(1500, 40))
y = X[:, 0] * X[:, 1] + X[:, 2] > 0

def fit(n_jobs=None):
    model = SVC(gamma=0.05, n_jobs=n_jobs).fit(X, y)
    return model.dual_coef_.tobytes() + model.decision_function(X).tobytes()

def n_threads():
    return len(os.listdir("/proc/self/task"))

alone = fit(1)
"""


def run(code: str, environment: Mapping[str, str] | None = None) -> str:
    """What a fresh process prints that runs FIT and the code, with two threads by default."""
    result = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", FIT + code],
        env={
            **{name: text for name, text in os.environ.items() if name != "OMP_NUM_THREADS"},
            "MAXMARGIN_NUM_THREADS": "2",
            "PYTHONWARNINGS": "ignore::DeprecationWarning",
            **(environment or {}),
        },
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout.strip()
