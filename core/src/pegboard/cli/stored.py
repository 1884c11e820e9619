"""The store as commands read it: beside any host, without disturbing one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from pegboard.cli.session import Session

if TYPE_CHECKING:
    import sqlite3


def require_embedded(session: Session) -> None:
    """Refuse what works on the store's file only, where turns are kept elsewhere.

    Raises:
        UsageError: When `[store] backend` names another backend.
    """
    from pegboard.contracts.errors import UsageError

    backend = session.config.get("store.backend", "embedded")
    if backend != "embedded":
        raise UsageError(
            f"Conversations are kept by the backend {backend!r}, and this command reads the file "
            "of the embedded one.",
            fix="use that backend's own tools; for the file: --set store.backend=embedded",
        )


@contextmanager
def reading(session: Session, *, turns: bool = True) -> Iterator[sqlite3.Connection | None]:
    """Open the store for reading, also while hosts write to it; None when nothing was written.

    All that is read in the block is of one moment.

    Args:
        session: The command.
        turns: False for what is in this file wherever turns are kept, like the audit log.

    Raises:
        UsageError: When turns are wanted, and another backend keeps them.
        StoreError: When it can't be read, or was written by a newer Pegboard.
    """
    from pegboard.store.migrations import MIGRATIONS, refuse_newer, version_of
    from pegboard.store.sqlite import FILE_NAME, open_for_reading, told

    if turns:
        require_embedded(session)
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
