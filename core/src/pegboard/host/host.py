"""A running host: what the command line, channels and tests talk to."""

from __future__ import annotations

import importlib
import logging
from collections.abc import Awaitable, Callable, Iterable
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path
from typing import Any, Final

import anyio
import anyio.to_thread

from pegboard.agent.recording import Recording
from pegboard.agent.replay import RunCall
from pegboard.config.load import Config
from pegboard.config.nearest import did_you_mean
from pegboard.config.trust import FolderTrust
from pegboard.contracts.audit import Audit
from pegboard.contracts.caller import Caller
from pegboard.contracts.channel import Channel, Emit, TurnOutcome
from pegboard.contracts.errors import PegboardError, PluginError, UsageError
from pegboard.contracts.hook_events import HostStarted, HostStopping
from pegboard.contracts.message import InboundMessage
from pegboard.contracts.result import ToolResult
from pegboard.contracts.sandbox import Sandbox, SandboxReport
from pegboard.contracts.tool import RegisteredTool
from pegboard.contracts.turn import Receipt, TurnRef
from pegboard.contracts.verdict import Verdict
from pegboard.conversations.key import ConversationKey
from pegboard.host.approval_parts import ApprovalParts
from pegboard.host.commands import host_commands
from pegboard.host.conversation_parts import ConversationParts
from pegboard.host.description import Description
from pegboard.host.fatal_call_notes import FatalCallNotes
from pegboard.host.inbox import ChannelInbox
from pegboard.host.ingress import IGNORED, local_caller
from pegboard.host.instances import Instances
from pegboard.host.options import HostOptions
from pegboard.host.parts import HostParts
from pegboard.host.provision import TurnProvision
from pegboard.host.real_calls import real_calls
from pegboard.host.tool_commands import tool_commands
from pegboard.host.turn_options import NO_TURN_OPTIONS, TurnOptions
from pegboard.plugins.decision.boot import boot, require
from pegboard.plugins.decision.rescan import Changes, rescan
from pegboard.plugins.decision.state import PluginRecord
from pegboard.plugins.running.activate import ActivePlugin
from pegboard.plugins.running.hook_table import HookTable
from pegboard.policy.audit import audited
from pegboard.policy.decide import decide
from pegboard.tools.run_scope import CallRequest, Trace
from pegboard.turns.handler import MAX_ATTEMPTS
from pegboard.turns.runner import TurnRunner
from pegboard.turns.setup import TurnServices

HANDED_ON: Final = TurnOutcome(
    text="",
    status="cancelled",
    error={
        "code": "host_stopped",
        "message": "The host stopped before this was answered; the next one goes on with it.",
        "fix": None,
    },
)
GOODBYE_S: Final = 3.0
"""Seconds that all observers together have when the host stops."""
_log = logging.getLogger(__name__)


class Host:
    """A running host. Opened by `open_host`.

    Args:
        options: How it was opened.
        parts: The rooms, joined.
    """

    def __init__(self, options: HostOptions, parts: HostParts) -> None:
        self.options = options
        self.boot = parts.boot
        self.config = parts.boot.config
        self.activator = parts.activator
        self.registry = parts.registry
        self.dispatcher = parts.dispatcher
        self.instances: Instances = parts.instances
        self.models = parts.models
        self.folder_trust = FolderTrust(self.config.paths)
        self.description = Description(parts, self.rescan)
        self._parts = parts
        self._started = False
        self._rescanning = anyio.Lock()
        self.rescanned: Callable[[], Awaitable[None]] | None = None
        """Told after each rescan."""
        self._own_turn_options = TurnOptions.of_options(self.workspace, options.overrides)
        conversations = ConversationParts(options, parts)
        self.sessions = conversations.sessions
        self.pruner = conversations.pruner
        approvals = self._approvals = ApprovalParts(options, parts)
        provision = TurnProvision(parts, options.clock)
        services = TurnServices(
            store=parts.store,
            engine=parts.engine,
            prepare=provision.parts_of,
            prepare_call=provision.call_of,
            journal=provision.journal,
            hooks=parts.hooks,
            clock=options.clock,
            history=conversations.history,
            compactor=conversations.compactor,
            approver=approvals.desk.approver,
            leased=provision.leased,
            limits=parts.limits,
            redact=parts.redactor,
            news=parts.news,
            died=FatalCallNotes(self.config.paths.state, options.clock, parts.boot.get).note,
        )
        self.commands = host_commands(parts, self.description, conversations, approvals)
        self.turns = TurnRunner(
            services,
            parts.channels,
            new_id=parts.new_id,
            commands=self.commands,
            max_attempts=self.config.get("turns.max_attempts", MAX_ATTEMPTS),
        )
        parts.delivery.take(self.turns.handle, self._no_more_turns)
        parts.taken = self._take_brought

    @property
    def parts(self) -> HostParts:
        """The rooms, for what belongs to the host itself."""
        return self._parts

    @property
    def workspace(self) -> Path:
        """The folder that tools work in, unless a turn names another."""
        return self._parts.workspace.folder

    @property
    def records(self) -> tuple[PluginRecord, ...]:
        """Every plugin with the state it is in now."""
        return self.activator.records

    @property
    def audit(self) -> Audit:
        """Records decisions in the audit log."""
        return self._parts.audit

    @property
    def hooks(self) -> HookTable:
        """The behaviour hooks of all plugins."""
        return self._parts.hooks

    async def start(self) -> None:
        """Load what plugins bring; import only those that must run from the start.

        Raises:
            PluginError: When a required plugin can't be used and `on_failure` is "abort".
        """
        self._parts.tell_profile()
        await self._take()
        for record in self.records:
            if record.usable and record.manifest and record.manifest.activate == "boot":
                await self._try(record.id)
        require(self.config, self.activator.record)
        self._started = True
        usable = tuple(record.id for record in self.records if record.usable)
        await self.hooks.observe(HostStarted(plugins=usable))

    async def stop(self) -> None:
        """Say goodbye and give back what instances hold; plugins are stopped by the activator.

        Turns that run have their time to end; the others are handed on to the next host.
        """
        self.pruner.stop()
        await self.drain(self.options.grace_s)
        if self._started:
            with anyio.move_on_after(GOODBYE_S):  # what must be closed shall have its time too
                await self.hooks.observe(HostStopping())
        if self._parts.database.used:
            await self.sessions.erase_elsewhere()
        await self._parts.aclose()

    async def drain(self, grace_s: float) -> None:
        """Begin no more turns, let those that run end, and hand on what does not end in time.

        Args:
            grace_s: Seconds that they have.
        """
        self.turns.hand_on()
        await self._parts.delivery.close(grace_s)
        self.turns.let_go(HANDED_ON)

    async def activate(self, plugin_id: str) -> ActivePlugin:
        """Import a plugin now.

        Raises:
            PluginError: When it can't be used; says why and how to mend it.
        """
        return await self.activator.activate(plugin_id)

    async def instance(self, kind: str, name: str) -> Any:
        """Return a configured instance of a contributed type, made at the first call."""
        return await self.instances.get(kind, name)

    def local_caller(self, *, as_guest: bool = False, attended: bool = True) -> Caller:
        """Return the identity of the person at this machine."""
        return local_caller(as_guest=as_guest, attended=attended)

    async def submit(
        self,
        message: InboundMessage,
        channel: Channel,
        *,
        emit: Emit | None = None,
        caller: Caller | None = None,
        turn_options: TurnOptions | None = None,
    ) -> TurnOutcome:
        """Run the turn that answers a message; the reply goes to the channel.

        A sender who gets no turn is ignored: nothing is sent, and the status is `ignored`.

        Args:
            message: What came in.
            channel: Where it came from and the reply goes.
            emit: Takes the turn's events, beside the channel's own `stream`.
            caller: The sender's identity, where the surface knows better than the channel.
            turn_options: What the person at this machine wants for this turn; None = what the
                options that this host was opened with say, when it comes from them.

        Raises:
            StoreError: When the message can't be kept; it gets no turn then.
        """
        taken, who, refused = self._parts.ingress.admitted(channel, message, caller)
        if refused:
            await self._rejected(who, refused)
        if refused or await self._parts.limits.turned_away(who, taken, channel):
            return IGNORED
        if turn_options is None:
            turn_options = self._own_turn_options if channel.info.local else NO_TURN_OPTIONS
        taken = turn_options.marked(taken)
        async with self._parts.delivery.lent(ConversationKey.of(taken, who.agent), channel):
            return await self.turns.run(taken, channel=channel, caller=who, emit=emit)

    async def receive(
        self, message: InboundMessage, channel: Channel, *, caller: Caller | None = None
    ) -> Receipt:
        """Keep a message and return: its turn is run by this host, or by the next one.

        The receipt of a sender who gets no turn, and of a chat command, has no turn's place.

        Args:
            message: What came in.
            channel: One that `run_channel` runs: where it came from and the reply goes.
            caller: The sender's identity, where the surface knows better than the channel.

        Raises:
            StoreError: When it can't be kept: it was not received.
        """
        taken, who, refused = self._parts.ingress.admitted(channel, message, caller)
        if refused:
            await self._rejected(who, refused)
        if refused or await self._parts.limits.turned_away(who, taken, channel):
            key = ConversationKey.of(taken, who.agent)
            return Receipt(ref=TurnRef(turn="", key=key.text, seq=0, channel=taken.channel))
        return await self.turns.receive(taken, channel, who)

    async def run_channel(self, channel: str | Channel, *, caller: Caller | None = None) -> None:
        """Let a channel receive until it ends.

        Args:
            channel: Name of a configured instance, or a channel.
            caller: The sender's identity, where the surface knows better than the channel.
        """
        name = channel if isinstance(channel, str) else channel.info.surface
        made: Channel = (
            await self.instance("channel", channel) if isinstance(channel, str) else channel
        )
        inbox = ChannelInbox(self, self._parts.ingress, made, name, caller)
        async with self._parts.delivery.named(name, made):
            await made.run(inbox)

    async def call_tool(
        self,
        name: str,
        arguments: Any,
        caller: Caller,
        *,
        trace: Trace | None = None,
        emit: Emit | None = None,
        agreed: Iterable[str] = (),
        folder: Path | None = None,
    ) -> ToolResult:
        """Run one tool through the same path as a model's call.

        Args:
            name: Any name of the tool.
            arguments: An object, or JSON text.
            caller: Whom it acts for.
            trace: Told of each stage.
            emit: Told of start, progress and end.
            agreed: What a person has agreed to, as `Suspend.subject` of an earlier answer; a call
                that needs another word comes back with the control `Suspend`.
            folder: The folder to work in; None = the host's own.
        """
        run, spaces = self._parts.new_id(), self._parts.spaces
        place = await spaces.workspace.at(folder, run=run)
        scope = await spaces.scope(
            caller, run=run, trace=trace, emit=emit, filter=place.filter, place=place
        )
        request = CallRequest(
            id="call_1",
            name=name,
            arguments=arguments,
            caller=caller,
            run=scope,
            agreed=frozenset(agreed),
        )
        try:
            return await self.dispatcher.dispatch(request)
        finally:
            spaces.close(scope, "the call that started it has ended")

    def real_calls(
        self, recording: Recording, caller: Caller
    ) -> AbstractAsyncContextManager[RunCall]:
        """Let the calls of a recording be made here, in one run, for the time of the block.

        Args:
            recording: What they are of.
            caller: Whom they are made for.
        """
        return real_calls(self._parts, recording, caller)

    def tool(self, name: str) -> RegisteredTool:
        """Return a tool by any of its names, whoever may use it.

        Raises:
            UsageError: When there is none; suggests others.
        """
        found = self.registry.find(name)
        if found is None:
            names = [tool.wire_name for tool in self.registry.list_all()]
            raise UsageError(
                f"There is no tool {name!r}{did_you_mean(name, names)}",
                fix="pegboard tools list --all",
            )
        return found

    def why(self, name: str, caller: Caller) -> Verdict:
        """Return the decision about a tool for a caller, with the rule that made it.

        Raises:
            UsageError: When there is no such tool.
        """
        return decide(self.dispatcher.policy, caller, self.tool(name))

    async def sandbox(self) -> Sandbox:
        """Return the sandbox that tools work in."""
        return await self._parts.workspace.sandbox()

    async def sandbox_report(self) -> SandboxReport:
        """Return what the chosen sandbox enforces."""
        return (await self.sandbox()).explain()

    async def rescan(self) -> Changes:
        """Look for newly installed and removed packages and take them over.

        A plugin whose version changed goes on as it is until the host starts again.
        """
        async with self._rescanning:
            before = self.boot
            importlib.invalidate_caches()
            look = partial(
                boot,
                self.config,
                safe=self.options.safe,
                only=self.options.only,
                path=self.options.plugin_path,
                env=self.options.env,
                retry_failed=True,
                again=True,
            )
            after = await anyio.to_thread.run_sync(look)
            await self.instances.release(rescan(before, after).removed)
            await self.activator.adopt(after)
            await self._take()
            changes = rescan(before, self.boot)
        if self.rescanned is not None:
            await self.rescanned()
        return changes

    def take_config(self, config: Config) -> None:
        """Go by other settings from now on, as far as they are read when they are needed."""
        self.config = self._approvals.changes.config = config

    async def _take(self) -> None:
        """Take over what the plugins bring that are usable now."""
        self.boot = self.instances.boot = await self.activator.build_unmanifested()
        self._parts.boot = self.boot
        self._parts.take()
        await self.instances.tidy()

    async def _rejected(self, who: Caller, rule: str) -> None:
        now = self.options.clock.now()
        event = audited("origin_rejected", rule, "deny", who, at=now, disclosed=False)
        await self.audit(event)

    def _no_more_turns(self, error: Exception) -> None:
        told = PegboardError("This host can't answer any more.", fix="start it again")
        self.turns.let_go(TurnOutcome(text="", status="failed", error=told.to_dict()))

    def _take_brought(self, hooks: HookTable) -> None:
        self.turns.hooks = hooks
        self.commands.brought = tool_commands(self._parts)

    async def _try(self, plugin_id: str) -> None:
        try:
            await self.activator.activate(plugin_id)
        except PluginError as error:
            _log.warning("%s %s", error.message, error.fix or "")
