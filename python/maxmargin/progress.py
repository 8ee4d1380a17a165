"""A line on a terminal that tells how training goes."""

from __future__ import annotations

import sys
from typing import Any, TextIO

__all__ = ["ProgressLine"]


class ProgressLine:
    """A callback for `fit` that keeps one line up to date; it never stops the fit.

    On something that is not a terminal, nothing but the last state is written, by `close`.

    Parameters
    ----------
    stream : text file, default=sys.stderr
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._is_terminal = self._stream.isatty()
        self._line = ""

    def __call__(self, report: dict[str, Any]) -> bool:
        self._line = (
            f"iteration {report['n_iter']}  violation {report['kkt_violation']:.3g}  "
            f"{report['seconds']:.1f} s"
        )
        if self._is_terminal:
            self._stream.write(f"\r\x1b[K{self._line}")
            self._stream.flush()
        return False

    def close(self) -> None:
        """End the line."""
        if self._line:
            self._stream.write("\n" if self._is_terminal else f"{self._line}\n")
            self._stream.flush()
        self._line = ""
