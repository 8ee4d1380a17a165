"""Every SIMD target that this machine can run, against plain definitions in float64."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import _core
from oracles.svm import kernel as kernel_matrix
from support.internal import internal

TARGETS = _core.simd_targets()
FAST = [target for target in TARGETS if target != "reference"]
DTYPES = [np.float32, np.float64]
OF_HISTOGRAMS = ["chi_squared", "histogram_intersection"]
KERNELS = ["linear", "poly", "rbf", "sigmoid", "laplacian", *OF_HISTOGRAMS]


def samples_for(name, *matrices):
    """The matrices, without negative numbers where the kernel is of histograms."""
    return [abs(M) for M in matrices] if name in OF_HISTOGRAMS else matrices


def spacings(got, exact):
    """The largest error in units of the last place of the result's type."""
    return float((np.abs(got - exact) / np.spacing(np.abs(exact).astype(got.dtype))).max())


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", KERNELS)
def test_dense_block_is_the_definition(target, dtype, name):
    rng = np.random.default_rng(0)
    # Every number of query rows that a tile can be left with, and one or more panels.
    for n_queries, n_columns, depth in [
        (1, 1, 1),
        (2, 17, 3),
        (5, 40, 8),
        (13, 16, 31),
        (29, 7, 2),
    ]:
        A = rng.normal(size=(n_queries, depth)).astype(dtype)
        B = rng.normal(size=(n_columns, depth)).astype(dtype)
        A, B = samples_for(name, A, B)
        params = _core.KernelParams(name, 0.3, 0.5, 4)
        K, _ = internal.kernel_block(target, A, B, params)
        assert K.dtype == dtype
        exact = kernel_matrix(A, B, name, gamma=0.3, coef0=0.5, degree=4)
        bound = 32 * np.finfo(dtype).eps * max(1.0, np.abs(exact).max())
        assert np.abs(K[:, :n_columns] - exact).max() <= bound


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", KERNELS)
def test_sparse_block_is_the_definition(target, dtype, name):
    rng = np.random.default_rng(1)
    # The last has so many features that the rarer ones are met through lists.
    for n_queries, n_columns, depth in [(1, 1, 1), (17, 9, 50), (40, 33, 7), (70, 30, 5000)]:
        A = sp.random(n_queries, depth, 0.3, "csr", dtype, random_state=rng)
        B = sp.random(n_columns, depth, 0.3, "csr", dtype, random_state=rng)
        if name not in OF_HISTOGRAMS:
            A.data[::2] *= -1
            B.data[::3] *= -1
        csr = [(M.data, M.indices, M.indptr, M.shape[1]) for M in (A, B)]
        K, _ = internal.kernel_block(target, *csr, _core.KernelParams(name, 0.7, 0.5, 3))
        exact = kernel_matrix(A, B, name, gamma=0.7, coef0=0.5, degree=3)
        assert np.abs(K[:, :n_columns] - exact).max() <= 32 * np.finfo(dtype).eps * max(
            1.0, np.abs(exact).max()
        )


# Postfix: (name, degree, weight), operations, and "factors" after what has them. Powers stand first
# or second, in all that passes over a block can be; the degrees are those with few and with many
# bits. An exponential of degree n has n + 1 times the gamma.
COMPOSITIONS = [
    [("rbf", 0, 1.0), ("poly", 2, 0.5), "+"],
    [("poly", 3, 0.5), ("rbf", 0, 0.7), "*"],
    [("sigmoid", 0, 0.3), ("poly", 7, 0.5), "*", ("poly", 0, 0.2), "+"],
    [("poly", 5, 0.1), ("poly", 1, 2.0), "+", ("rbf", 0, 0.7), "*"],
    [("rbf", 0, 2.0), ("sigmoid", 0, 0.3), "+", ("linear", 3, 0.5), "*"],
    [("rbf", 0, 1.5), ("rbf", 0, 0.5), ("linear", 3, 0.5), "+", "*"],
    [("linear", 3, 0.5), ("rbf", 0, 1.0), ("sigmoid", 0, 0.5), "*", ("poly", 6, 0.1), "+", "+"],
    [("rbf", 0, 0.25)],
    [("linear", 1, 0.5)],
    [("sigmoid", 0, 0.5), ("rbf", 0, 0.5), "+", ("linear", 3, 0.5), "+", ("linear", 1, 0.3), "*"],
    [("linear", 1, 0.5), "factors"],
    [("poly", 3, 0.5), "factors"],
    [("poly", 4, 2.0)],
    [("sigmoid", 0, 0.5), "factors"],
    [("linear", 1, 0.5), ("poly", 5, 0.3), "+"],
    [("poly", 3, 0.5), "factors", ("linear", 1, 2.0), "factors", "*"],
    [("poly", 0, 0.5), ("rbf", 0, 0.5), "factors", "+", "factors"],
    [("sigmoid", 0, 1.0), "factors", ("poly", 1, 0.5), "*"],
    [("poly", 3, 1.0), "factors", ("rbf", 0, 0.7), "factors", "+", "factors"],
    [("rbf", 0, 1.0), ("poly", 3, 0.5), "factors", "+"],
    [("rbf", 0, 0.7), ("poly", 3, 1.0), "factors", "*", "factors"],
    [("poly", 2, 0.5), ("rbf", 0, 1.0), "factors", "*"],
    [("sigmoid", 0, 0.3), ("rbf", 0, 0.5), "factors", "+", "factors", ("poly", 2, 0.3), "*"],
    [("rbf", 0, 1.5), ("rbf", 0, 0.5), ("sigmoid", 3, 0.5), "+", "factors", "*", "factors"],
    [("rbf", 1, 1.0), ("rbf", 0, 0.5), "+"],
    [("rbf", 2, 0.5), "factors", ("rbf", 0, 1.5), "factors", "+", "factors"],
    [("rbf", 0, 0.5), ("rbf", 1, 1.5), "factors", "*"],
    [("laplacian", 0, 0.5), ("laplacian", 2, 1.5), "+", ("laplacian", 0, 1.0), "factors", "+"],
    [("rbf", 0, 0.5), ("rbf", 9, 1.0), "*", ("poly", 3, 0.1), "+", ("sigmoid", 0, 0.3), "*"],
]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("composition", COMPOSITIONS, ids=str)
def test_composed_block_is_the_definition(target, dtype, sparse, composition):
    check_composed_block(target, dtype, sparse, composition, 5)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("form", ["linear f", "joined", "composed"])
def test_composed_block_of_features_that_are_met_through_lists(target, dtype, form):
    composition = {
        "linear f": [("linear", 1, 0.5), "factors"],
        "joined": [("poly", 3, 0.5), ("rbf", 0, 0.7), "factors", "+", "factors"],
        "composed": [("rbf", 0, 0.5), ("sigmoid", 0, 0.5), "factors", "+"],
    }[form]
    check_composed_block(target, dtype, True, composition, 1100)


def check_composed_block(target, dtype, sparse, composition, d):
    rng = np.random.default_rng(7)
    n = 29 if sparse else 109  # more than are composed at a time
    A, B = rng.uniform(-1, 1, (n, d)).astype(dtype), rng.uniform(-1, 1, (40, d)).astype(dtype)
    if sparse:
        least = 1.0 - 3.5 / d  # some four numbers in a row
        A, B = (sp.csr_matrix(np.where(np.abs(M) > least, M, 0)) for M in (A, B))
    steps, stack, factors = [], [], []
    for step in composition:
        if step == "factors":
            factors.append([rng.uniform(-1, 1, len_of) for len_of in (n, 40)])
            stack[-1] = stack[-1] * np.outer(*factors[-1])
            steps.append(step)
        elif isinstance(step, str):
            second = stack.pop()
            stack[-1] = stack[-1] + second if step == "+" else stack[-1] * second
            steps.append(step)
        else:
            name, degree, weight = step
            gamma = 0.3 * (degree + 1 if name in ("rbf", "laplacian") else 1)
            exact = kernel_matrix(A, B, name, gamma=gamma, coef0=0.5, degree=degree)
            stack.append(weight * exact)
            steps.append((_core.KernelParams(name, gamma, 0.5, degree), weight))
    given = [(M.data, M.indices, M.indptr, M.shape[1]) for M in (A, B)] if sparse else [A, B]
    of_A, of_B = (np.array([pair[k] for pair in factors]) for k in (0, 1))
    kernel = _core.KernelParams.composed(steps, of_B)
    K, _ = internal.kernel_block(target, *given, kernel, factors=of_A)
    bound = 32 * np.finfo(dtype).eps * max(1.0, np.abs(stack[0]).max())
    assert np.abs(K[:, :40] - stack[0]).max() <= bound
    if sparse:
        coef = rng.normal(size=n)
        sums = internal.sparse_add(target, *given, kernel, coef, of_A)
        np.testing.assert_allclose(sums[:40], coef @ stack[0], atol=n * bound)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["rbf", "laplacian", "chi_squared"])
def test_a_row_has_kernel_value_exactly_one_with_itself(target, dtype, name):
    X = (np.random.default_rng(2).normal(size=(37, 11)) * 100).astype(dtype)
    X = samples_for(name, X)[0]
    params = _core.KernelParams(name, 0.5)
    assert (np.diagonal(internal.kernel_block(target, X, X, params)[0]) == 1).all()
    wide = sp.random(60, 20_000, 0.01, "csr", dtype, random_state=np.random.default_rng(3))
    for S in (sp.csr_matrix(X * (np.random.default_rng(3).random(X.shape) < 0.4)), wide):
        csr = (S.data, S.indices, S.indptr, S.shape[1])
        assert (np.diagonal(internal.kernel_block(target, csr, csr, params)[0]) == 1).all()


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_composed_exponentials_of_equal_and_of_far_rows(target, dtype):
    X = (np.random.default_rng(2).normal(size=(37, 11)) * 100).astype(dtype)
    parts = [(_core.KernelParams("rbf", gamma), weight) for gamma, weight in ((0.5, 1), (0.1, 0.5))]
    for steps, of_itself in ((parts[:1], 1), ([*parts, "+"], 1.5), ([*parts, "*"], 0.5)):
        kernel = _core.KernelParams.composed(steps, np.empty((0, 37)))
        K = internal.kernel_block(target, X, X, kernel)[0][:, :37]
        np.testing.assert_array_equal(K, of_itself * np.eye(37))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize(("dtype", "rounding"), [(np.float32, 2e-4), (np.float64, 1e-12)])
@pytest.mark.parametrize("depth", [30, 6000])
def test_sparse_add_is_the_sum_of_the_rows(target, name, dtype, rounding, depth):
    rng = np.random.default_rng(6)
    density = 9 / depth
    A = sp.random(37, depth, density, "csr", dtype, random_state=rng)
    B = sp.random(45, depth, density, "csr", dtype, random_state=rng)
    csr = [(M.data, M.indices, M.indptr, M.shape[1]) for M in (A, B)]
    coef = rng.normal(size=37)
    got = internal.sparse_add(target, *csr, _core.KernelParams(name, 0.7, 0.5, 3), coef)
    exact = coef @ kernel_matrix(A, B, name, gamma=0.7, coef0=0.5, degree=3)
    np.testing.assert_allclose(got[:45], exact, rtol=rounding, atol=rounding)


@pytest.mark.parametrize("target", FAST)
@pytest.mark.parametrize(("dtype", "lowest"), [(np.float32, -87.0), (np.float64, -708.0)])
def test_exp_keeps_its_error_bound(target, dtype, lowest):
    x = np.r_[-np.logspace(-30, 0, 5000), np.linspace(lowest, 0, 200_001)].astype(dtype)
    assert spacings(internal.elementwise(target, "exp", x), np.exp(x.astype(np.longdouble))) < 1.5
    below = np.array([1.01 * lowest, -1e10, -np.inf], dtype)
    assert (internal.elementwise(target, "exp", below) == 0).all()
    assert internal.elementwise(target, "exp", np.zeros(3, dtype)).tolist() == [1, 1, 1]


@pytest.mark.parametrize("target", FAST)
@pytest.mark.parametrize(("dtype", "lowest"), [(np.float32, -126.0), (np.float64, -1022.0)])
def test_exp2_keeps_its_error_bound(target, dtype, lowest):
    x = np.r_[-np.logspace(-30, 0, 5000), np.linspace(lowest, 0, 200_001)].astype(dtype)
    exact = np.exp2(x.astype(np.longdouble))
    for signed in (x, -x):
        assert spacings(internal.elementwise(target, "exp2", signed), exact) < 1.5
    below = np.array([lowest - 1.0, -1e10, -np.inf, 1e30], dtype)
    assert (internal.elementwise(target, "exp2", below) == 0).all()
    between = internal.elementwise(
        target, "exp2", np.linspace(lowest - 1, lowest, 999, dtype=dtype)
    )
    assert (np.diff(between) >= 0).all()
    assert internal.elementwise(target, "exp2", np.zeros(3, dtype)).tolist() == [1, 1, 1]


@pytest.mark.parametrize("target", FAST)
@pytest.mark.parametrize("dtype", DTYPES)
def test_tanh_of_exponents_keeps_its_error_bound(target, dtype):
    x = np.r_[np.logspace(-30, 0, 5000), np.linspace(0, 90, 100_001)]
    x = np.r_[-x, x].astype(dtype)
    exact = np.tanh(x.astype(np.longdouble) * (-np.log(np.longdouble(2)) / 2))
    assert spacings(internal.elementwise(target, "tanh_of_exponent", x), exact) < 4
    far = np.array([1e30, -1e30], dtype)
    assert internal.elementwise(target, "tanh_of_exponent", far).tolist() == [-1, 1]


@pytest.mark.parametrize("target", FAST)
@pytest.mark.parametrize("dtype", DTYPES)
def test_tanh_keeps_its_error_bound(target, dtype):
    x = np.r_[np.logspace(-30, 0, 5000), np.linspace(0, 30, 100_001)]
    x = np.r_[-x, x].astype(dtype)
    assert spacings(internal.elementwise(target, "tanh", x), np.tanh(x.astype(np.longdouble))) < 4
    far = np.array([1e30, -1e30], dtype)
    assert internal.elementwise(target, "tanh", far).tolist() == [1, -1]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("n", [1, 2, 7, 8, 33, 200])
def test_dot_axpy_and_add_rows(target, n):
    rng = np.random.default_rng(n)
    x, y = rng.normal(size=(2, n))
    assert internal.dot(target, x, y) == pytest.approx(float(x @ y), rel=1e-13, abs=1e-13)
    out = y.copy()
    internal.axpy(target, 0.3, x, out)
    np.testing.assert_allclose(out, y + 0.3 * x, rtol=1e-14, atol=1e-14)
    rows, coef = rng.normal(size=(5, n)), rng.normal(size=5)
    out = y.copy()
    internal.add_rows(target, rows, coef, out)
    np.testing.assert_allclose(out, y + coef @ rows, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [1, 2, 31, 32, 33, 1000])
def test_the_largest_magnitude_is_that_of_numpy(dtype, n):
    rng = np.random.default_rng(n)
    x = rng.normal(size=n).astype(dtype)
    assert _core.largest_magnitude(x) == np.abs(x).max()
    for bad in (np.inf, -np.inf, np.nan, -np.nan):
        for place in {0, n // 2, n - 1}:
            spoilt = x.copy()
            spoilt[place] = bad
            np.testing.assert_equal(_core.largest_magnitude(spoilt), abs(bad))
    assert _core.largest_magnitude(x[:0]) == 0.0
    assert _core.largest_magnitude(np.full(n, -0.0, dtype)) == 0.0


@pytest.mark.parametrize("target", TARGETS)
def test_adding_rows_in_two_calls_gives_the_same_bits(target):
    rng = np.random.default_rng(4)
    rows, coef, start = rng.normal(size=(9, 77)), rng.normal(size=9), rng.normal(size=77)
    once, twice = start.copy(), start.copy()
    internal.add_rows(target, rows, coef, once)
    internal.add_rows(target, rows[:4], coef[:4], twice)
    internal.add_rows(target, rows[4:], coef[4:], twice)
    assert once.tobytes() == twice.tobytes()


def variables(rng, n):
    """Variables at random places of their boxes, with ties in the gradient."""
    lower, upper = -rng.integers(0, 2, n).astype(float), rng.integers(0, 3, n).astype(float)
    share = rng.choice([0.0, 0.5, 1.0], n)
    gradient = rng.integers(-4, 5, n).astype(float)
    return lower + share * (upper - lower), gradient, lower, upper


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_selection_is_the_definition(target, dtype):
    rng = np.random.default_rng(5)
    for _ in range(200):
        n = 16 * int(rng.integers(1, 9))
        beta, gradient, lower, upper = variables(rng, n)
        box = (beta, gradient, lower, upper)
        may_grow, may_fall = beta < upper, beta > lower
        i, up, low = internal.select_first(target, *box)
        assert low == np.min(-gradient, initial=np.inf, where=may_fall)
        assert up == np.max(-gradient, initial=-np.inf, where=may_grow)
        if not may_grow.any():
            assert i == -1
            continue
        assert i == np.flatnonzero(may_grow & (-gradient == up))[0]

        for above, below in ((0.0, 0.0), (1.0, -1.0), (-np.inf, np.inf), (9.0, -9.0)):
            found = internal.find_violators(target, *box, above, below)
            wanted = (may_grow & (-gradient > above)) | (may_fall & (-gradient < below))
            assert found.tolist() == np.flatnonzero(wanted).tolist()

        root = rng.normal(size=(n, 3))
        K = (root @ root.T).astype(dtype)
        diagonal, row_i = np.diagonal(K).copy(), np.ascontiguousarray(K[i])
        some = int(rng.integers(i + 1, n + 1))  # those after may be another group's
        j = internal.select_second(target, *box, diagonal, row_i, i, up, low, some)
        slope, curvature = up + gradient, diagonal[i] + diagonal - 2 * K[i].astype(np.float64)
        curvature[curvature <= 0] = 1e-12
        gain = np.where(may_fall & (slope > 0), slope**2 / curvature, -np.inf)[:some]
        if np.isneginf(gain).all():
            assert j == -1
        else:
            # Differences of nearly equal numbers are what rounding leaves of them.
            assert gain[j] >= gain.max() * (1 - 1e-9) or curvature[j] < 100 * np.finfo(dtype).eps
        row_j = np.ascontiguousarray(K[j])
        moved = gradient + 0.25 * (row_i.astype(np.float64) - row_j)
        *ends, gradient = internal.update_pair(target, *box, row_i, row_j, 0.25)
        np.testing.assert_allclose(gradient, moved, rtol=1e-14, atol=1e-14)
        assert tuple(ends) == internal.select_first(target, beta, gradient, lower, upper)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_among_equals_the_first_is_selected(target, dtype):
    n = 48
    beta, lower, upper = np.zeros(n), np.full(n, -1.0), np.ones(n)
    gradient = np.zeros(n)
    gradient[[5, 11, 14, 37]] = -1.0
    assert internal.select_first(target, beta, gradient, lower, upper)[0] == 5
    row, diagonal = np.zeros(n, dtype), np.ones(n, dtype)
    assert internal.update_pair(target, beta, gradient, lower, upper, row, row, 0.0)[0] == 5
    gradient = np.ones(n)
    second = internal.select_second(
        target, beta, gradient, lower, upper, diagonal, row, 5, 0.0, -1.0, n
    )
    assert second == 0


def run_with_target(target, code):
    environment = {**os.environ, "MAXMARGIN_SIMD": target}
    return subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("target", TARGETS)
def test_the_environment_chooses_the_target(target):
    done = run_with_target(target, "from maxmargin import _core; print(_core.active_target())")
    assert done.stdout.strip() == target


def test_an_unknown_target_is_an_error_that_lists_the_known():
    done = run_with_target("mmx", "from maxmargin import _core; _core.active_target()")
    assert done.returncode != 0
    assert "got 'mmx'" in done.stderr
    assert all(target in done.stderr for target in TARGETS)


@pytest.mark.parametrize("target", TARGETS)
def test_every_target_trains_the_same_model(target):
    code = """
import numpy as np
from maxmargin import SVC
rng = np.random.default_rng(0)
X = rng.normal(size=(300, 7)); y = (X[:, 0] * X[:, 1] > 0).astype(int)
model = SVC(C=3.0, gamma=0.4, tol=1e-8).fit(X, y)
print(repr(model.certificate_.dual_objective), *model.decision_function(X[:5]))
"""
    numbers = [float(word) for word in run_with_target(target, code).stdout.split()]
    expected = [float(word) for word in run_with_target("reference", code).stdout.split()]
    assert len(numbers) == 6
    np.testing.assert_allclose(numbers, expected, rtol=1e-6)
