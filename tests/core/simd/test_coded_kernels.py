"""The kernels of coded rows, of every target, against their definition."""

from __future__ import annotations

import numpy as np
import pytest

from maxmargin import _core
from support.internal import internal

TARGETS = _core.simd_targets()
DTYPES = [np.float32, np.float64]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [1, 2, 7, 16, 33, 200])
def test_codes_are_the_nearest_integers(target, dtype, n):
    rng = np.random.default_rng(n)
    for scale in (1e-28, 1.0, 1e28):
        x = (scale * rng.normal(size=n)).astype(dtype)
        codes, step = internal.encode(target, x)
        assert codes.dtype == np.int8
        np.testing.assert_allclose(step, np.abs(x).max() / 127.0, rtol=2e-6)
        assert np.abs(codes - x.astype(np.float64) / step).max() <= 0.5 + 2.0**-14
        assert np.abs(codes).max() == 127


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [1, 16, 33])
def test_codes_tell_where_they_tell_nothing(target, dtype, n):
    x = np.zeros(n, dtype)
    for size in (2e30, np.inf, np.nan):
        x[-1] = size
        assert internal.encode(target, x)[1] == np.inf
    for size in (0.0, 1e-300, 1e-40, 9e-31):
        x[-1] = size
        codes, step = internal.encode(target, x)
        assert size / step < 0.5
        assert not codes.any()


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("n", [1, 7, 16, 33, 200])
def test_weights_are_rounded_to_the_nearest_integers(target, n):
    w = np.random.default_rng(n).normal(size=n)
    scale = 32767.0 / np.abs(w).max()
    rounded = internal.round_weights(target, w, scale)
    assert rounded.dtype == np.int16
    np.testing.assert_array_equal(rounded, np.rint(w * scale))
    np.testing.assert_allclose(internal.sum_of_magnitudes(target, w), np.abs(w).sum(), rtol=1e-14)


def undecided(target, codes, steps, labels, w, offset, error, least):
    bits = internal.find_undecided(target, codes, steps, labels, w, offset, error, least)
    return [bool(bits >> r & 1) for r in range(32)]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("n", [16, 32, 112, 256, 1008, 4176])
def test_undecided_are_the_margins_that_are_not_above_for_sure(target, n):
    rng = np.random.default_rng(n)
    codes = rng.integers(-127, 128, (8, n)).astype(np.int8)
    w = rng.integers(-4000, 4001, n).astype(np.int16)
    steps = rng.uniform(0.5, 2.0, 8).astype(np.float32)
    labels = rng.choice([-1.0, 1.0], 8).astype(np.float32)
    values = steps * (codes.astype(np.float64) @ w.astype(np.float64)) + 1000.0
    above = labels * values - steps * 2.0
    steps[3], above[3] = np.inf, np.nan  # of which nothing is known
    for least in above[np.isfinite(above)]:
        for shift in (-1e-4, 1e-4):
            limit = least + shift * abs(least)
            expected = [not a > limit for a in above] + 24 * [False]
            assert undecided(target, codes, steps, labels, w, 1000.0, 2.0, limit) == expected


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("n", [32, 112, 4112])
def test_products_of_codes_are_exact(target, n):
    """Up to the largest sum of magnitudes, of which float32 keeps every multiple of 128."""
    codes = np.full((8, n), 127, np.int8)
    codes[1::2] *= -1
    w = np.full(n, min(32767, 2**24 // n), np.int16)
    exact = 127 * int(w[0]) * n
    signs = np.where(np.arange(8) % 2, -1.0, 1.0).astype(np.float32)
    ones = np.ones(8, np.float32)
    for limit in (np.float32(exact) * (1 - 2**-20), np.float32(exact) * (1 + 2**-20)):
        expected = 8 * [not exact > limit] + 24 * [False]
        assert undecided(target, codes, ones, signs, w, 0.0, 0.0, limit) == expected
