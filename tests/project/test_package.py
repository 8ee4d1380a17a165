"""The C++ package: its headers are those that its functions need, and hold no SIMD."""

from __future__ import annotations

import re

import pytest

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


def scopes(text: str) -> list[tuple[str, str]]:
    """The declarations in namespaces and classes, each with the line that begins its scope."""
    text = re.sub(r"//[^\n]*|^\s*#.*(?:\\\n.*)*", "", text, flags=re.MULTILINE)
    open_scopes, statement, found, depth = [""], "", [], 0
    for part in re.split(r"([{};])", text):
        if part == "{":
            is_scope = depth == 0 and re.match(
                r"\s*(?:public:|private:|\s)*(?:namespace|class|struct) [^()]*$", statement
            )
            if is_scope:
                open_scopes.append(" ".join(statement.split()))
                statement = ""
            else:
                depth += 1
        elif part == "}":
            if depth > 0:
                depth -= 1
                statement = "" if depth == 0 and ")" in statement else statement
            else:
                open_scopes.pop()
                statement = ""
        elif part == ";" and depth == 0:
            found.append((open_scopes[-1], " ".join(statement.split())))
            statement = ""
        elif part != ";" and depth == 0:
            statement += part
    return found


def declared_functions(header: str) -> list[tuple[str, str, str]]:
    """Those that are defined elsewhere: scope, declaration and name."""
    found = []
    for scope, statement in scopes((CPP / header).read_text(encoding="utf-8")):
        declared = re.sub(r"^(?:(?:public|private|protected): ?)+", "", statement)
        called = re.match(r"[^(=]*?([~\w]+)\(", re.sub(r"<[^<>]*>", "", declared))
        is_other = re.match("template|using|friend|static_assert", declared)
        if called and not is_other and not re.search(r"= (?:default|delete)$", declared):
            found.append((scope, declared, called.group(1)))
    return found


@pytest.mark.parametrize("header", installed())
def test_functions_that_an_installed_header_declares_are_exported(header: str) -> None:
    exported = (CPP / "package/libmaxmargin.abi").read_text(encoding="utf-8")
    for scope, declaration, name in declared_functions(header):
        in_class = not scope.startswith("namespace")
        assert "MAXMARGIN_API" in (scope if in_class else declaration), declaration
        symbol = f"{len(name)}{name}"
        if in_class:
            owner = scope.split()[-1]
            symbol = {owner: "C1E", f"~{owner}": "D1E"}.get(name, symbol)
            symbol = f"{len(owner)}{owner}{symbol}"
        assert re.search(rf"elf-symbol name='_ZNK?9maxmargin\w*?{symbol}", exported), declaration


def test_declared_functions_are_found() -> None:
    names = {name for _, _, name in declared_functions("maxmargin/model/kernel_model.hpp")}
    assert {"KernelModel", "~KernelModel", "predict", "probabilities"} <= names
    (name,) = {name for _, _, name in declared_functions("maxmargin/svm/one_vs_one.hpp")}
    assert name == "train_one_vs_one"


def test_no_installed_header_knows_vectors_or_the_inside_of_a_solver() -> None:
    assert [name for name in installed() if "/simd/" in name or name.endswith(".inc.hpp")] == []
    texts = {name: (CPP / name).read_text(encoding="utf-8") for name in installed()}
    assert [name for name, text in texts.items() if re.search("immintrin|omp.h", text)] == []
