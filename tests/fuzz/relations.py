"""What must not matter: order, form, scale, copies, threads, targets, a stay in a file.

The objectives of machines are 1-strongly convex in w, so that a model with duality gap g lies
within sqrt(2 g) of the optimum. Two fits of one problem therefore have objectives whose intervals
meet, and decision values that differ, but for the offset, by no more than the two distances allow.
No tolerance is chosen here but that of rounding.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from cases import FORMS, KERNEL_MACHINES, LINEAR_MACHINES, NAMED, OF_LIBSVM, REGRESSIONS, Case
from optimality import ROUNDING, needs

from maxmargin import _core, io


@dataclass
class Pair:
    """Two fits of one problem: rows of the first become rows of the second by `move`."""

    first: Case
    second: Case
    move: Callable[[np.ndarray], np.ndarray] = field(default=lambda Z: Z)
    sign: float = 1.0


def permuted_rows(case: Case, rng: np.random.Generator) -> Pair:
    needs(case.estimator in (*KERNEL_MACHINES, "LinearSVC", "LinearSVR"))
    p = rng.permutation(len(case.X))
    weight = None if case.weight is None else case.weight[p]
    return Pair(case, replace(case, X=case.X[p], y=case.y[p], weight=weight))


def permuted_columns(case: Case, rng: np.random.Generator) -> Pair:
    needs(case.estimator in (*KERNEL_MACHINES, *LINEAR_MACHINES) or is_exact(case))
    p = rng.permutation(case.X.shape[1])
    return Pair(case, replace(case, X=case.X[:, p]), lambda Z: Z[:, p])


def copies(case: Case, rng: np.random.Generator) -> Pair:
    """A weight of k, or k copies."""
    needs(case.estimator in (*KERNEL_MACHINES, "LinearSVC", "LinearSVR"))
    times = case.weights.astype(int)
    X, y = np.repeat(case.X, times, axis=0), np.repeat(case.y, times)
    return Pair(case, replace(case, X=X, y=y, weight=None))


def removal(case: Case, rng: np.random.Generator) -> Pair:
    """A weight of 0, or no such sample."""
    needs(case.estimator != "KernelPerceptron" and case.form != "precomputed")
    needs(case.estimator not in ("NuSVC", "LinearSVCCV"))  # nu and folds go by what is left
    keep = rng.random(len(case.X)) < 0.7
    keep[np.unique(case.y, return_index=True)[1] if case.estimator not in REGRESSIONS else 0] = True
    weighted = replace(case, weight=np.where(keep, case.weights, 0.0))
    return Pair(weighted, replace(case, X=case.X[keep], y=case.y[keep], weight=case.weights[keep]))


def scale(case: Case, rng: np.random.Generator) -> Pair:
    """X times a power of two, and gamma divided by its square."""
    needs(case.params.get("kernel") in ("rbf", "poly", "sigmoid"))
    factor, gamma = float(2.0 ** rng.integers(-3, 4)), case.gamma
    first = replace(case, params={**case.params, "gamma": gamma})
    params = {**case.params, "gamma": gamma / factor**2}
    return Pair(first, replace(case, X=case.X * factor, params=params), lambda Z: Z * factor)


def shift(case: Case, rng: np.random.Generator) -> Pair:
    """X moved by a constant, for the RBF kernel."""
    needs(case.params.get("kernel") == "rbf" and case.params.get("gamma") not in ("scale", "auto"))
    needs(np.abs(case.X).max() < 100 and np.array_equal(case.X, case.X.round()))
    by = rng.integers(-50, 50, case.X.shape[1]).astype(float)
    return Pair(case, replace(case, X=case.X + by), lambda Z: Z + by)


def classes_swapped(case: Case, rng: np.random.Generator) -> Pair:
    needs(case.estimator not in REGRESSIONS and set(case.y) == {0, 1})
    needs(case.estimator in (*KERNEL_MACHINES, "LinearSVC") or is_exact(case))
    return Pair(case, replace(case, y=1 - case.y), sign=-1.0)


def form(case: Case, rng: np.random.Generator) -> Pair:
    """Dense or sparse, in C's or Fortran's order, float32 or float64."""
    needs(case.form != "precomputed")
    needs(
        case.estimator not in ("SGDClassifier", "Perceptron", "KernelPerceptron") or is_exact(case)
    )
    return Pair(case, replace(case, form=str(rng.choice(list(FORMS)))))


def given_kernel(case: Case, rng: np.random.Generator) -> Pair:
    """The kernel matrix instead of the samples."""
    needs(case.estimator in KERNEL_MACHINES and case.form in ("float64", "csr"))
    return Pair(case, replace(case, form="precomputed"))


RELATIONS = (
    *(permuted_rows, permuted_columns, copies, removal, scale, shift, classes_swapped, form),
    given_kernel,
)


def is_exact(case: Case) -> bool:
    """Whether the rule of a perceptron makes sums that no order changes."""
    kernel = case.params.get("kernel", "linear")
    plain = case.estimator in ("Perceptron", "KernelPerceptron") and kernel == "linear"
    return bool(plain and not case.params.get("average") and np.array_equal(case.X, case.X.round()))


def check(relation: Callable[..., Pair], case: Case, rng: np.random.Generator) -> None:
    """Assert that the two fits of a relation agree."""
    needs(case.params.get("kernel") != "sigmoid")  # not convex
    pair = relation(case, rng)
    Z = pair.first.X[:20]
    first = Fit.of(pair.first, Z)
    second = Fit.of(pair.second, pair.move(Z))
    assert_same(pair.first, first, second, Z, pair.sign)


@dataclass
class Fit:
    """What a fit is compared by; the objectives have an element for each machine."""

    values: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    size: float  # of the sums behind decision values
    rounding: np.ndarray  # that certificates may show, by docs/certificate.md

    @classmethod
    def of(cls, case: Case, Z: np.ndarray) -> Fit:
        model = case.fit()
        certificate = getattr(model, "certificate_", None)
        parts = (certificate.machines or (certificate,)) if certificate else ()
        lower = -np.array([part.dual_objective for part in parts])
        upper = np.array([part.primal_objective for part in parts])
        size, rounding = 0.0, 0.0 * upper
        if case.estimator in KERNEL_MACHINES:
            size = np.abs(case.definition(case.X, case.X)).max() * np.abs(model.dual_coef_).sum()
            rounding = 1e-6 * np.abs(lower) + 0.1 * np.abs(upper - lower)
            rounding += 0.01 * model.tol * np.abs(model.dual_coef_).sum()
        elif certificate:
            size = np.abs(case.X).max() * np.abs(model.coef_).sum()
        return cls(case.values(model, Z), lower, upper, size, rounding)


def assert_same(case: Case, first: Fit, second: Fit, Z: np.ndarray, sign: float = 1.0) -> None:
    a, b = first.values, sign * second.values
    if not len(first.upper):
        assert np.abs(a - b).max() <= 1e-9 * np.abs(a).max(), f"values {a[:3]} and {b[:3]}"
        return
    if case.estimator == "NuSVC":  # what is certified is divided by a margin of the fit's own
        return
    lost = ROUNDING * (np.abs(first.upper) + np.abs(second.upper) + first.size + second.size)
    lost = lost + first.rounding + second.rounding
    message = f"[{first.lower}, {first.upper}] and [{second.lower}, {second.upper}] do not meet"
    assert (first.lower <= second.upper + lost).all(), message
    assert (second.lower <= first.upper + lost).all(), message
    if case.params.get("penalty") == "l1":
        return
    gaps = [np.maximum(fit.upper - fit.lower, 0.0) + lost for fit in (first, second)]
    K = case.definition(Z, Z)
    reach = np.sqrt(np.maximum(0.0, np.diag(K) + K[0, 0] - 2.0 * K[:, 0]))
    allowed = reach[:, None] * (np.sqrt(2.0 * gaps[0]) + np.sqrt(2.0 * gaps[1]))
    allowed = allowed + ROUNDING * (first.size + second.size)
    difference = np.abs((a - a[:1]) - (b - b[:1]))
    assert (difference <= allowed).all(), (
        f"values differ by {difference.max()}, the gaps allow {allowed.max()}"
    )


# -- bit by bit ------------------------------------------------------------------------------------


def bits(case: Case, rng: np.random.Generator) -> None:
    """Threads, a second fit, pickles, model files and single rows change no bit."""
    model = case.fit()
    expected = case.values(model, case.X)
    again = {"a pickle": pickle.loads(pickle.dumps(model))}
    again["threads"] = replace(
        case, params={**case.params, "n_jobs": int(rng.integers(2, 5))}
    ).fit()
    for name, other in again.items():
        assert np.array_equal(case.values(other, case.X), expected), f"{name} changes values"
    kernel = case.params.get("kernel", "rbf")
    # Some compositions are numpy's, whose products of matrices depend on their number of rows.
    is_numpys = getattr(model.get_params().get("kernel"), "_core_params", lambda: 0)() is None
    if case.estimator in KERNEL_MACHINES and kernel not in ("linear", "function") and not is_numpys:
        samples = case.passed(case.X)  # of a given kernel, its rows: numpy's products are its own
        rows = [samples[i : i + 1] for i in range(min(3, len(case.X)))]
        alone = np.concatenate([case.values_of_passed(model, row) for row in rows])
        assert np.array_equal(alone, expected[: len(alone)]), "a row alone differs"
    if case.estimator in ("LinearSVC", "Perceptron", "SGDClassifier") and len(model.classes_) > 2:
        best = model.classes_[expected.argmax(axis=1)]
        assert np.array_equal(model.predict(case.passed(case.X)), best), "predictions"
    if case.estimator in OF_LIBSVM and kernel in NAMED:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model"
            io.save_model(model, path)
            loaded = io.load_model(path, n_features=model.n_features_in_)
        lost = ROUNDING * Fit.of(case, case.X).size
        if "decision_function_shape" in case.params:
            loaded.set_params(decision_function_shape="ovo")
        assert np.abs(case.values(loaded, case.X) - expected).max() <= lost, "a model file differs"


def targets(case: Case, rng: np.random.Generator) -> None:
    """Every SIMD target fits the same problem, each in a process of its own."""
    needs(case.params.get("kernel") != "sigmoid")
    Z = case.X[:20]
    first = Fit.of(case, Z)
    for name in _core.simd_targets():
        run = subprocess.run(
            [sys.executable, "-c", "import relations; relations.serve()"],
            input=pickle.dumps((case, Z)), capture_output=True,
            env={**os.environ, "MAXMARGIN_SIMD": name, "PYTHONPATH": os.pathsep.join(sys.path)},
        )  # fmt: skip
        assert run.returncode == 0, f"target {name}: {run.stderr.decode()[-2000:]}"
        assert_same(case, first, pickle.loads(run.stdout), Z)


def serve() -> None:
    """Write the fit of a case that is read."""
    sys.stdout.buffer.write(pickle.dumps(Fit.of(*pickle.loads(sys.stdin.buffer.read()))))
