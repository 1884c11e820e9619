"""The tables of the file history: what files held before runs changed them."""

from __future__ import annotations

from typing import Final

MIGRATIONS: Final = (
    (
        """
        CREATE TABLE change(
            id INTEGER PRIMARY KEY,
            run TEXT NOT NULL,
            call TEXT NOT NULL,
            conversation TEXT NOT NULL,
            tool TEXT NOT NULL,
            workspace TEXT NOT NULL,
            at REAL NOT NULL,
            path TEXT NOT NULL,
            existed INTEGER NOT NULL,
            before TEXT,
            mode INTEGER,
            after TEXT,
            moved_from TEXT,
            undone_by TEXT
        ) STRICT
        """,
        "CREATE INDEX change_run ON change(run, id)",
        "CREATE INDEX change_at ON change(at)",
        "CREATE INDEX change_before ON change(before)",
        """
        CREATE TABLE content(
            hash TEXT PRIMARY KEY,
            packed BLOB NOT NULL,
            size INTEGER NOT NULL
        ) STRICT
        """,
        """
        CREATE TABLE seen(
            reader TEXT NOT NULL,
            path TEXT NOT NULL,
            size INTEGER NOT NULL,
            mtime_ns INTEGER NOT NULL,
            at REAL NOT NULL,
            PRIMARY KEY(reader, path)
        ) STRICT, WITHOUT ROWID
        """,
        "CREATE INDEX seen_at ON seen(at)",
    ),
    ("ALTER TABLE change ADD COLUMN made TEXT",),
)
