"""What plugins, and the host, offer to plugins: made once, at first use."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, Final, NamedTuple

from pegboard.contracts.errors import PegboardError, PluginError
from pegboard.plugins.building.isolation import is_plugin_fault, one_line
from pegboard.plugins.decision.state import PluginRecord
from pegboard.plugins.discovery.first_party import HOST_SERVICES, SERVICE_PACKAGES

_ABSENT: Final = object()
_HOST: Final = "host"
_NONE: Final[Mapping[str, Callable[[], Any]]] = {}


class _Key(NamedTuple):
    plugin_id: str
    name: str


class Services:
    """The services of active plugins, and those of the host.

    A service is asked for from tools, which may run in worker threads, so a lock sees to it that
    each is made once.

    Args:
        host: What the host offers: name to `make()`, called once. Only a plugin that declares the
            need gets it, so that `inspect` shows who reaches for what.
    """

    def __init__(self, host: Mapping[str, Callable[[], Any]] = _NONE) -> None:
        self._offers: dict[_Key, Callable[[], Any]] = {
            _Key(_HOST, name): make for name, make in host.items()
        }
        self._made: dict[_Key, Any] = {}
        self._lock = threading.RLock()  # making one may ask for another

    def offer(self, plugin_id: str, name: str, make: Callable[[], Any]) -> None:
        """Take in a service of a plugin that has become active; `make()` is called once."""
        with self._lock:
            self._offers[_Key(plugin_id, name)] = make

    def withdraw(self, plugin_id: str) -> None:
        """Forget what a plugin offers: it stops."""
        with self._lock:
            for key in [key for key in self._offers if key.plugin_id == plugin_id]:
                del self._offers[key]
                self._made.pop(key, None)

    def find(
        self, name: str, offerers: Mapping[str, str], asking: str, needs: Collection[str] = ()
    ) -> Any:
        """Return a service.

        Args:
            name: Name of the service.
            offerers: Service to the id of the installed plugin that offers it.
            asking: Id of the plugin that asks.
            needs: Services that its manifest declares the need of.

        Raises:
            PluginError: When nobody offers it, its plugin is not active, it can't be made, or it is
                the host's and the plugin does not declare the need.
        """
        if name in HOST_SERVICES and name not in needs:
            raise PluginError(
                f"plugin {asking} asked for the host's service {name}, which its manifest does not "
                "list",
                fix=f"declare it, Needs(services=[{name!r}]), then `pegboard plugins build`",
            )
        key = _Key(_HOST if name in HOST_SERVICES else offerers.get(name, ""), name)
        with self._lock:
            made = self._made.get(key, _ABSENT)
            if made is not _ABSENT:
                return made
            make = self._offers.get(key)
            if make is None:
                raise _missing(name, key.plugin_id, asking)
            try:
                made = self._made[key] = make()
            except BaseException as error:
                if isinstance(error, PegboardError) or not is_plugin_fault(error):
                    raise
                who = "the host" if name in HOST_SERVICES else f"plugin {key.plugin_id}"
                raise PluginError(
                    f"{who} can't make its service {name}: {one_line(error)}"
                ) from error
            return made


def offerers_of(records: Iterable[PluginRecord]) -> dict[str, str]:
    """Return service to the id of the plugin that offers it; the first in order counts."""
    found: dict[str, str] = {}
    for record in records:
        if record.usable and record.manifest:
            for name in record.manifest.services:
                found.setdefault(name, record.id)
    return found


def _missing(name: str, plugin_id: str, asking: str) -> PluginError:
    if name in HOST_SERVICES:
        return PluginError(f"this host does not offer the service {name}")
    if not plugin_id:
        package = SERVICE_PACKAGES.get(name)
        fix = f"pip install {package}" if package else None
        return PluginError(f"no installed plugin offers the service {name}", fix=fix)
    if plugin_id == asking:
        return PluginError(
            f"plugin {plugin_id} asks for its own service {name} while it is not active",
            fix="make in the lifespan what both need, and yield it",
        )
    return PluginError(
        f"the service {name} of plugin {plugin_id} is not there: that plugin is not active",
        fix=f"declare it, Needs(services=[{name!r}]), so that {plugin_id} is activated first",
    )
