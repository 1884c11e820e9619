"""The tables of the store, as the steps by which they came about."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pegboard.contracts.errors import StoreError


@dataclass(frozen=True, slots=True)
class Migration:
    """One step. A step that was released never changes; what is new becomes a further one.

    Args:
        version: Version of the store after it: one more than before it.
        about: What it brings, in a few words.
        statements: SQL, run in order in one transaction.
    """

    version: int
    about: str
    statements: tuple[str, ...]


MIGRATIONS: Final[tuple[Migration, ...]] = (
    Migration(
        1,
        "the audit log",
        (
            """
            CREATE TABLE audit(
                id INTEGER PRIMARY KEY,
                event TEXT NOT NULL CHECK(json_valid(event)),
                prev_hash TEXT NOT NULL,
                hash TEXT NOT NULL UNIQUE,
                at REAL AS (json_extract(event, '$.at')) VIRTUAL,
                kind TEXT AS (json_extract(event, '$.kind')) VIRTUAL,
                tool TEXT AS (json_extract(event, '$.tool')) VIRTUAL
            )
            """,
            "CREATE INDEX audit_at ON audit(at)",
            """
            CREATE TRIGGER audit_no_update BEFORE UPDATE ON audit
            BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END
            """,
            """
            CREATE TRIGGER audit_no_delete BEFORE DELETE ON audit
            BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END
            """,
            # also against INSERT OR REPLACE, which deletes without a delete trigger
            """
            CREATE TRIGGER audit_only_appended BEFORE INSERT ON audit
            WHEN NEW.id IS NOT (SELECT coalesce(max(id), 0) + 1 FROM audit)
            BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END
            """,
        ),
    ),
)


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

    Each step is one transaction, and a copy of the store as it was is made before it. Two processes
    may do this at once: the second finds it done. No step is made on a store that is newer.

    Args:
        connection: The store, open for writing, outside any transaction.
        path: Its file; `FILE.v1` becomes the copy of version 1.
        migrations: The steps, in order.

    Raises:
        StoreError: When the store is newer than the last step.
        sqlite3.Error, OSError: When a step or its backup fails; the step is undone.
    """
    refuse_newer(path, version_of(connection), migrations[-1].version)
    backups = []
    for step in migrations[version_of(connection) :]:
        connection.execute("BEGIN IMMEDIATE")
        try:
            if version_of(connection) < step.version:
                if connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone():
                    backups.append(_backup(path, version_of(connection)))
                for statement in step.statements:
                    connection.execute(statement)
                connection.execute(f"PRAGMA user_version={step.version:d}")
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
    return backups


def _backup(path: Path, version: int) -> Path:
    """Copy the store as it was before the transaction that is open now."""
    target = path.with_name(f"{path.name}.v{version}")
    part = target.with_name(f"{target.name}.part")
    part.unlink(missing_ok=True)
    os.close(os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(part)) as copy:
        source.backup(copy)
    with part.open("rb") as written:
        os.fsync(written.fileno())
    part.replace(target)
    return target
