"""The row cache: cost of a hit, and of a miss that makes room for a new row.

Every operation is one call from Python, which is part of its cost here (tens of nanoseconds).
"""

import numpy as np
import pytest

from maxmargin import _core_internal as internal

ROW_LENGTH = 1_000
N_CALLS = 10_000


def cache_of(n_keys, n_rows):
    return internal.RowCache(n_keys, ROW_LENGTH, n_rows * ROW_LENGTH * 8)


def replay(cache, keys):
    """Look every key up, and insert what is not there."""
    find, insert = cache.find, cache.insert
    for key in keys:
        if find(key) is None:
            insert(key, 1.0)


@pytest.mark.parametrize("n_rows", [16, 1_024, 8_192])
def test_hits(benchmark, figures, n_rows):
    cache = cache_of(n_rows, n_rows)
    replay(cache, range(n_rows))
    keys = np.random.default_rng(0).integers(0, n_rows, N_CALLS).tolist()
    misses = cache.misses
    benchmark.pedantic(replay, args=(cache, keys), rounds=10, warmup_rounds=1)
    assert cache.misses == misses
    figures(lambda seconds: {"ns_per_hit": seconds / N_CALLS * 1e9})


@pytest.mark.parametrize("n_rows", [2, 16, 1_024])
def test_misses(benchmark, figures, n_rows):
    """Keys in a circle one longer than the cache: each has just gone when its turn comes."""
    cache = cache_of(n_rows + 1, n_rows)
    keys = [i % (n_rows + 1) for i in range(N_CALLS - N_CALLS % (n_rows + 1))]
    benchmark.pedantic(replay, args=(cache, keys), rounds=10, warmup_rounds=1)
    assert cache.hits == 0
    figures(lambda seconds: {"ns_per_miss_and_insert": seconds / len(keys) * 1e9})


def test_skewed_requests(benchmark, figures):
    """Keys of falling frequency, as working sets make them, with room for a quarter of the rows."""
    n_keys = 4_096
    cache = cache_of(n_keys, n_keys // 4)
    keys = (n_keys ** np.random.default_rng(0).random(N_CALLS)).astype(int) - 1
    keys = keys.tolist()
    benchmark.pedantic(replay, args=(cache, keys), rounds=10, warmup_rounds=1)
    share = cache.hits / (cache.hits + cache.misses)
    figures(lambda seconds: {"ns_per_request": seconds / N_CALLS * 1e9, "share_of_hits": share})
