"""Which blobs the rows of the store refer to."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any, Final

from pegboard.store.blob_sweep import ID
from pegboard.store.encoding import kept
from pegboard.store.sqlite import open_for_reading, told

_OF_CONVERSATION: Final = """
    SELECT messages FROM message WHERE key = ?1
    UNION ALL
    SELECT inbox.message FROM inbox JOIN turn ON turn.id = inbox.turn WHERE turn.key = ?1
    UNION ALL
    SELECT call.result FROM call JOIN turn ON turn.id = call.turn WHERE turn.key = ?1
    UNION ALL
    SELECT outbox.message FROM outbox JOIN turn ON turn.id = outbox.turn WHERE turn.key = ?1
"""
_LEFT_OUT: Final = ("sqlite_%", "message_fts%", "audit")
"""Tables that never refer to a blob, and hold most of what is no reference."""


def references(connection: sqlite3.Connection) -> set[str]:
    """Return all ids of blobs that occur in any text of any table.

    A table that comes later is looked at like those of today.
    """
    found: set[str] = set()
    for table, column in _texts(connection):
        rows = connection.execute(f'SELECT "{column}" FROM "{table}"')
        for (text,) in rows:
            if isinstance(text, str):
                found.update(ID.findall(text))
    return found


def references_below(folder: Path) -> set[str]:
    """Return those that occur in the SQLite files of plugins, each in a folder of its own.

    Raises:
        StoreError: When one can't be read: what it refers to is then not known.
    """
    found: set[str] = set()
    for path in sorted(folder.glob("*/*.db")):
        with closing(open_for_reading(path)) as connection, told(path):
            found |= references(connection)
    return found


def of_conversation(connection: sqlite3.Connection, key: str) -> set[str]:
    """Return the ids of the blobs that one conversation may refer to."""
    found: set[str] = set()
    for (text,) in connection.execute(_OF_CONVERSATION, (kept(key),)):
        found.update(ID.findall(text or ""))
    return found


def blob_ids(value: Any) -> set[str]:
    """Return the ids of blobs that occur anywhere in a JSON value."""
    return set(ID.findall(json.dumps(value, default=str)))


def _texts(connection: sqlite3.Connection) -> list[tuple[str, str]]:
    out = " AND ".join("m.name NOT LIKE ?" for _ in _LEFT_OUT)
    rows = connection.execute(
        f"""
        SELECT m.name, c.name FROM sqlite_master m JOIN pragma_table_info(m.name) c
        WHERE m.type = 'table' AND {out} AND c.type IN ('TEXT', 'JSON', '')
        """,
        _LEFT_OUT,
    )
    return rows.fetchall()
