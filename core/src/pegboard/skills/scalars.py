"""Scalars of YAML as text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

_ESCAPE: Final = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))")
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "0": "", "e": ""}
_DOUBLE: Final = re.compile(r'"((?:[^"\\]|\\.)*)"(?:\s+#.*)?')
_SINGLE: Final = re.compile(r"'((?:[^']|'')*)'(?:\s+#.*)?")
_ITEM: Final = re.compile(r'\s*("(?:[^"\\]|\\.)*"|\'(?:[^\']|\'\')*\'|[^,]*)\s*(?:,|$)')


def plain_text(lines: Sequence[str]) -> str:
    """Return a scalar that may be quoted and may go over several lines, joined by spaces."""
    joined = " ".join(line.strip() for line in lines if line.strip())
    if match := _DOUBLE.fullmatch(joined):
        return _ESCAPE.sub(_unescaped, match[1])
    if match := _SINGLE.fullmatch(joined):
        return match[1].replace("''", "'")
    words = [line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#")]
    # a comment is `# so`; `#12` may be part of what was written
    return " ".join(re.split(r"\s+#\s", word, maxsplit=1)[0] for word in words)


def block_text(style: str, lines: Sequence[str]) -> str:
    """Return a block scalar: `|` keeps the line ends, `>` folds them into spaces."""
    filled = [line for line in lines if line.strip()]
    if not filled:
        return ""
    margin = min(len(line) - len(line.lstrip()) for line in filled)
    text = "\n".join(line[margin:].rstrip() for line in lines).strip("\n")
    if style[0] == "|":
        return text
    return "\n".join(" ".join(block.split("\n")) for block in text.split("\n\n"))


def quoted_items(text: str) -> list[str]:
    """Return the items of a flow list, whose quotes may hold commas."""
    found = (match[1].strip() for match in _ITEM.finditer(text))
    return [plain_text([item]) for item in found if item]


def _unescaped(match: re.Match[str]) -> str:
    code = match[1] or match[2] or match[3]
    if code:
        number = int(code, 16)
        whole = number <= 0x10FFFF and not 0xD800 <= number <= 0xDFFF
        return chr(number) if whole else "\ufffd"
    return _ESCAPES.get(match[4], match[4])
