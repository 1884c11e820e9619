"""The store as commands read it: beside any host, without disturbing one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from pegboard.cli.session import Session

if TYPE_CHECKING:
    import sqlite3


@contextmanager
def reading(session: Session) -> Iterator[sqlite3.Connection | None]:
    """Open the store for reading, also while hosts write to it; None when nothing was written.

    All that is read in the block is of one moment.

    Raises:
        StoreError: When it can't be read, or was written by a newer Pegboard.
    """
    from pegboard.store.migrations import MIGRATIONS, refuse_newer, version_of
    from pegboard.store.sqlite import FILE_NAME, open_for_reading, told

    path = session.paths.state / FILE_NAME
    if not path.exists():
        yield None
        return
    newest = MIGRATIONS[-1].version
    with closing(open_for_reading(path)) as connection, told(path):
        version = version_of(connection)
        refuse_newer(path, version, newest)
        connection.execute("BEGIN")
        yield connection if version else None
