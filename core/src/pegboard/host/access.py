"""What a command asks of a host, whether that runs in its own process or owns the store."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from pegboard.config.trust import FolderTrust
from pegboard.contracts.caller import Caller
from pegboard.contracts.channel import Channel, TurnOutcome
from pegboard.contracts.message import InboundMessage
from pegboard.contracts.result import ToolResult
from pegboard.contracts.transcript import Conversation
from pegboard.host.stages import Stages


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolFacts:
    """A tool, as far as a command needs to know it.

    Args:
        canonical: Its name, `plugin:tool`.
        parameters: JSON Schema of its arguments.
    """

    canonical: str
    parameters: Mapping[str, Any]


class CommandHost(Protocol):
    """A host as commands use it: their own for as long as they run, or the resident one."""

    @property
    def folder(self) -> Path:
        """The folder that tools work in for this command."""
        ...

    @property
    def state(self) -> Path:
        """The state folder."""
        ...

    @property
    def folder_trust(self) -> FolderTrust:
        """The folders that the person trusts."""
        ...

    def local_caller(self, *, as_guest: bool = False, attended: bool = True) -> Caller:
        """Return the identity of the person at this machine."""
        ...

    async def tool_names(self) -> Sequence[str]:
        """Return the names of all tools, as models use them."""
        ...

    async def command_names(self, caller: Caller) -> Sequence[str]:
        """Return the chat commands that a person may use, in the order of `/help`.

        Args:
            caller: The person.
        """
        ...

    async def tool(self, name: str) -> ToolFacts:
        """Return a tool by any of its names.

        Raises:
            UsageError: When there is none; suggests others.
        """
        ...

    async def find_tool(self, name: str, *, why_not: bool = False) -> ToolFacts | None:
        """Return a tool by any of its names, or None.

        Args:
            name: Any name of the tool.
            why_not: True to learn when a plugin brings it that can't be used now.

        Raises:
            PluginError: When that is so.
        """
        ...

    async def conversation(self, text: str, *, channel: str | None = None) -> Conversation:
        """Return the conversation that a text names; "" = the one that last changed.

        Raises:
            UsageError: When there is none, or several; names what is near.
        """
        ...

    async def submit(
        self, message: InboundMessage, channel: Channel, *, caller: Caller | None = None
    ) -> TurnOutcome:
        """Run the turn that answers a message; the reply goes to the channel.

        Raises:
            StoreError: When the message can't be kept; it gets no turn then.
        """
        ...

    async def run_channel(
        self, channel: Channel, chat: str, *, caller: Caller | None = None
    ) -> None:
        """Let a channel receive until it ends.

        Args:
            channel: The channel.
            chat: The one chat that it shows.
            caller: The sender's identity, where the surface knows better than the channel.
        """
        ...

    async def call_tool(
        self,
        name: str,
        arguments: Any,
        caller: Caller,
        *,
        stages: Stages | None = None,
        agreed: Iterable[str] = (),
    ) -> ToolResult:
        """Run one tool through the same path as a model's call.

        Args:
            name: Any name of the tool.
            arguments: An object, or JSON text.
            caller: Whom it acts for.
            stages: Filled with the stages of the call.
            agreed: What the person has agreed to (`Suspend.subject`).
        """
        ...
