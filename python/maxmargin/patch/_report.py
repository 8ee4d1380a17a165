"""What the patch tells about its doings, where it is asked to."""

from __future__ import annotations

import sys

is_verbose = False


def tell(what: str) -> None:
    """Write a line to stderr if the patch is verbose."""
    if is_verbose:
        print(f"maxmargin.patch: {what}", file=sys.stderr)
