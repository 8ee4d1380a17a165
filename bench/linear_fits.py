"""Problems of linear machines, one fit of them in a child process, and objectives in float64."""

import time
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

import problems
import runners


@dataclass(frozen=True)
class LinearProblem:
    """A LinearSVC problem, one class against the rest; the bias has intercept_scaling 1."""

    name: str
    source: str
    loss: str
    C: float
    penalty: str = "l2"


def both_losses(name, source, C=1.0):
    return (
        LinearProblem(f"{name} hinge", source, "hinge", C),
        LinearProblem(f"{name} squared", source, "squared_hinge", C),
    )


PROBLEMS = (
    *both_losses("news20ng C=1", "news20ng"),
    *both_losses("news20ng C=100", "news20ng", 100.0),
    *both_losses("reuters C=1", "reuters_acq_bigram"),
    *both_losses("reuters C=100", "reuters_acq_bigram", 100.0),
    *both_losses("w8a", "w8a"),
    *both_losses("a9a", "a9a"),
    *both_losses("noisy 200k", "noisy:200000:100"),
    LinearProblem("w8a l1", "w8a", "squared_hinge", 1.0, "l1"),
    LinearProblem("a9a l1", "a9a", "squared_hinge", 1.0, "l1"),
)
QUICK = (
    *both_losses("breast cancer", "sklearn:breast_cancer"),
    *both_losses("noisy 500", "noisy:500:10"),
    LinearProblem("noisy 500 l1", "noisy:500:10", "squared_hinge", 1.0, "l1"),
)


@dataclass
class Data:
    X: object
    y: np.ndarray


def load(problem, folder):
    """Samples in the type that their file has, and labels.

    "noisy:n:d" has labels of a random direction, a fifth of them flipped.
    """
    if problem.source.startswith("noisy:"):
        n, d = map(int, problem.source.split(":")[1:])
        rng = np.random.default_rng(1)
        X = rng.normal(size=(n, d))
        signs = np.where(X @ rng.normal(size=d) > 0, 1, -1)
        return Data(X, np.where(rng.random(n) < 0.2, -signs, signs))
    scaling = "standardise" if problem.source.startswith("sklearn:") else "none"
    as_problem = problems.Problem(problem.name, problem.source, 1.0, 1.0, scaling)
    data = problems.load(as_problem, folder, dtype=None)
    return Data(data.X, np.asarray(data.y))


def objective(problem, data, coef, intercept):
    """The sum of the primal objectives of all machines."""
    X = data.X.astype(np.float64)
    classes = np.unique(data.y)
    positive = classes[1:] if len(classes) == 2 else classes
    total = 0.0
    for label, w, b in zip(positive, coef, intercept, strict=True):
        signs = np.where(data.y == label, 1.0, -1.0)
        losses = np.maximum(0.0, 1.0 - signs * (X @ w + b))
        if problem.loss == "squared_hinge":
            losses = losses**2
        weights = np.append(w, b)
        penalty = abs(weights).sum() if problem.penalty == "l1" else 0.5 * (weights @ weights)
        total += penalty + problem.C * losses.sum()
    return total


class LiblinearFit:
    """LIBLINEAR's own package; the clock runs around its train."""

    def __init__(self, problem, request):
        from liblinear import liblinear, liblinearutil

        self.liblinear, self.util = liblinear, liblinearutil
        solver = 5 if problem.penalty == "l1" else {"hinge": 3, "squared_hinge": 1}[problem.loss]
        self.options = f"-s {solver} -c {problem.C!r} -e {request['tol']!r} -B 1 -q"

    def prepare(self, X, y):
        begin = time.perf_counter()
        self.problem = self.liblinear.problem(np.asarray(y, dtype=np.float64), sp.csr_matrix(X))
        self.form_seconds = time.perf_counter() - begin
        self.n_features = X.shape[1]

    def fit(self):
        self.model = self.util.train(self.problem, self.options)

    def result(self):
        labels = self.model.get_labels()
        n_columns = len(labels) if len(labels) > 2 else 1
        n_weights = self.model.nr_feature + 1
        raw = np.array(self.model.w[: n_weights * n_columns]).reshape(n_weights, n_columns)
        coef = np.zeros((n_columns, self.n_features))
        coef[:, : n_weights - 1] = raw[:-1].T
        order = np.argsort(labels) if n_columns > 1 else [0]
        sign = -1.0 if n_columns == 1 and labels[0] < labels[1] else 1.0
        return sign * coef[order], sign * raw[-1][order]

    def info(self):
        version = runners.metadata.version("liblinear-official")
        return {"version": version, "form_seconds": self.form_seconds}


class EstimatorFit:
    """LinearSVC of scikit-learn or of maxmargin; the clock runs around fit."""

    def __init__(self, problem, request):
        if request["library"] == "maxmargin":
            from maxmargin import LinearSVC, __version__

            more = {"n_jobs": request["threads"]}
        else:
            from sklearn import __version__
            from sklearn.svm import LinearSVC

            more = {"max_iter": 1_000_000, "dual": problem.penalty == "l2"}
        self.version = __version__
        self.estimator = LinearSVC(
            penalty=problem.penalty, loss=problem.loss, C=problem.C, tol=request["tol"], **more
        )

    def prepare(self, X, y):
        self.X, self.y = X, y

    def fit(self):
        self.estimator.fit(self.X, self.y)

    def result(self):
        return self.estimator.coef_, np.atleast_1d(self.estimator.intercept_)

    def info(self):
        return {"version": self.version}


def run(request, save):
    """One timed fit, after a tiny one, and its objective.

    LIBLINEAR's clock begins when its package has brought the samples into its own form, which is
    timed too.
    """
    problem = LinearProblem(**request["problem"])
    data = load(problem, request["data_folder"])
    make = LiblinearFit if request["library"] == "liblinear" else EstimatorFit
    rng = np.random.default_rng(0)
    tiny = rng.normal(size=(60, 5))
    warm = make(problem, request)
    warm.prepare(sp.csr_matrix(tiny) if sp.issparse(data.X) else tiny, np.sign(tiny[:, 0]))
    warm.fit()
    fit = make(problem, request)
    fit.prepare(data.X, data.y)
    seconds, _ = runners.timed(fit.fit, request["timeout"])
    coef, intercept = fit.result()
    save(
        {
            "n": data.X.shape[0],
            "d": data.X.shape[1],
            "fit_seconds": seconds,
            "objective": objective(problem, data, coef, intercept),
            **fit.info(),
        }
    )
