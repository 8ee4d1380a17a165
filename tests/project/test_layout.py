"""The folders of the tests."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import PurePosixPath

import pytest

from support.repository import ROOT

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


def test_tests_lie_in_folders() -> None:
    assert layout_problems(p.relative_to(ROOT).as_posix() for p in ROOT.glob("tests/**/*.py")) == []


def test_layout_rule() -> None:
    fitting = ["tests/conftest.py", *(f"tests/a/test_{i}.py" for i in range(MAX_FILES))]
    assert layout_problems(fitting) == []
    assert len(layout_problems([*fitting, "tests/a/test_more.py", "tests/test_flat.py"])) == 2


def test_folders_that_the_checks_name_exist() -> None:
    checks = ROOT / ".ci/run"
    if not checks.exists():
        pytest.skip("needs a clone")
    named = re.findall(r"\btests/[\w/{},.]+", checks.read_text(encoding="utf-8"))
    assert named
    for pattern in named:
        prefix, _, names = pattern.rstrip("}").partition("{")
        folders = [prefix + name for name in names.split(",")]
        assert [folder for folder in folders if not (ROOT / folder).is_dir()] == []
