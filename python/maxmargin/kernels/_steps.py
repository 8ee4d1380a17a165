"""Composed kernels in postfix notation, as the core evaluates them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from maxmargin import _core
from maxmargin._input.sparse import Matrix
from maxmargin.kernels._parameter import Factors, KernelParams, core_steps

# (KernelParams, weight), "+", "*" and Factors.
Steps: TypeAlias = list[tuple[KernelParams, float] | str | Factors]
# What the factors are the product of: functions that give a number for every row of a matrix.
Function: TypeAlias = Callable[[Matrix], NDArray[np.float64]]
Functions: TypeAlias = tuple[Function, ...]


def is_known(steps: Steps) -> bool:
    """Return whether the core can evaluate the steps."""
    try:
        _core.KernelParams.composed(core_steps(steps))
    except ValueError:
        return False
    return True


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
