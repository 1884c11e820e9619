"""Where a host keeps the truth: in the file of its own, or in what a plugin brings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Generic, TypeVar, cast

from pegboard.contracts.archive import Archive
from pegboard.contracts.clock import Clock
from pegboard.contracts.engine import Accepts, Backend, Engine
from pegboard.contracts.errors import StoreError
from pegboard.contracts.store import Store
from pegboard.host.instances import Instances
from pegboard.plugins.running.activate import Activator

EMBEDDED: Final = "embedded"
T = TypeVar("T")


class HostBackend:
    """The backend of one host: made from the settings, and opened before anything is delivered.

    Its plugin is imported only then, when the rooms are joined already; so these are given
    stand-ins for store, engine and archive, which pass everything on once it is open.

    Args:
        name: Name of the backend.
        clock: The host's clock.
        accepts: Tells which turns this host delivers.
        embedded: What is used under the name `embedded`.
    """

    def __init__(self, name: str, clock: Clock, *, accepts: Accepts, embedded: Backend) -> None:
        self.name = name
        self._clock = clock
        self._accepts = accepts
        self._embedded = embedded
        self._open: Backend | None = None
        self._store: _Later[Store] = _Later()
        self._engine: _Later[Engine] = _Later()
        self._archive: _Later[Archive] = _Later()

    @property
    def store(self) -> Store:
        """The store."""
        return cast("Store", self._store)

    @property
    def engine(self) -> Engine:
        """The engine."""
        return cast("Engine", self._engine)

    @property
    def archive(self) -> Archive:
        """What was said, to be found, exported and erased."""
        return cast("Archive", self._archive)

    async def open(self, instances: Instances, activator: Activator) -> None:
        """Make and open it.

        Raises:
            PluginError: When no plugin brings it, or that can't be used.
            ConfigError: When its settings are wrong.
            StoreError: When it can't be opened.
        """
        backend, settings = self._embedded, cast("Mapping[str, Any]", {})
        if self.name != EMBEDDED:
            instances.boot = await activator.build_unmanifested()
            backend = await instances.made("backend", self.name)
            named = instances.configured("backend").named(self.name)
            settings = {} if named is None else named.settings
        self._open = backend
        store, engine = await backend.open(settings, self._clock, accepts=self._accepts)
        self._store.found, self._engine.found = store, engine
        self._archive.found = backend.archive

    async def aclose(self) -> None:
        """Close it; a second time does nothing."""
        backend, self._open = self._open, None
        if backend is not None:
            await backend.aclose()


class _Later(Generic[T]):
    """Stands for an object that comes later, and passes everything on to it."""

    def __init__(self) -> None:
        self.found: T | None = None

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the object.

        Raises:
            StoreError: When it is not there yet.
        """
        if self.found is None:
            raise StoreError("The backend of this host is not open.", fix="start it again")
        return getattr(self.found, name)
