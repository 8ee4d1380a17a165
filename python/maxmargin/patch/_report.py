"""What the patch does, on stderr, if it is verbose."""

from __future__ import annotations

import sys

is_verbose = False


def write(what: str) -> None:
    """Write a line to stderr if the patch is verbose."""
    if is_verbose:
        print(f"maxmargin.patch: {what}", file=sys.stderr)
