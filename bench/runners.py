"""What a child process measures with: a class per library, the clock, the size of the process."""

import contextlib
import ctypes
import resource
import signal
import sys
import time
from dataclasses import fields
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

import machines as machines_module


class LibsvmRunner:
    """LIBSVM's own package. The clock runs around svm_train, and around one svm_predict per row."""

    def __init__(self, request, dtype):
        from libsvm import svm

        self.svm = svm
        self.problem = request["problem"]
        options = (
            f"-s 0 -t 2 -c {self.problem['C']!r} -g {self.problem['gamma']!r} "
            f"-e {request['tol']!r} -m {request['cache_mb']} -q"
        )
        self.parameter = svm.svm_parameter(options)

    def prepare(self, X, y):
        self.nodes = self._to_problem(X, y)

    def fit(self):
        self.pointer = self.svm.libsvm.svm_train(self.nodes, self.parameter)

    def machines(self):
        self.model = model = self.svm.toPyModel(self.pointer)  # frees the C model when it dies
        k, n_sv = model.nr_class, model.l
        as_array = np.ctypeslib.as_array
        dual_coef = np.stack([as_array(model.sv_coef[i], (n_sv,)).copy() for i in range(k - 1)])
        return machines_module.from_libsvm_layout(
            as_array(model.label, (k,)).copy(),
            as_array(model.nSV, (k,)).copy(),
            as_array(model.sv_indices, (n_sv,)) - 1,
            dual_coef,
            -as_array(model.rho, (k * (k - 1) // 2,)),
        )

    def prepare_predict(self, X):
        self.test_nodes = self._to_problem(X, np.zeros(X.shape[0]))

    def predict(self):
        svm_predict, rows = self.svm.libsvm.svm_predict, self.test_nodes.x
        return np.array([svm_predict(self.pointer, rows[i]) for i in range(self.test_nodes.l)])

    def info(self):
        return {"version": metadata.version("libsvm-official")}

    def _to_problem(self, X, y):
        # The package takes csr_matrix (not csr_array) without a Python loop over values.
        return self.svm.svm_problem(np.asarray(y, dtype=np.float64), sp.csr_matrix(X))


class EstimatorRunner:
    """Anything with scikit-learn's interface; the clock runs around fit and around predict."""

    package = ""

    def __init__(self, request, dtype):
        self.dtype = dtype
        self.estimator = self.make(
            C=request["problem"]["C"],
            gamma=request["problem"]["gamma"],
            tol=request["tol"],
            cache_size=request["cache_mb"],
            n_threads=request["threads"],
        )

    def prepare(self, X, y):
        self.X, self.y = self._convert(X), y

    def fit(self):
        self.estimator.fit(self.X, self.y)

    def machines(self):
        model = self.estimator
        dual_coef = model.dual_coef_
        dual_coef = dual_coef.toarray() if sp.issparse(dual_coef) else np.asarray(dual_coef)
        bias = np.asarray(model.intercept_)
        if len(model.classes_) == 2:  # positive means classes_[1] here, the first class in LIBSVM
            dual_coef, bias = -dual_coef, -bias
        return machines_module.from_libsvm_layout(
            model.classes_, model.n_support_, model.support_, dual_coef, bias
        )

    def prepare_predict(self, X):
        self.X_test = self._convert(X)

    def predict(self):
        return self.estimator.predict(self.X_test)

    def info(self):
        return {"version": metadata.version(self.package)}

    def _convert(self, X):
        return X.astype(self.dtype) if sp.issparse(X) else np.ascontiguousarray(X, self.dtype)


class SklearnRunner(EstimatorRunner):
    package = "scikit-learn"

    @staticmethod
    def make(n_threads, **parameters):
        from sklearn.svm import SVC

        return SVC(**parameters)  # has one thread


class IntelexRunner(EstimatorRunner):
    package = "scikit-learn-intelex"

    @staticmethod
    def make(n_threads, **parameters):
        from sklearnex.svm import SVC

        return SVC(**parameters, n_jobs=n_threads)

    def info(self):
        # sklearnex hands inputs that it does not support to scikit-learn without a word.
        fell_back = not hasattr(self.estimator, "_onedal_estimator")
        return {**super().info(), "fell_back_to_sklearn": fell_back}


class MaxmarginRunner(EstimatorRunner):
    package = "maxmargin"

    @staticmethod
    def make(n_threads, **parameters):
        from maxmargin import SVC

        return SVC(**parameters, n_jobs=n_threads)

    def info(self):
        from maxmargin import __version__, _core

        info = {"version": __version__, "compiler": _core.compiler}
        info["target"] = _core.active_target()
        # The certificates of the single machines are left out: verify.py recomputes them.
        certificate = self.estimator.certificate_
        info["certificate"] = {
            field.name: getattr(certificate, field.name)
            for field in fields(certificate)
            if field.name != "machines"
        }
        return info


class Library(NamedTuple):
    runner: type
    dtype: type  # of the data
    n_threads: int | None  # None for all


LIBRARIES = {
    "maxmargin_f64": Library(MaxmarginRunner, np.float64, None),
    "maxmargin_f32": Library(MaxmarginRunner, np.float32, None),
    "maxmargin_f64_1t": Library(MaxmarginRunner, np.float64, 1),
    "maxmargin_f32_1t": Library(MaxmarginRunner, np.float32, 1),
    "libsvm": Library(LibsvmRunner, np.float64, None),
    "libsvm_1t": Library(LibsvmRunner, np.float64, 1),
    "sklearn": Library(SklearnRunner, np.float64, 1),
    "intelex_f64": Library(IntelexRunner, np.float64, None),
    "intelex_f32": Library(IntelexRunner, np.float32, None),
}


def is_ours(library):
    return library.startswith("maxmargin")


def memory_mb(field):
    """Resident size of this process: "VmRSS" now, "VmHWM" the largest so far.

    ru_maxrss survives exec on Linux, so in a child it starts at the size of its parent; VmHWM does
    not. Where there is no /proc, both are ru_maxrss.
    """
    try:
        status = Path("/proc/self/status").read_text()
        kilobytes = next(line for line in status.splitlines() if line.startswith(field))
        return int(kilobytes.split()[1]) / 1024
    except (OSError, StopIteration):
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak / (1024**2 if sys.platform == "darwin" else 1024)


def forget_peak_memory():
    """Start the largest size anew, so that loading leaves no mark on it (Linux).

    What loading has freed goes back to the system first: a fit that takes it again would not grow.
    """
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def timed(call, timeout):
    """Seconds and result of ``call``; SIGALRM's default action ends the process at the timeout."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, timeout)
    begin = time.perf_counter()
    result = call()
    seconds = time.perf_counter() - begin
    signal.setitimer(signal.ITIMER_REAL, 0)
    return seconds, result


def warm_up(runner_type, request, dtype, is_sparse):
    """A fit and a prediction on 60 rows in the same precision and layout."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5))
    y = np.arange(60) % 2
    runner = runner_type(request, dtype)
    runner.prepare(sp.csr_matrix(X) if is_sparse else X, y)
    runner.fit()
    runner.prepare_predict(sp.csr_matrix(X) if is_sparse else X)
    runner.predict()


def new_runner(request, X, y):
    """The runner of the library, warmed up and with its data."""
    runner_type, dtype, _ = LIBRARIES[request["library"]]
    warm_up(runner_type, request, dtype, sp.issparse(X))
    runner = runner_type(request, dtype)
    runner.prepare(X, y)
    return runner
