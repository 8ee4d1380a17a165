"""Arrays in mapped files (`numpy.memmap`), which may be larger than memory.

The system counts the pages of a mapped file that a process has read as its memory until they are
given back. What reads such an array from end to end gives them back on the way.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin import _core

# Elements after which a reader gives back what it has read.
_HELD_ELEMENTS = 1 << 23


def is_mapped(array: Any) -> bool:
    """Return whether an array lies in a mapped file whose pages may be given back.

    That is so where nothing is lost with them: in files mapped for reading, or written through.
    """
    while isinstance(array, np.ndarray):
        if isinstance(array, np.memmap) and array.mode is not None:
            return array.mode in ("r", "r+", "w+")
        array = array.base
    return False


def parts_of(array: NDArray[Any], step: int) -> Iterator[NDArray[Any]]:
    """Yield array[:step], array[step:2 * step] ..., giving back the pages of a mapped file."""
    maps = is_mapped(array)
    n_held = max(step, _HELD_ELEMENTS * len(array) // max(1, array.size))
    begin = 0
    for start in range(0, len(array), step):
        end = min(start + step, len(array))
        yield array[start:end]
        if maps and (end - begin >= n_held or end == len(array)):
            _core.release_mapped(array[begin:end])
            begin = end
