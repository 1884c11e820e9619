"""What a turn is, and what the host provides for it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol, TypeVar

from pegboard.agent.digests import RunDigests
from pegboard.agent.prompt import PromptBase
from pegboard.agent.setup import DEFAULT_MAX_STEPS, Approve, Declare, DispatchStep
from pegboard.channels.outbox_sender import OutboxSender
from pegboard.contracts.approval import Answer
from pegboard.contracts.blob import Blobs
from pegboard.contracts.caller import Caller
from pegboard.contracts.channel import Emit
from pegboard.contracts.clock import Clock
from pegboard.contracts.engine import Engine
from pegboard.contracts.errors import UsageError
from pegboard.contracts.hook_events import (
    MessageGuardEvent,
    MessageInEvent,
    MessageOutEvent,
    ModelRequestEvent,
    ObservedEvent,
)
from pegboard.contracts.message import InboundMessage, ToolCall
from pegboard.contracts.result import Suspend
from pegboard.contracts.store import Store
from pegboard.contracts.stream import StreamEvent
from pegboard.contracts.turn import Begun, CallRecord, TurnRecord
from pegboard.contracts.verdict import Ask, Deny
from pegboard.conversations.history import History
from pegboard.conversations.key import ConversationKey
from pegboard.policy.spend_limits import Held
from pegboard.providers.route import ModelAttempt, Route
from pegboard.turns.compaction import Compactor
from pegboard.turns.conclusion import part_message
from pegboard.turns.journal import TurnJournal
from pegboard.turns.news import NewsDesk
from pegboard.turns.person_call import CallParts
from pegboard.turns.reply import ASK_TIMEOUT_S, ChannelReply

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
        begun: What the store knows of it, the calls of earlier attempts among it; None for what is
            answered without being kept.
        journal: Record of its calls, or None.
    """

    id: str
    key: ConversationKey
    message: InboundMessage
    caller: Caller
    reply: ChannelReply
    emit: Emit
    begun: Begun | None = None
    journal: TurnJournal | None = None

    @property
    def conversation(self) -> str:
        """The key of the conversation as one string."""
        return self.key.text

    @property
    def taken_up(self) -> bool:
        """True when an earlier attempt came as far as a call."""
        calls = {} if self.begun is None else self.begun.calls
        return any(call.kind != "message" for call in calls.values())


def _no_heir(name: str) -> str:
    raise UsageError(f"There is no agent {name!r} to hand over to.", fix="Go on yourself.")


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
        timeout_s: Seconds that the turn may take; None = as long as it needs.
        heir: Returns the id of an agent that may go on with the turn; raises `UsageError` for any
            other name.
        digests: Shortens older results when the turn comes near the model's window, or None.
        blobs: Where images and files of messages are, for providers that take them, or None.
        close: Ends what the turn has started and that outlived it, and tells it how the turn ended.
    """

    route: Route
    prompt: PromptBase
    dispatch_step: DispatchStep
    declare: Declare
    deferred: Sequence[str] = ()
    max_steps: int = DEFAULT_MAX_STEPS
    effort: str | None = None
    timeout_s: float | None = None
    heir: Callable[[str], str] = field(default=_no_heir)
    digests: RunDigests | None = None
    blobs: Blobs | None = None
    close: Callable[[str], None] = field(default=lambda why: None)


PrepareTurn = Callable[[Turn], Awaitable[TurnParts]]
"""Raises `PegboardError` (no provider, a broken plugin) when the turn can't be run."""
PrepareCall = Callable[[Turn], Awaitable[CallParts]]
"""Raises `PegboardError` when nothing can be called."""
Approver = Callable[[Turn], Approve | None]
"""Returns what asks about the calls of a turn; None = what needs a person's word is denied."""
Lend = Callable[[Caller], AbstractContextManager[Caller]]
"""Gives a caller what it holds for the time of a run."""
Watch = Callable[[str, str, StreamEvent], None]
"""`watch(conversation, turn, event)`; returns at once."""
NoteDeath = Callable[[TurnRecord, Sequence[CallRecord]], Awaitable[None]]
"""Never raises."""
OpenJournal = Callable[[Begun], TurnJournal]
"""Returns the record of an attempt's calls."""


def ask_inline(turn: Turn) -> Approve | None:
    """Return what asks the person who is there, while the turn waits.

    It asks the owner, not a guest: the writer's word counts only where it is theirs to give.
    """
    reply = turn.reply
    if turn.caller.trust != "operator" or not reply.can_ask:
        return None

    async def ask(call: ToolCall, asked: Suspend) -> Answer:
        return Answer(await reply.ask(asked.question))

    return ask


class TurnLimits(Protocol):
    """What senders and channels may use, and what runs may cost."""

    async def admit(
        self, caller: Caller, turn: str, conversation: str, provider: str = "", model: str = ""
    ) -> None:
        """Let a run ask a model once more.

        Raises:
            BudgetError: When a budget is used up, or can't be held.
        """
        ...

    async def held(
        self, caller: Caller, message: InboundMessage, now: float, *, turn: str
    ) -> Held | None:
        """Return until when a turn has to wait, or None when it may run."""
        ...

    async def spent(
        self, attempt: ModelAttempt, caller: Caller, turn: str, conversation: str
    ) -> None:
        """Count a request to a provider; never raises."""
        ...


@dataclass(slots=True, kw_only=True)
class TurnServices:
    """What all turns of a host share.

    Args:
        store: Where the truth is.
        engine: Decides when a turn runs.
        prepare: Returns what the host provides for a turn.
        prepare_call: Returns what it provides for a chat command that is one call.
        journal: Returns the record of an attempt's calls.
        hooks: Behaviour hooks; another table when plugins came or went.
        clock: Time.
        history: What was said in each conversation.
        compactor: Makes long conversations shorter, or None.
        approver: Returns what asks about the calls of a turn.
        leased: Gives a caller what it holds for the time of a turn.
        limits: What senders and channels may use, or None.
        ask_timeout_s: Seconds to wait for a person's word; silence is a no.
        redact: Takes secrets out of the errors that people read.
        sender: Sends replies.
        notices: What the next turn of a conversation begins with telling, by its key.
        watch: Told of every event of every turn, or None.
        news: What models of conversations wait to be told, or None.
        died: Told of the calls that were at work when the last host of a turn died, or None.
    """

    store: Store
    engine: Engine
    prepare: PrepareTurn
    prepare_call: PrepareCall
    journal: OpenJournal
    hooks: Hooks
    clock: Clock
    history: History
    compactor: Compactor | None = None
    approver: Approver = ask_inline
    leased: Lend = nullcontext
    limits: TurnLimits | None = None
    ask_timeout_s: float = ASK_TIMEOUT_S
    redact: Callable[[str], str] = str
    sender: OutboxSender = field(init=False)
    notices: dict[str, StreamEvent] = field(default_factory=dict)
    watch: Watch | None = None
    news: NewsDesk | None = None
    died: NoteDeath | None = None

    def __post_init__(self) -> None:
        self.sender = OutboxSender(self.store, self.clock, read=part_message)

    def watcher(self, conversation: str, turn: str) -> Callable[[StreamEvent], None] | None:
        """Return what is told of every event of one turn, or None."""
        return None if self.watch is None else partial(self.watch, conversation, turn)
