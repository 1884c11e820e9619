"""The `PluginContext` that an active plugin gets."""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Protocol

from pegboard.config.paths import make_private
from pegboard.contracts.clock import Clock
from pegboard.contracts.errors import PluginError
from pegboard.contracts.storage import Storage
from pegboard.plugins.running.families import FamilyHandle
from pegboard.plugins.running.ids import IdMaker


class OwnedStorage(Storage, Protocol):
    """A plugin's storage as who made it has it."""

    async def aclose(self) -> None:
        """Write what waits and close it; a second time does nothing."""
        ...


class ActiveContext:
    """What a plugin's own code may use: config, secrets, storage, a folder, the clock, a log.

    Args:
        plugin_id: Id of the plugin.
        config: Its validated settings.
        data_dir: Its folder, made on first use.
        storage: What it keeps; closed when the plugin is stopped.
        clock: The host's clock.
        families: Its dynamic tools, by prefix.
        secrets: Names that its manifest declares.
        read_secret: Reads any secret, None when it is not set.
        find_service: Returns a service by name.
    """

    def __init__(
        self,
        plugin_id: str,
        *,
        config: Any,
        data_dir: Path,
        storage: OwnedStorage,
        clock: Clock,
        families: Mapping[str, FamilyHandle],
        secrets: frozenset[str],
        read_secret: Callable[[str], str | None],
        find_service: Callable[[str], Any],
    ) -> None:
        self.id = plugin_id
        self.config = config
        self.storage = storage
        self.clock = clock
        self.families = families
        self.log = logging.getLogger(f"pegboard.plugin.{plugin_id}")
        self.state: Any = None
        self.new_id = IdMaker(clock)
        self._data_dir = data_dir
        self._secrets = secrets
        self._read_secret = read_secret
        self._find_service = find_service

    def with_secrets(self, names: Iterable[str]) -> ActiveContext:
        """Return the same context for one instance, which may also read the secrets it names."""
        made = copy.copy(self)
        made._secrets = self._secrets | frozenset(names)
        return made

    @property
    def data_dir(self) -> Path:
        """A folder of the plugin's own."""
        return make_private(self._data_dir)

    def secret(self, name: str) -> str:
        """Return a secret that the manifest declares, or that the settings of an instance name.

        Raises:
            PluginError: When it is neither, or not set; the message says how to set it.
        """
        if name not in self._secrets:
            raise PluginError(
                f"plugin {self.id} asked for the secret {name}, which its manifest does not list",
                fix=f"declare it, Plugin(secrets=[{name!r}]), then `pegboard plugins build`",
            )
        value = self._read_secret(name)
        if value is None:
            raise PluginError(
                f"plugin {self.id} needs the secret {name}, which is not set",
                fix=_how_to_set(name),
            )
        return value

    def service(self, name: str) -> Any:
        """Return a service that this or another active plugin offers.

        Raises:
            PluginError: When nobody offers it; the message names the package that does, if known.
        """
        return self._find_service(name)


def _how_to_set(name: str) -> str:
    variable = name.removeprefix("env:")
    return f"export {variable}=..." if variable != name else f"pegboard secret set {name}"
