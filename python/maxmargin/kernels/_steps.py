"""Composed kernels in postfix notation, as the core evaluates them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from maxmargin._input.sparse import Matrix
from maxmargin.kernels._parameter import Factors, KernelParams

# (KernelParams, weight), "+", "*" and Factors.
Steps: TypeAlias = list[tuple[KernelParams, float] | str | Factors]
# What the factors are the product of: functions that give a number for every row of a matrix.
Function: TypeAlias = Callable[[Matrix], NDArray[np.float64]]
Functions: TypeAlias = tuple[Function, ...]
_MOST_STEPS = 31  # of up to 16 kernels
_MOST_DEPTH = 4
# How the core pairs the numbers of two samples: one way for all parts of a composed kernel.
_PAIRINGS = {
    "laplacian": "minimum",
    "chi_squared": "harmonic",
    "histogram_intersection": "minimum",
}


def is_known(steps: Steps) -> bool:
    """Return whether the core can evaluate the steps."""
    n_steps = sum(not isinstance(step, Factors) for step in steps)
    if n_steps > _MOST_STEPS or _depth(steps) > _MOST_DEPTH:
        return False
    kinds = {params.type for params, _ in _values(steps)} - {"constant"}
    return len({_PAIRINGS.get(kind, "multiply") for kind in kinds}) <= 1


def joined(parts: list[Steps | None], operation: str) -> Steps | None:
    """Return the steps of all parts, each after the first followed by the operation.

    Parts keep their factors: without them the product of two values could overflow.
    """
    together: Steps = []
    for steps in parts:
        if steps is None:
            return None
        together += [*steps, operation] if together else steps
    return together


def scaled(steps: Steps | None, factor: float) -> Steps | None:
    """Return the steps of a multiple."""
    if steps is None:
        return None
    steps, functions = _split(steps)
    first = steps[0]
    if len(steps) == 1 and not isinstance(first, (str, Factors)):
        return _with_functions([(first[0], factor * first[1])], functions)
    return _with_functions([*steps, (KernelParams("constant"), factor), "*"], functions)


def weighed(steps: Steps | None, function: Function) -> Steps | None:
    """Return the steps of f(x) K(x, z) f(z)."""
    if steps is None:
        return None
    steps, functions = _split(steps)
    return _with_functions(steps, (*functions, function))


def _split(steps: Steps) -> tuple[Steps, Functions]:
    """Return the steps without the factors of the whole, and the functions of those."""
    last = steps[-1]
    return (steps[:-1], last.functions) if isinstance(last, Factors) else (steps, ())


def _with_functions(steps: Steps, functions: Functions) -> Steps:
    return [*steps, Factors(functions)] if functions else steps


def _values(steps: Steps) -> list[tuple[KernelParams, float]]:
    return [step for step in steps if not isinstance(step, (str, Factors))]


def _depth(steps: Steps) -> int:
    """Return how many values are there at most between two steps."""
    depth = deepest = 0
    for step in steps:
        if not isinstance(step, Factors):
            depth += -1 if isinstance(step, str) else 1
        deepest = max(deepest, depth)
    return deepest
