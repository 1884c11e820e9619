"""Where messages come from and replies go to."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from pegboard.contracts.caller import Caller
from pegboard.contracts.message import InboundMessage, OutboundMessage
from pegboard.contracts.provider import NO_USAGE, Usage
from pegboard.contracts.stream import StreamEvent

Emit = Callable[[StreamEvent], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelInfo:
    """What a channel can do.

    Args:
        surface: `terminal`, `chat`, `voice`, `editor` or `api`.
        local: True when whoever uses it is the person at this machine.
        attended: True when a person is present while a turn runs.
        live_reply: True when a reply reaches the person now.
        slash_commands: True when `/words` are commands.
        streaming: True when it shows events while a turn runs.
        retract: True when shown text can be taken back.
        deduplicates: True when sending one message twice is harmless.
        max_chars: Longest message, or None.
    """

    surface: str
    local: bool = False
    attended: bool = True
    live_reply: bool = True
    slash_commands: bool = False
    streaming: bool = False
    retract: bool = False
    deduplicates: bool = False
    max_chars: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """What became of a sent message.

    Args:
        external_ids: The channel's ids of the messages sent, in order.
    """

    external_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnOutcome:
    """How a turn ended.

    Args:
        text: The reply.
        status: `done`, `failed` or `cancelled`; `ignored` when the sender gets no turn.
        steps: Model calls made.
        usage: Tokens of all of them.
        error: What went wrong (`{"code", "message", "fix"}`), or None.
        tool_calls: Number of tool calls.
        tool_failures: Number of those that reported an error.
    """

    text: str
    status: str = "done"
    steps: int = 0
    usage: Usage = NO_USAGE
    error: dict[str, Any] | None = None
    tool_calls: int = 0
    tool_failures: int = 0


class Inbox(Protocol):
    """The door through which a channel hands in messages."""

    async def submit(self, message: InboundMessage) -> TurnOutcome:
        """Run the turn that answers `message`.

        The channel's `stream` and `send` are called on the way. Cancelling this call cancels the
        turn.
        """
        ...

    def caller(self, message: InboundMessage) -> Caller:
        """Return the identity that the host gives to the sender of `message`."""
        ...


@runtime_checkable
class Channel(Protocol):
    """A way to talk to the agent.

    Two methods are optional. `stream(chat, event)` shows one event of a running turn.
    `ask(chat, question)` puts a yes/no question to the person and returns their answer.
    """

    info: ChannelInfo

    async def run(self, inbox: Inbox) -> None:
        """Receive messages and submit them until cancelled or until the input ends."""
        ...

    async def send(self, message: OutboundMessage) -> Delivery:
        """Deliver a reply."""
        ...
