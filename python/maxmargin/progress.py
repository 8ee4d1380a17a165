"""A line on a terminal that tells how training goes."""

from __future__ import annotations

import sys
from typing import Any, TextIO

from maxmargin._validation import Callback

__all__ = ["ProgressLine"]


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
        self._is_terminal = self._stream.isatty()
        self._line = ""

    def __call__(self, report: dict[str, Any]) -> bool:
        self.show(report)
        return self._then is not None and bool(self._then(report))

    def show(self, report: dict[str, Any]) -> None:
        """Write the state in `report` over the last one."""
        if "relative_gap" in report:
            distance = f"relative gap {report['relative_gap']:.3g}"
        else:
            distance = f"violation {report['kkt_violation']:.3g}"
        self._line = (
            f"{self._label}iteration {report['n_iter']}  dual objective "
            f"{report['dual_objective']:.6g}  {distance}  {report['seconds']:.1f} s"
        )
        if self._is_terminal:
            self._stream.write(f"\r\x1b[K{self._line}")
            self._stream.flush()

    def close(self) -> None:
        """End the line, which stays."""
        if self._line:
            self._stream.write("\n" if self._is_terminal else f"{self._line}\n")
            self._stream.flush()
        self._line = ""
