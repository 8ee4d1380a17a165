"""What limits the threads of the core: in words, and by the package threadpoolctl."""

from __future__ import annotations

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
    """Let `threadpoolctl.threadpool_limits` limit the threads of the core, where it is installed.

    As with OpenMP's libraries, whose `user_api` it shares, a limit is that of the calling thread.
    """
    try:
        import threadpoolctl
    except ImportError:
        return
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
