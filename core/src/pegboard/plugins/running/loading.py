"""What happens in the import thread: import, ask, compare, and clean up after a failure."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from pegboard.contracts.errors import ConfigError, PegboardError
from pegboard.plugins.building.build import manifest_of
from pegboard.plugins.building.describe import Declaration, describe, load_entry
from pegboard.plugins.building.isolation import author_traceback, one_line
from pegboard.plugins.building.settings import build_settings
from pegboard.plugins.decision.state import PluginRecord, State
from pegboard.plugins.discovery.manifest import Manifest
from pegboard.plugins.running.ceiling import check_ceiling

NEEDS: Final = "needs"
"""Phase of a plugin that could not start because another did not."""
_OURS: Final = ("pegboard-", "AnyIO ")
"""How the names of the host's own threads begin; others may start while a plugin is imported."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedPlugin:
    """A plugin that is imported, and agrees with its manifest.

    Args:
        declared: What its code says.
        manifest: What its file says; built from the code when it has none.
        threads: Names of the threads that its import left behind.
    """

    declared: Declaration
    manifest: Manifest
    threads: tuple[str, ...]


class LoadFailed(Exception):
    """A plugin could not be loaded.

    Args:
        phase: `import`, `verify`, `config`, `lifespan` or `needs`.
        reason: One sentence.
        fix: What mends it, or None.
        traceback_text: For the author.
        state: The state that the plugin is in now.
    """

    def __init__(
        self,
        phase: str,
        reason: str,
        *,
        fix: str | None = None,
        traceback_text: str = "",
        state: State = State.FAILED,
    ) -> None:
        super().__init__(reason)
        self.phase = phase
        self.reason = reason
        self.fix = fix
        self.traceback_text = traceback_text
        self.state = state

    @classmethod
    def of(cls, phase: str, error: BaseException) -> LoadFailed:
        """Return the failure that an exception amounts to; our own errors speak for themselves."""
        if isinstance(error, ConfigError):
            # no traceback: it is nobody's code that is wrong, and values may be secrets
            return cls(phase, error.message, fix=error.fix, state=State.MISCONFIGURED)
        text = author_traceback(error)
        if isinstance(error, PegboardError):
            return cls(phase, error.message, fix=error.fix, traceback_text=text)
        return cls(phase, f"{phase} failed: {one_line(error)}", traceback_text=text)

    @classmethod
    def needing(cls, service: str, plugin_id: str, why: str) -> LoadFailed:
        """Return the failure of a plugin that needs a service which another can't give."""
        return cls(
            NEEDS,
            f"it needs the service {service} of plugin {plugin_id}: {why}",
            fix=f"pegboard plugins why {plugin_id}",
            state=State.MISSING_NEED,
        )


def load(record: PluginRecord) -> LoadedPlugin:
    """Import a plugin and compare it with its manifest. Runs in the import thread.

    Raises:
        LoadFailed: Whatever went wrong, SystemExit included; its modules are forgotten again.
    """
    found = record.found
    modules, threads = set(sys.modules), set(threading.enumerate())
    phase = "import"
    try:
        real = load_entry(found.value)
        phase = "verify"
        declared = describe(found.id, real)
        manifest = record.manifest or manifest_of(found.id, found.value, declared)
        check_ceiling(manifest, declared)
    except BaseException as error:
        purge(found.value, modules)
        raise LoadFailed.of(phase, error) from error
    left = [
        thread.name
        for thread in threading.enumerate()
        if thread not in threads and not thread.name.startswith(_OURS)
    ]
    return LoadedPlugin(declared=declared, manifest=manifest, threads=tuple(left))


def load_settings(loaded: LoadedPlugin, data: Mapping[str, Any]) -> Any:
    """Return the plugin's settings. Runs in the import thread: the model's module is imported.

    Raises:
        LoadFailed: When a value is wrong (state `misconfigured`), or the model fails.
    """
    try:
        return build_settings(loaded.declared.info.config, data, f"plugins.{loaded.manifest.id}")
    except BaseException as error:
        raise LoadFailed.of("config", error) from error


def purge(entry: str, before: Iterable[str]) -> None:
    """Forget the modules of a plugin's own package that were not there before.

    A half-imported module would be found by the next import, and seem to be whole.
    """
    own = _own_package(entry)
    kept = set(before)
    for name in list(sys.modules):
        if name not in kept and (name == own or name.startswith(f"{own}.")):
            sys.modules.pop(name, None)


def _own_package(entry: str) -> str:
    """Return the top-level name, or one level more in a namespace that others share."""
    top, *rest = entry.partition(":")[0].split(".")
    shared = getattr(sys.modules.get(top), "__file__", None) is None and top in sys.modules
    return f"{top}.{rest[0]}" if shared and rest else top
