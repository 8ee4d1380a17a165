"""Named training problems: which data, which scaling, which C and gamma."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import scipy.sparse as sp


@dataclass(frozen=True)
class Problem:
    """One C-SVC training problem with the RBF kernel.

    ``source`` is the name of an npz file in the data folder, or ``sklearn:NAME`` for a set bundled
    with scikit-learn. ``layout`` is "dense" or "csr" to convert, or "" to keep the stored form.
    """

    name: str
    source: str
    C: float
    gamma: float
    scaling: str = "none"  # "none", "standardise" or a divisor such as "255"
    n_rows: int | None = None  # the first rows only
    layout: str = ""
    on_request: bool = False  # runs only when named with --only


@dataclass
class Data:
    """Rows and labels, as loaded and scaled; the test part may be absent."""

    X: np.ndarray | sp.csr_matrix
    y: np.ndarray
    X_test: np.ndarray | sp.csr_matrix | None = None
    y_test: np.ndarray | None = None


FOLDER_PROBLEMS = (
    Problem("a9a", "a9a", C=1, gamma=1 / 123),
    Problem("a9a_hard", "a9a", C=100, gamma=0.5),
    Problem("w8a", "w8a", C=10, gamma=0.5),
    Problem("usps", "usps", C=10, gamma=1 / 256),
    Problem("letter", "letter", C=16, gamma=1),
    Problem("mnist10k", "mnist", C=5, gamma=0.02, scaling="255", n_rows=10_000),
    Problem("shuttle", "shuttle", C=100, gamma=1, scaling="standardise"),
    Problem("skin_nonskin", "skin_nonskin", C=10, gamma=10, scaling="255"),
    Problem("covtype_10k", "covtype_10k", C=10, gamma=5),
    Problem("covtype_10k_hard", "covtype_10k", C=1e4, gamma=1),
    Problem("news20ng", "news20ng", C=10, gamma=1),
    Problem("reuters_acq_bigram", "reuters_acq_bigram", C=10, gamma=1),
    Problem("mnist", "mnist", C=5, gamma=0.02, scaling="255", on_request=True),
    Problem("a9a_csr", "a9a", C=1, gamma=1 / 123, layout="csr", on_request=True),
    Problem("w8a_dense", "w8a", C=10, gamma=0.5, layout="dense", on_request=True),
    Problem("satimage", "satimage", C=10, gamma=0.1, scaling="standardise", on_request=True),
    Problem("dna", "dna", C=10, gamma=0.01, on_request=True),
    Problem("heart_scale", "heart_scale", C=1, gamma=1 / 13, on_request=True),
)

BUNDLED_PROBLEMS = (
    Problem("breast_cancer", "sklearn:breast_cancer", C=10, gamma=1 / 30, scaling="standardise"),
    Problem("digits", "sklearn:digits", C=10, gamma=1 / 64, scaling="standardise"),
    Problem("digits_csr", "sklearn:digits", C=10, gamma=0.5, scaling="16", layout="csr"),
    Problem("wine", "sklearn:wine", C=10, gamma=1 / 13, scaling="standardise"),
    Problem("iris", "sklearn:iris", C=10, gamma=1 / 4, scaling="standardise"),
)

QUICK_NAMES = ("iris", "wine", "breast_cancer", "digits_csr")

# The test rows of these sets are timed by --predict.
PREDICT_NAMES = ("a9a", "letter", "mnist10k", "news20ng", "breast_cancer", "digits")


def find_problem(name):
    """The problem called ``name``; ValueError lists the known names."""
    known = {problem.name: problem for problem in FOLDER_PROBLEMS + BUNDLED_PROBLEMS}
    if name not in known:
        raise ValueError(f"unknown problem {name!r}, known are: {', '.join(known)}")
    return known[name]


def with_settings(problem, C=None, gamma=None):
    """``problem`` with C or gamma replaced where given."""
    changes = {key: value for key, value in (("C", C), ("gamma", gamma)) if value is not None}
    return replace(problem, **changes)


def load(problem, folder, dtype=np.float64):
    """Read, cut, convert and scale the rows of ``problem``, in ``dtype``, or, if None, as stored.

    Dense rows come back C-contiguous, sparse ones as canonical CSR. Scaling uses the training part
    alone, and is applied to the test part too.
    """
    data = _read_bundled(problem.source[8:]) if problem.source.startswith("sklearn:") else None
    if data is None:
        if folder is None:
            raise ValueError(f"problem {problem.name!r} needs --data FOLDER")
        data = _read_npz(Path(folder) / f"{problem.source}.npz", dtype)
    if problem.n_rows is not None:
        data.X, data.y = data.X[: problem.n_rows], data.y[: problem.n_rows]
    scale = _scaler(problem.scaling, data.X)
    data.X = _in_layout(scale(data.X), problem.layout)
    if data.X_test is not None:
        data.X_test = _in_layout(scale(data.X_test), problem.layout)
    return data


def n_bytes(X):
    """Size of the rows in memory, indices included."""
    parts = (X.data, X.indices, X.indptr) if sp.issparse(X) else (X,)
    return sum(part.nbytes for part in parts)


def _read_npz(path, dtype):
    with np.load(path) as arrays:

        def part(ending):
            if f"X{ending}" in arrays:
                return np.asarray(arrays[f"X{ending}"], dtype)
            if f"data{ending}" in arrays:
                return sp.csr_matrix(
                    (
                        np.asarray(arrays[f"data{ending}"], dtype),
                        arrays[f"indices{ending}"],
                        arrays[f"indptr{ending}"],
                    ),
                    shape=tuple(arrays[f"shape{ending}"]),
                )
            return None

        y_test = arrays.get("y_test", None)
        return Data(part(""), arrays["y"], part("_test"), y_test)


def _read_bundled(name):
    """A set bundled with scikit-learn; every fourth row is the test part."""
    from sklearn import datasets

    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    is_test = np.arange(len(y)) % 4 == 3
    return Data(
        X[~is_test].astype(np.float64), y[~is_test], X[is_test].astype(np.float64), y[is_test]
    )


def _scaler(scaling, X):
    if scaling == "none":
        return lambda part: part
    if scaling == "standardise":
        mean, deviation = X.mean(axis=0), X.std(axis=0)
        deviation[deviation == 0] = 1.0
        return lambda part: (part - mean) / deviation
    return lambda part: part / float(scaling)


def _in_layout(X, layout):
    if layout == "csr" and not sp.issparse(X):
        X = sp.csr_matrix(X)
    elif layout == "dense" and sp.issparse(X):
        X = X.toarray()
    if sp.issparse(X):
        X.sort_indices()
        return X
    return np.ascontiguousarray(X)
