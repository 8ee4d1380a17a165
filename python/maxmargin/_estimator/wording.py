"""Values and counts as messages and reports show them."""

from __future__ import annotations

from typing import Any

import numpy as np


def shown(value: Any) -> str:
    """Return `repr(value)`, in which numpy's scalars look like the Python values that they are."""
    if isinstance(value, list):
        return f"[{', '.join(map(shown, value))}]"
    return repr(value.item() if isinstance(value, np.generic) else value)


def counted(number: int, one: str, many: str | None = None) -> str:
    """Return "1 pass", "2 passes": the number with the noun that it needs."""
    return f"{number} {one if number == 1 else many or one + 's'}"
