"""Patches scikit-learn in the processes that a patched script starts.

`python -m maxmargin.patch` puts this folder first in PYTHONPATH, and Python imports a module of
this name whenever it starts. Nothing else is imported before scikit-learn is.
"""

import os
import sys
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from typing import Any


class PatchFinder:
    """Finds sklearn.svm as before, and patches scikit-learn once that is imported."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> Any:
        if name != "sklearn.svm":
            return None
        sys.meta_path.remove(PatchFinder)
        spec: Any = PathFinder.find_spec(name, path, target)
        execute = spec.loader.exec_module

        def exec_module(module: Any) -> None:
            execute(module)
            try:
                from maxmargin.patch import patch_sklearn
            except ImportError:  # another Python, for which it is not installed
                return
            patch_sklearn()

        spec.loader.exec_module = exec_module
        return spec


sys.meta_path.insert(0, PatchFinder)
folder = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry) != folder]
hidden: Any = PathFinder.find_spec(
    "sitecustomize", sys.path
)  # which this module takes the place of
if hidden is not None:
    module = sys.modules["sitecustomize"] = module_from_spec(hidden)
    hidden.loader.exec_module(module)
