"""What griffe calls for every object, so that Markdown and its numpydoc reader take docstrings as
they are meant."""

from __future__ import annotations

import inspect
import re
from typing import Any

import griffe

import maxmargin

FIELD = re.compile(r"^(\w[\w, ]* : )(.*?)(, default=.*)?$", re.MULTILINE)
OUTER_COMMA = re.compile(r", (?![^(]*\))")
COMPARISON = re.compile(r"^(\s+)(>=? ?\d)", re.MULTILINE)  # at the start of a line, a quotation
CITATION = re.compile(r"\[(\d+)\]_")
REFERENCE = re.compile(r"^\.\. \[(\d+)\] ", re.MULTILINE)


class Docstrings(griffe.Extension):
    """Types without braces and commas, no false quotations, and numbered references."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is None:
            return
        text = obj.docstring.value
        if obj.is_class and obj.name in maxmargin.__all__:  # completed when it is imported
            text = inspect.getdoc(getattr(maxmargin, obj.name))
        text = FIELD.sub(_with_plain_type, text)
        text = COMPARISON.sub(r"\1\\\2", text)
        text = CITATION.sub(r"\[\1\]", text)
        obj.docstring.value = REFERENCE.sub(r"\1. ", text)


def _with_plain_type(match: re.Match[str]) -> str:
    """Choices in braces are read as having the first for a default, commas as a tuple."""
    name, kind, default = match.groups(default="")
    if "shape" not in kind:
        kind = OUTER_COMMA.sub(" or ", kind.replace("{", "").replace("}", ""))
    return f"{name}{kind}{default}"
