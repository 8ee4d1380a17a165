"""Made-up rows of any size for the micro-benchmarks, the same on every run."""

import numpy as np
import scipy.sparse as sp


def two_clouds(n, d, dtype=np.float64, distance=1.0, seed=0):
    """Two overlapping Gaussian clouds, ``distance`` standard deviations apart, labels 0 and 1."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    X = rng.normal(size=(n, d))
    X[:, 0] += distance * y
    return X.astype(dtype), y


def clouds(n, d, n_classes, dtype=np.float64, seed=0):
    """Gaussian clouds of unit width around random centres, one for each class."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(n_classes, d))
    y = rng.integers(0, n_classes, n)
    return (centres[y] + rng.normal(size=(n, d))).astype(dtype), y


def sparse_rows(n, d, n_per_row, dtype=np.float64, seed=0):
    """CSR rows of unit length, columns with a falling frequency as in text; labels 0 and 1."""
    rng = np.random.default_rng(seed)
    columns = np.minimum((d ** rng.random((n, n_per_row))).astype(np.int64) - 1, d - 1)
    rows = np.repeat(np.arange(n), n_per_row)
    X = sp.csr_matrix((rng.random(n * n_per_row), (rows, columns.ravel())), shape=(n, d))
    X.sum_duplicates()
    norms = np.sqrt(X.multiply(X).sum(axis=1)).A1
    X = (sp.diags_array(1.0 / norms) @ X).tocsr().astype(dtype)
    y = (np.asarray(X @ rng.normal(size=d)).ravel() > 0).astype(np.int64)
    X.sort_indices()
    return sp.csr_matrix(X), y
