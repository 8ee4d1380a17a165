"""Raising at every line of the package that a call runs, as Ctrl-C or a lack of memory does."""

from __future__ import annotations

import copy
import dataclasses
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import maxmargin

PACKAGE = str(Path(maxmargin.__file__).parent)


class LineTrace:
    """A trace function that notes the package's lines, and raises at one of them."""

    def __init__(self, error: type[BaseException] | None = None, at: int = -1) -> None:
        self.lines: list[tuple[str, int]] = []
        self._error, self._at = error, at

    def __call__(self, frame: Any, event: str, arg: Any) -> LineTrace | None:
        path = frame.f_code.co_filename
        if not path.startswith(PACKAGE):
            return None
        if event == "line":
            self.lines.append((path.removeprefix(PACKAGE), frame.f_lineno))
            if self._error is not None and len(self.lines) - 1 == self._at:
                raise self._error
        return self

    def run(self, call: Callable[[Any], Any], argument: Any) -> None:
        outer = sys.gettrace()
        sys.settrace(self)
        try:
            call(argument)
        finally:
            sys.settrace(outer)


def facts(estimator: Any, *samples: Any) -> dict[str, Any]:
    """Return the predictions and all fitted attributes, to be compared with `==`, but for times.

    Predictions are for those samples that have the estimator's number of features.
    """
    found = {
        name: comparable(getattr(estimator, name))
        for name in dir(estimator)
        if name.endswith("_") and not name.startswith("_") and hasattr(estimator, name)
    }
    for method in ("predict", "decision_function", "predict_proba", "score_samples"):
        if found and hasattr(estimator, method):
            found[method] = [
                comparable(getattr(estimator, method)(X))
                for X in samples
                if X.shape[1] == estimator.n_features_in_
            ]
    return found


def comparable(value: Any) -> Any:
    if sp.issparse(value):
        value = value.toarray()
    if isinstance(value, np.ndarray):
        is_object = value.dtype.hasobject
        numbers = comparable(value.tolist()) if is_object else value.tobytes()
        return value.dtype.str, value.shape, numbers
    if dataclasses.is_dataclass(value):
        parts = vars(value).items()
        return {name: comparable(part) for name, part in parts if name != "seconds"}
    is_sequence = isinstance(value, Sequence) and not isinstance(value, (str, bytes))
    return [comparable(part) for part in value] if is_sequence else value


def assert_old_or_new_at_every_line(
    estimator: Any,
    train: Callable[[Any], Any],
    *samples: Any,
    error: type[BaseException] = KeyboardInterrupt,
    at_last_turns: bool = False,
) -> None:
    """Check that `train`, whatever line raises, leaves the estimator as it was or as it will be.

    `estimator` stays as it is: every run trains a copy. `at_last_turns` raises once at every line,
    at its last turn, and not in `_input`, which is given no estimator.
    """
    old, changed, trace = facts(estimator, *samples), copy.deepcopy(estimator), LineTrace()
    trace.run(train, changed)
    new = facts(changed, *samples)
    assert new != old
    assert trace.lines
    turns = [*range(len(trace.lines))]
    if at_last_turns:
        last = {line: turn for turn, line in enumerate(trace.lines)}
        turns = [turn for (path, _), turn in last.items() if not path.startswith("/_input")]
    mixtures = []
    for turn in turns:
        changed = copy.deepcopy(estimator)
        with suppress(error):
            LineTrace(error, turn).run(train, changed)
        if facts(changed, *samples) not in (old, new):
            mixtures.append(trace.lines[turn])
    assert not mixtures, f"{len(mixtures)} of {len(turns)} lines leave a mixture: {mixtures}"


def assert_predictions_of_one_fit(
    estimator: Any, fits: list[Callable[[Any], Any]], X: Any, n_rounds: int = 20
) -> None:
    """Check that what other threads predict during fits is by one of them."""
    allowed = []
    for fit in fits:
        fit(estimator)
        allowed.append(estimator.predict(X).tobytes())
    failures: list[Any] = []
    is_over = threading.Event()

    def predict() -> None:
        while not is_over.is_set():
            try:
                if estimator.predict(X).tobytes() not in allowed:
                    failures.append("a mixture")
            except Exception as error:
                failures.append(error)

    threads = [threading.Thread(target=predict) for _ in range(2)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for thread in threads:
            thread.start()
        for _ in range(n_rounds):
            for fit in fits:
                fit(estimator)
    finally:
        is_over.set()
        for thread in threads:
            thread.join()
        sys.setswitchinterval(interval)
    assert not failures, failures[0]
