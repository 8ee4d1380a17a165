"""Raising at every line of the package that a call runs, as Ctrl-C or a lack of memory does."""

from __future__ import annotations

import copy
import dataclasses
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import maxmargin

PACKAGE = str(Path(maxmargin.__file__).parent)


class LineTrace:
    """A trace function that counts the package's lines, and raises at one of them."""

    def __init__(self, error: type[BaseException] | None = None, at: int = -1) -> None:
        self.n_lines = 0
        self._error, self._at = error, at

    def __call__(self, frame: Any, event: str, arg: Any) -> LineTrace | None:
        if not frame.f_code.co_filename.startswith(PACKAGE):
            return None
        if event == "line":
            self.n_lines += 1
            if self._error is not None and self.n_lines == self._at:
                raise self._error
        return self

    def run(self, call: Callable[[Any], Any], argument: Any) -> None:
        outer = sys.gettrace()
        sys.settrace(self)
        try:
            call(argument)
        finally:
            sys.settrace(outer)


def facts(estimator: Any, X: Any) -> dict[str, Any]:
    """Return the predictions and all fitted attributes, to be compared with `==`, but for times."""
    found = {
        name: comparable(getattr(estimator, name))
        for name in dir(estimator)
        if name.endswith("_") and not name.startswith("_") and hasattr(estimator, name)
    }
    for method in ("predict", "decision_function"):
        if found and hasattr(estimator, method):
            found[method] = comparable(getattr(estimator, method)(X))
    return found


def comparable(value: Any) -> Any:
    if sp.issparse(value):
        value = value.toarray()
    if isinstance(value, np.ndarray):
        is_object = value.dtype.hasobject
        return value.dtype.str, value.shape, value.tolist() if is_object else value.tobytes()
    if dataclasses.is_dataclass(value):
        parts = vars(value).items()
        return {name: comparable(part) for name, part in parts if name != "seconds"}
    return [comparable(part) for part in value] if isinstance(value, (list, tuple)) else value


def assert_old_or_new_at_every_line(
    estimator: Any, train: Callable[[Any], Any], X: Any, error: type[BaseException]
) -> None:
    """Check that `train`, whatever line raises, leaves the estimator as it was or as it will be.

    `estimator` stays as it is: every run trains a copy.
    """
    old, changed, counter = facts(estimator, X), copy.deepcopy(estimator), LineTrace()
    counter.run(train, changed)
    new = facts(changed, X)
    assert new != old
    assert counter.n_lines > 0
    mixtures = []
    for line in range(1, counter.n_lines + 1):
        changed = copy.deepcopy(estimator)
        with suppress(error):
            LineTrace(error, line).run(train, changed)
        if facts(changed, X) not in (old, new):
            mixtures.append(line)
    assert not mixtures, f"{len(mixtures)} of {counter.n_lines} lines leave a mixture: {mixtures}"
