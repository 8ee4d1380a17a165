"""Code compiled for one instruction set stays in its object: no symbol that a linker may merge."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from support.repository import ROOT

COMMANDS = "compile_commands.json"


def weak_symbols(nm_output: str) -> list[str]:
    """Symbols that the linker may merge with those of another object, but for a data reference."""
    weak = [line for line in nm_output.splitlines() if re.search(r" [WwVvu] ", line)]
    return [line for line in weak if "DW.ref.__gxx_personality" not in line]


def assert_no_weak_symbols(object_file: Path) -> None:
    listing = subprocess.run(["nm", "-C", object_file], check=True, capture_output=True, text=True)
    assert listing.stdout.strip() != ""
    assert weak_symbols(listing.stdout) == []


def compilation_of(target: str) -> tuple[Path, list[str]]:
    """Where and how the newest build in build/ has compiled the source of a target."""
    builds = [path for name in ("release", "cp*") for path in ROOT.glob(f"build/{name}/{COMMANDS}")]
    if not builds or not shutil.which("nm"):
        pytest.skip("needs what a build has left in build/, and nm")
    newest = max(builds, key=os.path.getmtime)
    for entry in json.loads(newest.read_text(encoding="utf-8")):
        if entry["file"].endswith(f"isa_{target}.cpp"):
            return Path(entry["directory"]), shlex.split(entry["command"])
    pytest.skip(f"{target} is no target of this machine's architecture")


@pytest.mark.parametrize("target", ["baseline", "avx2", "avx512"])
def test_isa_object_has_no_weak_symbols(target: str) -> None:
    folder, command = compilation_of(target)
    assert_no_weak_symbols(folder / command[command.index("-o") + 1])


@pytest.mark.slow
@pytest.mark.parametrize("target", ["baseline", "avx2", "avx512"])
def test_isa_source_makes_no_weak_symbols(target: str, tmp_path: Path) -> None:
    """Without optimisation, which only takes inline functions away."""
    folder, command = compilation_of(target)
    command[command.index("-o") + 1] = str(tmp_path / "isa.o")
    subprocess.run([*command, "-O0"], cwd=folder, check=True)
    assert_no_weak_symbols(tmp_path / "isa.o")


def test_weak_symbol_rule() -> None:
    listing = (
        "0000 T maxmargin::table()\n0000 t local\n     U memcpy\n0000 W std::vector<int>::at\n"
    )
    assert weak_symbols(listing) == ["0000 W std::vector<int>::at"]
