"""The parts of a Google-style docstring."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

_ARGUMENTS: Final = frozenset({"args", "arguments", "parameters"})
_UNTOLD: Final = frozenset({"returns", "return", "yields", "raises"})
"""Sections for programmers; a model reads the result itself."""
_HEADING: Final = re.compile(r"([A-Z][a-z]+):\s*$")
_ENTRY: Final = re.compile(r"((?:\*{0,2}\w+)(?:\s*,\s*\*{0,2}\w+)*)\s*(?:\([^)]*\))?:\s*(.*)$")


class Docstring(NamedTuple):
    """A docstring: what is left of the text, and its `Args:` by name."""

    text: str
    arguments: dict[str, str]


def parse_docstring(text: str) -> Docstring:
    """Take `Args:` out of a cleaned docstring, and drop the sections about results and errors."""
    kept: list[str] = []
    arguments: dict[str, str] = {}
    for heading, lines in _sections(text):
        if heading in _ARGUMENTS:
            arguments.update(_entries(lines))
        elif heading not in _UNTOLD:
            kept.extend(lines)
    return Docstring(re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip(), arguments)


def _sections(text: str) -> Iterator[tuple[str, list[str]]]:
    """Yield heading (lower case, "" for plain text) and lines; a section ends where indent does."""
    heading, lines = "", list[str]()
    for line in text.splitlines():
        found = _HEADING.match(line)
        known = found is not None and found[1].lower() in _ARGUMENTS | _UNTOLD
        if known or (heading and line.strip() and not line[0].isspace()):
            yield heading, lines
            heading, lines = (found[1].lower() if found and known else ""), []
            if known:
                continue
        lines.append(line.rstrip())
    yield heading, lines


def _entries(lines: list[str]) -> Iterator[tuple[str, str]]:
    """Yield name and text of each entry; what is indented deeper continues the one before."""
    names: list[str] = []
    words: list[str] = []
    indent = min((_indent(line) for line in lines if line.strip()), default=0)
    for line in [*lines, " " * indent + "_: "]:
        found = _ENTRY.match(line.strip()) if _indent(line) == indent else None
        if found is None:
            words.append(line.strip())
            continue
        text = " ".join(word for word in words if word)
        yield from ((name, text) for name in names)
        names = [name.strip().lstrip("*") for name in found[1].split(",")]
        words = [found[2]]


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
