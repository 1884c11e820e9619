"""Copies of the store, its check, and its numbers; also while a host is running."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from pegboard.contracts.errors import StoreError
from pegboard.store.durable_file import replace_durably
from pegboard.store.migrations import version_of
from pegboard.store.schema_turns import OPEN
from pegboard.store.sqlite import open_for_reading, told

_MOST_PROBLEMS: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Backup:
    """A copy that was made.

    Args:
        path: Its file: whole, checked, readable by its owner only.
        size: Bytes.
        version: Version of the store.
    """

    path: Path
    size: int
    version: int

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-serialisable data."""
        return {"path": str(self.path), "size": self.size, "version": self.version}


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """What a check has found.

    Args:
        version: Version of the store.
        problems: A sentence each, at most 20; empty when all is well.
    """

    version: int
    problems: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-serialisable data."""
        return {
            "ok": not self.problems,
            "version": self.version,
            "problems": list(self.problems),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """The numbers of a store.

    Args:
        version: Its version.
        size: Bytes of the file.
        log_size: Bytes of the write-ahead log beside it.
        free: Bytes of the file that are free to be used again.
        rows: Number of rows of each table.
        turns: Number of turns in each state.
        open_turns: Those that have not ended.
        oldest_open: When the oldest of those came in, or None.
        in_doubt: Parts of replies of which nobody knows whether they were sent.
    """

    version: int
    size: int
    log_size: int
    free: int
    rows: Mapping[str, int]
    turns: Mapping[str, int]
    open_turns: int
    oldest_open: float | None
    in_doubt: int

    def to_dict(self) -> dict[str, Any]:
        """Return them as JSON-serialisable data."""
        return asdict(self)


def back_up(path: Path, target: Path, *, replace: bool = False) -> Backup:
    """Copy the store as it is at this moment to one file, and check the copy.

    A host that is running is not disturbed. To go back to a copy: end every host, put the copy in
    the place of the store, and remove the files `FILE-wal` and `FILE-shm` beside it.

    Args:
        path: File of the store.
        target: Where the copy goes.
        replace: True to replace what is there.

    Raises:
        StoreError: When the target is there already, can't be written, or the copy is damaged.
    """
    if target.exists() and not replace:
        raise StoreError(f"{target} is there already.", fix=f"rm {target}")
    if target.exists() and path.exists() and target.samefile(path):
        raise StoreError(f"{target} is the store itself.", fix="choose another file")
    part = target.with_name(f".{target.name}.part")
    with closing(open_for_reading(path)) as source, _told_of(target):
        part.unlink(missing_ok=True)
        os.close(os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        try:
            with closing(sqlite3.connect(part, isolation_level=None)) as copy:
                source.backup(copy)
                # one file: a copy in WAL mode could not be read from where nobody may write
                copy.execute("PRAGMA journal_mode=DELETE")
                problems, version = _problems(copy), version_of(copy)
            if problems:
                raise StoreError(
                    f"The store {path} is damaged, no copy was made: {problems[0]}",
                    fix="pegboard store check",
                )
            replace_durably(part, target)
        except BaseException:
            part.unlink(missing_ok=True)
            raise
    return Backup(path=target, size=target.stat().st_size, version=version)


def check(path: Path) -> Check:
    """Look at every page, index and reference of the store.

    Raises:
        StoreError: When it is not there, or so damaged that it can't be opened.
    """
    with closing(open_for_reading(path)) as connection, told(path):
        connection.execute("BEGIN")
        return Check(version=version_of(connection), problems=tuple(_problems(connection)))


def stats(path: Path) -> Stats:
    """Count what is in the store.

    Raises:
        StoreError: When it is not there or can't be read.
    """
    with closing(open_for_reading(path)) as connection, told(path):
        connection.execute("BEGIN")
        rows = {
            name: _number(connection, f'SELECT count(*) FROM "{name}"')
            for name in _tables(connection)
        }
        turns = {} if "turn" not in rows else _turns(connection)
        return Stats(
            version=version_of(connection),
            size=path.stat().st_size,
            log_size=_size(path.with_name(f"{path.name}-wal")),
            free=_number(connection, "PRAGMA freelist_count")
            * _number(connection, "PRAGMA page_size"),
            rows=rows,
            turns=turns,
            open_turns=sum(turns.get(state, 0) for state in ("queued", "running", "waiting")),
            oldest_open=_oldest_open(connection) if turns else None,
            in_doubt=_in_doubt(connection) if turns else 0,
        )


def _problems(connection: sqlite3.Connection) -> list[str]:
    try:
        found = connection.execute(f"PRAGMA integrity_check({_MOST_PROBLEMS})").fetchall()
        problems = [f"{said}." for (said,) in found if said != "ok"]
        for table, row, parent, _ in connection.execute("PRAGMA foreign_key_check"):
            problems.append(f"Row {row} of {table} refers to a row of {parent} that is not there.")
    except sqlite3.DatabaseError as error:  # so damaged that even the check stumbles
        return [f"{error}."]
    return problems[:_MOST_PROBLEMS]


def _tables(connection: sqlite3.Connection) -> Iterator[str]:
    """Yield the names of the tables that hold something of ours."""
    rows = connection.execute(
        """
        SELECT name FROM pragma_table_list
        WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name
        """
    )
    yield from [name for (name,) in rows]


def _turns(connection: sqlite3.Connection) -> dict[str, int]:
    return dict(
        connection.execute("SELECT state, count(*) FROM turn GROUP BY state ORDER BY state")
    )


def _oldest_open(connection: sqlite3.Connection) -> float | None:
    row = connection.execute(
        f"""
        SELECT min(received_at) FROM inbox WHERE turn IN (SELECT id FROM turn WHERE {OPEN})
        """
    ).fetchone()
    return None if row[0] is None else float(row[0])


def _in_doubt(connection: sqlite3.Connection) -> int:
    where = "state = 'in_doubt' AND settled = 0"
    return _number(connection, f"SELECT count(*) FROM outbox WHERE {where}")


def _number(connection: sqlite3.Connection, query: str) -> int:
    return int(connection.execute(query).fetchone()[0])


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


@contextmanager
def _told_of(target: Path) -> Iterator[None]:
    """Turn what the copy's place refuses into an error for people."""
    try:
        yield
    except (OSError, sqlite3.Error) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise StoreError(
            f"The copy {target} can't be written: {reason}.", fix=f"df -h {target.parent}"
        ) from error
