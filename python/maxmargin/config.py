"""What this build can do and what it uses."""

from __future__ import annotations

from maxmargin import _core, _input
from maxmargin._threadpool import explain_threads

__all__ = ["active_target", "describe", "show_config", "simd_targets", "thread_count"]


def simd_targets() -> list[str]:
    """Return the instruction-set builds that are compiled in and run here, the best last."""
    return _core.simd_targets()


def active_target() -> str:
    """Return the instruction-set build in use; MAXMARGIN_SIMD chooses another at start."""
    return _core.active_target()


def thread_count(n_jobs: int | None = None) -> int:
    """Return the number of threads that `n_jobs` gives; `describe` says why None gives so many."""
    return _core.thread_count(_input.check_n_jobs(n_jobs))


def describe() -> str:
    """Return version, compiler, instruction-set targets and threads, with what limits them."""
    return "\n".join(
        [
            f"version        {_core.__version__}",
            f"compiler       {_core.compiler}",
            f"targets        {' '.join(simd_targets())}",
            f"active target  {active_target()}",
            f"threads        {explain_threads()}",
        ]
    )


def show_config() -> None:
    """Print version, compiler, instruction-set targets and threads."""
    print(describe())
