"""LIBSVM's own models, and what the raw model that the core reads means by LIBSVM's definition."""

from __future__ import annotations

import functools
import pathlib
import tempfile
from itertools import combinations

import numpy as np
import pytest

from oracles.svm import kernel

svmutil = pytest.importorskip("libsvm.svmutil")

KERNELS = ["linear", "poly", "rbf", "sigmoid"]


def dense(vectors):
    if isinstance(vectors, np.ndarray):
        return vectors
    data, indices, indptr, n_cols = vectors
    X = np.zeros((len(indptr) - 1, n_cols))
    X[np.repeat(np.arange(len(X)), np.diff(indptr)), indices] = data
    return X


def decision_values(model, X):
    """One column for every pair of classes i < j, by LIBSVM's definition; positive is class i."""
    vectors = dense(model.support_vectors)
    params = model.kernel
    K = kernel(
        X[:, : vectors.shape[1]], vectors, params.type, params.gamma, params.coef0, params.degree
    )
    starts = np.concatenate([[0], np.cumsum(model.n_support)])
    n_classes = len(model.n_support)
    columns = []
    for i in range(n_classes):
        for j in range(i + 1, n_classes):
            of_i, of_j = slice(*starts[i : i + 2]), slice(*starts[j : j + 2])
            value = K[:, of_i] @ model.dual_coef[j - 1, of_i]
            value += K[:, of_j] @ model.dual_coef[i, of_j]
            columns.append(value - model.rho[len(columns)])
    return np.stack(columns, axis=1)


def predicted(model, X):
    """One-vs-one votes; the first class of the vote order wins a tie."""
    n_classes = len(model.n_support)
    votes = np.zeros((len(X), n_classes))
    pairs = [(i, j) for i in range(n_classes) for j in range(i + 1, n_classes)]
    for (i, j), values in zip(pairs, decision_values(model, X).T, strict=True):
        votes[:, i] += values > 0
        votes[:, j] += values <= 0
    order = model.vote_order
    return model.labels[order[votes[:, order].argmax(axis=1)]]


def problem(n_classes=3, n_features=3, n=60, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % n_classes)
    X = rng.normal(size=(n, n_features)) + np.eye(n_classes, n_features)[y] * 1.5
    X[rng.random(X.shape) < 0.2] = 0
    return X, y


@functools.cache
def libsvm_text(kernel_name, labels, options=""):
    """The model file that LIBSVM writes after training on classes of these labels."""
    X, y = problem(len(labels))
    flags = f"-q -t {KERNELS.index(kernel_name)} -c 2 -g 0.3 -r 0.4 -d 2 {options}"
    model = svmutil.svm_train([labels[c] for c in y], sparse_samples(X), flags)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "model")
        svmutil.svm_save_model(str(path), model)
        return path.read_bytes()


def libsvm_load(path, text):
    path.write_bytes(text)
    model = svmutil.svm_load_model(str(path))
    assert model
    return model


def sparse_samples(X):
    return [{j + 1: v for j, v in enumerate(row) if v != 0} for row in X.tolist()]


def libsvm_decision_values(model, X):
    """LIBSVM's labels, and its values with the pairs of classes in ascending order."""
    labels, _, values = svmutil.svm_predict([0] * len(X), sparse_samples(X), model, "-q")
    order = model.get_labels()
    column = {pair: k for k, pair in enumerate(combinations(order, 2))}
    ascending = [
        np.array(values)[:, column[a, b]]
        if (a, b) in column
        else -np.array(values)[:, column[b, a]]
        for a, b in combinations(sorted(order), 2)
    ]
    return np.array(labels), np.stack(ascending, axis=1)
