"""Problems that several test files share."""

from __future__ import annotations

import numpy as np
from sklearn.preprocessing import StandardScaler


def rng(seed):
    return np.random.default_rng(seed)


def conflicting_duplicates():
    """Points five times each, the copies with labels of their own."""
    X = np.repeat([[0, 0], [1, 0], [0, 1], [1, 1.0]], 5, axis=0)
    y = np.tile([1, 1, 1, -1, -1], 4)
    y[15:] *= -1
    return X, y


def two_classes(n=80, d=4, seed=0):
    """A noisy problem with a curved boundary."""
    r = rng(seed)
    X = r.normal(size=(n, d))
    return X, np.where(X[:, 0] + 0.5 * X[:, 1] ** 2 + 0.5 * r.normal(size=n) > 0.3, 1, -1)


def scaled(load):
    """One of scikit-learn's data sets with features of unit variance."""
    X, y = load(return_X_y=True)
    return StandardScaler().fit_transform(X), y


def overlapping(n_classes=5, n=150):
    """Several classes without any structure."""
    r = rng(4)
    return r.normal(size=(n, 3)), r.integers(0, n_classes, n)


def slow_problem():
    """A fit that takes more than a minute: noisy labels and a large C."""
    r = rng(0)
    return r.normal(size=(30_000, 10)), r.integers(0, 2, 30_000)
