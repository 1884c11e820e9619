"""Names of keys, and what a terminal sends for them."""

from __future__ import annotations

import re
from typing import Final

from pegboard import ToolFailure

_NAMED: Final = {
    **{"enter": "\r", "return": "\r", "tab": "\t", "shift-tab": "\x1b[Z", "space": " "},
    **{"escape": "\x1b", "esc": "\x1b", "backspace": "\x7f", "delete": "\x1b[3~"},
    **{"up": "\x1b[A", "down": "\x1b[B", "right": "\x1b[C", "left": "\x1b[D"},
    **{"home": "\x1b[1~", "end": "\x1b[4~", "insert": "\x1b[2~"},
    **{"page-up": "\x1b[5~", "page-down": "\x1b[6~"},
    **{"f1": "\x1b[[A", "f2": "\x1b[[B", "f3": "\x1b[[C", "f4": "\x1b[[D", "f5": "\x1b[[E"},
    **{"f6": "\x1b[17~", "f7": "\x1b[18~", "f8": "\x1b[19~", "f9": "\x1b[20~"},
    **{"f10": "\x1b[21~", "f11": "\x1b[23~", "f12": "\x1b[24~"},
}
"""As TERM=linux has them, which is what terminals here are."""
_WITH_CONTROL: Final = re.compile(r"(?:ctrl|control|c)[-+]([a-z@\[\\\]^_])")
_WITH_META: Final = re.compile(r"(?:alt|meta|m)[-+](.)")


def key_bytes(name: str) -> bytes:
    """Return what a key sends.

    Raises:
        ToolFailure: When no key has that name.
    """
    wanted = name.strip().lower().replace("_", "-").replace("pageup", "page-up")
    wanted = wanted.replace("pagedown", "page-down")
    if wanted in _NAMED:
        return _NAMED[wanted].encode()
    if found := _WITH_CONTROL.fullmatch(wanted):
        return bytes([ord(found[1].upper()) & 0x1F])
    if found := _WITH_META.fullmatch(wanted):
        return b"\x1b" + found[1].encode()
    raise ToolFailure(
        f"There is no key {name!r}.",
        fix=f"Keys are: {', '.join(_NAMED)}, ctrl-a to ctrl-z, alt-x. Text is for `command`.",
        code="invalid_arguments",
    )
