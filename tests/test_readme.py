"""The examples in the documents run as they stand, and their links lead somewhere."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import maxmargin

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
MAIN = "import sys; from maxmargin.cli import main; sys.exit(main())"


def blocks(text: str) -> list[tuple[str, str]]:
    """The language and the text of every fenced block, in order."""
    return re.findall(r"^```(\w+)\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)


def commands(block: str) -> list[list[str]]:
    """The arguments of every `maxmargin ...` in a shell block; && joins commands on a line."""
    parts = [part for line in block.splitlines() for part in line.split("&&")]
    words = [shlex.split(part, comments=True) for part in parts]
    return [command[1:] for command in words if command[:1] == ["maxmargin"]]


def redirected(words: list[str]) -> tuple[list[str], str | None]:
    """The arguments of a command, and the file behind a last `>`."""
    return (words[:-2], words[-1]) if words[-2:-1] == [">"] else (words, None)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_examples(document: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    environment = {**os.environ, "PYTHONPATH": str(Path(maxmargin.__file__).parent.parent)}
    namespace: dict[str, object] = {"__name__": "__main__"}
    for language, block in blocks(document.read_text(encoding="utf-8")):
        if language == "python":
            exec(compile(block, document.name, "exec"), namespace)
        for words in commands(block) if language == "sh" else []:
            arguments, output = redirected(words)
            run = subprocess.run(
                [sys.executable, "-c", MAIN, *arguments],
                env=environment,
                capture_output=True,
                text=True,
            )
            assert run.returncode == 0, f"maxmargin {shlex.join(arguments)}\n{run.stderr}"
            if output is not None:
                Path(output).write_text(run.stdout, encoding="utf-8")


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_to_files(document: Path) -> None:
    targets = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", document.read_text(encoding="utf-8"))
    assert [target for target in targets if not (document.parent / target).exists()] == []


def test_the_readme_has_examples() -> None:
    found = blocks((ROOT / "README.md").read_text(encoding="utf-8"))
    assert "python" in [language for language, _ in found]
    assert ["demo"] in [command for language, block in found for command in commands(block)]


def test_commands_are_found() -> None:
    text = "```sh\npip install . && maxmargin demo  # one minute\nmaxmargin info\n```\n"
    ((language, block),) = blocks(text)
    assert language == "sh"
    assert commands(block) == [["demo"], ["info"]]
