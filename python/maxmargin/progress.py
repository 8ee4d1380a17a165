"""How training goes: the reports to a callback, and a line of them on a terminal."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TextIO, TypeVar

import numpy as np

from maxmargin import _core
from maxmargin._estimator.certificate import Certificate, LinearCertificate
from maxmargin._input import Callback

__all__ = ["ProgressLine"]

Passes = TypeVar("Passes", _core.OnlineResult, _core.KernelPerceptronFit)

# What a report may hold, in the order in which it is shown.
_SHOWN = {
    "share_done": "{:.0%} of the search",
    "dual_objective": "dual objective {:.6g}",
    "objective": "objective {:.6g}",
    "mistake_rate": "share of mistakes {:.3g}",
    "validation_error": "validation error {:.3g}",
    "relative_gap": "relative gap {:.3g}",
    "kkt_violation": "violation {:.3g}",
}


class ProgressLine:
    """A callback for `fit` that keeps one line up to date.

    On a terminal the line is written anew at most five times a second, and says less where the
    terminal is narrow. On something else there is a line every ten seconds. `close` writes the last
    state.

    Parameters
    ----------
    then : callable or None, default=None
        Another callback, which gets every report as well and decides whether to stop.
    stream : text file, default=sys.stderr
    label : str, default=""
        What the line begins with.
    """

    def __init__(
        self, then: Callback | None = None, stream: TextIO | None = None, label: str = ""
    ) -> None:
        self._then = then
        self._label = label
        self._stream = sys.stderr if stream is None else stream
        self._is_terminal = getattr(self._stream, "isatty", bool)()
        self._pause = 0.2 if self._is_terminal else 10.0  # seconds between two lines
        self._next = 0.0 if self._is_terminal else time.monotonic() + self._pause
        self._words: list[str] = []

    def __call__(self, report: dict[str, Any]) -> Any:
        self.show(report)
        return None if self._then is None else self._then(report)

    def show(self, report: dict[str, Any]) -> None:
        """Write the state in `report` over the last one, unless that is of a moment ago."""
        states = [text.format(report[key]) for key, text in _SHOWN.items() if key in report]
        self._words = [f"iteration {report['n_iter']}", *states, f"{report['seconds']:.1f} s"]
        if time.monotonic() >= self._next:
            self._write("" if self._is_terminal else "\n")
            self._next = time.monotonic() + self._pause

    def close(self) -> None:
        """Write the last state, and end the line."""
        if self._words:
            self._write("\n")
        self._words = []

    def _write(self, end: str) -> None:
        if self._stream is None:
            return
        line = self._label + "  ".join(self._words)
        if self._is_terminal:
            width = self._columns() - 1  # the last one makes some terminals wrap
            if len(line) > width:  # without the objective
                line = self._label + "  ".join(self._words[:1] + self._words[2:])
            line = f"\r\x1b[K{line[:width]}"
        self._stream.write(line + end)
        self._stream.flush()

    def _columns(self) -> int:
        try:
            return os.get_terminal_size(self._stream.fileno()).columns or 80
        except (OSError, ValueError):  # no terminal that says it
            return 80


@contextmanager
def watched(callback: Callback | None, verbose: bool) -> Iterator[Callback | None]:
    """Give what the reports go to: the callback, with `verbose` behind a line on stderr."""
    if not verbose:
        yield callback
        return
    line = ProgressLine(then=callback)
    try:
        yield line
    finally:
        line.close()


def last_report(
    result: Mapping[str, Any], certificate: Certificate | LinearCertificate, seconds: float
) -> dict[str, Any]:
    """Return the report of a fit that has ended, of all machines together, as the certificate is.

    Nothing is left to stop, so that what a callback returns to it has no effect.
    """
    is_linear = isinstance(certificate, LinearCertificate)
    names = ("n_iter", "relative_gap" if is_linear else "kkt_violation", "dual_objective")
    return {
        **{name: getattr(certificate, name) for name in names},
        "n_free": int(np.sum(result["n_free"])),
        "n_bounded": 0 if is_linear else int(result["n_bounded"]),
        "seconds": seconds,
    }


def with_line_of_passes(train: Callable[[Callback], Passes], measure: str) -> Passes:
    """Return what `train` returns, with a line on stderr of its passes while it runs.

    The core's measure of a pass is shown as `measure`.
    """
    begin = time.perf_counter()
    line = ProgressLine()
    try:
        result = train(lambda report: line(_named(report, measure)))
        n_iter = max(len(record.mistakes_per_pass) for record in result.records)
        mean = sum(record.measure for record in result.records) / len(result.records)
        line.show({"n_iter": n_iter, measure: mean, "seconds": time.perf_counter() - begin})
    finally:
        line.close()
    return result


def _named(report: dict[str, Any], measure: str) -> dict[str, Any]:
    """Return what a line shows of a report of the core, with the measure under its name."""
    shown = {key: report[key] for key in ("n_iter", "seconds")}
    return {**shown, measure: report["measure"]} if "measure" in report else shown
