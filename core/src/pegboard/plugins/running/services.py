"""What plugins offer to other plugins: made once, at first use."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple

from pegboard.contracts.errors import PegboardError, PluginError
from pegboard.plugins.building.isolation import is_plugin_fault, one_line
from pegboard.plugins.decision.state import PluginRecord
from pegboard.plugins.discovery.first_party import SERVICE_PACKAGES

_ABSENT: Final = object()


class Offer(NamedTuple):
    """One service of an active plugin; `make()` is called at first use."""

    plugin_id: str
    make: Callable[[], Any]


class Services:
    """The services of active plugins.

    A service is asked for from tools, which may run in worker threads, so a lock sees to it that
    each is made once.
    """

    def __init__(self) -> None:
        self._offers: dict[str, Offer] = {}
        self._made: dict[str, Any] = {}
        self._lock = threading.RLock()  # making one may ask for another

    def offer(self, name: str, offer: Offer) -> None:
        """Take in a service of a plugin that has become active; the first of a name stays."""
        with self._lock:
            self._offers.setdefault(name, offer)

    def withdraw(self, plugin_id: str) -> None:
        """Forget what a plugin offers: it stops."""
        with self._lock:
            for name, offer in list(self._offers.items()):
                if offer.plugin_id == plugin_id:
                    del self._offers[name]
                    self._made.pop(name, None)

    def find(self, name: str, offerers: Mapping[str, str]) -> Any:
        """Return a service.

        Args:
            name: Name of the service.
            offerers: Service to the id of the installed plugin that offers it.

        Raises:
            PluginError: When nobody offers it, its plugin is not active, or it can't be made.
        """
        with self._lock:
            made = self._made.get(name, _ABSENT)
            if made is not _ABSENT:
                return made
            offer = self._offers.get(name)
            if offer is None:
                raise _missing(name, offerers)
            try:
                made = self._made[name] = offer.make()
            except BaseException as error:
                if isinstance(error, PegboardError) or not is_plugin_fault(error):
                    raise
                raise PluginError(
                    f"plugin {offer.plugin_id} can't make its service {name}: {one_line(error)}"
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


def _missing(name: str, offerers: Mapping[str, str]) -> PluginError:
    plugin_id = offerers.get(name)
    if plugin_id is None:
        package = SERVICE_PACKAGES.get(name)
        fix = f"pip install {package}" if package else None
        return PluginError(f"no installed plugin offers the service {name}", fix=fix)
    return PluginError(
        f"the service {name} of plugin {plugin_id} is not there: that plugin is not active",
        fix=f"declare it, Needs(services=[{name!r}]), so that {plugin_id} is activated first",
    )
