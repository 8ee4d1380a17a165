"""The examples in the documents run as they stand, and their links lead somewhere."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
MAIN = "import sys; from maxmargin.cli import main; sys.exit(main())"


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)


def commands(text: str) -> list[list[str]]:
    """The arguments of every `maxmargin ...` in shell blocks; && joins commands on a line."""
    lines = [line for block in blocks(text, "sh") for line in block.splitlines()]
    parts = [shlex.split(part, comments=True) for line in lines for part in line.split("&&")]
    return [words[1:] for words in parts if words[:1] == ["maxmargin"]]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_python_blocks(document: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {"__name__": "__main__"}
    for block in blocks(document.read_text(encoding="utf-8"), "python"):
        exec(compile(block, document.name, "exec"), namespace)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_commands(document: Path, tmp_path: Path) -> None:
    for arguments in commands(document.read_text(encoding="utf-8")):
        result = subprocess.run(
            [sys.executable, "-c", MAIN, *arguments], cwd=tmp_path, capture_output=True, text=True
        )
        assert result.returncode == 0, f"maxmargin {shlex.join(arguments)}\n{result.stderr}"


def test_the_readme_has_examples() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(blocks(text, "python")) >= 1
    assert ["demo"] in commands(text)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_to_files(document: Path) -> None:
    targets = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", document.read_text(encoding="utf-8"))
    assert [target for target in targets if not (document.parent / target).exists()] == []


def test_commands_are_found() -> None:
    text = "```sh\npip install . && maxmargin demo  # one minute\nmaxmargin info\n```\n"
    assert commands(text) == [["demo"], ["info"]]
