"""One measurement in a fresh process: load, prepare, time one fit (and one prediction), save.

``compare.py`` starts this file with a JSON request on standard input. The answer is the JSON file
named in the request; the model goes to an npz file for verification. Nothing but the fit itself
runs while the clock runs: imports, conversion of the data to the library's own form and a tiny fit
(threads started, code paged in) come before.
"""

import json
import resource
import signal
import sys
import time
from dataclasses import fields
from importlib import metadata
from pathlib import Path

import numpy as np
import scipy.sparse as sp

import machines as machines_module
import problems


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


# name: (runner, dtype of the data, threads or None for all, runs without being named)
LIBRARIES = {
    "maxmargin_f64": (MaxmarginRunner, np.float64, None, True),
    "maxmargin_f32": (MaxmarginRunner, np.float32, None, True),
    "maxmargin_f64_1t": (MaxmarginRunner, np.float64, 1, True),
    "maxmargin_f32_1t": (MaxmarginRunner, np.float32, 1, True),
    "libsvm": (LibsvmRunner, np.float64, None, True),
    "libsvm_1t": (LibsvmRunner, np.float64, 1, True),
    "sklearn": (SklearnRunner, np.float64, 1, True),
    "intelex_f64": (IntelexRunner, np.float64, None, True),
    "intelex_f32": (IntelexRunner, np.float32, None, True),
}


def is_ours(library):
    return library.startswith("maxmargin")


def peak_memory_mb():
    """Largest resident size of this process so far.

    ru_maxrss survives exec on Linux, so in a child it starts at the size of its parent; VmHWM does
    not.
    """
    try:
        status = Path("/proc/self/status").read_text()
        kilobytes = next(line for line in status.splitlines() if line.startswith("VmHWM"))
        return int(kilobytes.split()[1]) / 1024
    except (OSError, StopIteration):
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak / (1024**2 if sys.platform == "darwin" else 1024)


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


def run(request, save):
    """Carry out ``request``; ``save`` gets the answer after the fit and again after predicting."""
    runner_type, dtype, _, _ = LIBRARIES[request["library"]]
    data = problems.load(problems.Problem(**request["problem"]), request["data_folder"])
    warm_up(runner_type, request, dtype, sp.issparse(data.X))
    runner = runner_type(request, dtype)
    runner.prepare(data.X, data.y)
    memory_before = peak_memory_mb()
    seconds, _ = timed(runner.fit, request["timeout"])
    answer = {
        "fit_seconds": seconds,
        "peak_memory_mb": peak_memory_mb(),
        "peak_memory_before_fit_mb": memory_before,
        **runner.info(),
    }
    machines = runner.machines()
    machines.save(request["model_file"])
    answer["n_support"] = machines.n_support()
    save(answer)
    if request["predict"] and data.X_test is not None:
        runner.prepare_predict(data.X_test)
        seconds, labels = timed(runner.predict, request["timeout"])
        answer["predict_seconds"] = seconds
        answer["predict_accuracy"] = float(np.mean(labels == data.y_test))
        save(answer)


if __name__ == "__main__":
    request = json.load(sys.stdin)
    run(request, lambda answer: Path(request["answer_file"]).write_text(json.dumps(answer)))
