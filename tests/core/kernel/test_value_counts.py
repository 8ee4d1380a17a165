"""How many kernel values a fit has computed, by what it cannot do without and by exact counts."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import SVC, SVR, NuSVC, OneClassSVM, _core
from oracles.svm import fields_of
from oracles.svm import kernel as kernel_matrix

LINE = 16  # columns of a kernel matrix fill whole lines of so many
PROBES = 2 * 64**2  # what shows how far float32 values are off: a small square in both types


def two_classes(n, d, noise=1.0):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    return X, np.where(X[:, 0] + 2 * X[:, 0] * X[:, 1] + noise * rng.normal(size=n) > 0, 1, 0)


def columns(y):
    """Columns of the kernel matrix, where every class fills whole lines."""
    return sum(-(-size // LINE) * LINE for size in np.bincount(y))


def fit(X, y, kernel="rbf", C=1.0, gamma=0.1, **options):
    options.setdefault("cache_bytes", 1 << 20)
    training = _core.TrainingOptions(**options)
    data = (X.data, X.indices, X.indptr, X.shape[1]) if sp.issparse(X) else X
    upper = np.full(len(y), C)
    params = _core.KernelParams(kernel, gamma)
    n_classes = int(y.max()) + 1
    return fields_of(_core.svc_fit(data, y.astype(np.int64), n_classes, upper, params, training))


def test_few_samples_take_one_square():
    X, y = two_classes(90, 3)
    K = kernel_matrix(X, X, gamma=0.1)
    width = columns(y)
    square = fit(K, y, "precomputed", precision="float64")["kernel_values"]
    assert square.tolist() == [width**2]
    mirrored = fit(X, y, precision="float64")["kernel_values"]
    assert width * (width + 1) / 2 <= mirrored[0] <= width**2


def test_what_is_evaluated_in_float64_counts():
    X, y = two_classes(90, 3)
    result = fit(kernel_matrix(X, X, gamma=0.1), y, "precomputed", precision="float32")
    exact = result["kernel_values"][0] - columns(y) ** 2 - PROBES
    n_support = len(result["support"])
    assert exact >= LINE * n_support  # the gradients of a few variables at least
    assert exact % LINE == 0


@pytest.mark.parametrize("form", ["dense", "sparse", "precomputed"])
def test_rows_and_squares_count(form):
    X, y = two_classes(2100, 3)
    data, kernel = X, "rbf"
    if form == "sparse":
        data = sp.csr_matrix(np.hstack([X, np.zeros((len(X), 40))]))
    elif form == "precomputed":
        data, kernel = kernel_matrix(X, X, gamma=0.1), "precomputed"
    result = fit(data, y, kernel, C=0.1, precision="float64", shrinking=False, max_iter=3000)
    rows, n = result["kernel_rows"][0], columns(y)
    assert rows > 100
    assert rows * n + 64 * 65 / 2 <= result["kernel_values"][0]  # the first block has 64 variables


def test_rows_of_fewer_columns_count_as_what_they_are():
    """While variables are set aside, before it and after."""
    X, y = two_classes(4000, 3, noise=0.1)
    full, shrunk = (
        fit(X, y, C=10.0, precision="float64", shrinking=shrinking) for shrinking in (False, True)
    )
    beyond_rows = [  # of so many whole rows
        result["kernel_values"][0] - result["kernel_rows"][0] * columns(y)
        for result in (full, shrunk)
    ]
    assert 0 < beyond_rows[1] < beyond_rows[0]
    # What is saved and what more rows take, about cancel here.
    assert shrunk["kernel_values"][0] == pytest.approx(full["kernel_values"][0], rel=0.1)


def test_matrices_that_pairs_share_count_once():
    """Pairs of expensive values after the first have the matrices of classes with themselves."""
    rng = np.random.default_rng(5)
    sizes = [304, 16, 256, 128, 32]  # whole lines
    y = np.repeat(np.arange(5), sizes)
    X = rng.normal(size=(len(y), 50)) + 0.3 * rng.normal(size=(5, 50))[y]
    result = fit(X, y, C=3.0, gamma=0.02, precision="float64", cache_bytes=4 << 20)
    assert (result["kernel_rows"][1:] == 0).all()
    first, *others = result["kernel_values"]
    pairs = list(combinations(sizes, 2))
    # Where rounding leaves something of the sum of the coefficients, the scale of eight values is
    # read.
    beyond = [n - a * b for n, (a, b) in zip(others, pairs[1:], strict=True)]
    assert set(beyond) <= {0, 8 * LINE}
    is_first = y < 2
    # Of a machine alone, squares take values from the rows that are kept, unless all may not be.
    almost = (304 + 16 - 1) * (304 + 16) * 8
    alone = fit(
        X[is_first], y[is_first], C=3.0, gamma=0.02, precision="float64", cache_bytes=almost
    )
    shared = first - alone["kernel_values"][0]
    assert sum(n * (n + 1) / 2 for n in sizes) <= shared <= sum(n * n for n in sizes)


@pytest.mark.no_sanitizer
@pytest.mark.parametrize(
    "machine",
    [
        SVC(C=10.0),
        SVC(loss="squared_hinge"),
        NuSVC(nu=0.6),
        SVR(C=10.0, epsilon=0.1),
        OneClassSVM(nu=0.3),
    ],
    ids=lambda machine: str(machine),
)
def test_counts_do_not_depend_on_threads_and_add_up(machine):
    X, y = two_classes(2500, 4)
    y = y + (X[:, 3] > 0)
    counts = [
        machine.set_params(n_jobs=n_jobs).fit(X, y).certificate_.kernel_values
        for n_jobs in (1, 2, 3)
    ]
    assert counts == [counts[0]] * 3
    certificate = machine.certificate_
    assert certificate.kernel_values > certificate.kernel_rows > 0
    if certificate.machines:
        assert sum(one.kernel_values for one in certificate.machines) == counts[0]


@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_kept_rows_lend_their_values_to_squares(form):
    """Where values are expensive, next to nothing is computed twice; the solution is the same."""
    rng = np.random.default_rng(7)
    n, d = 1600, 64
    X, y = two_classes(n, d, noise=0.3)
    if form == "sparse":
        X = sp.csr_matrix(np.where(rng.random((n, 30 * d)) < 0.03, rng.random((n, 30 * d)), 0.0))
    options = {"C": 5.0, "gamma": 0.02, "precision": "float64", "shrinking": False}
    kept = fit(X, y, cache_bytes=64 << 20, **options)
    few = fit(X, y, cache_bytes=4 << 20, **options)
    rows, values = kept["kernel_rows"][0], kept["kernel_values"][0]
    assert kept["cache_hits"][0] > rows
    assert rows * columns(y) < values < 1.3 * rows * columns(y)
    assert few["kernel_values"][0] > 1.4 * few["kernel_rows"][0] * columns(y)
    for name in ("dual_objective", "rho"):
        assert kept[name] == pytest.approx(few[name], rel=1e-4)
    again = fit(X, y, cache_bytes=64 << 20, n_threads=2, **options)
    assert (again["dual_coef"] == kept["dual_coef"]).all()
