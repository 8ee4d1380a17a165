"""How training goes: the reports to a callback, and a line of them on a terminal."""

from __future__ import annotations

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
    "dual_objective": "dual objective {:.6g}",
    "objective": "objective {:.6g}",
    "mistake_rate": "share of mistakes {:.3g}",
    "validation_error": "validation error {:.3g}",
    "relative_gap": "relative gap {:.3g}",
    "kkt_violation": "violation {:.3g}",
}


class ProgressLine:
    """A callback for `fit` that keeps one line up to date.

    `close` ends it. On something that is not a terminal, nothing but the last state is
    written, by `close`.

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
        self._line = ""

    def __call__(self, report: dict[str, Any]) -> Any:
        self.show(report)
        return None if self._then is None else self._then(report)

    def show(self, report: dict[str, Any]) -> None:
        """Write the state in `report` over the last one."""
        states = [text.format(report[key]) for key, text in _SHOWN.items() if key in report]
        words = [f"iteration {report['n_iter']}", *states, f"{report['seconds']:.1f} s"]
        self._line = self._label + "  ".join(words)
        if self._stream is not None and self._is_terminal:
            self._stream.write(f"\r\x1b[K{self._line}")
            self._stream.flush()

    def close(self) -> None:
        """End the line, which stays."""
        if self._line and self._stream is not None:
            self._stream.write("\n" if self._is_terminal else f"{self._line}\n")
            self._stream.flush()
        self._line = ""


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
