"""Random training problems: how they are drawn, fitted, and made as small as they go.

A case is plain data, so that what fails can be printed as a program.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

import maxmargin
from maxmargin import kernels
from oracles import svm as oracle

OF_LIBSVM = ("SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM")  # model files hold these
KERNEL_MACHINES = (*OF_LIBSVM, "QuantileSVR")
LINEAR_MACHINES = ("LinearSVC", "LinearSVR", "LinearSVCCV")
ONLINE = ("Perceptron", "KernelPerceptron", "SGDClassifier")
ESTIMATORS = (*KERNEL_MACHINES, *LINEAR_MACHINES, *ONLINE)
REGRESSIONS = ("SVR", "NuSVR", "QuantileSVR", "LinearSVR")
NAMED = ("linear", "poly", "rbf", "sigmoid")
IN_CORE = (
    "RBF(0.5) + 2.0 * Linear()",
    "Linear() * RBF(0.25) + Constant(1.0)",
    "Laplacian(0.25) * Laplacian(0.5)",
    "ChiSquared(0.5)",
    "HistogramIntersection()",
)
TEXTS = (*IN_CORE, "Polynomial(2, 0.5, 1.0) + Laplacian(0.5)", "function")
FORMS: dict[str, Callable[[np.ndarray], Any]] = {
    "float64": np.ascontiguousarray,
    "float32": lambda X: X.astype(np.float32),
    "fortran": np.asfortranarray,
    "csr": sp.csr_matrix,
    "csr32": lambda X: sp.csr_matrix(X.astype(np.float32)),
}


class NotApplicable(Exception):  # noqa: N818
    """The check says nothing of this case."""


# Of errors of a fit, those that are right for some cases that are drawn.
ALLOWED_ERRORS = ("the margin is 0: at this nu", "overflow")


class Definition:
    """A kernel as its definition in float64, which adds and multiplies as kernels do."""

    def __init__(self, values: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> None:
        self.values = values

    def __add__(self, other: Definition) -> Definition:
        return Definition(lambda A, B: self.values(A, B) + other.values(A, B))

    def __mul__(self, other: Definition) -> Definition:
        return Definition(lambda A, B: self.values(A, B) * other.values(A, B))

    def __rmul__(self, factor: float) -> Definition:
        return Definition(lambda A, B: factor * self.values(A, B))


def _defined(name: str, *parameters: str) -> Callable[..., Definition]:
    def make(*numbers: float) -> Definition:
        given = dict(zip(parameters, numbers, strict=True))
        return Definition(lambda A, B: oracle.kernel(A, B, name, **given))

    return make


def function(A: Any, B: Any) -> np.ndarray:
    """A kernel that is a function: Cauchy's."""
    A, B = (np.asarray(M.todense() if sp.issparse(M) else M, dtype=np.float64) for M in (A, B))
    return 1.0 / (1.0 + np.square(A[:, None] - B).sum(axis=2))


DEFINITIONS = {
    "RBF": _defined("rbf", "gamma"),
    "Linear": _defined("linear"),
    "Polynomial": _defined("poly", "degree", "gamma", "coef0"),
    "Laplacian": _defined("laplacian", "gamma"),
    "ChiSquared": _defined("chi_squared", "gamma"),
    "HistogramIntersection": _defined("histogram_intersection"),
    "Constant": lambda value: Definition(lambda A, B: np.full((len(A), len(B)), value)),
    "function": Definition(function),
}
MADE = {**{name: getattr(kernels, name) for name in kernels.__all__}, "function": function}


@dataclass(frozen=True)
class Case:
    """An estimator, its parameters and its data; `form` is the type in which X is passed."""

    estimator: str
    params: dict[str, Any]
    X: np.ndarray
    y: np.ndarray
    weight: np.ndarray | None = None
    form: str = "float64"

    @property
    def weights(self) -> np.ndarray:
        return np.ones(len(self.X)) if self.weight is None else self.weight

    def definition(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        """The kernel values in float64 by definition; those of linear machines too."""
        given = self.params
        name = "linear" if self.estimator in LINEAR_MACHINES else given.get("kernel", "rbf")
        if name not in NAMED:
            return eval(name, dict(DEFINITIONS)).values(A, B)
        parts = {"gamma": self.gamma, "coef0": given.get("coef0", 0.0)}
        parts["degree"] = given.get("degree", 3)
        return oracle.kernel(A, B, name, **parts)

    @property
    def gamma(self) -> float:
        gamma, d = self.params.get("gamma", "scale"), self.X.shape[1]
        if gamma == "auto":
            return 1.0 / d
        if gamma != "scale":
            return float(gamma)
        X = self.X - self.X[self.weights > 0][0, 0]
        mean = np.average(X, axis=0, weights=self.weights).mean()
        variance = np.average(np.square(X - mean).mean(axis=1), weights=self.weights)
        return 1.0 / (d * variance) if variance > 0 else 1.0

    def passed(self, Z: np.ndarray) -> Any:
        """Rows Z in the form in which the estimator takes them."""
        return self.definition(Z, self.X) if self.form == "precomputed" else FORMS[self.form](Z)

    def make(self) -> Any:
        params = dict(self.params)
        if self.form == "precomputed":
            params["kernel"] = "precomputed"
        elif "kernel" in params and params["kernel"] not in NAMED:
            params["kernel"] = eval(params["kernel"], dict(MADE))
        return getattr(maxmargin, self.estimator)(**params)

    def fit(self) -> Any:
        X, weight = self.passed(self.X), {}
        if self.weight is not None:
            weight["sample_weight"] = self.weight
        try:
            return self.make().fit(X, self.y, **weight)
        except ValueError as error:
            is_indefinite = self.params.get("kernel") == "sigmoid"
            allowed = [*ALLOWED_ERRORS, *is_indefinite * ["a positive semidefinite kernel"]]
            if any(text in str(error) for text in allowed):
                raise NotApplicable from error
            raise

    def values(self, model: Any, Z: np.ndarray) -> np.ndarray:
        """Decision values, or predictions of a regression; a column for each machine."""
        return self.values_of_passed(model, self.passed(Z))

    def values_of_passed(self, model: Any, samples: Any) -> np.ndarray:
        call = model.predict if self.estimator in REGRESSIONS else model.decision_function
        return np.asarray(call(samples)).reshape(samples.shape[0], -1)

    def text(self) -> str:
        """A program that makes the case."""
        arrays = {"X": self.X, "y": self.y}
        if self.weight is not None:
            arrays["weight"] = self.weight
        lines = [f"{name} = np.array({array.tolist()!r})" for name, array in arrays.items()]
        weight = "weight" if self.weight is not None else "None"
        made = f"Case({self.estimator!r}, {self.params!r}, X, y, {weight}, {self.form!r})"
        return "\n".join([*lines, f"case = {made}"])


# -- drawing ---------------------------------------------------------------------------------------


def draw(rng: np.random.Generator, estimator: str | None = None, tame: bool = False) -> Case:
    """A random case; a tame one has ordinary numbers."""
    name = estimator or str(rng.choice(ESTIMATORS))
    n = int(rng.choice([2, 5, 12, 30, 60, 300], p=[0.1, 0.2, 0.3, 0.2, 0.17, 0.03]))
    X = _samples(rng, n, int(rng.integers(1, 9)), tame)
    params = _params(rng, name, tame)
    if any(word in str(params.get("kernel")) for word in ("ChiSquared", "Histogram")):
        X = np.abs(X)
    k = 1 if name == "OneClassSVM" else int(rng.choice([2, 2, 2, 3, 4]))
    y: np.ndarray = np.arange(len(X)) % min(k, len(X))
    if name in REGRESSIONS:
        y = X[:, 0] * rng.normal() + rng.normal(size=len(X)) * rng.choice([0.0, 0.1, 1.0])
    elif rng.random() < 0.5:
        X = X + 2.0 * y[:, np.newaxis] * abs(rng.normal()) * (np.abs(X).max(axis=0) > 0)
    if name == "LinearSVCCV":  # every fold needs a sample of each class
        params["cv"], X, y = 2, np.repeat(X, 2, axis=0), np.repeat(y, 2)
    X = X.astype(np.float32).astype(np.float64)  # the same in every form
    weight = None if rng.random() < 0.5 else rng.integers(1, 4, len(X)).astype(float)
    form = str(rng.choice(list(FORMS)))
    if name in KERNEL_MACHINES and rng.random() < 0.1:
        form = "precomputed"
    if name == "KernelPerceptron":
        weight = None
    case = Case(name, params, X, y, weight, form)
    if name == "NuSVC":
        params["nu"] *= _largest_nu(case)
    return case


def _samples(rng: np.random.Generator, n: int, d: int, tame: bool) -> np.ndarray:
    X = rng.normal(size=(n, d))
    kinds = ["normal", "integers", "sparse"]
    kind = str(rng.choice(kinds if tame else [*kinds, "scales", "offset", "copies", "constant"]))
    if kind == "integers":
        X = rng.integers(-3, 4, size=(n, d)).astype(float)
    elif kind == "sparse":
        X[rng.random((n, d)) < 0.7] = 0.0
    elif kind == "scales":
        X *= 10.0 ** rng.uniform(-5, 5, d)
    elif kind == "offset":
        X += 10.0 ** rng.uniform(0, 6)
    elif kind == "copies":
        X = X[rng.integers(0, max(1, n // 4), n)]
    elif kind == "constant":
        X[:] = rng.choice([0.0, 1.0, 1e3, 1e6])
    return X


def _params(rng: np.random.Generator, name: str, tame: bool) -> dict[str, Any]:
    def power(low: float, high: float) -> float:
        return float(f"{10.0 ** rng.uniform(low, high):.3g}")

    params: dict[str, Any] = {}
    wide = 2.0 if tame else 1.0
    if name in KERNEL_MACHINES or name == "KernelPerceptron":
        texts = TEXTS if name in KERNEL_MACHINES else IN_CORE
        params["kernel"] = str(rng.choice([*NAMED, *NAMED, *texts]))
        if params["kernel"] in NAMED:
            params |= {"degree": int(rng.integers(1, 4)), "coef0": float(rng.integers(0, 2))}
            params["gamma"] = power(-2, 1)
            if rng.random() < 0.3:
                params["gamma"] = str(rng.choice(["scale", "auto"]))
    if name in KERNEL_MACHINES:
        params |= {"tol": power(-8, -4 if tame else -1), "shrinking": bool(rng.random() < 0.5)}
        params["cache_size"] = float(rng.choice([1, 200]))
    if name in ("SVC", "SVR", "NuSVR", "QuantileSVR", *LINEAR_MACHINES):
        params["C"] = power(-3 / wide, (4 if rng.random() < 0.9 else 10) / wide)
    if name in ("NuSVC", "NuSVR", "OneClassSVM"):
        params["nu"] = float(rng.choice([0.1, 0.3, 0.5, 0.9]))
    if name == "QuantileSVR":
        params["quantile"] = float(rng.choice([0.01, 0.3, 0.5, 0.95]))
    if name in ("SVR", "LinearSVR"):
        params["epsilon"] = float(rng.choice([0.0, 0.1, 1.0]))
    if name == "SVC":
        params["loss"] = str(rng.choice(["hinge", "squared_hinge"], p=[0.7, 0.3]))
    if name in ("SVC", "NuSVC"):
        params["decision_function_shape"] = "ovo"
    if name in LINEAR_MACHINES:
        params |= {"tol": power(-6, -2), "fit_intercept": bool(rng.random() < 0.7)}
        losses = ["squared_hinge", "hinge"]
        if name == "LinearSVR":
            losses = ["epsilon_insensitive", "squared_epsilon_insensitive"]
        params["loss"] = str(rng.choice(losses))
        if params["loss"] == "squared_hinge" and rng.random() < 0.3:
            params["penalty"] = "l1"
    if name == "LinearSVCCV":
        params["Cs"] = sorted([params.pop("C"), 50.0])
    if name in ("SVC", "LinearSVC") and rng.random() < 0.3:
        params["class_weight"] = "balanced"
    if name in ONLINE:
        params |= {"max_iter": int(rng.integers(1, 9)), "shuffle": False}
        params |= {"fit_intercept": bool(rng.random() < 0.7), "average": bool(rng.random() < 0.3)}
    if name == "SGDClassifier":
        params["loss"] = str(rng.choice(["hinge", "squared_hinge", "perceptron"]))
        params |= {"learning_rate": str(rng.choice(["optimal", "pegasos"])), "tol": None}
        params |= {"alpha": power(-3, 0), "penalty": str(rng.choice(["l2", "l1", "elasticnet"]))}
    return params


def _largest_nu(case: Case) -> float:
    sums = np.bincount(case.y, weights=case.weights)
    return float(min(2.0 * min(a, b) / (a + b) for a in sums for b in sums))


# -- shrinking -------------------------------------------------------------------------------------


def shrunk(case: Case, fails: Callable[[Case], bool], seconds: float = 30.0) -> Case:
    """A case as small as was found within the time that still fails."""
    end = time.monotonic() + seconds
    before = None
    while before is not case and time.monotonic() < end:
        before = case
        for smaller in _smaller(case):
            if time.monotonic() > end:
                break
            if fails(smaller):
                case = smaller
                break
    return case


def _smaller(case: Case) -> Any:
    n, d = case.X.shape
    for size in (n // 2, n // 4, n // 8, 1):
        for begin in range(0, n if size else 0, size or 1):
            keep = np.r_[0:begin, begin + size : n]
            weight = None if case.weight is None else case.weight[keep]
            yield replace(case, X=case.X[keep], y=case.y[keep], weight=weight)
    for j in range(d if d > 1 else 0):
        yield replace(case, X=np.delete(case.X, j, axis=1))
    if case.weight is not None:
        yield replace(case, weight=None)
    if case.form != "float64":
        yield replace(case, form="float64")
    for name in case.params:
        rest = {other: value for other, value in case.params.items() if other != name}
        yield replace(case, params=rest)
    for digits in (0, 1, 3):
        if (rounded := np.round(case.X, digits)).tolist() != case.X.tolist():
            yield replace(case, X=rounded)
        if (rounded := np.round(case.y, digits)).tolist() != case.y.tolist():
            yield replace(case, y=rounded)
