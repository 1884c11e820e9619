"""What a conversation is called: the beginning of what was first said in it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from typing import Any, Final

from pegboard.contracts.turn import Json
from pegboard.store.encoding import kept, loaded

TITLE_CHARS: Final = 80


def title_of(text: Any) -> str:
    """Return the title that a text gives a conversation; "" when it is no text."""
    if not isinstance(text, str):
        return ""
    return " ".join(text[: TITLE_CHARS * 4].split())[:TITLE_CHARS]


def titles_of(messages: Iterable[Json]) -> set[str]:
    """Return the titles that inbound messages may have given, as they are kept."""
    found: set[str] = set()
    for message in messages:
        text = message.get("text")
        if isinstance(text, str):
            # of a command that is a request, what follows its name
            found |= {title_of(text), title_of(text.partition(" ")[2])}
    return {kept(title) for title in found if title}


def retitle(connection: sqlite3.Connection, key: str, gone: set[str]) -> None:
    """Take a title away that came from what is erased; what is left gives another one, or none.

    Args:
        connection: The store; what is erased is not there any more.
        key: The conversation, as it is kept.
        gone: The titles that must go, as they are kept.
    """
    row = connection.execute("SELECT title FROM conversation WHERE key = ?", (key,)).fetchone()
    if row is None or row[0] not in gone:
        return
    title = next(filter(None, map(title_of, _said(connection, key))), "")
    connection.execute("UPDATE conversation SET title = ? WHERE key = ?", (kept(title), key))


def _said(connection: sqlite3.Connection, key: str) -> Iterable[str]:
    """Yield what people said in a conversation, the first first."""
    rows = connection.execute(
        "SELECT messages FROM message WHERE key = ? AND summary = 0 ORDER BY seq", (key,)
    )
    for (messages,) in rows:
        for message in loaded(messages):
            if message.get("role") == "user":
                yield from _texts(message)


def _texts(message: Json) -> Iterable[str]:
    text = message.get("text")
    if isinstance(text, str):
        yield text
    parts = message.get("parts")
    for part in parts if isinstance(parts, list) else ():
        if isinstance(part, dict) and isinstance(part.get("text"), str):
            yield part["text"]
