"""What this build can do and what it uses."""

from __future__ import annotations

from pathlib import Path

from maxmargin import _core, _input
from maxmargin._threadpool import explain_threads

__all__ = [
    "active_target",
    "describe",
    "get_cmake_dir",
    "get_include",
    "get_library",
    "show_config",
    "simd_targets",
    "thread_count",
]


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


def get_include() -> str:
    """Return the folder of the C header `maxmargin.h` and of the C++ headers.

    Returns
    -------
    str
        What a compiler gets by ``-I``.

    Raises
    ------
    FileNotFoundError
        If this build of the package has no C library, as on Windows.
    """
    return _of_library("include/maxmargin.h", 1)


def get_cmake_dir() -> str:
    """Return the folder in which CMake finds the package's C library.

    Returns
    -------
    str
        What ``find_package(maxmargin CONFIG)`` gets as ``maxmargin_DIR``. The target is
        ``maxmargin::maxmargin``.

    Raises
    ------
    FileNotFoundError
        If this build of the package has no C library, as on Windows.
    """
    return _of_library("lib/cmake/maxmargin/maxmarginConfig.cmake", 1)


def get_library() -> str:
    """Return the path of the C library, which other languages load and linkers take.

    Returns
    -------
    str
        What `ctypes.CDLL` gets, or a compiler among its files. It is the library on which the
        package's own extension module stands.

    Raises
    ------
    FileNotFoundError
        If this build of the package has no C library, as on Windows.
    """
    return _of_library("lib/libmaxmargin-python.*")


def _of_library(pattern: str, n_up: int = 0) -> str:
    """Return the path of a file of the C library, or of the folder so many levels above it."""
    for path in Path(__file__).parent.glob(pattern):
        return str([path, *path.parents][n_up])
    raise FileNotFoundError("this build of maxmargin has no C library: it comes with wheels")
