"""`python -m maxmargin.patch script.py`: run a script with scikit-learn patched."""

from __future__ import annotations

import argparse
import importlib.util
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
        "-v", "--verbose", action="store_true", help="show what falls through to scikit-learn"
    )
    parser.add_argument("-m", dest="module", action="store_true", help="run a module, as python -m")
    parser.add_argument("script", help="the script, or with -m the module")
    # What follows the script is its own, whatever its form.
    words = sys.argv[1:]
    place = next((i for i, word in enumerate(words) if not word.startswith("-")), len(words))
    given = parser.parse_args(words[: place + 1])
    patch_sklearn(verbose=given.verbose)  # before a search for the module imports its package
    sys.path[0] = "" if given.module else str(Path(given.script).resolve().parent)
    fault = _fault_of_module(given.script) if given.module else _fault_of_script(given.script)
    if fault:
        parser.exit(2, f"{parser.prog}: error: {fault}\n")
    sys.argv = [given.script, *words[place + 1 :]]
    if given.module:
        runpy.run_module(given.script, run_name="__main__", alter_sys=True)
    else:
        runpy.run_path(given.script, run_name="__main__")


def _fault_of_script(path: str) -> str | None:
    """Return why the file cannot be run, None if it can, as far as is known before it is."""
    if Path(path).is_dir():
        return None if (Path(path) / "__main__.py").exists() else f"{path} holds no __main__.py"
    try:
        with open(path, "rb"):
            return None
    except OSError as error:
        return f"{path}: {error.strerror}"


def _fault_of_module(name: str) -> str | None:
    """Return why the module cannot be run, None if it can, as far as is known before it is."""
    try:
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.submodule_search_locations is not None:
            spec = importlib.util.find_spec(f"{name}.__main__")
    except ModuleNotFoundError as error:
        return error.msg
    return f"there is no module {name} to run" if spec is None else None


if __name__ == "__main__":
    main()
