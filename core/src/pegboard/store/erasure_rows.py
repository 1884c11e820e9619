"""What was erased here and may still be kept elsewhere, as rows."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from typing import Final

from pegboard.contracts.archive import Erasure, ErasureKind
from pegboard.store.encoding import as_was

LATE_S: Final = 86_400.0
"""Seconds for which a turn that ran while it was erased may still write something elsewhere."""


def add(connection: sqlite3.Connection, kind: ErasureKind, name: str) -> None:
    """Write down that something was erased; for what no trigger sees.

    Args:
        connection: The store.
        kind: What it was.
        name: Its name, as it is kept.
    """
    connection.execute("INSERT INTO erasure(kind, name) VALUES (?, ?)", (kind, name))


def pending(connection: sqlite3.Connection) -> list[Erasure]:
    """Return what may still be kept elsewhere, the first erased first."""
    rows = connection.execute(
        "SELECT number, kind, name, settled_at IS NOT NULL, coalesce(files, '[]') FROM erasure "
        "ORDER BY number"
    )
    return [
        Erasure(
            number=number,
            kind=kind,
            name=as_was(name),
            again=bool(again),
            left=tuple(json.loads(files)),
        )
        for number, kind, name, again, files in rows
    ]


def settle(
    connection: sqlite3.Connection, erasures: Sequence[Erasure], now: float, left: Sequence[str]
) -> None:
    """Forget what is erased everywhere; turns that ran stay until they can't write any more."""
    numbers = []
    for item in erasures:
        if files := [file for file in left if item.concerns(file)]:
            connection.execute(
                "UPDATE erasure SET files = ? WHERE number = ?", (json.dumps(files), item.number)
            )
        else:
            numbers.append(item.number)
    connection.execute("PRAGMA secure_delete=ON")  # a name is one of the things that were erased
    try:
        connection.execute(
            """
            DELETE FROM erasure WHERE number IN (SELECT value FROM json_each(?1))
                AND (ran = 0 OR coalesce(settled_at, ?2) < ?2 - ?3)
            """,
            (json.dumps(list(numbers)), now, LATE_S),
        )
    finally:
        connection.execute("PRAGMA secure_delete=FAST")
    connection.execute(
        """
        UPDATE erasure SET settled_at = coalesce(settled_at, ?2), files = NULL
        WHERE number IN (SELECT value FROM json_each(?1))
        """,
        (json.dumps(list(numbers)), now),
    )
