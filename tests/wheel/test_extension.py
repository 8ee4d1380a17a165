"""Others build on the C library of an installed wheel: the example extension, and ctypes."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

import maxmargin
from support.repository import ROOT

EXAMPLE = ROOT / "cpp/example"
# What the extension says of rows with gaps, and without maxmargin being loaded before.
USE = """
import sys
import maxmargin_example
assert "maxmargin" not in sys.modules
import numpy as np
from maxmargin import SVC
from maxmargin.io import save_model
X = np.random.default_rng(0).normal(size=(60, 4))
y = np.where(X[:, 0] * X[:, 1] > 0, 1, -1)
model = SVC().fit(X, y)
save_model(model, "a.model")
assert maxmargin_example.labels("a.model", np.asfortranarray(X)) == model.predict(X).tolist()
assert maxmargin_example.labels("a.model", X[::2]) == model.predict(X[::2]).tolist()
for path, rows, error in (("a.model", X[:, 0], TypeError), ("no.model", X, ValueError)):
    try:
        maxmargin_example.labels(path, rows)
    except error as raised:
        print(raised)
print(sum(line.rpartition("/")[2].startswith("libmaxmargin") and " r-xp " in line
          for line in open("/proc/self/maps").read().splitlines()), "library")
"""


def run(*command: str | Path, site: Path, cwd: Path) -> str:
    environment = {**os.environ, "PYTHONPATH": str(site), "PYTHONSAFEPATH": "1"}
    result = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder with a space in its name, into which the wheel is installed."""
    distributions = os.environ.get("MAXMARGIN_DIST")
    if not distributions:
        pytest.skip("MAXMARGIN_DIST names no folder of built distributions")
    (wheel,) = Path(distributions).glob("maxmargin-*.whl")
    folder = tmp_path / "site packages"
    install(wheel, folder, tmp_path)
    return folder


def install(what: Path, site: Path, cwd: Path) -> None:
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps"]
    run(*pip, "--no-build-isolation", "--target", site, what, site=site, cwd=cwd)


@pytest.mark.skipif(sys.platform != "linux", reason="reads what Linux has mapped")
def test_an_extension_is_built_on_the_installed_package(site: Path, tmp_path: Path) -> None:
    if importlib.util.find_spec("scikit_build_core") is None:
        pytest.skip("needs scikit-build-core")
    install(EXAMPLE / "extension", site, tmp_path)
    moved = site.rename(tmp_path / "moved on")
    printed = run(sys.executable, "-c", USE, site=moved, cwd=tmp_path).splitlines()
    assert printed[0] == "rows must be a float64 array of two dimensions"
    assert "no.model" in printed[1]
    assert printed[2] == "1 library"  # shared by the extension and the package


@pytest.mark.skipif(sys.platform == "win32", reason="no library in wheels for Windows")
def test_ctypes_finds_the_library(site: Path, tmp_path: Path) -> None:
    code = "import maxmargin; print(maxmargin.get_library())"
    library = run(sys.executable, "-c", code, site=site, cwd=tmp_path).strip()
    assert library.startswith(str(site))
    assert "right" in run(
        sys.executable, EXAMPLE / "rings_ctypes.py", library, site=site, cwd=tmp_path
    )


@pytest.mark.skipif(sys.platform == "win32", reason="no library in wheels for Windows")
def test_places_hold_what_they_say(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (Path(maxmargin.get_include()) / "maxmargin.h").is_file()
    assert (Path(maxmargin.get_cmake_dir()) / "maxmarginConfig.cmake").is_file()
    assert Path(maxmargin.get_library()).is_file()
    monkeypatch.setattr(maxmargin.config, "__file__", str(ROOT / "nowhere" / "config.py"))
    for find in (maxmargin.get_include, maxmargin.get_cmake_dir, maxmargin.get_library):
        with pytest.raises(FileNotFoundError, match="this build of maxmargin has no C library"):
            find()
