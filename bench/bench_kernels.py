"""Blocks of kernel values under every SIMD target, on one thread.

A block is 240 query rows against 1,024 columns, packed beforehand: a dot product of d features is
2 d operations, so that GFLOP/s are those of the dot products alone and the kernel's own work (exp)
shows as a loss. The peak is what independent chains of multiply-adds reach in the same process.
A composed kernel is to be compared with the most expensive of its parts.
The time in pytest-benchmark's table is that of the whole call (packing, and `REPEAT` blocks); the
figures after it are of the fastest block.
"""

import numpy as np
import pytest
import scipy.sparse as sp

import samples
from maxmargin import _core
from maxmargin import _core_internal as internal

REPEAT = 20
N_QUERIES, N_COLUMNS = 240, 1024

# The scalar reference is the oracle of the tests, not a target anybody runs.
TARGETS = [name for name in _core.simd_targets() if name != "reference"]


@pytest.fixture(scope="module")
def fma_peak():
    """GFLOP/s of multiply-adds by target and type, each measured once."""
    known = {}

    def peak(target, dtype):
        key = target, np.dtype(dtype).name
        if key not in known:
            known[key] = internal.fma_peak_gflops(*key)
        return known[key]

    return peak


def block(benchmark, figures, target, A, B, kernel, peak, factors=None):
    seconds_of_block = []

    def call():
        values, seconds = internal.kernel_block(target, A, B, kernel, REPEAT, factors)
        seconds_of_block.append(seconds)
        return values

    values = benchmark.pedantic(call, rounds=3, warmup_rounds=1)
    assert np.isfinite(values).all()

    def of_seconds(_):
        best = min(seconds_of_block)
        gflops = {}
        if isinstance(A, np.ndarray):
            reached = 2 * values.size * A.shape[1] / best / 1e9
            gflops = {"GFLOP/s": reached, "peak": peak, "share_of_peak": reached / peak}
        return {**gflops, "values_per_ns": values.size / best / 1e9}

    figures(of_seconds)


def rows(quick, d, dtype):
    n = 4 if quick else 1
    A, _ = samples.two_clouds(N_QUERIES // n, d, dtype)
    B, _ = samples.two_clouds(N_COLUMNS // n, d, dtype, seed=1)
    return A, B


@pytest.mark.parametrize("d", [4, 16, 64, 256, 784])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("target", TARGETS)
def test_dense_block(benchmark, figures, quick, fma_peak, target, dtype, kernel, d):
    A, B = rows(quick, d, dtype)
    params = _core.KernelParams(kernel, gamma=0.5 / d)
    block(benchmark, figures, target, A, B, params, fma_peak(target, dtype))


@pytest.mark.parametrize("kernel", ["poly", "sigmoid"])
@pytest.mark.parametrize("target", TARGETS)
def test_other_kernels(benchmark, figures, quick, fma_peak, target, kernel):
    A, B = rows(quick, 64, np.float32)
    params = _core.KernelParams(kernel, gamma=1 / 64, coef0=1.0, degree=3)
    block(benchmark, figures, target, A, B, params, fma_peak(target, np.float32))


# In postfix notation; "f" stands for what makes the kernel before it a weighted or normalised one.
COMPOSITIONS = [
    *("linear", "rbf", "poly", "rbf poly +", "rbf poly *", "linear f", "rbf f", "poly f"),
    *("rbf poly + f", "rbf poly * f", "rbf poly f +", "poly f rbf f +"),
]


@pytest.mark.parametrize("composition", COMPOSITIONS)
@pytest.mark.parametrize("d", [3, 20, 100])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("form", ["dense", "csr"])
@pytest.mark.parametrize("target", TARGETS)
def test_composed(benchmark, figures, quick, fma_peak, target, form, dtype, d, composition):
    A, B = rows(quick, d, dtype)
    parts = {
        "linear": (_core.KernelParams("linear"), 1.0),
        "rbf": (_core.KernelParams("rbf", gamma=0.5 / d), 1.0),
        "poly": (_core.KernelParams("poly", gamma=1 / d, coef0=1.0, degree=3), 0.5),
        "f": "factors",
    }
    words = composition.split()
    if len(words) == 1:
        params, factors = parts[composition][0], None
    else:
        steps = [parts.get(word, word) for word in words]
        of_B, factors = (np.full((words.count("f"), len(X)), 0.7) for X in (B, A))
        params = _core.KernelParams.composed(steps, of_B)
    if form == "csr":  # a fifth of the numbers, at least three
        A, B = (csr(X, max(0.2, 3 / d)) for X in (A, B))
    block(benchmark, figures, target, A, B, params, fma_peak(target, dtype), factors)


def csr(X, density):
    rng = np.random.default_rng(len(X))
    S = sp.csr_matrix(np.where(rng.random(X.shape) < density, X, 0))
    return S.data, S.indices, S.indptr, S.shape[1]


@pytest.mark.parametrize("function", ["exp", "exp2", "tanh", "tanh_of_exponent"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("target", TARGETS)
def test_elementwise(benchmark, figures, target, dtype, function):
    x = np.linspace(-20, 0, 4096, dtype=dtype)
    benchmark(internal.elementwise, target, function, x)
    figures(lambda seconds: {"values_per_ns": len(x) / seconds / 1e9})
