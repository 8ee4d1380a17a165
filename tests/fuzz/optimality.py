"""Fits against definitions: KKT conditions, objectives, and the rules of the perceptrons."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from cases import KERNEL_MACHINES, LINEAR_MACHINES, REGRESSIONS, Case, NotApplicable

from maxmargin import diagnostics
from oracles import linear, online
from oracles import perceptron as rosenblatt
from oracles.svm import kernel as kernel_values

MOST_BRANCHES = 256  # of a rule with ties
ROUNDING = 1e-9  # of a sum of products, relative to the sum of their magnitudes


def needs(condition: bool) -> None:
    if not condition:
        raise NotApplicable


@dataclass
class Machine:
    """One binary machine of a fitted kernel machine, in the signed variables."""

    rows: np.ndarray
    target: np.ndarray
    beta: np.ndarray
    offset: float
    upper: np.ndarray
    certificate: Any
    epsilon: float = 0.0


def machines_of(case: Case, model: Any) -> list[Machine]:
    """The machines with all rows that take part; dual variables in LIBSVM's layout."""
    n, name = len(case.X), case.estimator
    certificates = model.certificate_.machines or (model.certificate_,)
    every = np.flatnonzero(case.weights > 0)
    if name not in ("SVC", "NuSVC"):
        beta = np.zeros(n)
        beta[model.support_] = model.dual_coef_[0]
        factor = 1.0 if name == "OneClassSVM" else model.C
        epsilon = getattr(model, "epsilon_", getattr(model, "epsilon", 0.0))
        target = np.zeros(n) if name == "OneClassSVM" else case.y
        return [
            Machine(
                every, target[every], beta[every], model.intercept_[0],
                factor * case.weights[every], certificates[0], epsilon,
            )
        ]  # fmt: skip
    k, found = len(model.classes_), []
    codes = np.searchsorted(model.classes_, case.y)
    ends = np.cumsum(model.n_support_)
    for p, (i, j) in enumerate(combinations(range(k), 2)):
        beta = np.zeros(n)
        for own, other in ((i, j), (j, i)):
            part = slice(ends[own] - model.n_support_[own], ends[own])
            row = 0 if k == 2 else other - (other > own)
            beta[model.support_[part]] = model.dual_coef_[row, part]
        rows = every[np.isin(codes[every], (i, j))]
        signs = np.where(codes[rows] == (j if k == 2 else i), 1.0, -1.0)
        C = model.C_[p] if name == "NuSVC" else model.C
        upper = C * model.class_weight_[codes[rows]] * case.weights[rows]
        found.append(Machine(rows, signs, beta[rows], model.intercept_[p], upper, certificates[p]))
    return found


def optimality_of_machine(case: Case, m: Machine) -> None:
    """The certificate is that of the machine, and the KKT conditions hold as it says."""
    X, name, certificate = case.X[m.rows], case.estimator, m.certificate
    K = case.definition(X, X)
    beta, size = m.beta, np.abs(m.beta)
    rounding = ROUNDING * (np.abs(K).max() * size.sum() + np.abs(m.target).max())
    rounding += 3e-7 * np.abs(K).max() * size.sum() * ("32" in case.form)
    f = K @ beta
    reward = 0.0
    q = case.params.get("quantile")
    above, below = (1.0, 1.0) if q is None else (q, 1.0 - q)
    is_squared = case.params.get("loss") == "squared_hinge"
    slope = f + (beta / (2.0 * m.upper) if is_squared else 0.0)
    upper = np.full(len(beta), np.inf) if is_squared else m.upper
    inside = upper * (1 - 1e-12)  # C_ of NuSVC rounds
    most = upper * np.where(beta > 0, above, below)
    assert (size <= most * (1 + 1e-9)).all(), "a coefficient is beyond its bound"
    if name in REGRESSIONS:
        grow = np.where(
            beta < above * inside,
            m.target - slope - np.where(beta >= 0, 1, -1) * m.epsilon,
            -np.inf,
        )
        fall = np.where(
            beta > -below * inside, m.target - slope - np.where(beta > 0, 1, -1) * m.epsilon, np.inf
        )
        error = m.target - f - m.offset
        losses = np.maximum(0.0, np.where(error > 0, above, below) * np.abs(error) - m.epsilon)
        dual = m.epsilon * size.sum() - m.target @ beta
    elif name == "OneClassSVM":
        assert (beta >= 0).all(), "a coefficient is negative"
        grow, fall = np.where(beta < inside, -f, -np.inf), np.where(beta > 0, -f, np.inf)
        losses = np.maximum(0.0, -m.offset - f)
        dual = 0.0
    else:
        assert (m.target * beta >= 0).all(), "a coefficient has the wrong sign"
        sides = m.target * beta
        up = np.where(m.target > 0, sides < inside, sides > 0)
        low = np.where(m.target > 0, sides > 0, sides < inside)
        grow = np.where(up, m.target - slope, -np.inf)
        fall = np.where(low, m.target - slope, np.inf)
        losses = np.maximum(0.0, 1.0 - m.target * (f + m.offset)) ** (2 if is_squared else 1)
        dual = -size.sum()
    if name == "NuSVC":  # the margin r, which is 1 after the division, is what is rewarded
        reward, dual = size.sum(), 0.0
    violation = max(0.0, grow.max() - fall.min())
    groups = 2 if name in ("NuSVC", "NuSVR") else 1  # each has a violation, from a level of its own
    allowed = groups * certificate.kkt_violation * (1 + 1e-6) + rounding
    assert violation <= allowed, f"KKT violation {violation}, certified {certificate.kkt_violation}"
    if certificate.converged:
        tol = case.make().tol
        assert violation <= groups * tol * (1 + 1e-6) + rounding, (
            f"KKT violation {violation}, tol {tol}"
        )
    quadratic = 0.5 * beta @ K @ beta
    primal = quadratic + m.upper @ losses - reward
    if name == "OneClassSVM":
        primal += m.offset * case.params.get("nu", 0.5) * m.upper.sum()
    if name == "NuSVR":
        primal += case.params.get("nu", 0.5) * m.upper.sum() * m.epsilon
        dual -= m.epsilon * size.sum()
    dual += quadratic + (np.square(beta) / (4.0 * m.upper)).sum() * is_squared
    lost = rounding * (1.0 + m.upper @ (losses > 0)) + 1e-6 * abs(dual)
    lost += 0.1 * abs(certificate.duality_gap) + 0.01 * case.make().tol * size.sum()
    # A fit that has not converged counts rounding that may not have happened: bounds, not values.
    slack = np.inf if not certificate.converged else lost + 1e-9 * abs(primal)
    higher = certificate.primal_objective - primal
    assert -lost - 1e-9 * abs(primal) <= higher <= slack, (
        f"primal {primal}, certified {certificate.primal_objective}"
    )
    lost += rounding * size.sum()
    slack = np.inf if not certificate.converged else lost
    assert -lost <= certificate.dual_objective - dual <= slack, (
        f"dual {dual}, certified {certificate.dual_objective}"
    )


def optimality(case: Case, rng: np.random.Generator) -> None:
    """Fits are what the definitions say: KKT conditions, objectives, the rules as written."""
    model = case.fit()
    Z = np.concatenate([case.X[:5], case.X[:5] + rng.normal(size=case.X[:5].shape).round(2)])
    Z = np.abs(Z) if (case.X >= 0).all() else Z
    assert np.isfinite(case.values(model, Z)).all(), "decision values are not finite"
    if case.estimator in KERNEL_MACHINES:
        for machine in machines_of(case, model):
            optimality_of_machine(case, machine)
        if case.form == "precomputed":
            return
        certificate = diagnostics.certificate(
            model, case.passed(case.X),
            *([] if case.estimator == "OneClassSVM" else [case.y]), sample_weight=case.weight,
        )  # fmt: skip
        kmax = np.abs(case.definition(case.X, case.X)).max()
        rounding = (1e-6 if "32" in case.form else 1e-9) * kmax * np.abs(model.dual_coef_).sum()
        targets = np.abs(case.y).max() if case.estimator in REGRESSIONS else 1.0
        rounding += 4.0 * np.finfo(float).eps * targets
        assert certificate.kkt_violation <= model.certificate_.kkt_violation * 1.01 + rounding, (
            f"{certificate.kkt_violation} recomputed, {model.certificate_.kkt_violation} certified"
        )
    elif case.estimator in LINEAR_MACHINES:
        optimality_of_linear(case, model)
    elif case.estimator == "SGDClassifier":
        optimality_of_sgd(case, model)
    else:
        optimality_of_perceptron(case, model)


def optimality_of_linear(case: Case, model: Any) -> None:
    certificate = model.certificate_
    C = model.C_ if case.estimator == "LinearSVCCV" else model.C
    parts = certificate.machines or (certificate,)
    coef, intercept = np.atleast_2d(model.coef_), np.atleast_1d(model.intercept_)
    for c, part in enumerate(parts):
        target, weight = case.y, case.weights * C
        if case.estimator != "LinearSVR":
            positive = model.classes_[c if len(parts) > 1 else 1]
            target = np.where(case.y == positive, 1.0, -1.0)
            if case.params.get("class_weight") == "balanced":
                classes, codes = np.unique(case.y, return_inverse=True)
                sums = np.bincount(codes, weights=case.weights)
                by_class = sums.sum() / (len(classes) * sums)
                if len(parts) > 1:
                    by_class[np.arange(len(classes)) != c] = 1.0
                weight = weight * by_class[codes]
        b = float(intercept[c]) if len(intercept) > c else float(intercept[0])
        primal = linear.primal_objective(
            *(case.X, target, coef[c], b, weight, model.loss),
            penalty=getattr(model, "penalty", "l2"), epsilon=getattr(model, "epsilon", 0.0),
        )  # fmt: skip
        terms = np.abs(case.X) @ np.abs(coef[c]) + abs(b) + np.abs(target)
        lost = 1e-9 * abs(primal) + 1e-12 * weight @ terms ** (2 if "squared" in model.loss else 1)
        assert abs(primal - part.primal_objective) <= lost, (
            f"primal {primal}, certified {part.primal_objective}"
        )
        assert part.duality_gap >= -lost, f"the duality gap is {part.duality_gap}"
        if part.converged:
            assert part.relative_gap <= model.tol, f"gap {part.relative_gap}, tol {model.tol}"


def optimality_of_sgd(case: Case, model: Any) -> None:
    p = case.params
    needs(len(model.classes_) == 2 and len(case.X) >= 2 and not p.get("average"))
    needs(set(p) >= {"loss", "alpha", "penalty", "learning_rate", "max_iter", "tol", "shuffle"})
    ratio = {"l2": 0.0, "l1": 1.0, "elasticnet": 0.15}[p["penalty"]]
    needs(np.abs(case.X).max() < 100 and not np.equal(case.X, case.X.round()).any())

    def by_rule(ties: list[bool]) -> tuple[np.ndarray, float]:
        w, b, *_ = online.subgradient(
            *(case.X, np.where(case.y == model.classes_[1], 1.0, -1.0), p["max_iter"]),
            loss=p["loss"], l2=p["alpha"] * (1 - ratio), l1=p["alpha"] * ratio,
            step=online.step_of(p["learning_rate"], p["alpha"], 0.01, 0.5, p["loss"]),
            weight=case.weight, fit_intercept=p.get("fit_intercept", True), ties=ties,
        )  # fmt: skip
        needs(bool(np.isfinite(w).all()))
        return w, b

    # Where f is within rounding of a tie, either side is right.
    for n_tried, (w, b) in enumerate(online.branches(by_rule)):
        needs(n_tried < MOST_BRANCHES)
        scale = max(1.0, np.abs(w).max(), abs(b))
        if np.abs(model.coef_[0] - w).max() <= 1e-5 * scale:
            return
    raise AssertionError(f"coef_ {model.coef_[0]}, by rule {w}")


def optimality_of_perceptron(case: Case, model: Any) -> None:
    """By the rule as written, on integers, whose sums are exact."""
    p = case.params
    needs(np.array_equal(case.X, case.X.round()) and np.abs(case.X).max() < 100)
    needs(len(model.classes_) == 2 and not p.get("average") and set(p) >= {"max_iter", "shuffle"})
    signs, has_b = np.where(case.y == model.classes_[1], 1.0, -1.0), p.get("fit_intercept", True)
    if case.estimator == "Perceptron":
        w, b, _ = rosenblatt.perceptron(case.X, signs, p["max_iter"], has_b, case.weight)
        assert np.array_equal(model.coef_[0], w), f"coef_ {model.coef_[0]}, by rule {w}"
        assert model.intercept_[0] == b, f"intercept_ {model.intercept_[0]}, by rule {b}"
        return
    needs(p.get("kernel") == "linear")
    K = kernel_values(case.X, case.X, "linear")
    alpha, _ = rosenblatt.kernel_perceptron(K, signs, p["max_iter"], float(has_b))
    found = np.zeros(len(case.X))
    found[model.support_] = model.dual_coef_[0]
    assert np.array_equal(found, alpha * signs), f"coefficients {found}, by rule {alpha * signs}"
