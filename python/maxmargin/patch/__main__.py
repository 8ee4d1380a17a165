"""`python -m maxmargin.patch script.py`: run a script with scikit-learn patched."""

from __future__ import annotations

import argparse
import runpy
import sys
from pathlib import Path

from maxmargin.patch import patch_sklearn


def main() -> None:
    """Patch scikit-learn, then run the script, or with -m the module, as if it were called."""
    parser = argparse.ArgumentParser(
        prog="python -m maxmargin.patch",
        usage="%(prog)s [-h] [-v] [-m] script [argument ...]",
        description="Run a script with maxmargin's estimators in the place of scikit-learn's.",
    )
    parser.add_argument(
        "-v", "--verbose", action="store_true", help="tell what falls through to scikit-learn"
    )
    parser.add_argument("-m", dest="module", action="store_true", help="run a module, as python -m")
    parser.add_argument("script", help="the script, or with -m the module")
    # What follows the script is its own, whatever it looks like.
    words = sys.argv[1:]
    place = next((i for i, word in enumerate(words) if not word.startswith("-")), len(words))
    given = parser.parse_args(words[: place + 1])
    patch_sklearn(verbose=given.verbose)
    sys.argv = [given.script, *words[place + 1 :]]
    if given.module:
        sys.path[0] = ""
        runpy.run_module(given.script, run_name="__main__", alter_sys=True)
    else:
        sys.path[0] = str(Path(given.script).resolve().parent)
        runpy.run_path(given.script, run_name="__main__")


if __name__ == "__main__":
    main()
