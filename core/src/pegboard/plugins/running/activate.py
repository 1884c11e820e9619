"""Import plugins at first use: once, off the event loop, and never at the host's cost.

Each plugin that is asked for gets one job: a task that imports it, holds its lifespan, and ends it.
All who ask wait for that job, so that a caller who gives up stops nothing, and fifty first calls
are one import.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from functools import partial
from types import TracebackType
from typing import Any, Final

import anyio
import anyio.abc

from pegboard.config.nearest import did_you_mean
from pegboard.contracts.clock import Clock
from pegboard.contracts.errors import PegboardError, PluginError
from pegboard.contracts.service import BackgroundStatus
from pegboard.plugins.building.isolation import one_line
from pegboard.plugins.decision.boot import Boot
from pegboard.plugins.decision.failures import FailureStore
from pegboard.plugins.decision.state import PluginRecord, State
from pegboard.plugins.discovery.manifest import Manifest
from pegboard.plugins.running.active import ActivePlugin as ActivePlugin
from pegboard.plugins.running.active import unusable
from pegboard.plugins.running.context import ActiveContext, OwnedStorage
from pegboard.plugins.running.families import FamilyHandle, SwapFamily
from pegboard.plugins.running.hook_table import Report
from pegboard.plugins.running.importer import Importer, fix_of
from pegboard.plugins.running.job import ActivationJob, waits_in_circle
from pegboard.plugins.running.loading import LoadedPlugin, LoadFailed
from pegboard.plugins.running.loop_watch import LoopWatch
from pegboard.plugins.running.owner import Owner
from pegboard.plugins.running.services import Services, offerers_of
from pegboard.plugins.running.stub import Hook

IMPORT_TIMEOUT_S: Final = 20.0
STOP_TIMEOUT_S: Final = 10.0

StateChanged = Callable[[PluginRecord], Awaitable[None]]


class Activator:
    """Imports and holds plugins; an async context manager whose exit stops them in reverse order.

    Args:
        boot: What was found and decided.
        failures: Where failures and crash markers are kept.
        secret: Reads a secret by name, None when it is not set.
        clock: The host's clock.
        storage: Makes the storage of a plugin by its id.
        swap_family: Changes the registry for a family.
        report: Told of what goes wrong outside a call.
        changed: Told of each change of a plugin's state.
        services: What the host itself offers: name to `make()`, called once.
        stop_timeout_s: Seconds that each plugin has to stop.
    """

    def __init__(
        self,
        boot: Boot,
        *,
        failures: FailureStore,
        secret: Callable[[str], str | None],
        clock: Clock,
        storage: Callable[[str], OwnedStorage],
        swap_family: SwapFamily,
        report: Report | None = None,
        changed: StateChanged | None = None,
        services: Mapping[str, Callable[[], Any]] | None = None,
        stop_timeout_s: float = STOP_TIMEOUT_S,
    ) -> None:
        self._boot = boot
        self._failures = failures
        self._secret = secret
        self._clock = clock
        self._storage = storage
        self._swap_family = swap_family
        self._report = report or _ignore
        self._changed = changed
        self._stop_timeout_s = stop_timeout_s
        limit = boot.config.get("plugins.import_timeout_s", IMPORT_TIMEOUT_S)
        self.start_timeout_s = float(limit)
        """Seconds that an import may take, and a lifespan until it yields."""
        self._importer = Importer(failures, timeout_s=self.start_timeout_s, report=self._report)
        self._records = {record.id: record for record in reversed(boot.records)}
        self._offerers = offerers_of(boot.records)
        self._services = Services(services or {})
        self._jobs: dict[str, ActivationJob] = {}
        self._order: list[str] = []
        self._adopting = anyio.Lock()
        self._group: anyio.abc.TaskGroup | None = None
        self._watch = LoopWatch(lambda: self.records, self._report)

    async def __aenter__(self) -> Activator:
        group = anyio.create_task_group()
        self._group = await group.__aenter__()
        self._watch.begin()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool | None:
        group, self._group = self._group, None
        await self._stop(dict(self._jobs))
        self._watch.end()
        if group is None:
            return None
        if isinstance(error, anyio.get_cancelled_exc_class()):
            return await group.__aexit__(kind, error, traceback)
        # the group would wrap the error of the block it spans; nobody wants to unwrap it
        await group.__aexit__(None, None, None)
        return None

    @property
    def records(self) -> tuple[PluginRecord, ...]:
        """All plugins in their order, with the states they are in now."""
        return tuple(
            self._records[record.id] if self._boot.record(record.id) is record else record
            for record in self._boot.records
        )

    def record(self, plugin_id: str) -> PluginRecord:
        """Return one plugin's record.

        Raises:
            PluginError: When there is no such plugin.
        """
        return self._records.get(plugin_id) or self._boot.record(plugin_id)

    def active(self, plugin_id: str) -> ActivePlugin | None:
        """Return the plugin if it is active."""
        job = self._jobs.get(plugin_id)
        return job.active if job else None

    def background(self) -> tuple[BackgroundStatus, ...]:
        """Return how the background services of all active plugins are doing."""
        jobs = [self._jobs[plugin_id] for plugin_id in self._order if plugin_id in self._jobs]
        return tuple(status for job in jobs if job.owner for status in job.owner.status)

    async def activate(self, plugin_id: str) -> ActivePlugin:
        """Import a plugin, once however many ask at the same time.

        Raises:
            PluginError: When it can't be used; says why and how to mend it.
        """
        job = self._jobs.get(plugin_id)
        if job is None:
            record = self.record(plugin_id)
            if not record.usable:
                raise unusable(record)
            if self._group is None:
                raise PluginError(f"plugin {plugin_id} can't be activated: the host is stopping")
            job = self._jobs[plugin_id] = ActivationJob()
            live = partial(self._run, record, job)
            self._group.start_soon(job.run, live, name=f"plugin {plugin_id}")
        await job.done.wait()
        if job.active is None:
            raise unusable(self.record(plugin_id))
        return job.active

    async def resolve(self, plugin_id: str, kind: str, name: str) -> Any:
        """Return a tool's function or object (kind `tool`), or a `Contribution`.

        Raises:
            PluginError: When the plugin can't be used or does not bring it.
        """
        plugin = await self.activate(plugin_id)
        named = plugin.named(kind)
        if name not in named:
            raise PluginError(f"plugin {plugin_id} has no {kind} {name}{did_you_mean(name, named)}")
        return named[name]

    async def settings(
        self, plugin_id: str, ref: str | None, data: Mapping[str, Any], where: str
    ) -> Any:
        """Return the settings of an instance; their model is imported like a plugin, off the loop.

        Args:
            plugin_id: The plugin that brings the model.
            ref: The `config` of the contribution, `module:Class`, or None.
            data: The configured table.
            where: Its name in the config file (`providers.groq`), for messages.

        Raises:
            ConfigError: With one line for each wrong value.
            PluginError: When the model itself fails.
        """
        if ref is None:
            return dict(data)
        return await self._importer.settings(self.record(plugin_id), ref, data, where)

    async def resolve_hook(self, plugin_id: str, hook: str) -> Hook:
        """Return a plugin's implementation of a behaviour hook.

        Raises:
            PluginError: When the plugin can't be used.
        """
        return (await self.activate(plugin_id)).hooks[hook]

    async def build_unmanifested(self) -> Boot:
        """Import plugins that have no manifest, inside the guard, and derive it in memory.

        Returns:
            The boot decided again with these manifests; it is adopted already. A plugin that fails
            is `failed` in it.
        """
        built: dict[str, Manifest | PegboardError] = {}
        for record in self._boot.records:
            if record.state is not State.UNMANIFESTED or record.manifest is not None:
                continue
            try:
                built[record.id] = await self._importer.build(record)
            except LoadFailed as failure:
                self._importer.store(record, failure)
                built[record.id] = PluginError(
                    failure.reason,
                    fix=fix_of(record, failure),
                    phase=failure.phase,
                    traceback=failure.traceback_text,
                )
        await self.adopt(self._boot.adopt(built))
        return self._boot

    async def adopt(self, boot: Boot) -> None:
        """Take over a new boot: stop what is no longer usable; what runs goes on.

        A plugin that failed gets another try; one whose version changed keeps running as it is.
        """
        async with self._adopting:
            after = {record.id: record for record in reversed(boot.records)}
            gone: dict[str, ActivationJob] = {}
            for plugin_id, job in list(self._jobs.items()):
                if plugin_id in after and after[plugin_id].usable and not job.ended.is_set():
                    after[plugin_id] = self._records[plugin_id]
                else:
                    gone[plugin_id] = self._jobs.pop(plugin_id)
            self._boot = boot
            self._records = after
            self._offerers = offerers_of(self.records)
            # last, so that nothing is begun by the old state of things meanwhile
            await self._stop(gone)

    async def _run(self, record: PluginRecord, job: ActivationJob) -> None:
        failure = await self._live(record, job)
        if failure is not None:
            await self._fail(record, failure, job)

    async def _live(self, record: PluginRecord, job: ActivationJob) -> LoadFailed | None:
        """Load a plugin and hold it until it is stopped; return why it failed, or None."""
        context: ActiveContext | None = None
        try:
            await self._activate_offerers(record, job)
            data = self._boot.config.section(f"plugins.{record.id}")
            loaded, settings = await self._importer.load(record, data)
            if job.scope.cancel_called:
                return None  # asked to end as the import did: what follows is shielded
            context = self._context(loaded, settings)
            job.owner = self._owner(loaded)
            await job.owner.run(context, partial(self._ready, record, job, loaded, context))
        except LoadFailed as failure:
            return failure
        except Exception as error:  # whatever it is, it is about this plugin and no other
            return LoadFailed.of("import", error)
        finally:
            job.active = None
            self._release(record.id, context)
            if context is not None:
                await context.storage.aclose()
        return None

    async def _activate_offerers(self, record: PluginRecord, job: ActivationJob) -> None:
        """Activate the plugins whose services this one needs, before its own code runs."""
        needs = record.manifest.needs if record.manifest else {}
        for name in needs.get("services", ()):
            plugin_id = self._offerers.get(name)
            if plugin_id in (None, record.id):
                continue
            assert plugin_id is not None
            job.waits_for = plugin_id
            if waits_in_circle(self._jobs, record.id):
                raise LoadFailed.needing(name, plugin_id, "each of them waits for the other")
            try:
                await self.activate(plugin_id)
            except PluginError as error:
                raise LoadFailed.needing(name, plugin_id, error.message) from error
        job.waits_for = ""

    def _context(self, loaded: LoadedPlugin, settings: Any) -> ActiveContext:
        manifest = loaded.manifest
        return ActiveContext(
            manifest.id,
            config=settings,
            data_dir=self._boot.paths.data / "plugins" / manifest.id,
            storage=self._storage(manifest.id),
            clock=self._clock,
            families={
                family.prefix: FamilyHandle(manifest.id, family, self._swap_family)
                for family in manifest.families
            },
            secrets=frozenset(manifest.secrets),
            read_secret=self._secret,
            find_service=lambda name: self._services.find(
                name, self._offerers, manifest.id, manifest.needs.get("services", ())
            ),
        )

    def _owner(self, loaded: LoadedPlugin) -> Owner:
        return Owner(
            loaded.manifest.id,
            lifespan=loaded.declared.lifespan,
            backgrounds=loaded.declared.backgrounds,
            clock=self._clock,
            report=partial(self._report, loaded.manifest.id),
            start_timeout_s=self.start_timeout_s,
            stop_timeout_s=self._stop_timeout_s,
        )

    async def _ready(
        self, record: PluginRecord, job: ActivationJob, loaded: LoadedPlugin, context: ActiveContext
    ) -> None:
        if self._jobs.get(record.id) is not job:
            return  # it is being stopped
        active = record._replace(
            manifest=loaded.manifest, state=State.ACTIVE, reason="", fix=None, details={}
        )
        self._records[record.id] = active
        self._order.append(record.id)
        for name, make in loaded.declared.services.items():
            self._services.offer(record.id, name, partial(make, context))
        job.active = ActivePlugin(
            id=record.id,
            record=active,
            context=context,
            contributions=loaded.declared.contributions,
            tools=loaded.declared.tools,
            hooks=loaded.declared.hooks,
        )
        with suppress(OSError):
            self._failures.forget(record.id)
        job.done.set()
        for name in loaded.threads:
            self._report(
                record.id, f"its import starts the thread {name!r}; start threads in the lifespan"
            )
        await self._tell(active)

    def _release(self, plugin_id: str, context: ActiveContext | None) -> None:
        """Take back what an activation gave: services, dynamic tools, its place in the order."""
        self._services.withdraw(plugin_id)
        for family in context.families.values() if context else ():
            try:
                family.close()
            except PluginError as error:
                self._report(plugin_id, error.message)
        if plugin_id in self._order:
            self._order.remove(plugin_id)

    async def _fail(self, record: PluginRecord, failure: LoadFailed, job: ActivationJob) -> None:
        if self._jobs.get(record.id) is not job:
            return  # it is gone, and so is what was wrong with it
        failed = record._replace(
            state=failure.state,
            reason=f"{record.dist} {record.version}: {failure.reason}",
            fix=fix_of(record, failure),
            details={"phase": failure.phase, "traceback": failure.traceback_text},
        )
        self._records[record.id] = failed
        self._importer.store(record, failure)
        job.done.set()  # first: an observer of this change may be this very plugin's
        await self._tell(failed)

    async def _tell(self, record: PluginRecord) -> None:
        if self._changed is None:
            return
        try:
            await self._changed(record)
        except Exception as error:
            self._report(record.id, f"the host did not take its new state: {one_line(error)}")

    async def _stop(self, jobs: Mapping[str, ActivationJob]) -> None:
        """Stop what is being loaded, then what is active, the last activated first."""
        active = [plugin_id for plugin_id in reversed(self._order) if plugin_id in jobs]
        loading = [plugin_id for plugin_id in jobs if plugin_id not in active]
        with anyio.CancelScope(shield=True):
            for plugin_id in (*loading, *active):
                # its background services have their time, and then its lifespan has
                if not await jobs[plugin_id].end(2 * self._stop_timeout_s):
                    self._report(plugin_id, "it did not end when its time was over; it is cut off")


def _ignore(plugin_id: str, what: str) -> None:
    """Drop a report."""
