"""Errors and warnings of the package.

Where scikit-learn is loaded, what is raised is also an instance of its class of the same name, so
that filters and handlers written for scikit-learn hold.
"""

from __future__ import annotations

import functools
import sys
import warnings
from types import FrameType
from typing import Any

from maxmargin._core import Cancelled

__all__ = ["Cancelled", "ConvergenceWarning", "DataConversionWarning", "NotFittedError"]

# The core makes this class; here is its public name.
Cancelled.__module__ = __name__
Cancelled.__doc__ = "The callback of a fit returned True: the fit is discarded."


class NotFittedError(ValueError, AttributeError):
    """A method that needs a fitted estimator was called before `fit`."""


class ConvergenceWarning(UserWarning):
    """Training ended before the tolerance was reached; the model is usable, not optimal."""


class DataConversionWarning(UserWarning):
    """The input was converted in a way that the caller may not have meant."""


def warn_caller(text: str, category: type[Warning] = UserWarning) -> None:
    """Warn of the line that called into this package, however deep in it the reason is found."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and _is_ours(frame):
        level, frame = level + 1, frame.f_back
    warnings.warn(text, compatible(category), stacklevel=level)


def _is_ours(frame: FrameType) -> bool:
    name: str = frame.f_globals.get("__name__", "")
    return name.partition(".")[0] == __name__.partition(".")[0]


def compatible(cls: type[Any]) -> type[Any]:
    """Return `cls`, joined with scikit-learn's class of that name if scikit-learn is loaded."""
    theirs = getattr(sys.modules.get("sklearn.exceptions"), cls.__name__, None)
    if theirs is None:
        return cls
    ours: Any = cls  # what is hashed
    joined: type[Any] = _joined(ours, theirs)
    return joined


@functools.cache  # a registry of warnings keeps every class that it has met
def _joined(cls: Any, theirs: Any) -> Any:
    # Reduced to the plain class, so that it can be pickled back from a worker process.
    namespace = {"__module__": cls.__module__, "__reduce__": lambda self: (cls, self.args)}
    return type(cls.__name__, (cls, theirs), namespace)
