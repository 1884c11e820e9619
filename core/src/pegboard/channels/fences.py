"""Fenced code blocks of Markdown, as far as cutting a text needs them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_FENCE: Final = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})(.*)")


@dataclass(frozen=True, slots=True)
class Fence:
    """An open code block.

    Args:
        opener: The line that opened it, e.g. ```` ```python ````.
        marker: The line that closes it.
        start: Where its opening line begins in the text that was looked at; -1 = before it.
        body: Where its content begins in that text.
    """

    opener: str
    marker: str
    start: int = -1
    body: int = 0

    def closes(self, line: str) -> bool:
        """Return True when `line` ends this block."""
        mark = line.strip()
        return len(mark) >= len(self.marker) and not mark.strip(self.marker[0])


def is_fence(line: str) -> bool:
    """Return True when `line` opens or closes a code block."""
    return _FENCE.fullmatch(line) is not None


def open_at_end(text: str, fence: Fence | None = None) -> Fence | None:
    """Return the code block that is open at the end of `text`, or None.

    Args:
        text: Markdown.
        fence: The block that was open before it.
    """
    position = 0
    for line in text.splitlines(keepends=True):
        bare = line.rstrip("\r\n")
        start, position = position, position + len(line)
        if fence is not None:
            fence = None if fence.closes(bare) else fence
        elif match := _FENCE.fullmatch(bare):
            fence = Fence(bare.strip(), match[1], start, position)
    return fence
