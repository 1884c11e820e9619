"""What a turn is, and what the host provides for it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from pegboard.agent.prompt import PromptBase
from pegboard.agent.setup import DEFAULT_MAX_STEPS, Declare, DispatchStep
from pegboard.contracts.caller import Caller
from pegboard.contracts.channel import Emit
from pegboard.contracts.hook_events import (
    MessageGuardEvent,
    MessageInEvent,
    MessageOutEvent,
    ModelRequestEvent,
    ObservedEvent,
)
from pegboard.contracts.message import InboundMessage
from pegboard.contracts.verdict import Ask, Deny
from pegboard.conversations.key import ConversationKey
from pegboard.providers.route import Route
from pegboard.turns.reply import ChannelReply

TransformEvent = TypeVar("TransformEvent", MessageInEvent, MessageOutEvent, ModelRequestEvent)


class Hooks(Protocol):
    """The behaviour hooks of all plugins, as the host runs them."""

    async def observe(self, event: ObservedEvent) -> None:
        """Tell observers what happened; never raises."""
        ...

    async def transform(self, hook: str, event: TransformEvent) -> TransformEvent:
        """Return the event as the hooks changed it."""
        ...

    async def guard(self, hook: str, event: MessageGuardEvent) -> Ask | Deny | None:
        """Return the strictest answer of all guards."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One inbound message on its way to a reply.

    Args:
        id: Unique id, sortable by time.
        key: Its conversation.
        message: The message, as the hooks left it.
        caller: Whom the turn acts for.
        reply: The person, for what is sent beside the final reply; tools get it only when
            `caller.live_reply`.
        emit: Takes events of the turn; never raises.
    """

    id: str
    key: ConversationKey
    message: InboundMessage
    caller: Caller
    reply: ChannelReply
    emit: Emit

    @property
    def conversation(self) -> str:
        """The key of the conversation as one string."""
        return self.key.text


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnParts:
    """What the host provides for one turn.

    Args:
        route: Who is asked.
        prompt: The prompt's cached base.
        dispatch_step: Runs the calls of a step for this turn's caller.
        declare: Returns the tools to declare.
        deferred: Names of tools that exist but are not declared.
        max_steps: Model calls at most.
        effort: Reasoning effort, or None.
    """

    route: Route
    prompt: PromptBase
    dispatch_step: DispatchStep
    declare: Declare
    deferred: Sequence[str] = ()
    max_steps: int = DEFAULT_MAX_STEPS
    effort: str | None = None


PrepareTurn = Callable[[Turn], Awaitable[TurnParts]]
"""Raises `PegboardError` (no provider, a broken plugin) when the turn can't be run."""
