"""Margins, slacks, and the mistake bound of the perceptron."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin import _input
from maxmargin._estimator.base import BaseEstimator, Classifier, Regressor, fitted_model
from maxmargin._estimator.pipelines import unwrapped
from maxmargin._estimator.wording import shown
from maxmargin._input.sparse import CsrMatrix, Matrix, product
from maxmargin.diagnostics._expansion import expansion
from maxmargin.diagnostics._supported import is_estimator, require
from maxmargin.linear.regression import LinearSVR
from maxmargin.svm._machine import KernelMachine
from maxmargin.svm.one_class import OneClassSVM
from maxmargin.svm.regression import NuSVR, QuantileSVR, pinball

_CLASSIFIER = "a fitted classifier of two classes"


@np.errstate(under="ignore")
def functional_margin(separator: Any, X: Any, y: Any, *, b: float = 0.0) -> NDArray[np.float64]:
    """Return y_i f(x_i) of every sample, with y_i in {-1, +1}.

    Parameters
    ----------
    separator : fitted classifier of two classes, or array-like of shape (n_features,)
        The classifier whose `decision_function` is f (or a pipeline that ends in one, or a search),
        or the weights w of f(x) = w.x + b.
    X : array-like or sparse matrix of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
        Labels of two classes. The greater label is the positive one; for an estimator that is
        `classes_[1]`.
    b : float, default=0.0
        The offset that goes with w.

    Returns
    -------
    ndarray of float64, shape (n_samples,)
        The margin of the whole set is the least of them.

    Raises
    ------
    TypeError
        If the separator is an estimator, but no classifier.
    ValueError
        If the data are not valid or not of the separator's two classes.
    NotFittedError
        If the separator is a classifier that is not fitted.
    """
    return _functional_margin(separator, X, y, b, "functional_margin")


def _functional_margin(
    separator: Any, X: Any, y: Any, b: float, caller: str
) -> NDArray[np.float64]:
    separator, before = unwrapped(separator)
    if is_estimator(separator):
        _require_classifier(separator, caller, f"{_CLASSIFIER}, or the weights w")
        values = np.asarray(separator.decision_function(before.transform(X)), dtype=np.float64)
        _require_two(separator.classes_)
        margins: NDArray[np.float64] = values * _signs_for(
            y, separator.classes_, len(values), caller
        )
        return margins
    matrix = _input.check_matrix(X, caller)
    w, offset = _separator(separator, b, matrix.shape[1], caller)
    codes, classes = _input.check_labels(y, matrix.shape[0], caller)
    _require_two(classes)
    signs = 2.0 * codes - 1.0
    return signs * (product(matrix, w[:, np.newaxis])[:, 0] + offset)


@np.errstate(under="ignore")
def geometric_margin(separator: Any, X: Any, y: Any, *, b: float = 0.0) -> NDArray[np.float64]:
    """Return y_i f(x_i) / ||w|| of every sample: its signed distance from the boundary.

    For a kernel machine the distance is that in feature space, ||w||^2 = beta' K beta; for a
    pipeline that of the samples as its earlier steps transform them. Parameters and errors are
    those of `functional_margin`; a separator with w = 0 is an error as well, and so is a machine
    whose kernel matrix was given, and a kernel machine of another package.
    """
    margin = _functional_margin(separator, X, y, b, "geometric_margin")
    return margin / _norm_of(unwrapped(separator)[0])


@np.errstate(under="ignore")
def margin_width(estimator: Any) -> float:
    """Return 2 / ||w||, the distance between the two edges y f(x) = 1 of the margin.

    Parameters
    ----------
    estimator : fitted classifier of two classes
        Of a kernel machine it is the width in feature space. Or a pipeline that ends in one, or a
        search.

    Raises
    ------
    TypeError
        If the estimator is no classifier.
    NotFittedError
        If it is not fitted.
    ValueError
        If there are more classes, w = 0, or the kernel matrix was given.
    """
    estimator, _ = unwrapped(estimator)
    require(estimator, "margin_width", (Classifier,), _CLASSIFIER)
    _require_two(estimator.classes_)
    return 2.0 / _norm_of(estimator)


def slacks(estimator: Any, X: Any, y: Any = None) -> NDArray[np.float64]:
    """Return by how much every sample violates what the machine asks of it, at least 0.

    - A classifier asks for y_i f(x_i) >= 1: the slack is max(0, 1 - y_i f(x_i)), and the sample a
      margin error where it is above 0.
    - A regression asks for |y_i - f(x_i)| <= epsilon: max(0, |y_i - f(x_i)| - epsilon), with the
      `epsilon` of `SVR` and `LinearSVR` and the `epsilon_` that a `NuSVR` found.
    - A `QuantileSVR` asks for f(x_i) = y_i: the slack is the pinball loss, with q the `quantile`,
      max(q (y_i - f(x_i)), (q - 1) (y_i - f(x_i))).
    - A `OneClassSVM` asks for w.phi(x_i) >= rho: max(0, rho - w.phi(x_i)).

    Parameters
    ----------
    estimator : fitted classifier of two classes, regression or OneClassSVM
        Or a pipeline that ends in one, or a search.
    X : array-like or sparse matrix of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
        Labels of the classifier's two classes, or targets; ignored for a `OneClassSVM`.

    Returns
    -------
    ndarray of float64, shape (n_samples,), or (n_samples, n_quantiles) of several quantiles

    Raises
    ------
    TypeError
        If the estimator is none of these.
    NotFittedError
        If it is not fitted.
    ValueError
        If the data are not valid or not of the classifier's two classes, or a regression comes from
        a file, which does not hold epsilon.
    """
    wording = f"{_CLASSIFIER}, SVR, NuSVR, QuantileSVR, LinearSVR or OneClassSVM"
    estimator, before = unwrapped(estimator)
    require(estimator, "slacks", (Classifier, Regressor, OneClassSVM), wording)
    X = before.transform(X)
    if isinstance(estimator, OneClassSVM):
        return np.maximum(0.0, -estimator.decision_function(X))
    if isinstance(estimator, Regressor):
        values = estimator.predict(X)
        targets = _input.check_targets(y, len(values), "slacks")
        if isinstance(estimator, QuantileSVR):
            errors = targets[:, np.newaxis] - values.reshape(len(values), -1)
            quantiles = estimator._quantiles(errors.shape[1])
            return pinball(errors, quantiles).reshape(values.shape)
        return np.maximum(0.0, np.abs(targets - values) - _epsilon_of(estimator))
    return np.maximum(0.0, 1.0 - _functional_margin(estimator, X, y, 0.0, "slacks"))


@np.errstate(under="ignore")
def mistake_bound(w: Any, X: Any, y: Any, *, b: float = 0.0) -> float:
    """Return R^2 / gamma^2, which bounds the mistakes of a perceptron on these data.

    The offset counts as the weight of a constant feature 1: R is the greatest ||(x_i, 1)|| and
    gamma the least y_i (w.x_i + b) / ||(w, b)|| [1]_. Any separator gives a bound, that of the
    greatest margin the best one.

    Parameters
    ----------
    w, X, y, b
        As in `functional_margin`.

    Raises
    ------
    TypeError
        If w is an estimator; pass its weights.
    ValueError
        If the data are not valid, or (w, b) does not separate them.

    References
    ----------
    .. [1] A. B. J. Novikoff, "On convergence proofs on perceptrons", Symposium on the Mathematical
       Theory of Automata (1962), Theorem 1.
    """
    matrix = _input.check_matrix(X, "mistake_bound")
    w, b = _separator(w, b, matrix.shape[1], "mistake_bound")
    least = float(functional_margin(w, matrix, y, b=b).min())
    if least <= 0.0:
        raise ValueError(
            f"(w, b) does not separate the data: the least functional margin is {least:.4g}"
        )
    squared_radius = float(_squared_row_norms(matrix).max()) + 1.0
    return squared_radius * (float(w @ w) + b * b) / (least * least)


def _norm_of(separator: Any) -> float:
    """Return ||w||, which must not be 0."""
    if not is_estimator(separator):
        norm = _norm(np.asarray(separator, dtype=np.float64))
    elif hasattr(separator, "coef_"):
        coef = separator.coef_
        norm = _norm(coef.data if hasattr(coef, "tocsr") else coef)
    elif isinstance(separator, BaseEstimator):
        norm = _norm_in_feature_space(separator)
    else:
        raise TypeError(f"||w|| is that of maxmargin's kernel machines, got {separator!r}")
    if norm == 0.0:
        raise ValueError("the separator has w = 0: there is no boundary to measure a distance from")
    return norm


def _norm(w: NDArray[np.float64]) -> float:
    largest = float(np.abs(w).max(initial=0.0))
    if 0.0 < largest < 1e-140:  # whose square is 0, or has few digits
        return float(np.linalg.norm(w / largest)) * largest
    return float(np.linalg.norm(w))


def _norm_in_feature_space(estimator: Any) -> float:
    model = fitted_model(estimator)
    kernel = model.kernel
    if isinstance(estimator, KernelMachine):
        vectors, beta = model.support_vectors, model.core.dual_coef[0]
    else:
        vectors, beta = model.vectors, model.dual_coef[0]
    if kernel.type == "precomputed":
        raise ValueError("||w|| needs the support vectors, and the kernel matrix was given")
    squared_norm = float(beta @ expansion(kernel, vectors, vectors, beta))
    return math.sqrt(max(0.0, squared_norm))


def _epsilon_of(estimator: Any) -> float:
    """Return half the width of the tube of a regression."""
    if isinstance(estimator, LinearSVR):
        return float(estimator.epsilon)
    if not hasattr(estimator, "support_"):
        raise ValueError("a model from a file does not hold the epsilon of its tube")
    return float(estimator.epsilon_ if isinstance(estimator, NuSVR) else estimator.epsilon)


def _require_classifier(separator: Any, caller: str, wording: str) -> None:
    """Refuse an estimator that is no classifier.

    One of another package is known by `classes_` and `decision_function`.
    """
    is_like_one = hasattr(separator, "classes_") and hasattr(separator, "decision_function")
    if isinstance(separator, BaseEstimator) or not is_like_one:
        require(separator, caller, (Classifier,), wording)


def _require_two(classes: NDArray[Any]) -> None:
    if len(classes) != 2:
        raise ValueError(f"margins need two classes, got {classes.tolist()}")


def _separator(w: Any, b: Any, n_features: int, caller: str) -> tuple[NDArray[np.float64], float]:
    if is_estimator(w):
        raise TypeError(f"{caller} takes the weights w, got {type(w).__name__}")
    weights = np.asarray(w, dtype=np.float64)
    if weights.shape != (n_features,) or not np.isfinite(weights).all():
        raise ValueError(
            f"w must hold {n_features} finite numbers, one for each feature, got an array of shape "
            f"{weights.shape}"
        )
    return weights, _input.check_real("b", b)


def _signs_for(y: Any, classes: NDArray[Any], n_samples: int, caller: str) -> NDArray[np.float64]:
    labels = _input.column_of_labels(y, n_samples, caller)
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
