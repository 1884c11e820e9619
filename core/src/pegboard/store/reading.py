"""The store for those who only look: also while a host owns it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

import anyio.to_thread

from pegboard.contracts.errors import StoreError
from pegboard.store.database import Database
from pegboard.store.embedded import EmbeddedStore
from pegboard.store.migrations import MIGRATIONS, refuse_newer, version_of
from pegboard.store.sqlite import FILE_NAME, open_for_reading, told
from pegboard.store.writer import Writer


class _ReadOnly(Database):
    """A file that is never written, so that nobody is asked for it."""

    def _may_read(self) -> bool:
        return True

    def _started(self) -> Writer:
        raise StoreError(f"The store {self.path} is open for reading only.")


@asynccontextmanager
async def reading(folder: Path) -> AsyncIterator[EmbeddedStore]:
    """Open the store of a folder for the verbs that read.

    Args:
        folder: The state folder.

    Raises:
        StoreError: When there is none, or none of this version.
    """
    await anyio.to_thread.run_sync(_check, folder / FILE_NAME)
    store = EmbeddedStore(_ReadOnly(folder))
    try:
        yield store
    finally:
        await store.aclose()


def _check(path: Path) -> None:
    if not path.exists():
        raise StoreError(f"There is no store in {path.parent} yet.", fix="pegboard chat")
    newest = MIGRATIONS[-1].version
    with closing(open_for_reading(path)) as connection, told(path):
        version = version_of(connection)
    refuse_newer(path, version, newest)
    if version < newest:
        raise StoreError(
            f"The store {path} is of an older version; the next host that runs brings it up to "
            "date.",
            fix='pegboard ask "hello"',
        )
