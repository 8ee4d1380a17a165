"""What MkDocs calls while it builds the site: figures, formulas, and pages from outside docs/."""

from __future__ import annotations

import html
import re
import sys
from pathlib import Path
from typing import Any

from latex2mathml.converter import convert
from mkdocs.structure.files import File

sys.path.insert(0, str(Path(__file__).resolve().parent))
import figures

ROOT = Path(__file__).resolve().parent.parent.parent

# Documents of the repository that are pages of the site, too.
PAGES = {
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "bench/README.md": "running-benchmarks.md",
}
FORMULA = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', re.DOTALL)
# The bars of norms and absolute values; a browser would stretch each as if it were alone.
BAR = re.compile(r"<mo>(&#x02016;|&#x0007C;|\|)</mo>")
# In a cell of a table, | is escaped, and Python-Markdown leaves the escape in code.
CELL = re.compile(r"<td[^>]*>.*?</td>", re.DOTALL)
LINK = re.compile(r"\]\(((?:\.\./)*)([^)#:]+\.md)")


def on_files(files: Any, config: Any) -> Any:
    """Add the figures and the pages from outside."""
    for name in figures.FIGURES:
        path = f"figures/{name}.svg"
        files.append(File.generated(config, path, content=figures.svg(name)))
    for source, page in PAGES.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Turn links to documents outside docs/ into links to their pages, and omit how to draw."""
    from_outside = {page: source for source, page in PAGES.items()}
    source = from_outside.get(page.file.src_uri, f"docs/{page.file.src_uri}")
    depth = page.file.src_uri.count("/")

    def on_the_site(match: re.Match[str]) -> str:
        target = (ROOT / source).parent / match[1] / match[2]
        name = target.resolve().relative_to(ROOT).as_posix()
        name = PAGES.get(name, name).removeprefix("docs/").replace("README.md", "index.md")
        return f"]({'../' * depth}{name}"

    return LINK.sub(on_the_site, markdown.replace(figures.NOTE, ""))


def on_page_content(content: str, **_: Any) -> str:
    """Turn formulas into MathML, which browsers show by themselves."""
    content = CELL.sub(lambda cell: cell[0].replace(r"\|", "|"), content)
    return FORMULA.sub(_as_mathml, content)


def _as_mathml(match: re.Match[str]) -> str:
    is_block = match[1] == "div"
    formula = convert(html.unescape(match[2]).strip(), display="block" if is_block else "inline")
    formula = BAR.sub(r'<mo stretchy="false">\1</mo>', formula)
    return f'<div class="formula">{formula}</div>' if is_block else formula
