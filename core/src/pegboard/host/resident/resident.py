"""A host that stays: it owns the store, runs every channel, and answers the control socket."""

from __future__ import annotations

import logging
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal

import anyio
import anyio.abc

from pegboard._version import __version__
from pegboard.config.instances import Instance
from pegboard.config.load import Config, load
from pegboard.contracts.channel import TurnOutcome
from pegboard.contracts.errors import PegboardError
from pegboard.host.backends import EMBEDDED
from pegboard.host.control.connection import Call
from pegboard.host.control.server import ControlServer
from pegboard.host.control.switchboard import ClientChannel, Switchboard
from pegboard.host.control.verbs import Verbs
from pegboard.host.event_log import EventLog
from pegboard.host.host import Host
from pegboard.host.options import HostOptions
from pegboard.host.resident.channel_keeper import ChannelKeeper
from pegboard.host.resident.log_lines import LOG_FOLDER, LOG_NAME
from pegboard.host.resident.notify import Notifier, write_ready_file
from pegboard.host.resident.reload import Reloader
from pegboard.host.session_admin import TERMINAL
from pegboard.plugins.building.isolation import one_line
from pegboard.plugins.running.ids import new_token
from pegboard.store.verb_overview import overview_of

State = Literal["starting", "ready", "draining"]
DRAIN_S: Final = 30.0
"""Seconds that running turns have to end, unless `[serve] drain_s` says otherwise."""
HEALTH_S: Final = 5.0
"""Seconds in which the store has to answer."""
_log = logging.getLogger("pegboard.host.resident")


class Draining(PegboardError):
    """The host is about to end and begins nothing more."""

    code = "host_stopping"

    def __init__(self) -> None:
        super().__init__(
            "The host is about to end and takes nothing more.", fix="try again in a moment"
        )


class Resident:
    """Runs a host until it is told to end.

    Args:
        host: The host, which owns the store.
        options: How it was opened.
        notifier: Tells the service manager.
        ready_file: File that is there while the host is ready, or None.
        taken: Told of settings that were read again.
    """

    def __init__(
        self,
        host: Host,
        options: HostOptions,
        *,
        notifier: Notifier,
        ready_file: Path | None = None,
        taken: Callable[[Config], None] = lambda config: None,
    ) -> None:
        self.host = host
        self.state: State = "starting"
        self.events = EventLog(options.clock.now)
        self._clock = options.clock
        self._began = options.clock.now()
        self._notifier = notifier
        self._ready_file = ready_file
        self._switchboard = Switchboard()
        self._stop = anyio.Event()
        self._again = anyio.Event()
        self._reason = ""
        self._problem = ""
        self._group: anyio.abc.TaskGroup | None = None
        self._keeper: ChannelKeeper | None = None
        again = partial(
            load,
            host.config.paths,
            project=options.project,
            env=options.env,
            overrides=options.overrides,
        )
        self._reloader = Reloader(host, host.parts, again, taken)
        verbs = Verbs(host, self, self._switchboard, self.events)
        self.server = ControlServer(host.config.paths.state, verbs.table(), run=new_token())
        host.turns.services.watch = self.events.add
        self.events.listen(self._switchboard.show)
        host.rescanned = self._adopt

    async def run(self) -> str:
        """Serve until `shut_down`, then drain; return why it ended."""
        async with anyio.create_task_group() as self._group, self._channels() as keeper:
            async with self.server.serving(), self._ready():
                await keeper.adopt(self._wanted())
                await self._stop.wait()
                await self._drain()
            await keeper.stop()
            self._group.cancel_scope.cancel()
        return self._reason

    def shut_down(self, reason: str) -> None:
        """Begin to end; a second time: end at once, and hand on what runs."""
        if self._stop.is_set():
            self._again.set()
        else:
            self._reason = reason
            self._stop.set()

    def admit(self) -> None:
        """Let work begin.

        Raises:
            Draining: When the host is about to end.
        """
        if self.state == "draining":
            raise Draining

    async def run_turn(self, call: Call, work: Callable[[], Awaitable[TurnOutcome]]) -> TurnOutcome:
        """Run a turn that goes on when its client goes away.

        Raises:
            PegboardError: As the host answers, or when it is about to end.
        """
        self.admit()
        assert self._group is not None, "requests come when it runs"
        turn = _Turn(work)
        call.on_cancel = turn.scope.cancel
        self._group.start_soon(turn.run)
        await turn.ended.wait()
        if turn.error is not None:
            raise turn.error
        return turn.outcome

    async def status(self) -> Mapping[str, Any]:
        """Return what `pegboard status` tells of this host."""
        host = self.host
        engine = host.parts.engine.stats()
        return {
            "pid": os.getpid(),
            "version": __version__,
            "state": self.state,
            "run": self.server.run,
            "since": self._began,
            "uptime_s": round(self._clock.now() - self._began, 3),
            "socket": str(self.server.path),
            "workspace": str(host.workspace),
            "log": str(host.config.paths.state / LOG_FOLDER / LOG_NAME),
            "clients": self.server.clients,
            "provider": await host.description.provider(),
            "channels": [kept.to_dict() for kept in self._kept()],
            "engine": {
                "running": engine.running,
                "waiting": engine.waiting,
                "later": engine.later,
                "conversations": engine.keys,
                "background": engine.background,
            },
            "services": [asdict(status) for status in host.activator.background()],
            "restart_needed": list(self._reloader.restart),
            "problem": self._problem,
            "store": await self._kept_elsewhere(),
            "events": self.events.seq,
        }

    async def _kept_elsewhere(self) -> Mapping[str, Any] | None:
        """Return what a backend of a plugin keeps; the file of the host anybody can read."""
        parts = self.host.parts
        if parts.backend.name == EMBEDDED:
            return None
        try:
            with anyio.fail_after(HEALTH_S):
                found = await overview_of(parts.store, now=self._clock.now())
        except TimeoutError:
            return {"message": f"It did not answer within {HEALTH_S:g} s.", "fix": None}
        except PegboardError as error:
            return {"message": error.message, "fix": error.fix}
        return found.to_dict()

    async def health(self) -> Mapping[str, Any]:
        """Return whether the host works (`live`), and whether it takes messages (`ready`)."""
        problems = [
            f"channel {kept.instance.name}: {kept.error}"
            for kept in self._kept()
            if kept.state == "waiting"
        ]
        store = ""
        try:
            with anyio.fail_after(HEALTH_S):
                await self.host.parts.store.open_turns()
        except (PegboardError, TimeoutError) as error:
            store = one_line(error)
        return {
            "live": not store,
            "ready": self.state == "ready" and not store,
            "state": self.state,
            "problems": [*([f"store: {store}"] if store else []), *problems],
        }

    async def rescan(self) -> Mapping[str, Any]:
        """Take over packages that came or went, and the channels that they bring."""
        changes = await self.host.rescan()
        return {name: list(ids) for name, ids in changes._asdict().items()}

    async def reload(self, rule: str = "", subject: str = "") -> Mapping[str, Any]:
        """Take over changed settings; wrong ones change nothing."""
        self._notifier.reloading()
        try:
            reloaded = await self._reloader.reload(rule, subject)
        except PegboardError as error:
            self._problem = f"the settings could not be read again: {error.message}"
            _log.error("%s %s", self._problem, error.fix or "")
            raise
        finally:
            self._notifier.ready(self._line())
        self._problem = ""
        return reloaded.to_dict()

    async def _adopt(self) -> None:
        if self._keeper is not None and self.state != "draining":
            await self._keeper.adopt(self._wanted())

    def _kept(self) -> tuple[Any, ...]:
        return () if self._keeper is None else self._keeper.channels

    def _wanted(self) -> list[Instance]:
        """Return the channels to run: all but those that live on the terminal of a command."""
        boot = self.host.boot
        on_terminal = {
            (record.id, fact.name)
            for record, fact in boot.contributions("channel")
            if fact.facts.get("surface") == TERMINAL
        }
        configured = self.host.instances.configured("channel")
        for problem in configured.problems:
            _log.warning("%s %s", problem.message, problem.fix or "")
        return [
            item for item in configured.instances if (item.plugin, item.type) not in on_terminal
        ]

    @asynccontextmanager
    async def _channels(self) -> AsyncIterator[ChannelKeeper]:
        """Take up the turns of the terminal, and be ready to run channels."""
        assert self._group is not None
        host = self.host
        async with host.parts.delivery.named(TERMINAL, ClientChannel(self._switchboard)):
            self._keeper = ChannelKeeper(
                host.run_channel,
                partial(host.instances.discard, "channel"),
                self._clock,
                self._group,
            )
            yield self._keeper

    @asynccontextmanager
    async def _ready(self) -> AsyncIterator[None]:
        """Tell everybody that the host is ready, and keep telling that it lives."""
        assert self._group is not None
        self._group.start_soon(self._notifier.watch)
        self.state = "ready"
        _log.info("serving as process %d at %s", os.getpid(), self.server.path)
        if self._ready_file is not None:
            write_ready_file(self._ready_file, os.getpid())
        self._notifier.ready(self._line())
        try:
            yield
        finally:
            if self._ready_file is not None:
                self._ready_file.unlink(missing_ok=True)

    async def _drain(self) -> None:
        """Begin nothing more, and let what runs end."""
        grace = float(self.host.config.get("serve.drain_s", DRAIN_S))
        self.state = "draining"
        _log.info("ending: %s; turns that run have %g s", self._reason, grace)
        self._notifier.stopping(f"ending: {self._reason}")
        if self._ready_file is not None:
            self._ready_file.unlink(missing_ok=True)
        async with anyio.create_task_group() as group:
            group.start_soon(self._hurry, group.cancel_scope)
            async with anyio.create_task_group() as both:
                both.start_soon(self.host.drain, grace)
                both.start_soon(self._answered, grace)
            group.cancel_scope.cancel()

    async def _answered(self, grace: float) -> None:
        """Wait until every request is answered that can be."""
        with anyio.move_on_after(grace):
            await self.server.idle()

    async def _hurry(self, draining: anyio.CancelScope) -> None:
        """Hand on at once what runs, when the host is told a second time to end."""
        await self._again.wait()
        _log.info("ending at once")
        await self.host.drain(0)
        draining.cancel()

    def _line(self) -> str:
        return f"serving {len(self._kept())} channels"


class _Turn:
    """A turn that a client waits for, and that needs no client."""

    def __init__(self, work: Callable[[], Awaitable[TurnOutcome]]) -> None:
        self.scope = anyio.CancelScope()
        self.ended = anyio.Event()
        self.outcome = TurnOutcome(text="", status="cancelled")
        self.error: PegboardError | None = None
        self._work = work

    async def run(self) -> None:
        try:
            with self.scope:
                self.outcome = await self._work()
        except PegboardError as error:
            self.error = error
        except Exception as error:  # a fault of ours ends this turn, and not the host
            _log.exception("a turn could not be run")
            self.error = PegboardError(
                f"Pegboard itself failed: {one_line(error)}", fix="pegboard logs --level error"
            )
        finally:
            self.ended.set()
