"""Margins, slacks, and the mistake bound of the perceptron."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin import _validation
from maxmargin._sparse import CsrMatrix, Matrix, product
from maxmargin._wording import shown
from maxmargin.diagnostics._expansion import expansion


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
    NotFittedError
        If the separator is an estimator that is not fitted.
    """
    if hasattr(separator, "decision_function"):
        values = np.asarray(separator.decision_function(X), dtype=np.float64)
        if len(separator.classes_) != 2:
            raise ValueError(f"margins need two classes, got {separator.classes_.tolist()}")
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
    return margin / _norm_of(separator)


def margin_width(estimator: Any) -> float:
    """Return 2 / ||w||, the distance between the two edges y f(x) = 1 of the margin.

    Parameters
    ----------
    estimator : SVC or NuSVC
        Fitted on two classes.

    Raises
    ------
    ValueError
        If there are more classes, or w = 0.
    """
    estimator._check_fitted()
    if len(estimator.classes_) != 2:
        raise ValueError(f"margins need two classes, got {estimator.classes_.tolist()}")
    return 2.0 / _norm_of(estimator)


def slacks(X: Any, y: Any, estimator: Any) -> NDArray[np.float64]:
    """Return max(0, 1 - y_i f(x_i)) of every sample; it is a margin error where that is above 0.

    Parameters and errors are those of `functional_margin` with an estimator.
    """
    return np.maximum(0.0, 1.0 - functional_margin(X, y, estimator))


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


def _norm_of(separator: Any) -> float:
    """Return ||w||, which must not be 0."""
    if not hasattr(separator, "decision_function"):
        norm = float(np.linalg.norm(np.asarray(separator, dtype=np.float64)))
    elif hasattr(separator, "coef_"):
        norm = float(np.linalg.norm(separator.coef_))
    else:
        norm = _norm_in_feature_space(separator)
    if norm == 0.0:
        raise ValueError("the separator has w = 0: there is no boundary to measure a distance from")
    return norm


def _norm_in_feature_space(estimator: Any) -> float:
    beta = np.ravel(estimator._dual_coef)
    vectors = estimator._support_vectors
    squared_norm = float(beta @ expansion(estimator, vectors, vectors, beta))
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
