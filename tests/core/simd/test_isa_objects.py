"""Code compiled for one instruction set stays in its object: no symbol that a linker may merge."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.repository import ROOT


def weak_symbols(nm_output: str) -> list[str]:
    """Symbols that the linker may merge with those of another object, but for a data reference."""
    weak = [line for line in nm_output.splitlines() if re.search(r" [WwVvu] ", line)]
    return [line for line in weak if "DW.ref.__gxx_personality" not in line]


def isa_flags(cmake: str) -> dict[str, list[str]]:
    """The COMPILE_OPTIONS of every simd/isa_*.cpp in the text of cpp/CMakeLists.txt."""
    variables: dict[str, str] = {}
    flags: dict[str, list[str]] = {}
    for command, body in re.findall(r"^\s*(\w+)\(([^()]*(?:\([^()]*\)[^()]*)*)\)", cmake, re.M):
        words = re.findall(r'"[^"]*"|\S+', body)
        if command == "set":
            variables[words[0]] = ";".join(words[1:])
        elif command == "set_source_files_properties" and "COMPILE_OPTIONS" in words:
            options = words[words.index("COMPILE_OPTIONS") + 1].strip('"')
            options = re.sub(r"\$\{(\w+)\}", lambda m: variables.get(m.group(1), ""), options)
            for file in words[: words.index("PROPERTIES")]:
                flags[file] = [option for option in options.split(";") if option]
    return flags


def assert_no_weak_symbols(object_file: Path) -> None:
    listing = subprocess.run(["nm", "-C", object_file], check=True, capture_output=True, text=True)
    assert listing.stdout.strip() != ""
    assert weak_symbols(listing.stdout) == []


@pytest.mark.parametrize("target", ["baseline", "avx2", "avx512"])
def test_isa_object_has_no_weak_symbols(target: str) -> None:
    folders = [*ROOT.glob("build/release"), *ROOT.glob("build/cp*")]
    built = [path for folder in folders for path in folder.rglob(f"*{target}.cpp.o*")]
    if not built or not shutil.which("nm"):
        pytest.skip("needs what a build has left in build/, and nm")
    assert_no_weak_symbols(max(built, key=os.path.getmtime))


@pytest.mark.slow
@pytest.mark.parametrize("target", ["baseline", "avx2", "avx512"])
def test_isa_source_makes_no_weak_symbols(target: str, tmp_path: Path) -> None:
    """Without optimisation, which only takes inline functions away."""
    compiler = next(filter(None, map(shutil.which, [os.environ.get("CXX", ""), "c++", "g++"])), "")
    if not sys.platform.startswith("linux") or not compiler or not shutil.which("nm"):
        pytest.skip("needs Linux, a C++ compiler and nm")
    if target != "baseline" and os.uname().machine != "x86_64":
        pytest.skip(f"{target} is a target of x86-64")
    source = f"maxmargin/simd/isa_{target}.cpp"
    flags = isa_flags((ROOT / "cpp/CMakeLists.txt").read_text(encoding="utf-8"))[source]
    command = [compiler, "-std=c++20", "-w", "-I.", *flags, "-O0", "-c", source]
    subprocess.run([*command, "-o", tmp_path / "isa.o"], cwd=ROOT / "cpp", check=True)
    assert_no_weak_symbols(tmp_path / "isa.o")


def test_weak_symbol_rule() -> None:
    listing = (
        "0000 T maxmargin::table()\n0000 t local\n     U memcpy\n0000 W std::vector<int>::at\n"
    )
    assert weak_symbols(listing) == ["0000 W std::vector<int>::at"]


def test_isa_flags_are_read() -> None:
    cmake = """
    set(isa_flags -O3 -ffast)
    set_source_files_properties(simd/isa_one.cpp PROPERTIES COMPILE_OPTIONS "${isa_flags}")
    set_source_files_properties(simd/isa_two.cpp PROPERTIES
      COMPILE_OPTIONS "${isa_flags};-mavx2")
    """
    assert isa_flags(cmake) == {
        "simd/isa_one.cpp": ["-O3", "-ffast"],
        "simd/isa_two.cpp": ["-O3", "-ffast", "-mavx2"],
    }
