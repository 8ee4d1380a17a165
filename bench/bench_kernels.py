"""Blocks of kernel values under every SIMD target, on one thread.

A block is 240 query rows against 1,024 columns, packed beforehand: a dot product of d features is
2 d operations, so that GFLOP/s are those of the dot products alone and the kernel's own work (exp)
shows as a loss. The peak is what independent chains of multiply-adds reach in the same process.
The time in pytest-benchmark's table is that of the whole call (packing, and `REPEAT` blocks); the
figures after it are of the fastest block.
"""

import numpy as np
import pytest

import samples
from maxmargin import _core

REPEAT = 20
N_QUERIES, N_COLUMNS = 240, 1024

internal = _core._internal
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


def block(benchmark, figures, target, A, B, kernel, peak):
    seconds_of_block = []

    def call():
        values, seconds = internal.kernel_block(target, A, B, kernel, repeat=REPEAT)
        seconds_of_block.append(seconds)
        return values

    values = benchmark.pedantic(call, rounds=3, warmup_rounds=1)
    assert np.isfinite(values[:, : len(B)]).all()

    def of_seconds(_):
        best = min(seconds_of_block)
        gflops = 2 * len(A) * len(B) * A.shape[1] / best / 1e9
        return {
            "GFLOP/s": gflops,
            "peak": peak,
            "share_of_peak": gflops / peak,
            "values_per_ns": len(A) * len(B) / best / 1e9,
        }

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


@pytest.mark.parametrize("composition", ["rbf", "poly", "rbf + poly", "rbf * poly"])
@pytest.mark.parametrize("d", [3, 20])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("target", TARGETS)
def test_composed(benchmark, figures, quick, fma_peak, target, dtype, d, composition):
    A, B = rows(quick, d, dtype)
    parts = {
        "rbf": _core.KernelParams("rbf", gamma=0.5 / d),
        "poly": _core.KernelParams("poly", gamma=1 / d, coef0=1.0, degree=3),
    }
    params = parts.get(composition)
    if params is None:
        steps = [(parts["rbf"], 1.0), (parts["poly"], 0.5), composition[4]]
        params = _core.KernelParams.composed(steps)
    block(benchmark, figures, target, A, B, params, fma_peak(target, dtype))


@pytest.mark.parametrize("function", ["exp", "tanh"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("target", TARGETS)
def test_elementwise(benchmark, figures, target, dtype, function):
    x = np.linspace(-20, 0, 4096, dtype=dtype)
    benchmark(internal.elementwise, target, function, x)
    figures(lambda seconds: {"values_per_ns": len(x) / seconds / 1e9})
