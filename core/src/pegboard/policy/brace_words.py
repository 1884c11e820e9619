"""The words that a shell makes of one with braces: `/{bin,usr/{lib,share}}`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

MOST: Final = 100
"""Words that are looked at: each list in a word multiplies them."""
_INNERMOST: Final = re.compile(r"\{([^{}]*)\}")


def expanded(text: str) -> Sequence[str]:
    """Return the words that a word stands for, the last one last; without a list it is itself.

    Args:
        text: The word as it is written, with nothing in it quoted or expanded otherwise. A range
            (`{1..3}`) stays as it is.
    """
    found: list[str] = []
    waiting = [text]
    while waiting and len(found) + len(waiting) < MOST:
        word = waiting.pop()
        lists = (match for match in _INNERMOST.finditer(word) if "," in match[1])
        match = next(lists, None)
        if match is None:
            found.append(word)
            continue
        before, after = word[: match.start()], word[match.end() :]
        waiting += (f"{before}{piece}{after}" for piece in reversed(match[1].split(",")))
    return [*found, *reversed(waiting)]
