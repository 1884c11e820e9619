"""A turn as the store keeps it: what came in, how far it is, what it called and replied."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from pegboard.contracts.approval import Approval
from pegboard.contracts.effects import Effects

Json = Mapping[str, Any]
Source = Literal["message", "job", "event", "tool"]
"""What a turn answers: somebody's message, a scheduled job, something that happened, or background
work of a tool that ended."""
TurnState = Literal["queued", "running", "waiting", "done", "failed", "cancelled", "dead"]
OPEN_STATES: Final[tuple[TurnState, ...]] = ("queued", "running", "waiting")
CallKind = Literal["model", "tool", "message"]
"""What is recorded of a turn: a call of a model, of a tool, or a message that was sent beside the
reply."""
PartState = Literal["pending", "sending", "sent", "stale", "failed", "in_doubt"]


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
        title: What a conversation that has no title yet is called from now on, "" = nothing; None =
            the beginning of the message.
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
    title: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRef:
    """A turn as an engine handles it.

    Args:
        turn: Id of the turn.
        key: Key of its conversation.
        seq: Its place in the conversation, from 1.
        channel: Instance name of the channel.
        background: True when nobody waits for it.
        attempts: How often it had been begun without an end when this was read.
    """

    turn: str
    key: str
    seq: int
    channel: str = ""
    background: bool = False
    attempts: int = field(default=0, compare=False)


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
    """A model call, or a tool call, of a turn; or a message that it sent beside its reply.

    Args:
        id: Unique within the turn: `model:3`, `message:1`, or the tool call's id.
        kind: Which of them.
        name: Model, canonical tool name, or instance name of the channel.
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
        state: How far it is. `in_doubt` = the host ended while it was being sent; `failed` = it
            can't be delivered, and nobody was sent it.
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
        given_up: True when it was begun too often: it shall do nothing more than send a reply that
            is written, or else tell the person; then it ends as `dead`.
    """

    turn: TurnRecord
    calls: Mapping[str, CallRecord] = field(default_factory=dict)
    outbox: tuple[OutboxPart, ...] = ()
    approvals: Mapping[str, Approval] = field(default_factory=dict)
    given_up: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class NotBegun:
    """Why a turn can't be begun now.

    Args:
        why: `over` (it has ended), `busy` (an earlier turn of the conversation is open, or a living
            host runs it), `later` (it waits), `dead` (it was begun too often, also
            to tell that, and ends now).
        at: When to try again, in seconds since the epoch; None = unknown.
        turn: The turn, when it is given up.
    """

    why: Literal["over", "busy", "later", "dead"]
    at: float | None = None
    turn: TurnRecord | None = None
