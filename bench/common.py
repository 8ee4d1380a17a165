"""What every benchmark records about where it ran, and the environment of its processes."""

import importlib.util
import json
import os
import platform
import re
import subprocess
import time
from datetime import datetime, timezone
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
    """Environment of one measurement: ``n_threads`` threads; no OpenBLAS override for a peer."""
    environment = dict(os.environ, OMP_NUM_THREADS=str(n_threads))
    if is_peer:
        for name in OPENBLAS_OVERRIDES:
            environment.pop(name, None)
    return environment


def machine_info():
    """Date, CPU, memory, system, versions, commit, compiler and SIMD targets, ready for JSON."""
    return {
        "date": datetime.now(timezone.utc).date().isoformat(),
        "cpu": _cpu_model(),
        "n_cpus": available_threads(),
        "memory_gb": _memory_gb(),
        "busy_cpus": busy_cpus(),
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


def busy_cpus(seconds=0.5):
    """CPUs at work on average over the next half second, which this process sleeps; Linux only.

    Unlike the load average, it has forgotten the benchmark that ended a moment ago.
    """

    def idle_ticks():
        ticks = Path("/proc/stat").read_text().split("\n", 1)[0].split()
        return int(ticks[4]) + int(ticks[5])  # idle, and waiting for the disk

    try:
        before, begin = idle_ticks(), time.perf_counter()
        time.sleep(seconds)
        ticks_per_second = os.sysconf("SC_CLK_TCK") * (time.perf_counter() - begin)
        idle = (idle_ticks() - before) / ticks_per_second
    except (OSError, IndexError, ValueError):
        return None
    return round(max(0.0, (os.cpu_count() or 1) - idle), 2)


def write_json(benchmark, options, machine, content):
    """Write what a command measured to ``--json``, if given.

    The names of files and of the data folder stay out: they say nothing on another machine.
    """
    if not options.json:
        return
    paths = ("json", "data", "svg")
    settings = {key: value for key, value in vars(options).items() if key not in paths}
    everything = {"benchmark": benchmark, "machine": machine, "settings": settings, **content}
    write_text(options.json, json.dumps(everything, indent=1) + "\n")


def write_text(path, text):
    Path(path).write_text(text, encoding="utf-8")
    print(f"written: {path}")


def is_installed(module):
    """Whether ``module`` can be imported (maxmargin with its compiled core)."""
    if module == "maxmargin":
        return bool(_core_info())
    return importlib.util.find_spec(module) is not None


def _cpu_model():
    """The name of the CPU; with family and model where a virtual machine shortens the name."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.processor() or platform.machine()
    found = dict(re.findall(r"^(model name|cpu family|model)\s*: (.+)$", text, re.MULTILINE))
    name = found.get("model name", platform.machine())
    if len(found) < 3 or re.search(r"\d", name):
        return name
    return f"{name} (family {found['cpu family']}, model {found['model']})"


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
