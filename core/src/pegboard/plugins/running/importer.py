"""Imports inside the guard: off the event loop, with a time limit, failures kept on disk."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

from pegboard.contracts.errors import PegboardError, PluginError
from pegboard.plugins.building.isolation import is_plugin_fault, one_line
from pegboard.plugins.building.settings import build_settings
from pegboard.plugins.decision.failures import Failure, FailureStore
from pegboard.plugins.decision.mending import failure_fix
from pegboard.plugins.decision.state import PluginRecord
from pegboard.plugins.discovery.manifest import Manifest
from pegboard.plugins.discovery.own_code import code_stamp
from pegboard.plugins.running.import_thread import (
    ImportEscaped,
    ImportHung,
    run_in_import_thread,
)
from pegboard.plugins.running.loading import (
    NEEDS,
    LoadedPlugin,
    LoadFailed,
    load,
    load_settings,
    purge,
)

T = TypeVar("T")


class Importer:
    """Imports plugins.

    A marker lies on disk while an import runs: should the process die, the next boot knows whose
    import it was.

    Args:
        failures: Where failures and crash markers are kept.
        timeout_s: Seconds that an import may take.
        report: Told of each failure.
    """

    def __init__(
        self, failures: FailureStore, *, timeout_s: float, report: Callable[[str, str], None]
    ) -> None:
        self._failures = failures
        self._timeout_s = timeout_s
        self._report = report
        self._built: dict[tuple[str, str, str], LoadedPlugin] = {}
        self._versions: dict[str, str] = {}

    async def build(self, record: PluginRecord) -> Manifest:
        """Import a plugin that has no manifest, and return the one that its code amounts to.

        Raises:
            LoadFailed: When it can't be imported, or not be described.
        """
        key = _version_of(record)
        if key not in self._built:
            self._built[key] = await self._guarded(record, partial(load, record))
        return self._built[key].manifest

    async def load(
        self, record: PluginRecord, settings: Mapping[str, Any]
    ) -> tuple[LoadedPlugin, Any]:
        """Import a plugin and return it with its validated settings.

        Raises:
            LoadFailed: When anything about it is wrong.
        """
        built = self._built.pop(_version_of(record), None)

        def work() -> tuple[LoadedPlugin, Any]:
            loaded = built or load(record)
            return loaded, load_settings(loaded, settings)

        return await self._guarded(record, work)

    async def settings(
        self, record: PluginRecord, ref: str, data: Mapping[str, Any], where: str
    ) -> Any:
        """Return the settings of an instance; the module of their model is imported in the guard.

        Raises:
            ConfigError: With one line for each wrong value.
            PluginError: When the model itself fails.
        """
        try:
            return await self._in_thread(record, partial(build_settings, ref, data, where))
        except BaseException as error:
            if isinstance(error, PegboardError) or not is_plugin_fault(error):
                raise
            told = isinstance(error, ImportHung | ImportEscaped)
            raise PluginError(
                f"plugin {record.id}: its settings {ref} can't be made: "
                f"{error if told else one_line(error)}",
                fix=f"pegboard plugins why {record.id}",
            ) from error

    def store(self, record: PluginRecord, failure: LoadFailed) -> None:
        """Report a failure and keep it, so that `pegboard plugins why` imports nothing."""
        self._report(record.id, f"{failure.state}: {failure.reason}")
        if failure.phase != NEEDS:  # which is not its own fault
            with suppress(OSError):
                self._failures.record(
                    record.id,
                    record.dist,
                    record.version,
                    failure.phase,
                    failure.traceback_text,
                    reason=failure.reason,
                    fix=failure.fix or "",
                    stamp=code_stamp(record.found),
                )

    async def _guarded(self, record: PluginRecord, work: Callable[[], T]) -> T:
        self._forget_older(record)
        modules = set(sys.modules)
        try:
            return await self._in_thread(record, work)
        except LoadFailed:
            raise
        except ImportHung as hung:
            purge(record.found.value, modules)
            raise LoadFailed("import", str(hung), traceback_text=hung.stack) from hung
        except Exception as error:  # what is not even the plugin's fault: no thread could be made
            raise LoadFailed.of("import", error) from error

    async def _in_thread(self, record: PluginRecord, work: Callable[[], T]) -> T:
        # here, not in the thread: one that is left alone shall not leave its marker behind
        stamp = code_stamp(record.found)
        with self._failures.marked(record.id, record.dist, record.version, stamp):
            return await run_in_import_thread(record.id, work, self._timeout_s)

    def _forget_older(self, record: PluginRecord) -> None:
        """Let go of the modules of another version, imported while that one was installed."""
        before = self._versions.get(record.dist)
        self._versions[record.dist] = record.version
        if before not in (None, record.version):
            purge(record.found.value, ())


def fix_of(record: PluginRecord, failure: LoadFailed) -> str:
    """Return the command most likely to mend a failure."""
    known = Failure(
        record.dist,
        record.version,
        failure.phase,
        failure.traceback_text,
        fix=failure.fix or "",
    )
    return failure_fix(record.found, known)


def _version_of(record: PluginRecord) -> tuple[str, str, str]:
    return record.id, record.dist, record.version
