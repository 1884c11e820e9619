"""A running host: what the command line, channels and tests talk to."""

from __future__ import annotations

import importlib
import logging
from functools import partial
from pathlib import Path
from typing import Any, Final

import anyio
import anyio.to_thread

from pegboard.agent.prompt import PromptBase
from pegboard.config.nearest import did_you_mean
from pegboard.config.trust import FolderTrust
from pegboard.contracts.audit import Audit
from pegboard.contracts.caller import Caller
from pegboard.contracts.channel import Channel, Emit, TurnOutcome
from pegboard.contracts.errors import PluginError, UsageError
from pegboard.contracts.hook_events import HostStarted, HostStopping
from pegboard.contracts.message import InboundMessage
from pegboard.contracts.result import ToolResult
from pegboard.contracts.sandbox import SandboxReport
from pegboard.contracts.tool import RegisteredTool
from pegboard.contracts.verdict import Verdict
from pegboard.host.description import Description
from pegboard.host.inbox import ChannelInbox
from pegboard.host.ingress import IGNORED, local_caller
from pegboard.host.instances import Instances
from pegboard.host.options import HostOptions
from pegboard.host.parts import HostParts
from pegboard.plugins.decision.boot import boot, require
from pegboard.plugins.decision.rescan import Changes, rescan
from pegboard.plugins.decision.state import PluginRecord
from pegboard.plugins.running.activate import ActivePlugin
from pegboard.plugins.running.hook_table import HookTable
from pegboard.policy.audit import audited
from pegboard.policy.decide import decide
from pegboard.tools.run_scope import CallRequest, Trace
from pegboard.turns.commands import ChatCommands
from pegboard.turns.runner import TurnRunner
from pegboard.turns.setup import Turn, TurnParts

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
        self.folder_trust = FolderTrust(self.config.paths)
        self.description = Description(self.registry, self.dispatcher, parts.activator, self.rescan)
        self._parts = parts
        self._started = False
        self._rescanning = anyio.Lock()
        self._prompt: PromptBase | None = None
        self._prompt_trusted = False
        self.turns = TurnRunner(
            prepare=self._prepare,
            hooks=parts.hooks,
            clock=options.clock,
            new_id=parts.new_id,
            commands=ChatCommands(self.description),
            redact=parts.redactor,
        )
        parts.taken = self._take_hooks

    @property
    def workspace(self) -> Path:
        """The folder that tools work in."""
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
        await self._take()
        for record in self.records:
            if record.usable and record.manifest and record.manifest.activate == "boot":
                await self._try(record.id)
        require(self.config, self.activator.record)
        self._started = True
        usable = tuple(record.id for record in self.records if record.usable)
        await self.hooks.observe(HostStarted(plugins=usable))

    async def stop(self) -> None:
        """Say goodbye and give back what instances hold; plugins are stopped by the activator."""
        if self._started:
            with anyio.move_on_after(GOODBYE_S):  # what must be closed shall have its time too
                await self.hooks.observe(HostStopping())
        await self._parts.aclose()

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
    ) -> TurnOutcome:
        """Run the turn that answers a message; the reply goes to the channel.

        A sender who gets no turn is ignored: nothing is sent, and the status is `ignored`.

        Args:
            message: What came in.
            channel: Where it came from and the reply goes.
            emit: Takes the turn's events, beside the channel's own `stream`.
            caller: The sender's identity, where the surface knows better than the channel.
        """
        taken, who, refused = self._parts.ingress.admitted(channel, message, caller)
        if refused:
            now = self.options.clock.now()
            event = audited("origin_rejected", refused, "deny", who, at=now, disclosed=False)
            await self.audit(event)
            return IGNORED
        if not self._parts.leases.counts:
            return await self.turns.run(taken, channel=channel, caller=who, emit=emit)
        with self._parts.spaces.leased(who) as leased:
            return await self.turns.run(taken, channel=channel, caller=leased, emit=emit)

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
        await made.run(ChannelInbox(self.submit, self._parts.ingress, made, name, caller))

    async def call_tool(
        self,
        name: str,
        arguments: Any,
        caller: Caller,
        *,
        trace: Trace | None = None,
        emit: Emit | None = None,
        approved: bool = False,
    ) -> ToolResult:
        """Run one tool through the same path as a model's call.

        Args:
            name: Any name of the tool.
            arguments: An object, or JSON text.
            caller: Whom it acts for.
            trace: Told of each stage.
            emit: Told of start, progress and end.
            approved: True when a person agreed to exactly this call; otherwise a call that needs it
                comes back with the control `Suspend`.
        """
        run = self._parts.new_id()
        scope = await self._parts.spaces.scope(caller, run=run, trace=trace, emit=emit)
        request = CallRequest(
            id="call_1", name=name, arguments=arguments, caller=caller, run=scope, approved=approved
        )
        return await self.dispatcher.dispatch(request)

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

    async def sandbox_report(self) -> SandboxReport:
        """Return what the chosen sandbox enforces."""
        return (await self._parts.workspace.sandbox()).explain()

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
            return rescan(before, self.boot)

    async def _take(self) -> None:
        """Take over what the plugins bring that are usable now."""
        self.boot = self.instances.boot = await self.activator.build_unmanifested()
        self._parts.take()
        await self.instances.tidy()

    def _take_hooks(self, hooks: HookTable) -> None:
        self.turns.hooks = hooks

    async def _try(self, plugin_id: str) -> None:
        try:
            await self.activator.activate(plugin_id)
        except PluginError as error:
            _log.warning("%s %s", error.message, error.fix or "")

    async def _prepare(self, turn: Turn) -> TurnParts:
        spaces = self._parts.spaces
        scope = await spaces.scope(
            turn.caller,
            run=turn.id,
            conversation=turn.conversation,
            reply=turn.reply,
            emit=turn.emit,
        )
        offered = self.dispatcher.offered(turn.caller, scope)
        return TurnParts(
            route=await self._parts.models.route(),
            prompt=self._prompt_base(),
            dispatch_step=spaces.dispatch_step(scope, turn.caller),
            declare=spaces.declare(scope, turn.caller),
            deferred=self._parts.deferral.declared(offered).deferred,
            max_steps=self.config.get("agent.max_steps", 100),
        )

    def _prompt_base(self) -> PromptBase:
        """Return the prompt's base, made anew once the person has trusted the folder."""
        trusted = bool(self.folder_trust.known(self.workspace))
        if self._prompt is None or self._prompt_trusted is not trusted:
            self._prompt_trusted = trusted
            self._prompt = PromptBase(
                workspace=self.workspace,
                trusted=trusted,
                instructions=self.config.get("agent.instructions", ""),
            )
        return self._prompt
