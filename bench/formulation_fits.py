"""One fit of another formulation than C-SVC in a child process."""

import numpy as np
import scipy.sparse as sp

import runners
from formulation_problems import Fit, load, problem_of

LIBSVM_NUMBERS = {"NuSVC": 1, "OneClassSVM": 2, "SVR": 3, "NuSVR": 4}


class LibsvmFormulation:
    """LIBSVM's own package; the clock runs around svm_train."""

    def __init__(self, problem, request, dtype):
        from libsvm import svm

        self.svm = svm
        flags = {"C": "-c", "nu": "-n", "epsilon": "-p"}
        own = " ".join(f"{flags[name]} {value!r}" for name, value in problem.parameters.items())
        self.parameter = svm.svm_parameter(
            f"-s {LIBSVM_NUMBERS[problem.estimator]} -t 2 -g {problem.gamma!r} {own} "
            f"-e {request['tol']!r} -m {request['cache_mb']} -q"
        )

    def prepare(self, X, y):
        self.nodes = self.svm.svm_problem(np.asarray(y, dtype=np.float64), sp.csr_matrix(X))

    def fit(self):
        self.pointer = self.svm.libsvm.svm_train(self.nodes, self.parameter)

    def result(self):
        self.model = model = self.svm.toPyModel(self.pointer)
        as_array = np.ctypeslib.as_array
        support = as_array(model.sv_indices, (model.l,)) - 1
        return support, as_array(model.sv_coef[0], (model.l,)).copy()

    def info(self):
        return {"version": runners.metadata.version("libsvm-official")}


class EstimatorFormulation:
    """An estimator of scikit-learn's name in a module; the clock runs around fit."""

    def __init__(self, problem, request, dtype, module, package, **more):
        self.dtype, self.package = dtype, package
        make = getattr(__import__(module, fromlist=["x"]), problem.estimator)
        self.estimator = make(
            gamma=problem.gamma,
            tol=request["tol"],
            cache_size=request["cache_mb"],
            **problem.parameters,
            **more,
        )

    def prepare(self, X, y):
        self.X = X.astype(self.dtype) if sp.issparse(X) else np.ascontiguousarray(X, self.dtype)
        self.y = y

    def fit(self):
        self.estimator.fit(self.X, self.y)

    def result(self):
        coef = self.estimator.dual_coef_
        coef = coef.toarray() if sp.issparse(coef) else np.asarray(coef)
        return np.asarray(self.estimator.support_), coef[0]

    def info(self):
        found = {"version": runners.metadata.version(self.package)}
        if self.package == "scikit-learn-intelex":
            # sklearnex hands what it does not support to scikit-learn without a word.
            found["fell_back_to_sklearn"] = not hasattr(self.estimator, "_onedal_estimator")
        return found


def new_fit(problem, request):
    library = request["library"]
    dtype = runners.LIBRARIES[library].dtype
    if library.startswith("libsvm"):
        return LibsvmFormulation(problem, request, dtype)
    threads = {"n_jobs": request["threads"]}
    if library.startswith("intelex"):
        return EstimatorFormulation(
            problem, request, dtype, "sklearnex.svm", "scikit-learn-intelex", **threads
        )
    if library == "sklearn":
        return EstimatorFormulation(problem, request, dtype, "sklearn.svm", "scikit-learn")
    return EstimatorFormulation(problem, request, dtype, "maxmargin", "maxmargin", **threads)


def run(request, save):
    """One timed fit, after a tiny one; the model's coefficients go to the npz file asked for."""
    problem = problem_of(request["problem"])
    data = load(problem, request["data_folder"])
    rng = np.random.default_rng(0)
    tiny = rng.normal(size=(60, data.X.shape[1] if not sp.issparse(data.X) else 5))
    warm = new_fit(problem, request)
    warm.prepare(sp.csr_matrix(tiny) if sp.issparse(data.X) else tiny, np.sign(tiny[:, 0]))
    warm.fit()
    fit = new_fit(problem, request)
    fit.prepare(data.X, data.y)
    seconds, _ = runners.timed(fit.fit, request["timeout"])
    support, coef = fit.result()
    Fit(support, coef).save(request["model_file"])
    save(
        {
            "n": data.X.shape[0],
            "d": data.X.shape[1],
            "fit_seconds": seconds,
            "n_support": len(support),
            **fit.info(),
        }
    )
