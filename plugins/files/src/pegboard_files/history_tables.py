"""The tables of the file history: what files held before runs changed them."""

from __future__ import annotations

from typing import Final

from pegboard import EraseSql, Statements, Storage, Tables

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
    (
        # the turn, also of a child run, and the person: what they did is erased with them
        "ALTER TABLE change ADD COLUMN turn TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE change ADD COLUMN person TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE seen ADD COLUMN turn TEXT NOT NULL DEFAULT ''",
        "CREATE INDEX change_conversation ON change(conversation)",
        "CREATE INDEX change_turn ON change(turn)",
        "CREATE INDEX change_person ON change(person)",
        "CREATE INDEX seen_turn ON seen(turn)",
        "UPDATE change SET turn = run WHERE conversation <> ''",
    ),
    (
        # changes of several files that are under way, or whose process has died
        """
        CREATE TABLE journal(
            token TEXT PRIMARY KEY,
            workspace TEXT NOT NULL,
            history TEXT NOT NULL,
            committed INTEGER NOT NULL DEFAULT 0
        ) STRICT, WITHOUT ROWID
        """,
        """
        CREATE TABLE step(
            token TEXT NOT NULL,
            number INTEGER NOT NULL,
            path TEXT NOT NULL,
            target TEXT NOT NULL,
            moved_from TEXT,
            made TEXT,
            before TEXT,
            after TEXT,
            aside TEXT,
            PRIMARY KEY(token, number)
        ) STRICT, WITHOUT ROWID
        """,
    ),
)
_CONTENTS: Final = """
    DELETE FROM content WHERE hash NOT IN (
        SELECT before FROM change WHERE before IS NOT NULL
        UNION ALL SELECT before FROM step WHERE before IS NOT NULL)
"""
ERASE: Final = EraseSql(
    conversation=(
        "DELETE FROM change WHERE conversation = :name",
        "DELETE FROM seen WHERE reader = :name",
        _CONTENTS,
    ),
    turn=(
        "DELETE FROM change WHERE turn = :name",
        "DELETE FROM seen WHERE turn = :name",
        _CONTENTS,
    ),
    person=("DELETE FROM change WHERE person = :name", _CONTENTS),
)


def drop_contents(statements: Statements) -> None:
    """Drop the contents that nothing refers to any more."""
    statements.execute(_CONTENTS)


async def opened(storage: Storage) -> Tables:
    """Return the tables, of the newest form."""
    return await storage.tables(MIGRATIONS, erase=ERASE)
