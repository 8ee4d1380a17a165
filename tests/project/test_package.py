"""The C++ package: its headers are those that its functions need, and hold no SIMD."""

from __future__ import annotations

import re

from support.repository import ROOT

CPP = ROOT / "cpp"
# The headers whose functions the library exports.
ENTRIES = {
    path.relative_to(CPP).as_posix()
    for path in CPP.glob("maxmargin/**/*.hpp")
    if path.name != "export.hpp" and "MAXMARGIN_API" in path.read_text(encoding="utf-8")
}


def included(header: str) -> set[str]:
    text = (CPP / header).read_text(encoding="utf-8")
    return set(re.findall(r'^#include "([^"]+)"$', text, re.MULTILINE))


def closure(headers: set[str]) -> set[str]:
    found: set[str] = set()
    while headers - found:
        header = (headers - found).pop()
        found.add(header)
        headers = headers | included(header)
    return found


def installed() -> list[str]:
    text = (CPP / "package/CMakeLists.txt").read_text(encoding="utf-8")
    listed = re.search(r"set\(public_headers\n(.*?)\n\)", text, re.DOTALL)
    assert listed is not None
    return listed.group(1).split()


def test_exported_functions_are_found() -> None:
    assert {"maxmargin/svm/one_vs_one.hpp", "maxmargin/model/kernel_model.hpp"} < ENTRIES


def test_installed_headers_are_what_exported_functions_need() -> None:
    assert installed() == sorted(closure(ENTRIES))


def test_no_installed_header_knows_vectors_or_the_inside_of_a_solver() -> None:
    assert [name for name in installed() if "/simd/" in name or name.endswith(".inc.hpp")] == []
    texts = {name: (CPP / name).read_text(encoding="utf-8") for name in installed()}
    assert [name for name, text in texts.items() if re.search("immintrin|omp.h", text)] == []
