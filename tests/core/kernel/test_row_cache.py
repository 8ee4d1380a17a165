"""The row cache against a model: an ordered dictionary."""

from __future__ import annotations

from collections import OrderedDict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.internal import internal

RowCache = internal.RowCache


@settings(max_examples=300)
@given(
    n_keys=st.integers(1, 12),
    row_length=st.integers(1, 40),
    budget_rows=st.integers(0, 14),
    accesses=st.lists(st.integers(0, 11), max_size=120),
)
def test_it_behaves_like_an_ordered_dictionary(n_keys, row_length, budget_rows, accesses):
    cache = RowCache(n_keys, row_length, budget_rows * row_length * 8)
    model: OrderedDict[int, float] = OrderedDict()
    capacity = min(max(budget_rows, 2), max(n_keys, 2))
    assert cache.capacity == capacity
    hits = misses = 0
    for step, access in enumerate(accesses):
        key = access % n_keys
        found = cache.find(key)
        assert found == model.get(key)
        if found is None:
            misses += 1
            if len(model) == capacity:
                model.popitem(last=False)
            model[key] = float(step)
            cache.insert(key, float(step))
        else:
            hits += 1
            model.move_to_end(key)
        assert len(model) <= capacity
        assert [key for key in range(n_keys) if cache.peek(key)] == sorted(model)
    assert (cache.hits, cache.misses) == (hits, misses)


@pytest.mark.parametrize("budget", [0, 1, 799])
def test_two_rows_fit_whatever_the_budget(budget):
    cache = RowCache(10, 50, budget)
    assert cache.capacity == 2
    cache.insert(3, 3.0)
    cache.insert(4, 4.0)
    assert (cache.find(3), cache.find(4)) == (3.0, 4.0)


def test_a_huge_budget_takes_no_memory_up_front():
    cache = RowCache(1_000_000, 1_000_000, 10**13)
    assert cache.capacity == 1_000_000
    cache.insert(0, 1.0)
    assert cache.peek(0)
