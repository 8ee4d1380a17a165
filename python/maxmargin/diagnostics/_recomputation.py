"""Certificates, recomputed from a model and its training data."""

from __future__ import annotations

import dataclasses
import math
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin import _input
from maxmargin._estimator.certificate import Certificate, together
from maxmargin._estimator.pipelines import unwrapped
from maxmargin._input.sparse import Matrix, take_rows
from maxmargin.diagnostics._expansion import expansion
from maxmargin.diagnostics._supported import has_squared_hinge, require
from maxmargin.svm._machine import model_of
from maxmargin.svm._model import TrainedMachine
from maxmargin.svm.classification import SVC, NuSVC
from maxmargin.svm.one_class import OneClassSVM
from maxmargin.svm.regression import SVR, NuSVR


def certificate(estimator: Any, X: Any, y: Any = None, sample_weight: Any = None) -> Certificate:
    """Return the certificate of a fitted machine, recomputed from the model and its training data.

    Kernel values are evaluated in float64 by their definition, in blocks, and nothing is taken from
    the solver but the support vectors' coefficients and offsets; iterations and other costs are
    copied from `certificate_`. This takes n_samples * n_SV kernel evaluations.

    Parameters
    ----------
    estimator : SVC, NuSVC, SVR, NuSVR or OneClassSVM
        Fitted by `fit`, with its parameters unchanged. Or a pipeline that ends in one, or a search.
    X, y, sample_weight
        What it was fitted on; `y` is ignored for a OneClassSVM.

    Raises
    ------
    TypeError
        If the estimator is none of these.
    NotFittedError
        If it is not fitted.
    ValueError
        If the data are not those that the estimator was fitted on, as far as shapes and classes
        show, if the kernel matrix was given, or if the model came from a file, which does not say
        which rows are support vectors.
    """
    wording = "a fitted SVC, NuSVC, SVR, NuSVR or OneClassSVM"
    estimator, before = unwrapped(estimator)
    require(estimator, "certificate", (SVC, NuSVC, SVR, NuSVR, OneClassSVM), wording)
    model = model_of(estimator)
    if model.kernel.type == "precomputed":
        raise ValueError("the certificate of a precomputed kernel cannot be recomputed from X")
    if not hasattr(estimator, "support_"):
        raise ValueError("a model from a file does not hold which rows are its support vectors")
    matrix = _input.check_matrix(before.transform(X), "certificate")
    if matrix.shape != estimator.shape_fit_:
        raise ValueError(
            f"X has shape {matrix.shape}, but the estimator was fitted on {estimator.shape_fit_}"
        )
    weight = _input.check_sample_weight(sample_weight, matrix.shape[0])
    of_type = _of_single_machine if model.classes is None else _of_classifier
    return of_type(estimator, model, matrix, y, weight)


def _of_classifier(
    estimator: Any, model: TrainedMachine, matrix: Matrix, y: Any, weight: NDArray[np.float64]
) -> Certificate:
    codes, classes = _input.check_labels(y, matrix.shape[0], "certificate")
    if not np.array_equal(classes, estimator.classes_):
        raise ValueError(
            f"y has the classes {classes.tolist()}, but the estimator was fitted on "
            f"{estimator.classes_.tolist()}"
        )
    is_nu = model.core.type == "nu_svc"
    C = 1.0 if is_nu else estimator.C
    upper = _input.upper_bounds(C, estimator.class_weight_, codes, weight, classes)

    machines = []
    recorded = estimator.certificate_.machines or (estimator.certificate_,)
    pairs = combinations(range(len(classes)), 2)
    for p, ((i, j), (used, beta_used)) in enumerate(zip(pairs, model.expansions(), strict=True)):
        rows = np.flatnonzero((codes == i) | (codes == j))
        signs = np.where(codes[rows] == i, 1.0, -1.0)
        beta_of_all = np.zeros(matrix.shape[0])
        beta_of_all[estimator.support_[used]] = beta_used
        vectors = take_rows(model.support_vectors, used)
        f_without_offset = expansion(model.kernel, take_rows(matrix, rows), vectors, beta_used)
        if is_nu:
            machines.append(
                _nu_machine_certificate(
                    recorded[p],
                    signs,
                    beta_of_all[rows],
                    estimator.C_[p] * upper[rows],
                    f_without_offset,
                    float(model.core.rho[p]),
                    estimator.tol,
                )
            )
            continue
        machines.append(
            _machine_certificate(
                recorded[p],
                signs,
                beta_of_all[rows],
                upper[rows],
                f_without_offset,
                float(model.core.rho[p]),
                estimator.tol,
                has_squared_hinge(estimator) or math.isinf(estimator.C),
            )
        )
    return together(machines, estimator.certificate_.seconds)


def _machine_certificate(
    recorded: Certificate,
    signs: NDArray[np.float64],
    beta: NDArray[np.float64],
    upper: NDArray[np.float64],
    f_without_offset: NDArray[np.float64],
    rho: float,
    tol: float,
    is_squared: bool,
) -> Certificate:
    alpha = signs * beta
    squared_norm = float(beta @ f_without_offset)
    dual = 0.5 * squared_norm - float(alpha.sum())
    losses = np.maximum(0.0, 1.0 - signs * (f_without_offset - rho))
    descent = signs - f_without_offset
    if is_squared:  # or the hard margin, whose losses have no price
        has_price = np.isfinite(upper) & (upper > 0.0)
        prices = np.where(has_price, upper, 0.0)
        ridge = np.where(has_price, 0.5 / np.where(has_price, upper, 1.0), 0.0)
        primal = 0.5 * squared_norm + float(prices @ np.square(losses))
        dual += 0.5 * float(ridge @ np.square(beta))
        descent -= ridge * beta
        upper = np.where(upper > 0.0, math.inf, 0.0)
    else:
        primal = 0.5 * squared_norm + float(upper @ losses)
    violation = kkt_violation(signs, alpha, upper, descent)
    return _replaced(recorded, dual, primal, violation, tol)


def kkt_violation(
    signs: NDArray[np.float64],
    alpha: NDArray[np.float64],
    upper: NDArray[np.float64],
    descent: NDArray[np.float64],
) -> float:
    """Return max of `descent` over I_up minus its min over I_low, at least 0.

    `descent` is -gradient of the dual in signed form, y_i - sum beta_j K_ij; I_up holds the
    variables beta_i that may grow, I_low those that may fall. The violation is infinite where alpha
    leaves its box or y' alpha is not zero.
    """
    is_feasible = (alpha >= 0).all() and (alpha <= upper).all()
    if not is_feasible or abs(float(signs @ alpha)) > 1e-8 * max(1.0, float(alpha.sum())):
        return math.inf
    below, above = alpha < upper, alpha > 0
    can_grow = np.where(signs > 0, below, above)
    can_fall = np.where(signs > 0, above, below)
    if not (can_grow.any() and can_fall.any()):
        return 0.0
    return max(0.0, float(descent[can_grow].max() - descent[can_fall].min()))


def _nu_machine_certificate(
    recorded: Certificate,
    signs: NDArray[np.float64],
    beta: NDArray[np.float64],
    upper: NDArray[np.float64],
    f_without_offset: NDArray[np.float64],
    rho: float,
    tol: float,
) -> Certificate:
    """Return the certificate of a nu-SVC divided by its margin, so that the margin is 1."""
    alpha = signs * beta
    squared_norm = float(beta @ f_without_offset)
    losses = np.maximum(0.0, 1.0 - signs * (f_without_offset - rho))
    primal = 0.5 * squared_norm + float(upper @ losses) - float(alpha.sum())
    violation = max(
        _interval(-f_without_offset[group], beta[group], low[group], high[group])
        for group in (signs > 0, signs < 0)
        for low, high in [(np.minimum(signs, 0.0) * upper, np.maximum(signs, 0.0) * upper)]
    )
    return _replaced(recorded, 0.5 * squared_norm, primal, violation, tol)


def _of_single_machine(
    estimator: Any, model: TrainedMachine, matrix: Matrix, y: Any, weight: NDArray[np.float64]
) -> Certificate:
    beta = np.zeros(matrix.shape[0])
    coefficients = model.core.dual_coef[0]
    beta[estimator.support_] = coefficients
    f = expansion(model.kernel, matrix, model.support_vectors, coefficients)
    rho, half_norm = float(model.core.rho[0]), 0.5 * float(beta @ f)
    if model.core.type == "one_class":
        s = estimator.nu * float(weight.sum())
        primal = half_norm + float(weight @ np.maximum(0.0, rho - f)) - s * rho
        violation = _interval(-f, beta, np.zeros(len(beta)), weight)
        tol = estimator.tol * min(1.0, s)
        return _replaced(estimator.certificate_, half_norm, primal, violation, tol)
    z = _input.check_targets(y, matrix.shape[0], "certificate")
    upper = _input.weighted_bounds(estimator.C, weight)
    has_nu = model.core.type == "nu_svr"
    epsilon = estimator.epsilon_ if has_nu else estimator.epsilon
    primal = half_norm + float(upper @ np.maximum(0.0, np.abs(z - f + rho) - epsilon))
    dual = half_norm - float(z @ beta)
    # Of alpha and alpha* of a sample, one is 0 here, which a nu-SVR of a tube of width 0 need not
    # have.
    above = np.maximum(beta, 0.0), z - f
    below = np.minimum(beta, 0.0), z - f
    zeros = np.zeros(len(beta))
    if has_nu:
        primal += estimator.nu * float(upper.sum()) * epsilon
        violation = max(
            _interval(above[1], above[0], zeros, upper),
            _interval(below[1], below[0], -upper, zeros),
        )
    else:
        dual += epsilon * float(np.abs(beta).sum())
        violation = _interval(
            np.r_[above[1] - epsilon, below[1] + epsilon],
            np.r_[above[0], below[0]],
            np.r_[zeros, -upper],
            np.r_[upper, zeros],
        )
    return _replaced(estimator.certificate_, dual, primal, violation, estimator.tol)


def _interval(
    descent: NDArray[np.float64],
    beta: NDArray[np.float64],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
) -> float:
    """Return by how much the ends of the optimality interval cross; infinite outside the box."""
    rounding = 1e-9 * np.abs(high - low)
    if (beta < low - rounding).any() or (beta > high + rounding).any():
        return math.inf
    can_grow, can_fall = beta < high - rounding, beta > low + rounding
    if not (can_grow.any() and can_fall.any()):
        return 0.0
    return max(0.0, float(descent[can_grow].max() - descent[can_fall].min()))


def _replaced(
    recorded: Certificate, dual: float, primal: float, violation: float, tol: float
) -> Certificate:
    return dataclasses.replace(
        recorded,
        dual_objective=dual,
        primal_objective=primal,
        duality_gap=primal + dual,
        kkt_violation=violation,
        converged=violation < tol,
    )
