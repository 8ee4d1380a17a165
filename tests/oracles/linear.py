"""What the tests of linear machines share: objectives in float64, LIBLINEAR's solutions, and fits
of the second-order solvers."""

from __future__ import annotations

import ctypes
import os

import numpy as np
import scipy.sparse as sp
from liblinear import liblinearutil

from maxmargin import _core

LOSSES = {
    "hinge": lambda y, f, epsilon: np.maximum(0.0, 1.0 - y * f),
    "squared_hinge": lambda y, f, epsilon: np.maximum(0.0, 1.0 - y * f) ** 2,
    "epsilon_insensitive": lambda y, f, epsilon: np.maximum(0.0, abs(y - f) - epsilon),
    "squared_epsilon_insensitive": lambda y, f, epsilon: np.maximum(0.0, abs(y - f) - epsilon) ** 2,
}


def primal_objective(X, y, w, b, C, loss, *, scaling=1.0, penalty="l2", epsilon=0.0):
    """The objective of LinearSVC and LinearSVR; scaling is inf for a bias without penalty."""
    weights = np.append(w, b / scaling if scaling else 0.0)
    regulariser = abs(weights).sum() if penalty == "l1" else 0.5 * weights @ weights
    return regulariser + np.sum(C * LOSSES[loss](y, X @ w + b, epsilon))


def liblinear(X, y, solver, C=1.0, scaling=1.0, epsilon=0.0, tol=1e-8, weights=""):
    """w (one column for each class, for two classes that of the greater label) and b."""
    X = sp.csr_matrix(X, dtype=np.float64)
    options = f"-s {solver} -c {C!r} -B {scaling!r} -p {epsilon!r} -e {tol!r} {weights} -q"
    if os.name == "posix":
        ctypes.CDLL(None).srand(1)  # its order of features or samples, whatever ran before
    model = liblinearutil.train(liblinearutil.problem(np.asarray(y, float), X), options)
    n_weights = model.nr_feature + (1 if scaling > 0 else 0)
    labels = model.get_labels() if solver < 11 else []
    n_columns = len(labels) if len(labels) > 2 or solver == 4 else 1
    raw = np.array(model.w[: n_weights * n_columns]).reshape(n_weights, n_columns)
    W = np.zeros((X.shape[1], n_columns))
    W[: model.nr_feature] = raw[: model.nr_feature]
    b = scaling * raw[-1] if scaling > 0 else np.zeros(n_columns)
    if n_columns > 1:
        order = np.argsort(labels)
        return W[:, order], b[order]
    sign = -1.0 if labels and labels[0] < labels[1] else 1.0
    return sign * W, sign * b


def joint_objective(X, codes, W, b, C, scaling=1.0):
    """Crammer and Singer's objective; W has a row for each class."""
    values = np.asarray(X @ W.T) + b
    samples = np.arange(len(codes))
    own = values[samples, codes].copy()
    values[samples, codes] = -np.inf
    losses = np.maximum(0.0, 1.0 - (own - values.max(axis=1)))
    bias = b / scaling if scaling else np.zeros(len(b))
    return 0.5 * np.sum(W * W) + 0.5 * bias @ bias + np.sum(C * losses)


def csr_of(X):
    S = sp.csr_matrix(X)
    return (S.data, S.indices, S.indptr, S.shape[1])


def second_order_fit(
    X,
    y,
    C=1.0,
    loss="hinge",
    epsilon=0.0,
    intercept_scaling=1.0,
    penalty="l2",
    start=(),
    method="newton",
    callback=None,
    **options,
):
    C = np.ascontiguousarray(np.broadcast_to(np.asarray(C, float), len(y)))
    formulation = _core.LinearFormulation(
        loss=loss, penalty=penalty, epsilon=epsilon, intercept_scaling=intercept_scaling
    )
    from support.internal import internal  # skips the test where there is none

    return internal.second_order_fit(
        X,
        np.asarray(y, float),
        C,
        formulation,
        _core.LinearOptions(**options),
        np.asarray(start, float),
        method,
        callback,
    )
