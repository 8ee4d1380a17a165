"""Functions in the place of scikit-learn's own, and the classes for which they act."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any, NamedTuple

# The names of the classes that are patched now.
active: set[str] = set()
is_verbose = False


class StandIn(NamedTuple):
    """A function for one of scikit-learn's.

    It is called with the arguments by `names` for the estimators whose class, of which `owner_of`
    returns the name, is patched. What it refuses goes to the original as well: either that takes
    it, or the error is its.
    """

    module: ModuleType
    name: str
    names: tuple[str, ...]
    owner_of: Callable[[dict[str, Any]], str | None]
    ours: Callable[..., Any]

    def in_place_of(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def function(*args: Any, **kwargs: Any) -> Any:
            given = {**dict(zip(self.names, args, strict=False)), **kwargs}
            owner = self.owner_of(given)
            if owner in active:
                try:
                    return self.ours(**given)
                except (ArithmeticError, ValueError) as error:
                    write(f"{owner} falls through to scikit-learn in {self.name}: {error}")
            return original(*args, **kwargs)

        return function


def write(what: str) -> None:
    """Write a line to stderr if the patch is verbose."""
    if is_verbose:
        print(f"maxmargin.patch: {what}", file=sys.stderr)
