"""Where messages come from and replies go to."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

from pegboard.contracts.caller import Caller
from pegboard.contracts.errors import PegboardError
from pegboard.contracts.message import InboundMessage, OutboundMessage
from pegboard.contracts.provider import NO_USAGE, Usage
from pegboard.contracts.stream import StreamEvent
from pegboard.contracts.turn import Receipt

Emit = Callable[[StreamEvent], Awaitable[None]]
DeliveryFault = Literal["retry", "gone", "unknown"]
"""Why a message was not delivered: it can be tried again and nothing was sent; it can never be
delivered; nobody knows whether it was."""


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
        deduplicates: True when sending one message twice is harmless: it looks at the message's
            `id`, or replaces what it showed.
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


class DeliveryError(PegboardError):
    """A message was not delivered. Whatever else `send` raises counts as `unknown`.

    Args:
        message: What happened.
        kind: What may be done about it.
        retry_after: Seconds to wait before the next try, as the other side said, or None.
        fix: What mends it, or None.
    """

    code = "delivery_failed"

    def __init__(
        self,
        message: str,
        *,
        kind: DeliveryFault = "unknown",
        retry_after: float | None = None,
        fix: str | None = None,
        **details: Any,
    ) -> None:
        super().__init__(message, fix=fix, **details)
        self.kind = kind
        self.retry_after = retry_after


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
    """The door through which a channel hands in messages.

    A message whose `external_id` came in before gets no second turn.
    """

    async def receive(self, message: InboundMessage) -> Receipt:
        """Keep `message` and return: its turn is run now, or after the host was started again.

        Only then may the channel tell the other side that the message was received. The reply
        comes through `send`. A chat command is not kept: it was answered when this returns. The
        receipt of a command, and of a sender who gets no turn, has no turn's place (`ref.seq` 0).

        Raises:
            StoreError: When it can't be kept: it was not received.
        """
        ...

    async def submit(self, message: InboundMessage) -> TurnOutcome:
        """Run the turn that answers `message`, and return how it ended.

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

    Four methods are optional. `stream(chat, event)` shows one event of a running turn.
    `ask(chat, question)` puts a yes/no question to the person and returns their answer.
    `typing(chat)` shows for some seconds that an answer is on its way; it is called every 4 s while
    a turn runs, for 5 minutes at most. `takes(chat)` tells whether what is sent to a chat reaches
    somebody through this channel now; without it every chat is taken.
    """

    info: ChannelInfo

    async def run(self, inbox: Inbox) -> None:
        """Receive messages and submit them until cancelled or until the input ends."""
        ...

    async def send(self, message: OutboundMessage) -> Delivery:
        """Deliver a reply.

        Raises:
            DeliveryError: When it was not delivered, or nobody knows whether it was.
        """
        ...
