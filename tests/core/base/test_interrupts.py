"""Ctrl-C, and the end of the interpreter, while fits run on other threads than the main one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs signals to a process")

# A fit of more than a minute, and Ctrl-C.
PREAMBLE = """
import signal, sys, threading, time
from concurrent.futures import ThreadPoolExecutor
import numpy as np
from maxmargin import SVC

X, y = np.random.default_rng(0).normal(size=(30_000, 10)), np.arange(30_000) % 2
fitting = threading.Semaphore(0)

def fit(**params):
    first = [fitting]
    callback = lambda report: first and first.pop().release()
    return SVC(C=1e5, tol=1e-8, n_jobs=1, callback=callback, **params).fit(X, y)

def interrupt(n_fits=1):
    for _ in range(n_fits): fitting.acquire()
    signal.raise_signal(signal.SIGINT)
    time.sleep(600)
"""


def run(code):
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PREAMBLE + code],
        capture_output=True, check=False, text=True,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("code", "n_interrupts"),  # of the main thread, and of a fit whose exception nobody keeps
    [
        ("threading.Thread(target=fit).start(); interrupt()", 2),
        ("""
with ThreadPoolExecutor() as pool:
    fits = [pool.submit(fit) for _ in range(2)]
    interrupt(2)  # what begins while the main thread handles it, goes on
""", 1),
        ("pool = ThreadPoolExecutor(1); [pool.submit(fit) for _ in range(3)]; interrupt()", 1),
        ("""
with ThreadPoolExecutor() as pool:
    pool.submit(fit)
    try:
        interrupt()
    except KeyboardInterrupt:
        raise RuntimeError("stopped")
""", 1),
        ("""
from joblib import Parallel, delayed
threading.Timer(0.5, signal.raise_signal, [signal.SIGINT]).start()
Parallel(n_jobs=2, backend="threading")(delayed(fit)() for _ in range(4))
""", 1),
    ],
    ids=["thread", "pool", "pool without with", "another exception", "joblib"],
)  # fmt: skip
def test_ctrl_c_ends_the_fits_that_the_process_waits_for(code, n_interrupts):
    ended = run(code)
    assert ended.returncode == (1 if "RuntimeError" in code else -signal.SIGINT), ended.stderr
    printed = [line for line in ended.stderr.splitlines() if line == "KeyboardInterrupt"]
    assert len(printed) == n_interrupts, ended.stderr


def test_ctrl_c_that_the_main_thread_has_dealt_with_ends_no_fit():
    """One is handled in less time than counts; in another's handler a last fit is trained."""
    ended = run("""
earlier = ThreadPoolExecutor(1).submit(fit, time_limit=1.5)
try:
    interrupt()
except KeyboardInterrupt:
    time.sleep(0.1)
print(earlier.result().certificate_.stop_reason)
try:
    interrupt(0)
except KeyboardInterrupt:
    try:
        raise ValueError
    except ValueError:
        last = ThreadPoolExecutor(1).submit(fit, time_limit=1.0)
        time.sleep(0.3)
    print(last.result().certificate_.stop_reason)
""")
    assert ended.stderr == ""
    assert ended.stdout.split() == ["time_limit", "time_limit"]


@pytest.mark.parametrize("n_threads", [1, 2])
def test_the_interpreter_ends_while_threads_that_it_does_not_wait_for_fit(n_threads):
    ended = run(f"""
for _ in range({n_threads}):
    threading.Thread(target=fit, daemon=True).start()
    fitting.acquire()
""")
    assert (ended.returncode, ended.stderr) == (0, "")
