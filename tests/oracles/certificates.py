"""Certificates by their definitions, in extended precision, from the attributes of a fitted model.

The dual coefficients and offsets are taken as they are stored, and kernel values are evaluated from
the samples in numpy's long double.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import scipy.sparse as sp

L = np.longdouble


def wide_kernel(A, B, kernel, gamma=1.0, coef0=0.0, degree=3):
    """The kernel matrix in long double, and bounds on how far float64 is off each value.

    The bounds count the unit roundoff times what the terms of a value sum up to; sparse samples are
    not centred.
    """
    is_sparse = sp.issparse(A)
    A, B = (np.asarray(M.todense() if sp.issparse(M) else M).astype(L) for M in (A, B))
    unit = L(np.finfo(np.float64).eps)
    gamma, coef0 = L(gamma), L(coef0)
    if kernel == "rbf":
        u = np.array([gamma * np.square(a - B).sum(axis=1) for a in A])
        lengths = gamma * np.square(A).sum(axis=1)
        terms = np.add.outer(lengths, lengths) if is_sparse else u
        return np.exp(-u), unit * (1 + terms) * np.exp(-u)
    dots, sizes = A @ B.T, np.abs(A) @ np.abs(B).T
    if kernel == "linear":
        return dots, unit * sizes
    z, s = gamma * dots + coef0, gamma * sizes + abs(coef0)
    if kernel == "sigmoid":
        return np.tanh(z), unit * (1 + s)
    return z**degree, unit * (degree + 1) * s**degree


@dataclass
class Definition:
    """What the definitions give for one machine; `rounding` is float64's in a decision value."""

    primal: float
    dual: float
    violation: float
    rounding: float
    slack_of_objectives: float


def definition(model, X, y, weight):
    """The objectives and the violation of every machine of a fitted model, from its attributes."""
    kernel = {"kernel": model.kernel}
    if model.kernel != "linear":
        kernel["gamma"] = model._model.kernel.gamma
    if model.kernel in ("poly", "sigmoid"):
        kernel |= {"coef0": model.coef0, "degree": model.degree}
    K, errors = wide_kernel(X, X, **kernel)
    name = type(model).__name__
    if name in ("SVC", "NuSVC"):
        codes = np.searchsorted(model.classes_, y)
        n_classes = len(model.classes_)
        parts = np.cumsum(np.r_[0, model.n_support_])
        for p, (i, j) in enumerate(combinations(range(n_classes), 2)):
            beta = np.zeros(len(y), dtype=L)
            if n_classes == 2:
                beta[model.support_] = -model.dual_coef_[0]
                rho = L(model.intercept_[0])
            else:
                for own, other in ((i, j), (j, i)):
                    places = slice(parts[own], parts[own + 1])
                    row = other - 1 if other > own else other
                    beta[model.support_[places]] = model.dual_coef_[row, places]
                rho = -L(model.intercept_[p])
            rows = np.flatnonzero(((codes == i) | (codes == j)) & (weight > 0))
            C = (L(model.C) if name == "SVC" else L(model.C_[p])) * weight[rows].astype(L)
            sign = np.where(codes[rows] == i, L(1), L(-1))
            square = np.ix_(rows, rows)
            yield one(
                *(K[square], errors[square], beta[rows], rho, C),
                sign=sign,
                width=-1.0,
                nu=1.0 if name == "NuSVC" else None,
                squared=getattr(model, "loss", "") == "squared_hinge",
            )
        return
    rows = np.flatnonzero(weight > 0)
    square = np.ix_(rows, rows)
    beta = np.zeros(len(weight), dtype=L)
    beta[model.support_] = model.dual_coef_[0]
    parts = K[square], errors[square], beta[rows], -L(model.intercept_[0])
    w = weight[rows].astype(L)
    if name == "OneClassSVM":
        yield one(*parts, w, sign=np.ones(len(rows), L), total=L(model.nu) * w.sum())
        return
    width = model.epsilon_ if name == "NuSVR" else model.epsilon
    nu = L(model.nu) * L(model.C) * w.sum() if name == "NuSVR" else None
    yield one(*parts, L(model.C) * w, target=y[rows].astype(L), width=L(width), nu=nu)


def one(
    K, errors, beta, rho, C, *, sign=None, target=0.0, width=0.0, nu=None, total=0.0, squared=False
):
    """The definitions for one machine with f = K beta - rho (svm/formulation.hpp)."""
    f, magnitude = K @ beta, np.abs(beta)
    target = np.full(len(beta), target, L)
    error = target - (f - rho)
    losses = np.maximum(0, (np.abs(error) if sign is None else sign * error) - width)
    half = beta @ f / 2
    primal = half + C @ (np.square(losses) if squared else losses) - total * rho
    dual = half - target @ beta
    if sign is not None and nu:  # a nu-SVC, divided by its margin
        primal -= magnitude.sum()
    elif nu:
        primal += nu * width
    else:
        dual += width * magnitude.sum()
    ridge = 1 / (2 * C) if squared else np.zeros(len(beta), L)
    dual += ridge @ np.square(beta) / 2
    has_groups = bool(nu)
    ends = []
    for s in (1, -1):
        used = np.ones(len(beta), bool) if sign is None else sign == s
        alpha = np.maximum(0, s * beta[used])
        may_rise = alpha < (C[used] * (1 - L(1e-13)) if not squared else L(np.inf))
        up, low = (may_rise, alpha > 0) if s > 0 else (alpha > 0, may_rise)
        descent = (target - f - ridge * beta)[used] - (0 if has_groups else s * width)
        ends.append((descent.max(initial=-L(np.inf), where=up),
                     descent.min(initial=L(np.inf), where=low)))  # fmt: skip
    if not has_groups:
        ends = [(max(up for up, _ in ends), min(low for _, low in ends))]
    unit, n = L(np.finfo(np.float64).eps), len(beta)
    rounding = (errors @ magnitude + unit * np.sqrt(L(n)) * np.abs(K) @ magnitude).max()
    slopes = (2 * C * losses).sum() if squared else C.sum()
    slack = rounding * (magnitude.sum() + slopes) + unit * n * abs(primal)
    values = primal, dual, max(L(0), *(up - low for up, low in ends)), rounding, slack
    return Definition(*map(float, values))
