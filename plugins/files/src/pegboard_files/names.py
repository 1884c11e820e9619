"""File names as they can be shown: on one line, as valid text."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

_UNSHOWABLE: Final = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")
_STRAY: Final = re.compile(r"[\udc80-\udcff]")
_QUOTED: Final = re.compile(r"['\\]")


def shown(path: str) -> str:
    """Return a path with control characters and stray bytes written as escapes."""
    return _UNSHOWABLE.sub(lambda found: _escape(found[0]), path)


def stray_note(paths: Iterable[str]) -> list[str]:
    """Return a note about names that are not UTF-8, or nothing where there are none.

    An argument of a call is valid text, so no call can name such a file.
    """
    stray = [path for path in paths if _STRAY.search(path)]
    if not stray:
        return []
    verb = "is" if len(stray) == 1 else "are"
    word = shown(_QUOTED.sub(r"\\\g<0>", stray[0]))
    return [
        f"{plural(len(stray), 'name')} {verb} not UTF-8, shown with \\x and two digits for a byte; "
        f"no tool takes it: rename it in Bash, with mv -- $'{word}' NEW_NAME"
    ]


def size_text(size: int) -> str:
    """Return a number of bytes for people: `512 B`, `1.2 KiB`."""
    if size < 1024:
        return f"{size} B"
    amount = float(size)
    for unit in ("KiB", "MiB", "GiB"):
        amount /= 1024
        if amount < 1024:
            return f"{amount:.1f} {unit}"
    return f"{amount / 1024:.1f} TiB"


def plural(count: int, noun: str, many: str = "") -> str:
    """Return `1 line`, `2 lines`; `many` is the plural of a noun that does not just add an s."""
    return f"{count} {noun}" if count == 1 else f"{count} {many or f'{noun}s'}"


def _escape(character: str) -> str:
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    return {"\n": "\\n", "\t": "\\t", "\r": "\\r"}.get(character, f"\\x{code:02x}")
