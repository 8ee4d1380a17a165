"""What the tests of both perceptrons share: the rules as they are written, and data for them."""

from __future__ import annotations

import warnings

import numpy as np
import scipy.sparse as sp

from maxmargin import ConvergenceWarning
from oracles.problems import rng

FORMS = {
    "float64": lambda X: np.asarray(X, dtype=np.float64),
    "float32": lambda X: np.asarray(X, dtype=np.float32),
    "csr": lambda X: sp.csr_matrix(np.asarray(X, dtype=np.float64)),
    "csr float32": lambda X: sp.csr_matrix(np.asarray(X, dtype=np.float32)),
    "csr int64": lambda X: sp.csr_matrix(
        (
            (S := sp.csr_matrix(np.asarray(X, dtype=np.float64))).data,
            S.indices.astype(np.int64),
            S.indptr.astype(np.int64),
        ),
        shape=S.shape,
    ),
}


def perceptron(X, y, max_iter, fit_intercept=True, weight=None, w=None, b=0.0):
    """Rosenblatt's rule as it is written; y in {-1, +1}."""
    X = np.asarray(X, dtype=np.float64)
    w = np.zeros(X.shape[1]) if w is None else w.copy()
    weight = np.ones(len(y)) if weight is None else weight
    mistakes = []
    for _ in range(max_iter):
        mistakes.append(0)
        for x, label, rate in zip(X, y, weight, strict=True):
            if rate > 0 and label * (w @ x + b) <= 0:
                w += rate * label * x
                b += rate * label * fit_intercept
                mistakes[-1] += 1
        if mistakes[-1] == 0:
            break
    return w, b, mistakes


def integers(n, d, seed=0, density=1.0):
    """Data on which sums are exact in every order, and labels that no line separates."""
    X = rng(seed).integers(-4, 5, size=(n, d)).astype(float)
    X[rng(seed + 1).random((n, d)) > density] = 0.0
    y = rng(seed + 2).integers(0, 2, n)
    y[:2] = [0, 1]
    return X, y


def separable(n, d, seed=0, gap=0.1):
    """Data with a unit separator (w, b) and no point closer to it than about `gap`."""
    X = rng(seed).normal(size=(n, d))
    separator = rng(seed + 1).normal(size=d + 1)
    separator /= np.linalg.norm(separator)
    w, b = separator[:-1], separator[-1]
    X = X[np.abs(X @ w + b) > gap]
    return X, (X @ w + b > 0).astype(int), w, b


def kernel_perceptron(K, y, max_iter, offset=1.0):
    """The rule in its dual form, one example at a time; y in {-1, +1}."""
    alpha, scores, mistakes = np.zeros(len(y), int), np.zeros(len(y)), []
    for _ in range(max_iter):
        mistakes.append(0)
        for i, label in enumerate(y):
            if label * scores[i] <= 0:
                alpha[i] += 1
                scores += label * (K[i] + offset)
                mistakes[-1] += 1
        if mistakes[-1] == 0:
            break
    return alpha, mistakes


def quiet_fit(model, X, y, **arguments):
    """Fit without the warning that the data are not separable."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, y, **arguments)
