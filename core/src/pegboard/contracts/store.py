"""What the host keeps of conversations, turns, calls and replies, so that nothing is lost.

Every verb is one transaction: when it returns, what it wrote is on the disk. Whatever holds a fence
is refused with `FencedError` once another attempt has begun the same turn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, Protocol

from pegboard.contracts.approval import Approval, Grain
from pegboard.contracts.effects import Effects
from pegboard.contracts.errors import StoreError

Json = Mapping[str, Any]
Source = Literal["message", "job", "event", "tool"]
"""What a turn answers: somebody's message, a scheduled job, something that happened, or background
work of a tool that ended."""
TurnState = Literal["queued", "running", "waiting", "done", "failed", "cancelled", "dead"]
OPEN_STATES: Final[tuple[TurnState, ...]] = ("queued", "running", "waiting")
CallKind = Literal["model", "tool"]
PartState = Literal["pending", "sending", "sent", "stale", "in_doubt"]


class FencedError(StoreError):
    """Another attempt has begun this turn, or the turn is over: this attempt must end at once."""

    code = "fenced"


@dataclass(frozen=True, slots=True, kw_only=True)
class Incoming:
    """What comes in and wants a turn.

    Args:
        turn: Id for the turn; unique, sortable by time.
        key: Key of the conversation as text; the agent's id is part of it.
        channel: Instance name of the channel.
        chat: The channel's own id of the chat.
        thread: Thread within the chat, or "".
        agent: Id of the named agent.
        external_id: The channel's id of the message; what comes twice gets one turn. "" = unknown.
        source: What the turn answers.
        background: True when nobody waits for it; it never delays a person's.
        message: The inbound message.
        caller: Whom the turn acts for.
        at: When it came, in seconds since the epoch.
    """

    turn: str
    key: str
    channel: str
    chat: str
    thread: str = ""
    agent: str = "main"
    external_id: str = ""
    source: Source = "message"
    background: bool = False
    message: Json
    caller: Json
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRef:
    """A turn as an engine handles it.

    Args:
        turn: Id of the turn.
        key: Key of its conversation.
        seq: Its place in the conversation, from 1.
        channel: Instance name of the channel.
        background: True when nobody waits for it.
    """

    turn: str
    key: str
    seq: int
    channel: str = ""
    background: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """The answer to something that came in: it is kept now.

    Args:
        ref: Its turn.
        duplicate: True when it had come before; `ref` is then the turn it got that time.
    """

    ref: TurnRef
    duplicate: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRecord:
    """A turn as it is kept.

    Args:
        ref: Which one.
        state: How far it is.
        fence: Number of the attempt that may write; grows with each.
        attempts: How often it was begun and neither finished, nor handed back, nor put to wait.
        epoch: Epoch of the conversation when it came in; `/new` begins another one.
        source: What it answers.
        agent: Id of the named agent.
        message: The inbound message.
        caller: Whom it acts for.
        received_at: When it came in.
        not_before: When it may go on, while it waits; None = when somebody wakes it.
        ended_at: When it ended, or None.
        error: How it failed (`{"code", "message", "fix"}`), or None.
        cancel_asked: True when somebody asked to stop it.
    """

    ref: TurnRef
    state: TurnState
    fence: int = 0
    attempts: int = 0
    epoch: int = 0
    source: Source = "message"
    agent: str = "main"
    message: Json = field(default_factory=dict)
    caller: Json = field(default_factory=dict)
    received_at: float = 0.0
    not_before: float | None = None
    ended_at: float | None = None
    error: Json | None = None
    cancel_asked: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRecord:
    """A model call, or a tool call, of a turn.

    Args:
        id: Unique within the turn: `model:3`, or the tool call's id.
        kind: Which of the two.
        name: Model or canonical tool name.
        digest: Hash of what was asked for, so that another call under one id is noticed.
        effects: What the call may do; None = unknown.
        on_interrupt: The tool's own word (`rerun`, `tell`, `reconcile`), or None.
        idempotency_key: The same for every attempt.
        attempt: Number of the attempt that began it, from 1.
        result: What it returned; None = it was begun and nothing is known of its end.
    """

    id: str
    kind: CallKind
    name: str
    digest: str = ""
    effects: Effects | None = None
    on_interrupt: str | None = None
    idempotency_key: str = ""
    attempt: int = 1
    result: Json | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OutboxPart:
    """One message of a reply.

    Args:
        turn: The turn that it answers.
        part: Its place in the reply, from 0.
        key: Key of the conversation.
        message: The outbound message.
        state: How far it is. `in_doubt` = the host ended while it was being sent.
        external_ids: The channel's ids, once it was sent.
        at: When it was written, or last tried.
    """

    turn: str
    part: int
    key: str
    message: Json
    state: PartState = "pending"
    external_ids: tuple[str, ...] = ()
    at: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """A turn that was begun.

    Args:
        turn: The turn; `turn.fence` is what every further write of it carries.
        calls: What earlier attempts have begun or finished, by id.
        outbox: The reply that an earlier attempt has written, in order.
        approvals: What was asked about its calls, by id of the call.
    """

    turn: TurnRecord
    calls: Mapping[str, CallRecord] = field(default_factory=dict)
    outbox: tuple[OutboxPart, ...] = ()
    approvals: Mapping[str, Approval] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class NotBegun:
    """Why a turn can't be begun now.

    Args:
        why: `over` (it has ended), `busy` (an earlier turn of the conversation is open, or a living
            host runs it), `later` (it waits), `dead` (it was begun too often and is given up now).
        at: When to try again, in seconds since the epoch; None = unknown.
        turn: The turn, when it is given up.
    """

    why: Literal["over", "busy", "later", "dead"]
    at: float | None = None
    turn: TurnRecord | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """A conversation, for lists.

    Args:
        key: Its key.
        channel: Instance name of the channel.
        chat: The channel's own id of the chat.
        thread: Thread within the chat, or "".
        agent: Id of the named agent.
        title: Beginning of the first message.
        turns: Number of its turns.
        open: Number of those that have not ended.
        epoch: How often it was begun anew.
        created_at: When it began.
        updated_at: When something last came in or went out.
    """

    key: str
    channel: str
    chat: str
    thread: str = ""
    agent: str = "main"
    title: str = ""
    turns: int = 0
    open: int = 0
    epoch: int = 0
    created_at: float = 0.0
    updated_at: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnMessages:
    """What one turn added to the history, or the summary that stands for older turns.

    Args:
        seq: Place of the turn in the conversation; of the last one that a summary stands for.
        messages: In order; calls and their results are never apart.
        summary: True for a summary.
        turn: Id of the turn, "" for a summary.
        at: When it was committed.
    """

    seq: int
    messages: tuple[Json, ...]
    summary: bool = False
    turn: str = ""
    at: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """What the model is given of a conversation.

    Args:
        turns: A summary if there is one, then the turns since, the oldest first.
        tokens: Tokens of the last request, as the provider reported them; None = not known.
    """

    turns: tuple[TurnMessages, ...] = ()
    tokens: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    """What one model call cost.

    Args:
        at: When.
        turn: The turn, or "".
        key: Conversation, or "".
        channel: Instance name of the channel, or "".
        sender: Who the turn acts for, or "".
        agent: Id of the named agent.
        plugin: Plugin that asked, or "" for the host.
        provider: Instance name of the provider.
        model: The model that answered.
        input: Input tokens, those read from a cache included.
        output: Output tokens.
        cached: Those of the input that were read from a cache.
        cost: In US dollars; None = unknown.
    """

    at: float
    turn: str = ""
    key: str = ""
    channel: str = ""
    sender: str = ""
    agent: str = "main"
    plugin: str = ""
    provider: str = ""
    model: str = ""
    input: int = 0
    output: int = 0
    cached: int = 0
    cost: float | None = None


class Store(Protocol):
    """The verbs of a store. Raises `StoreError` when it can't be read or written."""

    async def ingest(self, incoming: Incoming) -> Receipt:
        """Keep what came in and give it a turn, in one transaction.

        A channel is told that a message was received only after this returned.
        """
        ...

    async def open_turns(self) -> Sequence[TurnRef]:
        """Return the turns that have not ended, in the order in which they came."""
        ...

    async def turn(self, turn: str) -> TurnRecord | None:
        """Return a turn, or None."""
        ...

    async def begin(self, turn: str, *, now: float, max_attempts: int) -> Begun | NotBegun:
        """Begin the next attempt of a turn that is the first open one of its conversation.

        Beginning adds 1 to the fence. A turn that some living host runs is busy. One that was begun
        `max_attempts` times without an end becomes `dead`.
        """
        ...

    async def wait(self, turn: str, fence: int, *, until: float | None) -> None:
        """Put a running turn aside until a time, or until `wake`; it keeps its place."""
        ...

    async def wake(self, turn: str) -> bool:
        """Let a waiting turn go on now; False when it does not wait."""
        ...

    async def release(self, turn: str, fence: int) -> None:
        """Hand a running turn back unfinished; this attempt does not count."""
        ...

    async def finish(
        self,
        turn: str,
        fence: int,
        *,
        state: TurnState,
        now: float,
        messages: Sequence[Json] = (),
        tokens: int | None = None,
        error: Json | None = None,
    ) -> None:
        """End a turn and add its messages to the history, in one transaction."""
        ...

    async def ask_to_stop(self, key: str) -> Sequence[TurnRef]:
        """Mark the running or waiting turn of a conversation as to be stopped, and return it."""
        ...

    async def stopping(self, turn: str, fence: int) -> bool:
        """Tell whether somebody asked to stop this attempt, or it holds an old fence."""
        ...

    async def new_epoch(self, key: str, *, now: float) -> Sequence[TurnRef]:
        """Begin a conversation anew; return its open turns, each of which is now to be stopped.

        Queued ones end as `cancelled` at once. The transcript is empty from here on; what was said
        stays readable through `messages`.
        """
        ...

    async def intend(self, turn: str, fence: int, calls: Sequence[CallRecord]) -> None:
        """Write that calls are about to run; one that is known begins its next attempt."""
        ...

    async def record(self, turn: str, fence: int, call: str, result: Json) -> None:
        """Write what a call returned."""
        ...

    async def reply(self, turn: str, fence: int, parts: Sequence[Json], *, now: float) -> None:
        """Write the reply of a turn before it is sent; a second time changes nothing."""
        ...

    async def sending(self, turn: str, fence: int, part: int, *, now: float) -> bool:
        """Mark a part as being sent, right before it is; False = stale, it must not be sent.

        Stale: the fence is old, the turn was to be stopped, or the conversation began anew.
        """
        ...

    async def sent(self, turn: str, part: int, external_ids: Sequence[str], *, now: float) -> None:
        """Write that a part was sent; also for an old fence, since it is a fact."""
        ...

    async def doubt(self, turn: str, part: int, *, now: float) -> None:
        """Write that nobody knows whether a part was sent."""
        ...

    async def doubtful(self, key: str | None = None, *, settle: bool = False) -> list[OutboxPart]:
        """Return the parts in doubt, of one conversation or of all.

        Args:
            key: The conversation; None = every one.
            settle: True to have each returned once only: the person was told.
        """
        ...

    async def ask(self, approval: Approval) -> Approval:
        """Keep a question about a call.

        Returns the one that is pending for the same subject in this conversation, if there is one:
        it is shared.
        """
        ...

    async def answer(
        self, key: str, token: str, *, agreed: bool, grain: Grain, by: str, now: float
    ) -> Approval | None:
        """Answer a pending question of a conversation by its token, once; None = there is none.

        What has expired is not answered. Every call that waits for the same subject is answered.
        """
        ...

    async def approvals(self, key: str | None = None) -> Sequence[Approval]:
        """Return what is pending, of one conversation or of all; the oldest first."""
        ...

    async def transcript(self, key: str) -> Transcript:
        """Return what the model is given of a conversation."""
        ...

    async def summarize(
        self, key: str, *, through: int, messages: Sequence[Json], tokens: int | None, now: float
    ) -> bool:
        """Let a summary stand for all turns up to `through`; False when they are none any more."""
        ...

    async def messages(self, key: str) -> Sequence[TurnMessages]:
        """Return all that was ever said in a conversation, summaries left out."""
        ...

    async def conversations(
        self, *, channel: str | None = None, limit: int | None = None
    ) -> Sequence[Conversation]:
        """Return conversations, the one that last changed first."""
        ...

    async def fork(self, key: str, copy: Conversation) -> bool:
        """Copy what was said to a new conversation; False when there is no such one."""
        ...

    async def forget(self, key: str) -> bool:
        """Erase a conversation: messages, turns, calls, replies, inbox. False = not there."""
        ...

    async def spend(self, spending: Spending) -> None:
        """Keep what a model call cost."""
        ...

    async def spent(self, *, since: float, **of: str) -> Sequence[Spending]:
        """Return what was spent since a time.

        Args:
            since: Seconds since the epoch.
            of: Narrows by `key`, `channel`, `sender` or `turn`.
        """
        ...
