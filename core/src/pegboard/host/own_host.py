"""A host that lives as long as one command, as that command uses it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from pegboard.config.trust import FolderTrust
from pegboard.contracts.caller import Caller
from pegboard.contracts.channel import Channel, TurnOutcome
from pegboard.contracts.errors import PluginError
from pegboard.contracts.message import InboundMessage
from pegboard.contracts.result import ToolResult
from pegboard.contracts.tool import RegisteredTool
from pegboard.contracts.transcript import Conversation
from pegboard.host.access import ToolFacts
from pegboard.host.host import Host
from pegboard.host.ingress import local_caller
from pegboard.host.stages import Stages
from pegboard.plugins.running.guard_stdout import quiet


class OwnHost:
    """A host in this process; implements `CommandHost`.

    Args:
        host: The host.
    """

    def __init__(self, host: Host) -> None:
        self.host = host

    @property
    def folder(self) -> Path:
        """The folder that tools work in."""
        return self.host.workspace

    @property
    def state(self) -> Path:
        """The state folder."""
        return self.host.config.paths.state

    @property
    def folder_trust(self) -> FolderTrust:
        """The folders that the person trusts."""
        return self.host.folder_trust

    def local_caller(self, *, as_guest: bool = False, attended: bool = True) -> Caller:
        """Return the identity of the person at this machine."""
        return local_caller(as_guest=as_guest, attended=attended)

    async def tool_names(self) -> Sequence[str]:
        """Return the names of all tools."""
        return [tool.wire_name for tool in self.host.registry.list_all()]

    async def command_names(self, caller: Caller) -> Sequence[str]:
        """Return the chat commands that a person may use."""
        return [command.name for command in self.host.commands.of(caller)]

    async def tool(self, name: str) -> ToolFacts:
        """Return a tool by any of its names."""
        return _facts(self.host.tool(name))

    async def find_tool(self, name: str, *, why_not: bool = False) -> ToolFacts | None:
        """Return a tool by any of its names, or None."""
        tool = self.host.registry.find(name)
        if tool is None and why_not:
            _refuse_unusable(self.host, name)
        return None if tool is None else _facts(tool)

    async def conversation(self, text: str, *, channel: str | None = None) -> Conversation:
        """Return the conversation that a text names."""
        return await self.host.sessions.named(text, channel=channel)

    async def submit(
        self, message: InboundMessage, channel: Channel, *, caller: Caller | None = None
    ) -> TurnOutcome:
        """Run the turn that answers a message."""
        return await self.host.submit(message, channel, caller=caller)

    async def run_channel(
        self, channel: Channel, chat: str, *, caller: Caller | None = None
    ) -> None:
        """Let a channel receive until it ends."""
        await self.host.run_channel(channel, caller=caller)

    async def call_tool(
        self,
        name: str,
        arguments: Any,
        caller: Caller,
        *,
        stages: Stages | None = None,
        agreed: Iterable[str] = (),
    ) -> ToolResult:
        """Run one tool; what its code prints goes to standard error."""
        with quiet(name):
            return await self.host.call_tool(name, arguments, caller, trace=stages, agreed=agreed)


def _facts(tool: RegisteredTool) -> ToolFacts:
    return ToolFacts(canonical=tool.canonical, parameters=tool.spec.parameters)


def _refuse_unusable(host: Host, name: str) -> None:
    """Raise when a plugin that can't be used now brings the tool: a person wants to know."""
    found = host.registry.unusable(name)
    if found is not None:
        _, record = found
        raise PluginError(
            f"The tool {name!r} comes from the plugin {record.id} ({record.dist} "
            f"{record.version}), which is {record.state.value}: {record.reason}.",
            fix=record.fix,
        )
