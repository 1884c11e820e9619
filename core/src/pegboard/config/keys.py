"""Dotted keys: `plugins."my.id".limit` and back."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from pegboard.contracts.errors import UsageError

_PART: Final = r'\s*(?:"((?:[^"\\]|\\.)*)"|\'([^\']*)\'|([A-Za-z0-9_-]+))\s*(\.|\Z)'


def split_key(dotted: str) -> tuple[str, ...]:
    """Return the parts of a dotted key as TOML writes it.

    Raises:
        UsageError: When it is no key.
    """
    plain = dotted.split(".")
    if all(map(_is_bare, plain)):
        return tuple(plain)
    parts: list[str] = []
    position = 0
    part_pattern = re.compile(_PART)  # kept by `re`; most keys never need it
    while True:
        match = part_pattern.match(dotted, position)
        if match is None:
            raise UsageError(
                f"{dotted!r} is no key; write parts of letters, digits, `_` and `-` with dots "
                "between, and put others in quotes",
                fix="pegboard config schema",
            )
        double, single, bare, dot = match.groups()
        parts.append(_unescaped(double) if double is not None else single or bare or "")
        position = match.end()
        if not dot:
            return tuple(parts)


def join_key(parts: Iterable[str]) -> str:
    """Return parts as one dotted key, quoted where TOML wants quotes."""
    return ".".join(part if _is_bare(part) else _quoted(part) for part in parts)


def _is_bare(part: str) -> bool:
    return part.isascii() and part.replace("_", "a").replace("-", "a").isalnum()


def _quoted(part: str) -> str:
    return '"' + part.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _unescaped(part: str) -> str:
    return re.sub(r"\\(.)", r"\1", part)
