"""The folders of the tests, and the modules of the benchmarks."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import PurePosixPath

import pytest

from support.repository import BENCH, ROOT

MAX_FILES = 20


def layout_problems(paths: Iterable[str]) -> list[str]:
    """What is wrong with the paths of Python files in tests/."""
    paths = list(paths)
    folders = Counter(str(PurePosixPath(path).parent) for path in paths)
    flat = [path for path in paths if path.count("/") == 1 and path != "tests/conftest.py"]
    full = [folder for folder, count in folders.items() if count > MAX_FILES]
    return [f"{path}: belongs in a folder" for path in flat] + [
        f"{folder}: more than {MAX_FILES} files" for folder in full
    ]


def circle_of(modules: Mapping[str, str]) -> list[str]:
    """Names of modules that import each other in a circle, at any place; [] if none do."""
    imports = {}
    for name, code in modules.items():
        nodes = list(ast.walk(ast.parse(code)))
        found = {node.module for node in nodes if isinstance(node, ast.ImportFrom)}
        found |= {a.name for node in nodes if isinstance(node, ast.Import) for a in node.names}
        imports[name] = found & modules.keys()
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_tests_lie_in_folders() -> None:
    assert layout_problems(p.relative_to(ROOT).as_posix() for p in ROOT.glob("tests/**/*.py")) == []


def test_layout_rule() -> None:
    fitting = ["tests/conftest.py", *(f"tests/a/test_{i}.py" for i in range(MAX_FILES))]
    assert layout_problems(fitting) == []
    assert len(layout_problems([*fitting, "tests/a/test_more.py", "tests/test_flat.py"])) == 2


def test_benchmarks_do_not_import_each_other_in_a_circle() -> None:
    assert circle_of({path.stem: path.read_text("utf-8") for path in BENCH.glob("*.py")}) == []


def test_circle_rule() -> None:
    modules = {"a": "import b, os", "b": "def f():\n    from c import g", "c": "import a"}
    assert set(circle_of(modules)) == {"a", "b", "c"}
    assert circle_of({**modules, "c": "import os"}) == []


def test_what_the_checks_name_exists() -> None:
    checks = ROOT / ".ci/run"
    if not checks.exists():
        pytest.skip("needs a clone")
    named = re.findall(r"\btests/[\w/{},.]+", checks.read_text(encoding="utf-8"))
    assert named
    for pattern in named:
        prefix, _, names = pattern.rstrip("}").partition("{")
        paths = [prefix + name for name in names.split(",")]
        assert [path for path in paths if not (ROOT / path).exists()] == []
