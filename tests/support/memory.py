"""What a piece of code takes of memory, in a process of its own."""

from __future__ import annotations

import subprocess
import sys

_MEASURE = """
import numpy as np
import scipy.sparse as sp
import maxmargin as mm

def kilobytes(name):
    with open("/proc/self/status") as status:
        return int(next(line for line in status if line.startswith(name)).split()[1])
"""
_RESET = """
with open("/proc/self/clear_refs", "w") as file:
    file.write("5")  # the peak is that from here on
before = kilobytes("VmRSS:")
"""
_REPORT = """
print((kilobytes("VmHWM:") - before) / 1024)
"""


def peak_growth(setup: str, code: str) -> float:
    """Return by how many megabytes the memory of a process grows at most while it runs the code.

    The setup, which runs before, has `np`, `sp` and `mm`. Linux only.
    """
    result = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", _MEASURE + setup + _RESET + code + _REPORT],
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr
    return float(result.stdout)
