"""The backend that needs nothing but a folder: SQLite, and an engine in the host's own process."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pegboard.contracts.archive import Archive
from pegboard.contracts.clock import Clock
from pegboard.contracts.engine import Accepts, accept_all
from pegboard.contracts.store import Store
from pegboard.engine.embedded import EmbeddedEngine
from pegboard.engine.reconcile import RECONCILE_S
from pegboard.store.archive import EmbeddedArchive
from pegboard.store.database import Database
from pegboard.store.embedded import EmbeddedStore


class EmbeddedBackend:
    """Keeps the truth in the host's SQLite file and runs turns in its process; a `Backend`.

    Several hosts may share the file; each runs the turns that it accepts, and takes over those that
    a host which died has left.

    Args:
        database: The file; others may use it as well until this is closed.
        reconcile_s: Seconds between two looks for turns that other hosts left.
        beside: Folder of what plugins keep, which may refer to blobs as well.
        at_once: False to leave the file to its first use: many commands never come to it.
    """

    def __init__(
        self,
        database: Database,
        *,
        reconcile_s: float = RECONCILE_S,
        beside: Path | None = None,
        at_once: bool = True,
    ) -> None:
        self.archive: Archive = EmbeddedArchive(database, beside=beside)
        self._database = database
        self._reconcile_s = reconcile_s
        self._at_once = at_once
        self._store: EmbeddedStore | None = None
        self._engine: EmbeddedEngine | None = None

    async def open(
        self, settings: Mapping[str, Any], clock: Clock, *, accepts: Accepts = accept_all
    ) -> tuple[Store, EmbeddedEngine]:
        """Open the file and make the engine; it takes no settings.

        Raises:
            StoreError: When the file can't be opened; says why and how to mend it.
        """
        if self._at_once:
            await self._database.open()
        self._store = EmbeddedStore(self._database)
        self._engine = EmbeddedEngine(
            self._store, clock, accepts=accepts, reconcile_s=self._reconcile_s
        )
        return self._store, self._engine

    async def aclose(self) -> None:
        """Cancel what runs, write what waits and close the file; a second time does nothing."""
        if self._engine is not None:
            await self._engine.close(0)
        if self._store is not None:
            await self._store.aclose()
        await self._database.aclose()


def folder_backend(folder: Path, *, reconcile_s: float = RECONCILE_S) -> EmbeddedBackend:
    """Return a backend that keeps the truth in a folder, which it makes when it opens.

    Args:
        folder: Where its file goes; a local disk, since SQLite's locks must hold there.
        reconcile_s: Seconds between two looks for turns that other hosts left.
    """
    return EmbeddedBackend(Database(folder), reconcile_s=reconcile_s)
