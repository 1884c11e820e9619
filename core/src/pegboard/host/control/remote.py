"""The resident host as a command sees it: everything goes through the control socket."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from pegboard.config.paths import Paths
from pegboard.config.trust import FolderTrust
from pegboard.contracts.caller import Caller
from pegboard.contracts.channel import Channel, TurnOutcome
from pegboard.contracts.message import InboundMessage
from pegboard.contracts.result import ToolResult
from pegboard.contracts.transcript import Conversation
from pegboard.contracts.turn import Receipt, TurnRef
from pegboard.contracts.wire import TOOL_RESULT
from pegboard.host.access import ToolFacts
from pegboard.host.control.client import ControlClient
from pegboard.host.control.forms import caller_form
from pegboard.host.control.talk import Talk, talking
from pegboard.host.ingress import local_caller
from pegboard.host.stages import Stages
from pegboard.host.turn_options import TurnOptions


class RemoteHost:
    """The host that owns the store; implements `CommandHost`.

    Args:
        client: The connection to it.
        paths: The folders, which both share.
        turn_options: The folder to work in, and whom to ask.
    """

    def __init__(self, client: ControlClient, paths: Paths, turn_options: TurnOptions) -> None:
        self._client = client
        self._paths = paths
        self._turn_options = turn_options

    @property
    def folder(self) -> Path:
        """The folder that tools work in for this command."""
        return self._turn_options.folder or Path.cwd()

    @property
    def state(self) -> Path:
        """The state folder."""
        return self._paths.state

    @property
    def folder_trust(self) -> FolderTrust:
        """The folders that the person trusts."""
        return FolderTrust(self._paths)

    def local_caller(self, *, as_guest: bool = False, attended: bool = True) -> Caller:
        """Return the identity of the person at this machine."""
        return local_caller(as_guest=as_guest, attended=attended)

    async def tool_names(self) -> Sequence[str]:
        """Return the names of all tools."""
        names: Sequence[str] = (await self._client.call("tools"))["names"]
        return names

    async def command_names(self, caller: Caller) -> Sequence[str]:
        """Return the chat commands that a person may use."""
        found = await self._client.call("commands", caller=caller_form(caller))
        names: Sequence[str] = found["names"]
        return names

    async def tool(self, name: str) -> ToolFacts:
        """Return a tool by any of its names."""
        found = await self._client.call("tool", name=name)
        return ToolFacts(canonical=found["canonical"], parameters=found["parameters"])

    async def find_tool(self, name: str, *, why_not: bool = False) -> ToolFacts | None:
        """Return a tool by any of its names, or None."""
        found = await self._client.call("tool", name=name, optional=True, why_not=why_not)
        if found["canonical"] is None:
            return None
        return ToolFacts(canonical=found["canonical"], parameters=found["parameters"])

    async def conversation(self, text: str, *, channel: str | None = None) -> Conversation:
        """Return the conversation that a text names."""
        found = await self._client.call("conversation", name=text, channel=channel)
        return Conversation(**found["conversation"])

    async def submit(
        self, message: InboundMessage, channel: Channel, *, caller: Caller | None = None
    ) -> TurnOutcome:
        """Run the turn that answers a message; cancelling this cancels the turn."""
        async with talking(self._client, channel, message.chat, self._turn_options) as talk:
            return await talk.say(message, caller)

    async def run_channel(
        self, channel: Channel, chat: str, *, caller: Caller | None = None
    ) -> None:
        """Let a channel receive until it ends.

        What else happens in the chat meanwhile is shown as well: work in the background, or a turn
        that somebody else began there.
        """
        async with talking(self._client, channel, chat, self._turn_options) as talk:
            await channel.run(_Inbox(talk, channel, caller))

    async def call_tool(
        self,
        name: str,
        arguments: Any,
        caller: Caller,
        *,
        stages: Stages | None = None,
        agreed: Iterable[str] = (),
    ) -> ToolResult:
        """Run one tool; what it changes is changed in the command's own folder."""
        answer = await self._client.call(
            "call_tool",
            name=name,
            arguments=arguments,
            caller=caller_form(caller),
            agreed=list(agreed),
            trace=stages is not None,
            folder=str(self.folder),
        )
        if stages is not None:
            stages.seen.extend(answer["trace"])
        return TOOL_RESULT.read(answer["result"])


class _Inbox:
    """The inbox of a channel of this process; implements `Inbox`."""

    def __init__(self, talk: Talk, channel: Channel, caller: Caller | None) -> None:
        self._talk = talk
        self._channel = channel
        self._caller = caller

    async def submit(self, message: InboundMessage) -> TurnOutcome:
        return await self._talk.say(message, self._caller)

    async def receive(self, message: InboundMessage) -> Receipt:
        await self.submit(message)
        return Receipt(ref=TurnRef(turn="", key="", seq=0, channel=message.channel))

    def caller(self, message: InboundMessage) -> Caller:
        info = self._channel.info
        return self._caller or local_caller(
            surface=info.surface,
            attended=info.attended,
            live_reply=info.live_reply,
            slash_commands=info.slash_commands,
        )
