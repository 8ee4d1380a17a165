"""The formulations by name, and data for each of them."""

from __future__ import annotations

from maxmargin import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from oracles.problems import rng

MAKE = {estimator.__name__: estimator for estimator in (NuSVC, SVR, NuSVR, OneClassSVM)}
FIVE = {"SVC": SVC, **MAKE}


def data(name, n=40, d=6):
    X = rng(0).normal(size=(n, d))
    return X, (X[:, 0] > 0).astype(int) if name in ("SVC", "NuSVC") else X[:, 0] + X[:, 1] ** 2


def values_of(model, X):
    return model.predict(X) if isinstance(model, (SVR, NuSVR)) else model.decision_function(X)
