"""Margins, mistake bounds and certificates, computed in float64 from data and a fitted model."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin import _validation
from maxmargin._certificate import Certificate, combined
from maxmargin._kernel import kernel_block
from maxmargin._one_vs_one import pair_coefficients, pairs_of
from maxmargin._sparse import CsrMatrix, Matrix, product, take_rows
from maxmargin._wording import shown

__all__ = ["Certificate", "certificate", "functional_margin", "geometric_margin", "mistake_bound"]

_BLOCK_ELEMENTS = 1 << 22


def __dir__() -> list[str]:
    return sorted(__all__)


def functional_margin(X: Any, y: Any, separator: Any, b: float = 0.0) -> NDArray[np.float64]:
    """Return y_i f(x_i) of every sample, with y_i in {-1, +1}.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
        Labels of two classes. The greater label is the positive one; for an estimator that is
        `classes_[1]`.
    separator : fitted binary estimator, or array-like of shape (n_features,)
        The estimator whose `decision_function` is f, or the weights w of f(x) = w.x + b.
    b : float, default=0.0
        The offset that goes with w.

    Returns
    -------
    ndarray of float64, shape (n_samples,)
        The margin of the whole set is the least of them.

    Raises
    ------
    ValueError
        If the data are not valid or not of the separator's two classes.
    """
    if hasattr(separator, "decision_function"):
        if len(separator.classes_) != 2:
            raise ValueError(f"margins need two classes, got {separator.classes_.tolist()}")
        values = np.asarray(separator.decision_function(X), dtype=np.float64)
        margins: NDArray[np.float64] = values * _signs_for(y, separator.classes_, len(values))
        return margins
    matrix = _validation.check_matrix(X, "functional_margin")
    w, offset = _separator(separator, b, matrix.shape[1])
    codes, classes = _validation.check_labels(y, matrix.shape[0], "functional_margin")
    if len(classes) != 2:
        raise ValueError(f"margins need two classes, got {classes.tolist()}")
    signs = 2.0 * codes - 1.0
    return signs * (product(matrix, w[:, np.newaxis])[:, 0] + offset)


def geometric_margin(X: Any, y: Any, separator: Any, b: float = 0.0) -> NDArray[np.float64]:
    """Return y_i f(x_i) / ||w|| of every sample: its signed distance from the boundary.

    For a kernel machine the distance is that in feature space, ||w||^2 = beta' K beta. Parameters
    and errors are those of `functional_margin`; a separator with w = 0 is an error as well.
    """
    margin = functional_margin(X, y, separator, b)
    if not hasattr(separator, "decision_function"):
        norm = float(np.linalg.norm(np.asarray(separator, dtype=np.float64)))
    elif hasattr(separator, "coef_"):
        norm = float(np.linalg.norm(separator.coef_))
    else:
        norm = _norm_in_feature_space(separator)
    if norm == 0.0:
        raise ValueError("the separator has w = 0: there is no boundary to measure a distance from")
    return margin / norm


def mistake_bound(X: Any, y: Any, w: Any, b: float = 0.0) -> float:
    """Return R^2 / gamma^2, which bounds the mistakes of a perceptron on these data.

    The offset counts as the weight of a constant feature 1: R is the greatest ||(x_i, 1)|| and
    gamma the least y_i (w.x_i + b) / ||(w, b)|| [1]_. Any separator gives a bound, that of the
    greatest margin the best one.

    Parameters
    ----------
    X, y, w, b
        As in `functional_margin`.

    Raises
    ------
    ValueError
        If the data are not valid, or (w, b) does not separate them.

    References
    ----------
    .. [1] A. B. J. Novikoff, "On convergence proofs on perceptrons", Symposium on the Mathematical
       Theory of Automata (1962), Theorem 1.
    """
    matrix = _validation.check_matrix(X, "mistake_bound")
    w, b = _separator(w, b, matrix.shape[1])
    least = float(functional_margin(matrix, y, w, b).min())
    if least <= 0.0:
        raise ValueError(
            f"(w, b) does not separate the data: the least functional margin is {least:.4g}"
        )
    squared_radius = float(_squared_row_norms(matrix).max()) + 1.0
    return squared_radius * (float(w @ w) + b * b) / (least * least)


def certificate(estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> Certificate:
    """Return the certificate of a fitted SVC, recomputed from the model and its training data.

    Kernel values are evaluated in float64 by their definition, in blocks, and nothing is taken from
    the solver but the support vectors' coefficients and offsets; iterations and other costs are
    copied from `certificate_`. This takes n_samples * n_SV kernel evaluations.

    Parameters
    ----------
    estimator : SVC
        Fitted by `fit`, with its parameters unchanged.
    X, y, sample_weight
        What it was fitted on.

    Raises
    ------
    TypeError
        If the estimator is not an SVC.
    ValueError
        If the data are not those that the estimator was fitted on, as far as shapes and classes
        tell, if the kernel matrix was given, or if the model came from a file, which does not say
        which rows are support vectors.
    """
    estimator._check_fitted()
    if getattr(estimator, "_svm_type", None) != "c_svc":
        raise TypeError(f"estimator must be an SVC, got {type(estimator).__name__}")
    if estimator._kernel_params.type == "precomputed":
        raise ValueError("the certificate of a precomputed kernel cannot be recomputed from X")
    if not hasattr(estimator, "support_"):
        raise ValueError("a model from a file does not tell which rows are its support vectors")
    matrix = _validation.check_matrix(X, "certificate")
    if matrix.shape != estimator.shape_fit_:
        raise ValueError(
            f"X has shape {matrix.shape}, but the estimator was fitted on {estimator.shape_fit_}"
        )
    codes, classes = _validation.check_labels(y, matrix.shape[0], "certificate")
    if not np.array_equal(classes, estimator.classes_):
        raise ValueError(
            f"y has the classes {classes.tolist()}, but the estimator was fitted on "
            f"{estimator.classes_.tolist()}"
        )
    weight = _validation.check_sample_weight(sample_weight, matrix.shape[0])
    upper = _validation.upper_bounds(estimator.C, estimator.class_weight_, codes, weight, classes)

    machines = []
    coefficients = pair_coefficients(estimator._dual_coef, estimator._n_support)
    recorded = estimator.certificate_.machines or (estimator.certificate_,)
    for p, (i, j) in enumerate(pairs_of(len(classes))):
        used, beta_used = coefficients[p]
        rows = np.flatnonzero((codes == i) | (codes == j))
        signs = np.where(codes[rows] == i, 1.0, -1.0)
        beta_of_all = np.zeros(matrix.shape[0])
        beta_of_all[estimator.support_[used]] = beta_used
        f_without_offset = _expansion(
            estimator,
            take_rows(matrix, rows),
            take_rows(estimator._support_vectors, used),
            beta_used,
        )
        machines.append(
            _machine_certificate(
                recorded[p],
                signs,
                beta_of_all[rows],
                upper[rows],
                f_without_offset,
                float(estimator._rho[p]),
                estimator.tol,
                estimator._has_squared_hinge or math.isinf(estimator.C),
            )
        )
    if len(machines) == 1:
        return machines[0]
    return combined(tuple(machines), estimator.certificate_.seconds)


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
    return dataclasses.replace(
        recorded,
        dual_objective=dual,
        primal_objective=primal,
        duality_gap=primal + dual,
        kkt_violation=violation,
        converged=violation < tol,
    )


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


def _expansion(
    estimator: Any, X: Matrix, support_vectors: Matrix, beta: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return sum of beta_j K(x_j, x) for every row x of X."""
    n_rows = X.shape[0]
    values = np.zeros(n_rows)
    step = max(1, _BLOCK_ELEMENTS // max(1, support_vectors.shape[0]))
    for start in range(0, n_rows, step):
        block = np.arange(start, min(start + step, n_rows))
        K = kernel_block(estimator._kernel_params, take_rows(X, block), support_vectors)
        values[block] = K @ beta
    return values


def _norm_in_feature_space(estimator: Any) -> float:
    beta = np.ravel(estimator._dual_coef)
    vectors = estimator._support_vectors
    squared_norm = float(beta @ _expansion(estimator, vectors, vectors, beta))
    return math.sqrt(max(0.0, squared_norm))


def _separator(w: Any, b: Any, n_features: int) -> tuple[NDArray[np.float64], float]:
    weights = np.asarray(w, dtype=np.float64)
    if weights.shape != (n_features,) or not np.isfinite(weights).all():
        raise ValueError(
            f"w must hold {n_features} finite numbers, one for each feature, got an array of shape "
            f"{weights.shape}"
        )
    return weights, _validation.check_real("b", b)


def _signs_for(y: Any, classes: NDArray[Any], n_samples: int) -> NDArray[np.float64]:
    labels = _validation.column_of_labels(y, n_samples, "functional_margin")
    unknown = ~np.isin(labels, classes)
    if unknown.any():
        raise ValueError(
            f"y holds {shown(labels[unknown][0])}, but the estimator was fitted on "
            f"{shown(classes.tolist())}"
        )
    return np.where(labels == classes[1], 1.0, -1.0)


def _squared_row_norms(X: Matrix) -> NDArray[np.float64]:
    if isinstance(X, CsrMatrix):
        ones = np.ones((X.n_cols, 1))
        return product(X._replace(data=np.square(X.data.astype(np.float64))), ones)[:, 0]
    norms: NDArray[np.float64] = np.einsum("ij,ij->i", X, X, dtype=np.float64)
    return norms
