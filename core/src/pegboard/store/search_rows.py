"""What was said, found by its words within the conversations that somebody may see."""

from __future__ import annotations

import re
import sqlite3
from typing import Final

from pegboard.contracts.archive import CallResultRecord, Found, Scope
from pegboard.contracts.transcript import Conversation, TurnMessages
from pegboard.store import conversation_rows, message_rows
from pegboard.store.encoding import as_was, kept, loaded

_WORD: Final = re.compile(r"\w+")
_MOST_WORDS: Final = 16
_PREFIX_FROM: Final = 4
"""Letters from which on a word also finds those that begin with it: its other forms."""
_EXCERPT_WORDS: Final = 32
_AROUND: Final = 120
_SENDER: Final = "json_extract(caller, '$.sender')"


def within(scope: Scope) -> tuple[str, tuple[str, ...]]:
    """Return the SQL of the keys in a scope, and its values.

    What nobody is named in holds nothing.
    """
    if scope.key:
        return "SELECT ?", (kept(scope.key),)
    return (
        f"""
        SELECT turn.key FROM inbox JOIN turn ON turn.id = inbox.turn
        WHERE {_SENDER} = ? AND {_SENDER} <> '' AND turn.agent = ?
        """,
        (scope.sender, kept(scope.agent)),
    )


def conversations(
    connection: sqlite3.Connection, scope: Scope, limit: int | None = None
) -> list[Conversation]:
    """Return the conversations of a scope, the one that last changed first."""
    keys, values = within(scope)
    return conversation_rows.listed_where(connection, f"key IN ({keys})", values, limit)


def said(
    connection: sqlite3.Connection, key: str, before: int | None, limit: int | None
) -> list[TurnMessages]:
    """Return the last turns of a conversation before a place, the oldest of them first."""
    return message_rows.last(connection, key, before, limit)


def call_result(connection: sqlite3.Connection, key: str, call: str) -> CallResultRecord | None:
    """Return what a tool call of a conversation returned, the latest of that id, or None."""
    row = connection.execute(
        """
        SELECT call.name, call.result FROM turn JOIN call ON call.turn = turn.id
        WHERE turn.key = ? AND call.id = ? AND call.kind = 'tool' AND call.result IS NOT NULL
        ORDER BY turn.seq DESC LIMIT 1
        """,
        (kept(key), kept(call)),
    ).fetchone()
    return None if row is None else CallResultRecord(tool=as_was(row[0]), result=loaded(row[1]))


def search(connection: sqlite3.Connection, query: str, scope: Scope, limit: int) -> list[Found]:
    """Return the turns of a scope in which words occur, the best first.

    All words, else some; then, for scripts that do not part words by spaces, all of them anywhere.
    """
    words = list(dict.fromkeys(_WORD.findall(query)))[:_MOST_WORDS]
    if not words:
        return []
    found: list[Found] = []
    if has_index(connection):
        found = _by_words(connection, words, "AND", scope, limit)
        found = found or _by_words(connection, words, "OR", scope, limit)
    return found or _anywhere(connection, words, scope, limit)


def has_index(connection: sqlite3.Connection) -> bool:
    """Tell whether this store has the index of words; without FTS5 it was made without."""
    known = "SELECT 1 FROM sqlite_master WHERE name = 'message_fts'"
    return connection.execute(known).fetchone() is not None


def _by_words(
    connection: sqlite3.Connection, words: list[str], join: str, scope: Scope, limit: int
) -> list[Found]:
    # quoted: as it is, what somebody writes would be taken for the syntax of the index
    terms = (f'"{word}"{"*" if len(word) >= _PREFIX_FROM else ""}' for word in words)
    keys, values = within(scope)
    rows = connection.execute(
        f"""
        SELECT m.key, m.seq, m.at, snippet(message_fts, 0, '', '', '…', {_EXCERPT_WORDS})
        FROM message_fts JOIN message m ON m.id = message_fts.rowid
        WHERE message_fts MATCH ? AND m.key IN ({keys}) AND m.summary = 0
        ORDER BY message_fts.rank, m.at DESC LIMIT ?
        """,
        (f" {join} ".join(terms), *values, limit),
    )
    return [_found(row, row[3]) for row in rows]


def _anywhere(
    connection: sqlite3.Connection, words: list[str], scope: Scope, limit: int
) -> list[Found]:
    keys, values = within(scope)
    wanted = " AND ".join(["instr(lower(text), ?)"] * len(words))
    rows = connection.execute(
        f"""
        SELECT key, seq, at, text FROM message
        WHERE key IN ({keys}) AND summary = 0 AND {wanted} ORDER BY at DESC LIMIT ?
        """,
        (*values, *(word.lower() for word in words), limit),
    )
    return [_found(row, _around(row[3], words[0])) for row in rows]


def _around(text: str, word: str) -> str:
    place = max(0, text.lower().find(word.lower()))
    start, end = max(0, place - _AROUND), place + len(word) + _AROUND
    part = " ".join(text[start:end].split())
    return f"{'…' if start else ''}{part}{'…' if end < len(text) else ''}"


def _found(row: tuple[str, int, float, str], excerpt: str) -> Found:
    return Found(key=as_was(row[0]), seq=row[1], at=row[2], excerpt=" ".join(excerpt.split()))
