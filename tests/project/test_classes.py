"""No class is so long that it cannot be read in one go."""

from __future__ import annotations

import re

import pytest

from support.repository import ROOT

MAX_LINES = 250


def long_classes(path: str, text: str) -> list[str]:
    """Return the classes that are too long; one ends at the first line with no deeper indent."""
    start = r"( *)class (\w+)" if path.endswith(".py") else r"( *)(?:class|struct) .*?(\w+)[^;]*\{$"
    lines = text.splitlines()
    problems = []
    for i, line in enumerate(lines):
        if found := re.match(start, line):
            inside = re.compile(rf"{found[1]}\s|$|{found[1]} ?(?:public|private|protected):")
            after = enumerate(lines[i + 1 :])
            length = next((k for k, other in after if not inside.match(other)), 0)
            if length > MAX_LINES:
                problems.append(f"{path}:{i + 1}: {length} lines, more than {MAX_LINES}")
    return problems


def test_classes() -> None:
    files = [
        path
        for folder, ending in (("python", "py"), ("cpp", "cpp"), ("cpp", "hpp"))
        for path in (ROOT / folder).rglob(f"*.{ending}")
    ]
    assert files
    assert [p for path in files for p in long_classes(path.name, path.read_text("utf-8"))] == []


@pytest.mark.parametrize(
    ("path", "begin", "line", "end"),
    [("a.py", "class A(B):", "    x = 1", "y = 2"), ("a.cpp", "class A : B {", "  int x;", "};")],
)
def test_rule(path: str, begin: str, line: str, end: str) -> None:
    def of(n: int) -> list[str]:
        return long_classes(path, "\n".join([begin, *n * [line], end]))

    assert of(MAX_LINES) == []
    assert len(of(MAX_LINES + 1)) == 1
