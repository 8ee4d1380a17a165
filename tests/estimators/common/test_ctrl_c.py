"""Ctrl-C ends whatever takes long, soon, and leaves a process that works as before."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

# A process each, most of whose work is of minutes.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.no_sanitizer,
    pytest.mark.skipif(os.name != "posix", reason="needs signals to a process"),
]

CODE = """
import io as memory, signal, threading, time, warnings
import numpy as np
import scipy.sparse as sp
import maxmargin as mm
from maxmargin import diagnostics, io, kernels

warnings.simplefilter("ignore")
r = np.random.default_rng(0)
few, labels = r.normal(size=(40, 3)), np.arange(40) % 2
expected = mm.SVC().fit(few, labels).decision_function(few).tobytes()

def samples(n, d):
    return r.normal(size=(n, d)), r.integers(0, 2, n)

def all_support(n, d):  # of a machine that needs no step
    return mm.NuSVC(nu=1.0).fit(r.normal(size=(n, d)), np.arange(n) % 2)

{setup}
sent = []

def interrupt():
    sent.append(time.monotonic())
    signal.raise_signal(signal.SIGINT)

def work():
    {work}

most = 5.0
if {is_short}:
    begin = time.monotonic()
    work()
    most = 0.6 * (time.monotonic() - begin)
waits = []
for _ in range({is_short} and 5 or 1):
    timer, is_over = threading.Timer({is_short} and most / 6 or 0.4, interrupt), False
    timer.start()
    try:
        work()
        is_over = True
        timer.join()
        time.sleep(1.0)
    except KeyboardInterrupt:
        if not is_over:
            waits.append(time.monotonic() - sent[-1])
assert waits, "it ended before it was interrupted"
assert min(waits) < most, f"Ctrl-C took {{min(waits):.2f}} s of {{most:.2f}}"
assert mm.SVC().fit(few, labels).decision_function(few).tobytes() == expected
"""

HARD = "C=1e5, tol=1e-9"
TWO_SUMS = "kernels.RBF(0.1) * kernels.Laplacian(0.1)"  # which numpy multiplies

FITS = {
    "SVC": (f"mm.SVC({HARD})", "*samples(30_000, 10)"),
    "SVC on sparse": (f"mm.SVC({HARD})", "(X := samples(20_000, 10))[0] * 1.0, X[1]"),
    "SVC, probability": (f"mm.SVC(probability=True, {HARD})", "*samples(30_000, 10)"),
    "NuSVC": ("mm.NuSVC(nu=0.2, tol=1e-9)", "(X := samples(30_000, 10))[0], np.arange(30_000) % 2"),
    "SVR": (f"mm.SVR({HARD}, epsilon=0.0)", "*samples(20_000, 10)"),
    "NuSVR": (f"mm.NuSVR({HARD})", "*samples(20_000, 10)"),
    "OneClassSVM": ("mm.OneClassSVM(nu=0.5, tol=1e-12)", "samples(60_000, 10)[0]"),
    "many classes": ("mm.SVC(n_jobs=1)", "samples(7_500, 20)[0], np.arange(7_500) // 3"),
    "kernels in Python": (f"mm.SVC(kernel={TWO_SUMS})", "*samples(12_000, 60)"),
    "LinearSVC": ("mm.LinearSVC(loss='hinge', C=1e6, tol=1e-12)", "*samples(40_000, 3_00)"),
    "LinearSVC, l1": ("mm.LinearSVC(penalty='l1', C=1e3, tol=1e-12)", "*samples(3_000, 3_000)"),
    "LinearSVC, crammer_singer": (
        "mm.LinearSVC(multi_class='crammer_singer', C=1e6, tol=1e-12)",
        "samples(20_000, 100)[0], r.integers(0, 20, 20_000)",
    ),
    "LinearSVR": ("mm.LinearSVR(C=1e6, tol=1e-12, epsilon=0.0)", "*samples(40_000, 300)"),
    "SVCCV": (
        "mm.SVCCV(tol=1e-12, n_jobs=2)",
        "*samples(6_000, 10)",
    ),
    "SVCCV, cold": ("mm.SVCCV(tol=1e-12, cache_size=1)", "*samples(6_000, 10)"),
    "LinearSVCCV": ("mm.LinearSVCCV(tol=1e-12)", "*samples(40_000, 300)"),
    "Perceptron": ("mm.Perceptron(max_iter=2**40, tol=None)", "*samples(3_000, 50)"),
    "SGDClassifier": ("mm.SGDClassifier(max_iter=2**40, tol=None)", "*samples(3_000, 50)"),
    "KernelPerceptron": (  # every sample with both labels
        "mm.KernelPerceptron(max_iter=2**40, tol=None)",
        "np.tile(samples(1_500, 50)[0], (2, 1)), np.arange(3_000) // 1_500",
    ),
}

OTHERS = {
    "predict": ("m, X = all_support(8_000, 20), samples(600_000, 20)[0]", "m.predict(X)"),
    "decision_function": (
        "m, X = all_support(8_000, 20), samples(600_000, 20)[0]",
        "m.decision_function(X)",
    ),
    "predict_proba": (
        "m = mm.NuSVC(nu=1.0, probability=True)"
        "; m.fit(r.normal(size=(5_000, 20)), np.arange(5_000) % 2)"
        "; X = samples(900_000, 20)[0]",
        "m.predict_proba(X)",
    ),
    "predict, many classes": (
        "m = mm.SVC(n_jobs=1).fit(r.normal(size=(2_400, 5)), np.arange(2_400) // 3)"
        "; X = samples(100_000, 5)[0]",
        "m.predict(X)",
    ),
    "predict, kernels in Python": (
        f"m = mm.NuSVC(nu=1.0, kernel={TWO_SUMS})"
        "; m.fit(r.normal(size=(2_000, 20)), np.arange(2_000) % 2)"
        "; X = samples(100_000, 20)[0]",
        "m.predict(X)",
    ),
    "predict, KernelPerceptron": (
        "m = mm.KernelPerceptron(max_iter=1).fit(*samples(8_000, 20)); X = samples(900_000, 20)[0]",
        "m.predict(X)",
    ),
    "predict, LinearSVC": (
        "m, X = mm.LinearSVC().fit(*samples(100, 100)), samples(600_000, 100)[0]",
        "for _ in range(1_000): m.predict(X)",
    ),
    "kernel": ("X = samples(12_000, 400)[0]", f"({TWO_SUMS})(X, X)"),
    "certificate": (
        "X, y = r.normal(size=(30_000, 200)), np.arange(30_000) % 2"
        "; m = mm.SVC(max_iter=2_000).fit(X, y)",
        "for _ in range(100): diagnostics.certificate(m, X, y)",
    ),
    "partial_fit": (
        "m = mm.SGDClassifier(); X, y = samples(600_000, 100)",
        "for _ in range(1_000): m.partial_fit(X, y, classes=[0, 1])",
    ),
    "path": (
        "X, y = samples(40_000, 300)",
        "mm.LinearSVC(tol=1e-12, loss='hinge').path(X, y, np.logspace(3, 7, 20))",
    ),
}

# A fraction of a second in all: the least of several waits is compared with that.
SHORT = {
    "save_model": ("m = all_support(5_000, 300)", "io.save_model(m, memory.BytesIO())"),
    "load_model": (
        "m = all_support(8_000, 500); io.save_model(m, text := memory.BytesIO())"
        "; text = text.getvalue()",
        "io.load_model(memory.BytesIO(text))",
    ),
    "save_svmlight": (
        "X, y = samples(20_000, 100)",
        "io.save_svmlight(memory.BytesIO(), X, y)",
    ),
    "load_svmlight": (
        "X, y = samples(20_000, 100); io.save_svmlight(text := memory.BytesIO(), X, y)"
        "; text = text.getvalue()",
        "io.load_svmlight(memory.BytesIO(text))",
    ),
}


def check(setup: str, work: str, *, is_short: bool = False) -> None:
    code = CODE.format(setup=setup, work=work, is_short=is_short)
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr


@pytest.mark.parametrize("name", FITS)
def test_a_fit(name):
    estimator, data = FITS[name]
    setup = f"call = lambda *data: [*data]\ndata = call({data})\nmodel = {estimator}"
    check(setup, "model.fit(*data)")


@pytest.mark.parametrize("name", OTHERS)
def test_what_is_no_fit(name):
    check(*OTHERS[name])


@pytest.mark.parametrize("name", SHORT)
def test_files(name):
    check(*SHORT[name], is_short=True)
