"""What a wheel must do with numpy alone, and what the distributions may hold."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from email.message import Message
from email.parser import Parser
from pathlib import Path

import pytest

import maxmargin
from support.repository import ROOT

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


def test_modules_are_there_without_an_import_of_their_own() -> None:
    code = (
        "import sys, maxmargin; assert {0!r} in dir(maxmargin); maxmargin.{0}; print(*sys.modules)"
    )
    for name in ("datasets", "diagnostics", "io", "kernels", "plotting"):
        loaded = python("-c", code.format(name)).split()
        assert f"maxmargin.{name}" in loaded
        assert "matplotlib" not in loaded
    with pytest.raises(AttributeError, match="no attribute 'plot'"):
        maxmargin.plot  # noqa: B018


def test_fit() -> None:
    python("-W", "error", "-c", FIT)


def test_demo() -> None:
    report = python("-W", "error", "-c", MAIN, "demo").lower()
    for word in ("accuracy", "support vectors", "gap", "violation", "seconds", "threads"):
        assert word in report


def test_command_is_installed() -> None:
    command = shutil.which("maxmargin", path=Path(sys.executable).parent)
    if command is None:
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


def sdist_names() -> set[str]:
    with tarfile.open(distribution("maxmargin-*.tar.gz")) as archive:
        return {info.name.partition("/")[2] for info in archive.getmembers() if info.isfile()}


def wheel() -> tuple[list[str], Message]:
    """Return the names of the files, and the metadata."""
    with zipfile.ZipFile(distribution("maxmargin-*.whl")) as archive:
        names = archive.namelist()
        (metadata,) = (name for name in names if name.endswith(".dist-info/METADATA"))
        return names, Parser().parsestr(archive.read(metadata).decode())


def test_sdist_holds_the_sources_and_nothing_else() -> None:
    names = sdist_names()
    assert {name.partition("/")[0] for name in names} <= {
        *("cpp", "python", "tests", "bench", "docs", "CMakeLists.txt", "CMakePresets.json"),
        *("pyproject.toml", "README.md", "CONTRIBUTING.md", "CHANGELOG.md", "LICENSE"),
        *(".clang-format", "PKG-INFO"),
    }
    assert {"LICENSE", "CMakeLists.txt", "tests/wheel/test_minimal.py", "bench/compare.py"} <= names
    assert {"cpp/CMakeLists.txt", "docs/index.md", "docs/site/mkdocs.yml"} <= names
    assert [name for name in names if re.search(r"\.(so|o|a|pyc)$|__pycache__", name)] == []


def test_sdist_holds_what_git_tracks() -> None:
    names = sdist_names()
    git = ["git", "-C", ROOT, "ls-files"]
    if shutil.which("git") is None or subprocess.run(git, capture_output=True).returncode != 0:
        pytest.skip("not a clone")
    tracked = subprocess.run(git, capture_output=True, text=True, check=True).stdout.split()
    assert names == {*tracked, "PKG-INFO"} - {".ci/run", ".gitignore"}


def test_wheel_holds_the_package_and_nothing_else() -> None:
    names, _ = wheel()
    assert {name.partition("/")[0] for name in names} == {
        "maxmargin",
        *(name.partition("/")[0] for name in names if ".dist-info/" in name),
    }
    package = {name.partition("/")[2] for name in names if name.startswith("maxmargin/")}
    extension = {name for name in package if re.fullmatch(r"_core\.[\w.-]+\.(so|pyd)", name)}
    assert len(extension) == 1
    folder = ROOT / "python" / "maxmargin"
    built = (folder / "include", folder / "lib")
    sources = {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file()
        and path.suffix not in {".so", ".pyd", ".pyc"}
        and not {*built} & {*path.parents}
    }
    assert {"__init__.py", "py.typed", "_core.pyi", "cli/__init__.py"} <= sources
    if sys.platform != "win32":  # the C library that the extension stands on, for others as well
        (library,) = (name for name in package if name.startswith("lib/libmaxmargin-python."))
        config = {name for name in package if name.startswith("lib/cmake/maxmargin/")}
        headers = {name for name in package if name.startswith("include/")}
        assert {"include/maxmargin.h", "include/maxmargin/base/error.hpp"} <= headers
        assert "lib/cmake/maxmargin/maxmarginConfig.cmake" in config
        sources |= {library, *config, *headers}
    assert package == sources | extension
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)


def test_metadata_says_what_the_wheel_needs_and_runs_on() -> None:
    _, metadata = wheel()
    requires = [line for line in metadata.get_all("Requires-Dist") or [] if "extra ==" not in line]
    assert [re.split(r"[><=]", line)[0] for line in requires] == ["numpy"]
    versions = [f"Programming Language :: Python :: 3.{minor}" for minor in range(10, 15)]
    assert {*versions, "Typing :: Typed"} <= {*(metadata.get_all("Classifier") or [])}
    assert metadata["Requires-Python"] == ">=3.10"
    assert metadata["License-Expression"] == "BSD-3-Clause"
    assert metadata["License-File"] == "LICENSE"
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert str(metadata.get_payload()).startswith("# maxmargin")
