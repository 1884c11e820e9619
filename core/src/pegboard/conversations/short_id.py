"""Short names of conversations, for people and models: the keys themselves are long."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Final, NamedTuple

from pegboard.config.nearest import nearest

CHARS: Final = 8
_SHORTEST: Final = 2
_MOST_NAMED: Final = 5


class Match(NamedTuple):
    """What a text may stand for.

    Args:
        keys: The conversations that it names; exactly one when it is clear.
        near: The short name that was probably meant when it names none, or None.
    """

    keys: tuple[str, ...]
    near: str | None = None


def short_id(key: str) -> str:
    """Return the short name of a conversation: the same on every machine, for ever."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:CHARS]


def matching(text: str, keys: Iterable[str]) -> Match:
    """Return the conversations that a text may stand for.

    It is a whole key, or the beginning of a key or of a short name, of two characters at least. A
    whole key, or a whole short name, is never unclear.

    Args:
        text: What somebody wrote.
        keys: The keys that there are.
    """
    names = {key: short_id(key) for key in keys}
    for exact in (
        [key for key in names if key == text],
        [key for key, name in names.items() if name == text],
    ):
        if exact:
            return Match(tuple(exact))
    if len(text) >= _SHORTEST:
        begun = [key for key, name in names.items() if name.startswith(text.lower())]
        begun += [key for key in names if key.startswith(text) and key not in begun]
        if begun:
            return Match(tuple(begun))
    near = nearest(text, [*names, *names.values()])
    return Match((), near)


def unclear(text: str, match: Match) -> str:
    """Return the sentence about a text that does not name exactly one conversation."""
    if not match.keys:
        near = f" The nearest is {match.near}." if match.near else ""
        return f"There is no conversation {text!r}.{near}"
    named = [f"{short_id(key)} ({key})" for key in match.keys[:_MOST_NAMED]]
    more = len(match.keys) - len(named)
    rest = f" and {more} more" if more else ""
    return f"{text!r} may be {', '.join(named)}{rest}."
