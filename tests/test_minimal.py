"""What a wheel must do beside numpy alone, and what the distributions may hold."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

MAIN = "import sys; from maxmargin.cli import main; sys.exit(main())"
FIT = """
import numpy as np
from maxmargin import SVC
rng = np.random.default_rng(0)
X = np.concatenate([rng.normal(-2, 1, (40, 3)), rng.normal(2, 1, (40, 3))])
y = np.repeat(["left", "right"], 40)
model = SVC().fit(X, y)
assert model.score(X, y) > 0.95
assert model.certificate_.converged
"""
NEW_MODULES = """
import sys
before = set(sys.modules)
import maxmargin
print(*sorted({name.partition(".")[0] for name in set(sys.modules) - before}))
"""


def python(*arguments: str) -> str:
    result = subprocess.run([sys.executable, *arguments], capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def test_import_loads_numpy_and_nothing_else() -> None:
    new = set(python("-c", NEW_MODULES).split())
    assert "maxmargin" in new
    # cython_runtime and _cython_* are names that numpy's own extension modules make.
    third_party = {name for name in new if "cython" not in name} - set(sys.stdlib_module_names)
    assert third_party <= {"maxmargin", "numpy"}


def test_fit() -> None:
    python("-W", "error", "-c", FIT)


def test_demo() -> None:
    report = python("-W", "error", "-c", MAIN, "demo").lower()
    for word in ("accuracy", "support vectors", "gap", "violation", "seconds", "threads"):
        assert word in report


def test_command_is_installed() -> None:
    command = Path(sys.executable).parent / "maxmargin"
    if not command.exists():
        pytest.skip("maxmargin runs from its source tree")
    info = subprocess.run([command, "info"], capture_output=True, text=True, check=True)
    assert "active target" in info.stdout


# --- distributions: .ci/run builds both and names their folder -----------------------------------


def distribution(pattern: str) -> Path:
    folder = os.environ.get("MAXMARGIN_DIST")
    if not folder:
        pytest.skip("MAXMARGIN_DIST names no folder of built distributions")
    (path,) = Path(folder).glob(pattern)
    return path


def test_sdist_holds_the_sources_and_nothing_else() -> None:
    with tarfile.open(distribution("maxmargin-*.tar.gz")) as archive:
        names = [name.partition("/")[2] for name in archive.getnames()]
    assert {name.partition("/")[0] for name in names} <= {
        *("cpp", "python", "tests", "bench", "docs", "CMakeLists.txt", "CMakePresets.json"),
        *("pyproject.toml", "README.md", "CONTRIBUTING.md", "CHANGELOG.md", "LICENSE"),
        *(".clang-format", "PKG-INFO"),
    }
    assert {"LICENSE", "CMakeLists.txt", "cpp/CMakeLists.txt", "tests/test_minimal.py"} <= {*names}
    assert [name for name in names if re.search(r"\.(so|o|a|pyc)$|__pycache__", name)] == []


def test_wheel_holds_the_package_and_nothing_else() -> None:
    with zipfile.ZipFile(distribution("maxmargin-*.whl")) as archive:
        names = archive.namelist()
    assert {name.partition("/")[0] for name in names} == {
        "maxmargin",
        *(name.partition("/")[0] for name in names if ".dist-info/" in name),
    }
    package = [name.partition("/")[2] for name in names if name.startswith("maxmargin/")]
    assert {"__init__.py", "py.typed", "_core.pyi", "cli/__init__.py"} <= {*package}
    assert len([name for name in package if re.fullmatch(r"_core\.[\w.-]+\.(so|pyd)", name)]) == 1
    assert [name for name in package if re.search(r"\.(cpp|hpp|a|o|pyc)$|cmake", name)] == []
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)
