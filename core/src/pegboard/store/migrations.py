"""The tables of the store, as the steps by which they came about."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Final

from pegboard.contracts.errors import StoreError
from pegboard.store.crash_points import reached
from pegboard.store.durable_file import replace_durably
from pegboard.store.migration import Migration
from pegboard.store.schema_audit import AUDIT
from pegboard.store.schema_erasure import ERASURE, ERASURE_FILES
from pegboard.store.schema_turns import TURNS

__all__ = ["MIGRATIONS", "Migration", "migrate", "refuse_newer", "version_of"]

MIGRATIONS: Final[tuple[Migration, ...]] = (AUDIT, TURNS, ERASURE, ERASURE_FILES)


def version_of(connection: sqlite3.Connection) -> int:
    """Return the version of a store; 0 for an empty file."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def refuse_newer(path: Path, version: int, newest: int) -> None:
    """Refuse a store that a later Pegboard has changed.

    Raises:
        StoreError: When it is newer than `newest`.
    """
    if version > newest:
        raise StoreError(
            f"The store {path} was written by a newer Pegboard: its version is {version}, and "
            f"this one knows {newest}.",
            fix="pip install --upgrade pegboard",
            version=version,
            newest=newest,
        )


def migrate(
    connection: sqlite3.Connection, path: Path, migrations: Sequence[Migration] = MIGRATIONS
) -> list[Path]:
    """Bring a store to the newest version and return the backups that were made.

    Each step is one transaction, and a copy of the store as it was is made before it, unless the
    store is new. Two processes may do this at once: the second finds it done. No step is made on a
    store that is newer.

    Args:
        connection: The store, open for writing, outside any transaction.
        path: Its file; `FILE.v1` becomes the copy of version 1.
        migrations: The steps, in order.

    Raises:
        StoreError: When the store is newer than the last step.
        sqlite3.Error, OSError: When a step or its backup fails; the step is undone.
    """
    refuse_newer(path, version_of(connection), migrations[-1].version)
    new = connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone() is None
    backups = []
    for step in migrations[version_of(connection) :]:
        reached("migrate", "before")
        connection.execute("BEGIN IMMEDIATE")
        try:
            if version_of(connection) < step.version:
                if not new:
                    backups.append(_backup(path, version_of(connection)))
                _take(connection, step)
            reached("migrate", "during")
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        reached("migrate", "after")
    return backups


def has_fts5(connection: sqlite3.Connection) -> bool:
    """Tell whether this SQLite has full-text search."""
    found = connection.execute("SELECT sqlite_compileoption_used('ENABLE_FTS5')").fetchone()
    return bool(found[0])


def _take(connection: sqlite3.Connection, step: Migration) -> None:
    for statement in step.statements:
        connection.execute(statement)
    if step.with_fts5 and has_fts5(connection):
        for statement in step.with_fts5:
            connection.execute(statement)
    connection.execute(f"PRAGMA user_version={step.version:d}")


def _backup(path: Path, version: int) -> Path:
    """Copy the store as it was before the transaction that is open now."""
    target = path.with_name(f"{path.name}.v{version}")
    part = target.with_name(f"{target.name}.part")
    part.unlink(missing_ok=True)
    os.close(os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(part)) as copy:
        source.backup(copy)
    replace_durably(part, target)
    return target
