"""Opening the store's file: its settings, and what is said when it can't be opened."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from pegboard.config.paths import make_private
from pegboard.contracts.errors import StoreError
from pegboard.store.lock_holder import holder_of

FILE_NAME: Final = "pegboard.db"
BUSY_S: Final = 5.0
"""Seconds to wait for another process that is writing."""
OPEN_BUSY_S: Final = 30.0
"""Seconds that a host waits for it when it opens the store; it says so after `BUSY_S`."""
_RETRY_S: Final = 0.02
_JOURNAL_LIMIT: Final = 64 * 1024 * 1024
_OLDEST: Final = (3, 38, 0)
_HEADER: Final = 100


def open_for_writing(path: Path) -> sqlite3.Connection:
    """Open the store; make it, readable by its owner only, when it is not there.

    `synchronous=FULL`: what was committed is there after a power cut as well; the measured price is
    one fdatasync a group of writes.

    Raises:
        StoreError: When it can't be opened.
    """
    if sqlite3.sqlite_version_info < _OLDEST:
        raise StoreError(
            f"This Python brings SQLite {sqlite3.sqlite_version}; the store needs 3.38 or newer.",
            fix="use a newer Python",
        )
    with told(path):
        make_private(path.parent)
        # made by us and not by SQLite, which would make it readable for others
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        _refuse_half_a_page(path)
        connection = sqlite3.connect(
            path, timeout=BUSY_S, isolation_level=None, check_same_thread=False
        )
        try:
            _use_wal(connection)
            connection.execute("PRAGMA synchronous=FULL")
            connection.execute("PRAGMA foreign_keys=ON")
            connection.execute(f"PRAGMA journal_size_limit={_JOURNAL_LIMIT}")
        except BaseException:
            connection.close()
            raise
        return connection


def _refuse_half_a_page(path: Path) -> None:
    """Refuse a file that ends within a page and has no log beside it to mend that.

    SQLite finds out that pages are missing, but takes what is missing of the last one for zeros.

    Raises:
        StoreError: When the file was cut off.
    """
    if _size(path.with_name(f"{path.name}-wal")):
        return
    with path.open("rb") as file:
        header = file.read(_HEADER)
    page = int.from_bytes(header[16:18], "big")
    if len(header) == _HEADER and page > 1 and _size(path) % page:
        raise StoreError(
            f"The store {path} is damaged or no store: its end is missing.",
            fix=f"mv {path} {path}.damaged",
        )


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _use_wal(connection: sqlite3.Connection) -> None:
    """Switch a new file to write-ahead logging.

    SQLite does not wait its turn for that when two processes open a new file at once: it answers
    that the file is locked, whatever the time limit says. So we wait.
    """
    for _ in range(int(BUSY_S / _RETRY_S)):
        try:
            connection.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            if not getattr(error, "sqlite_errorname", "").startswith("SQLITE_BUSY"):
                raise
            time.sleep(_RETRY_S)
        else:
            return
    connection.execute("PRAGMA journal_mode=WAL")


def open_for_reading(path: Path) -> sqlite3.Connection:
    """Open the store so that nothing can be written, also while a host writes to it.

    Raises:
        StoreError: When it is not there or can't be opened.
    """
    with told(path):
        connection = sqlite3.connect(
            f"{path.absolute().as_uri()}?mode=ro",
            uri=True,
            timeout=BUSY_S,
            isolation_level=None,
            check_same_thread=False,
        )
        try:
            connection.execute("PRAGMA query_only=ON")
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        except BaseException:
            connection.close()
            raise
        return connection


def busy(error: BaseException) -> bool:
    """Tell whether an error says that another process is writing."""
    return getattr(error, "sqlite_errorname", "").startswith("SQLITE_BUSY")


@contextmanager
def told(path: Path) -> Iterator[None]:
    """Turn what SQLite and the file system raise in the block into an error for people.

    Raises:
        StoreError: Instead of `sqlite3.Error` and `OSError`.
    """
    try:
        yield
    except sqlite3.Error as error:
        raise StoreError(_said(path, error), fix=_fix(path, error)) from error
    except OSError as error:
        raise StoreError(
            f"The store {path} can't be opened: {error.strerror}.", fix=f"ls -ld {path.parent}"
        ) from error


def _said(path: Path, error: sqlite3.Error) -> str:
    name = getattr(error, "sqlite_errorname", "")
    if name.startswith("SQLITE_BUSY"):
        return f"The store {path} is busy: {holder_of(path) or 'another process'} is writing to it."
    if name == "SQLITE_FULL":
        return f"The disk is full: nothing can be written to the store {path}."
    if name.startswith("SQLITE_IOERR"):  # a quota or a limit as well as a broken disk
        return f"The disk refuses to read or write the store {path}."
    if name in ("SQLITE_NOTADB", "SQLITE_CORRUPT"):
        return f"The store {path} is damaged or no store: {error}."
    return f"The store {path} can't be used: {error}."


def _fix(path: Path, error: sqlite3.Error) -> str | None:
    name = getattr(error, "sqlite_errorname", "")
    if name == "SQLITE_FULL" or name.startswith("SQLITE_IOERR"):
        return f"df -h {path.parent}"
    if name in ("SQLITE_NOTADB", "SQLITE_CORRUPT"):
        return f"mv {path} {path}.damaged"
    if name.startswith("SQLITE_BUSY"):
        return f"wait until it has ended, or look what it does: fuser -v {path}"
    return None
