"""Names of tools as every provider takes them, and back. Pure."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from typing import Final

MAX_NAME: Final = 64
_OTHER: Final = re.compile(r"[^A-Za-z0-9_-]")
_HASH_CHARS: Final = 8


class ToolNames:
    """The aliases of one request: letters, digits, `_` and `-`, at most 64, a letter first.

    The same name has the same alias in every request and at every provider, whatever else is
    declared, so that a conversation can move from one provider to another.

    Args:
        names: Names of the tools.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._to: dict[str, str] = {}
        self._back: dict[str, str] = {}
        for name in names:
            if name not in self._to:
                self._add(name)

    def alias(self, name: str) -> str:
        """Return the alias of a name; one that was not declared gets its own all the same."""
        return self._to.get(name) or alias(name)

    def name(self, alias: str) -> str:
        """Return the name behind an alias; what is no alias is returned as it is."""
        return self._back.get(alias, alias)

    def _add(self, name: str) -> None:
        short = alias(name)
        if short in self._back:  # only by a name that looks like another one's alias
            short = _hashed(name)
        self._to[name], self._back[short] = short, name


def alias(name: str) -> str:
    """Return a name as every provider takes it; one that is fit already stays as it is."""
    plain = _OTHER.sub("_", name)
    if plain == name and name[:1].isalpha() and len(name) <= MAX_NAME:
        return name
    return _hashed(name)


def _hashed(name: str) -> str:
    plain = _OTHER.sub("_", name)
    if not plain[:1].isalpha():
        plain = f"t_{plain}"
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH_CHARS]
    return f"{plain[: MAX_NAME - 1 - _HASH_CHARS]}_{digest}"
