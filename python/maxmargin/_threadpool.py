"""What limits the threads of the core: in words, and by the package threadpoolctl."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import sys
from importlib.abc import MetaPathFinder
from typing import Any

from maxmargin import _core

__all__ = ["explain_threads", "register_controller"]


def explain_threads() -> str:
    """Return the number of threads that `n_jobs=None` uses, and what makes it so many."""
    limits = _core.CpuLimits()
    found = [f"{limits.in_mask} in the affinity mask"]
    found.append(f"CPU quota {limits.quota:g}" if limits.quota else "no CPU quota")
    if limits.by_variable:
        found.append(f"{limits.variable}={limits.by_variable}")
    if limits.by_call:
        found.append(f"limited to {limits.by_call} by threadpoolctl")
    return f"{_core.thread_count()} ({', '.join(found)})"


def register_controller() -> None:
    """Let `threadpoolctl.threadpool_limits` limit the threads of the core, once it is imported.

    As with OpenMP's libraries, whose `user_api` it shares, a limit is that of the calling thread.
    """
    if "threadpoolctl" in sys.modules:
        _register(sys.modules["threadpoolctl"])
    else:
        sys.meta_path.insert(0, _AfterImport())


class _AfterImport(MetaPathFinder):
    """Registers the controller when threadpoolctl is imported, which this package does not do."""

    def find_spec(
        self, fullname: str, path: Any = None, target: Any = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != "threadpoolctl" or self not in sys.meta_path:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        if spec is not None and spec.loader is not None:
            load = spec.loader.exec_module

            def load_and_register(module: Any) -> None:
                load(module)
                _register(module)

            spec.loader.exec_module = load_and_register  # type: ignore[method-assign]
        return spec


def _register(threadpoolctl: Any) -> None:
    if not hasattr(threadpoolctl, "register"):  # before version 3.2
        return

    class Controller(threadpoolctl.LibController):  # type: ignore[misc]
        user_api = "openmp"
        internal_api = "maxmargin"
        filename_prefixes = ("_core.",)
        check_symbols = ("maxmargin_core",)

        def get_num_threads(self) -> int:
            return _core.thread_count()

        def set_num_threads(self, num_threads: int) -> None:
            if num_threads < 1:
                raise ValueError(f"the limit of threads must be >= 1, got {num_threads}")
            # What was found without a limit is put back as no limit.
            _core.limit_threads(0)
            if num_threads != _core.thread_count():
                _core.limit_threads(min(num_threads, 4096))

        def get_version(self) -> str:
            return _core.__version__

    threadpoolctl.register(Controller)
