"""`python -m maxmargin.patch script.py`: run a script with scikit-learn patched."""

from __future__ import annotations

import argparse
import importlib.util
import os
import runpy
import sys
from pathlib import Path

from maxmargin.patch import patch_sklearn


def main() -> None:
    """Patch scikit-learn, then run the script, or with -m the module, as if it were called."""
    parser = argparse.ArgumentParser(
        prog="python -m maxmargin.patch",
        usage="%(prog)s [-h] [-v] [-m] script [argument ...]",
        description="Run a script, and the processes that it starts, with scikit-learn patched.",
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
    startup = [
        str(Path(__file__).parent / "startup"),
        *filter(None, [os.environ.get("PYTHONPATH")]),
    ]
    os.environ["PYTHONPATH"] = os.pathsep.join(startup)
    sys.path[0] = "" if given.module else str(Path(given.script).resolve().parent)
    if fault := _fault(given.script, given.module):
        parser.exit(2, f"{parser.prog}: error: {fault}\n")
    sys.argv = [given.script, *words[place + 1 :]]
    if given.module:
        runpy.run_module(given.script, run_name="__main__", alter_sys=True)
    else:
        runpy.run_path(given.script, run_name="__main__")


def _fault(script: str, is_module: bool) -> str | None:
    """Return why it cannot be run, None if it can, as far as is known before it is."""
    try:
        if not is_module:
            path = Path(script)
            with open(path / "__main__.py" if path.is_dir() else path, "rb"):
                return None
        spec = importlib.util.find_spec(script)
        if spec is not None and spec.submodule_search_locations is not None:
            spec = importlib.util.find_spec(f"{script}.__main__")
    except OSError as error:
        return f"{error.filename}: {error.strerror}"
    except ModuleNotFoundError as error:
        return error.msg
    return f"there is no module {script} to run" if spec is None else None


if __name__ == "__main__":
    main()
