"""The examples in the documents run as they stand, and their links lead somewhere."""

from __future__ import annotations

import importlib
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import maxmargin
from maxmargin import diagnostics, kernels, plotting
from support.repository import ROOT

DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
FIGURES = ROOT / "docs/site/figures.py"
MAIN = "import sys; from maxmargin.cli import main; sys.exit(main())"


def name_of(document: Path) -> str:
    return document.relative_to(ROOT).as_posix()


def blocks(text: str) -> list[tuple[str, str]]:
    """The language and the text of every fenced block, in order."""
    return re.findall(r"^```(\w+)\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)


def figures() -> list[Path]:
    """The figures that the site is built with, which are not kept."""
    names = re.findall(r"^@figure\ndef (\w+)\(", FIGURES.read_text(encoding="utf-8"), re.M)
    return [ROOT / f"docs/figures/{name.replace('_', '-')}.svg" for name in names]


def commands(block: str) -> list[list[str]]:
    """The arguments of every `maxmargin ...` in a shell block; && joins commands on a line."""
    parts = [part for line in block.splitlines() for part in line.split("&&")]
    words = [shlex.split(part, comments=True) for part in parts]
    return [command[1:] for command in words if command[:1] == ["maxmargin"]]


def packages_of(text: str) -> list[str]:
    """The optional packages that the examples of a document need."""
    needed = ["matplotlib"] if "plotting" in text else []
    others = ("libsvm.svmutil", "m2cgen", "onnxruntime", "skl2onnx", "skops")
    return needed + [name for name in others if re.search(rf"^(import|from) {name}\b", text, re.M)]


def redirected(words: list[str]) -> tuple[list[str], str | None]:
    """The arguments of a command, and the file behind a last `>`."""
    return (words[:-2], words[-1]) if words[-2:-1] == [">"] else (words, None)


@pytest.fixture
def pyplot_in_memory(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Figures without a window, closed at the end."""
    monkeypatch.setenv("MPLBACKEND", "agg")
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_lines_but_those_of_tables_are_short(document: Path) -> None:
    lines = enumerate(document.read_text(encoding="utf-8").splitlines(), start=1)
    assert [n for n, line in lines if len(line) > 120 and not line.startswith("|")] == []


@pytest.mark.usefixtures("pyplot_in_memory")
@pytest.mark.filterwarnings("ignore:Attribute `prob[AB]_` was deprecated:FutureWarning")  # skl2onnx
@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_examples(document: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in packages_of(document.read_text(encoding="utf-8")):
        pytest.importorskip(name)
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


@pytest.mark.parametrize(("document", "n_shown"), [("README.md", 1), ("docs/certificate.md", 2)])
def test_printed_certificates_are_those_of_the_code(
    document: str,
    n_shown: int,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {}
    shown, printed = [], []
    for language, block in blocks((ROOT / document).read_text(encoding="utf-8")):
        if language == "python":
            exec(compile(block, document, "exec"), namespace)
            printed.append(capsys.readouterr().out)
        elif language == "text":
            shown.append((block, printed[-1]))
    assert len(shown) == n_shown
    number = re.compile(r"-?\d\S*\d|\d")
    for block, output in shown:
        assert number.sub("#", block) == number.sub("#", output)
        of_block, of_output = (number.findall(text)[:2] for text in (block, output))
        assert list(map(float, of_block)) == pytest.approx(list(map(float, of_output)), rel=1e-4)


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_links_lead_to_files(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    targets = [document.parent / path for path in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text)]
    missing = [path for path in targets if not path.exists() and path.resolve() not in figures()]
    assert missing == []


def test_every_figure_is_on_a_page() -> None:
    text = "".join(document.read_text(encoding="utf-8") for document in DOCUMENTS)
    assert figures() != []
    assert [path.name for path in figures() if f"figures/{path.name})" not in text] == []


def test_figures_are_kept_or_their_page_says_how_to_draw_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.syspath_prepend(str(FIGURES.parent))
    drawing = importlib.import_module("figures")
    for document in DOCUMENTS:
        text = document.read_text(encoding="utf-8")
        shown = set(re.findall(r"figures/([\w-]+)\.svg\)", text))
        assert (drawing.NOTE in text) == bool(shown - {drawing.KEPT}), name_of(document)
    kept = (ROOT / f"docs/figures/{drawing.KEPT}.svg").read_text(encoding="utf-8")
    assert len(kept) < 100_000
    # Digits may differ on another machine, coordinates with another matplotlib.
    words, drawn = (
        [re.sub(r"\d+", "#", word) for word in re.findall("<!-- (.*) -->", svg)]
        for svg in (kept, drawing.svg(drawing.KEPT))
    )
    assert "support vectors (#)" in words
    assert words == drawn


def test_every_public_name_is_in_the_api_reference() -> None:
    pages = sorted((ROOT / "docs/api").glob("*.md"))
    text = "".join(page.read_text(encoding="utf-8") for page in pages)
    documented = set(re.findall(r"^::: maxmargin\.(\S+)$", text, re.M))
    modules = {"datasets", "diagnostics", "io", "kernels", "plotting"}
    public = set(maxmargin.__all__) - {"__version__", *modules}
    for module in (diagnostics, kernels, plotting):
        own = module.__name__.removeprefix("maxmargin.")
        public |= {f"{own}.{name}" for name in module.__all__} - {f"{own}.Certificate"}
    assert public - documented == set()


def test_the_readme_has_examples() -> None:
    found = blocks((ROOT / "README.md").read_text(encoding="utf-8"))
    assert "python" in [language for language, _ in found]
    assert ["demo"] in [command for language, block in found for command in commands(block)]


def test_commands_are_found() -> None:
    text = "```sh\npip install . && maxmargin demo  # one minute\nmaxmargin info\n```\n"
    ((language, block),) = blocks(text)
    assert language == "sh"
    assert commands(block) == [["demo"], ["info"]]
