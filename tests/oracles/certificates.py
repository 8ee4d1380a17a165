"""Certificates by their definitions, to 60 digits, from the attributes of a fitted model.

The dual coefficients and offsets are taken as they are stored, and kernel values are evaluated from
the samples.
"""

from __future__ import annotations

import decimal
from dataclasses import dataclass
from decimal import Decimal
from itertools import combinations

import numpy as np
import scipy.sparse as sp

decimal.getcontext().prec = 60


def number(x):
    return x if isinstance(x, Decimal) else Decimal(float(x))


wide = np.frompyfunc(number, 1, 1)


def wide_kernel(A, B, kernel, gamma=1.0, coef0=0.0, degree=3):
    """The kernel matrix to 60 digits, and bounds on how far float64 is off each value.

    The bounds count the unit roundoff times what the terms of a value sum up to; sparse samples are
    not centred.
    """
    is_sparse = sp.issparse(A)
    A, B = (wide(M.toarray() if sp.issparse(M) else M) for M in (A, B))
    unit = number(np.finfo(np.float64).eps)
    gamma, coef0 = number(gamma), number(coef0)
    if kernel == "rbf":
        u = np.array([gamma * np.square(a - B).sum(axis=1) for a in A])
        lengths = [gamma * np.square(M).sum(axis=1) for M in (A, B)]
        terms = np.add.outer(*lengths) if is_sparse else u
        return np.exp(-u), unit * (1 + terms) * np.exp(-u)
    dots, sizes = A @ B.T, np.abs(A) @ np.abs(B).T
    if kernel == "linear":
        return dots, unit * sizes
    z, s = gamma * dots + coef0, gamma * sizes + abs(coef0)
    if kernel == "sigmoid":
        powers = np.exp(-2 * z)
        return (1 - powers) / (1 + powers), unit * (1 + s)
    return z**degree, unit * (degree + 1) * s**degree


@dataclass
class Definition:
    """What the definitions give for one machine.

    `rounding` is float64's in a decision value, and the sizes are the sums of the objectives'
    terms, without their signs.
    """

    primal: float
    dual: float
    violation: float
    rounding: float
    slack_of_objectives: float
    size_of_primal: float
    size_of_dual: float


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
            beta = np.zeros(len(y))
            if n_classes == 2:
                beta[model.support_] = -model.dual_coef_[0]
                rho = model.intercept_[0]
            else:
                for own, other in ((i, j), (j, i)):
                    places = slice(parts[own], parts[own + 1])
                    row = other - 1 if other > own else other
                    beta[model.support_[places]] = model.dual_coef_[row, places]
                rho = -model.intercept_[p]
            rows = np.flatnonzero(((codes == i) | (codes == j)) & (weight > 0))
            C = number(model.C if name == "SVC" else model.C_[p]) * wide(weight[rows])
            sign = np.where(codes[rows] == i, 1, -1)
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
    beta = np.zeros(len(weight))
    beta[model.support_] = model.dual_coef_[0]
    parts = K[square], errors[square], beta[rows], -model.intercept_[0]
    w = wide(weight[rows])
    if name == "OneClassSVM":
        yield one(*parts, w, sign=np.ones(len(rows), int), total=number(model.nu) * w.sum())
        return
    width = model.epsilon_ if name == "NuSVR" else model.epsilon
    nu = number(model.nu) * number(model.C) * w.sum() if name == "NuSVR" else None
    yield one(*parts, number(model.C) * w, target=y[rows], width=width, nu=nu)


def one(
    K, errors, beta, rho, C, *, sign=None, target=0.0, width=0.0, nu=None, total=0.0, squared=False
):
    """The definitions for one machine with f = K beta - rho (svm/formulation.hpp)."""
    beta, rho, width, total = wide(beta), number(rho), number(width), number(total)
    target = wide(np.broadcast_to(target, len(beta)))
    f, magnitude = K @ beta, np.abs(beta)
    error = target - (f - rho)
    losses = np.maximum(0, (np.abs(error) if sign is None else sign * error) - width)
    half, loss = beta @ f / 2, C @ (np.square(losses) if squared else losses)
    primal = half + loss - total * rho
    dual = half - target @ beta
    sizes = [abs(half) + loss + abs(total * rho), abs(half) + abs(target @ beta)]
    if sign is not None and nu:  # a nu-SVC, divided by its margin
        primal -= magnitude.sum()
        sizes[0] += magnitude.sum()
    elif nu:
        primal += number(nu) * width
        sizes[0] += number(nu) * abs(width)
    else:
        dual += width * magnitude.sum()
        sizes[1] += abs(width) * magnitude.sum()
    ridge = 1 / (2 * C) if squared else 0 * C
    dual += ridge @ np.square(beta) / 2
    has_groups = bool(nu)
    ends = []
    for s in (1, -1):
        used = np.ones(len(beta), bool) if sign is None else sign == s
        alpha = np.maximum(0, s * beta[used])
        may_rise = (alpha < C[used] * number(1 - 1e-13)) | squared
        up, low = (may_rise, alpha > 0) if s > 0 else (alpha > 0, may_rise)
        descent = (target - f - ridge * beta)[used] - (0 if has_groups else s * width)
        ends.append((max(descent[up.astype(bool)], default=-number(np.inf)),
                     min(descent[low.astype(bool)], default=number(np.inf))))  # fmt: skip
    if not has_groups:
        ends = [(max(up for up, _ in ends), min(low for _, low in ends))]
    unit, n = number(np.finfo(np.float64).eps), len(beta)
    rounding = (errors @ magnitude + unit * number(np.sqrt(n)) * np.abs(K) @ magnitude).max()
    slopes = (2 * C * losses).sum() if squared else C.sum()
    slack = rounding * (magnitude.sum() + slopes) + unit * n * abs(primal)
    violation = max(0, *(up - low for up, low in ends))
    return Definition(*map(float, (primal, dual, violation, rounding, slack, *sizes)))
