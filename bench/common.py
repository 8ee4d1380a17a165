"""What every benchmark records about where it ran, and the environment of its processes."""

import importlib.util
import os
import platform
import subprocess
from importlib import metadata
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent

# Set in some containers to pin OpenBLAS to another CPU's kernels. Peers run without both, so that
# they use the code that fits this CPU.
OPENBLAS_OVERRIDES = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")

PACKAGES = (
    "maxmargin",
    "libsvm-official",
    "scikit-learn",
    "scikit-learn-intelex",
    "numpy",
    "scipy",
)


def available_threads():
    """CPUs this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def child_environment(n_threads, is_peer):
    """Environment of one measurement: OpenMP at ``n_threads``; no OpenBLAS override for a peer."""
    environment = dict(os.environ, OMP_NUM_THREADS=str(n_threads))
    if is_peer:
        for name in OPENBLAS_OVERRIDES:
            environment.pop(name, None)
    return environment


def machine_info():
    """CPU, memory, system, versions, commit, compiler and SIMD targets, ready for JSON."""
    return {
        "cpu": _cpu_model(),
        "n_cpus": available_threads(),
        "memory_gb": _memory_gb(),
        "load_average": os.getloadavg() if hasattr(os, "getloadavg") else None,
        "system": platform.platform(),
        "python": platform.python_version(),
        "versions": {name: _version(name) for name in PACKAGES},
        "environment": {
            name: os.environ[name]
            for name in ("MAXMARGIN_SIMD", "OMP_NUM_THREADS", *OPENBLAS_OVERRIDES)
            if name in os.environ
        },
        **_repository_info(),
        **_core_info(),
    }


def is_installed(module):
    """Whether ``module`` can be imported (maxmargin with its compiled core)."""
    if module == "maxmargin":
        return bool(_core_info())
    return importlib.util.find_spec(module) is not None


def _cpu_model():
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _memory_gb():
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1024**3, 1)
    except (AttributeError, OSError, ValueError):
        return None


def _version(package):
    if package == "maxmargin" and (info := _core_info()):
        return info["core_version"]
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _git(*arguments):
    try:
        done = subprocess.run(("git", *arguments), cwd=REPOSITORY, capture_output=True, text=True)
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def _repository_info():
    changes = _git("status", "--porcelain", "--untracked-files=no")
    return {"commit": _git("rev-parse", "HEAD"), "has_local_changes": bool(changes)}


def _core_info():
    try:
        from maxmargin import _core
    except ImportError:
        return {}
    return {
        "core_version": _core.__version__,
        "compiler": _core.compiler,
        "simd_targets": _core.simd_targets(),
        "active_target": _core.active_target(),
    }
