"""What the host keeps of conversations, turns, calls and replies, so that nothing is lost.

Every verb is one transaction: when it returns, what it wrote is on the disk. Whatever holds a fence
is refused with `FencedError` once another attempt has begun the same turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

from pegboard.contracts.approval import Approval, Grain
from pegboard.contracts.errors import StoreError
from pegboard.contracts.spending import Spending
from pegboard.contracts.transcript import Conversation, Transcript, TurnMessages
from pegboard.contracts.turn import (
    Begun,
    CallRecord,
    Incoming,
    Json,
    NotBegun,
    OutboxPart,
    Receipt,
    TurnRecord,
    TurnRef,
    TurnState,
)

TELLING_ATTEMPTS: Final = 3
"""How often a host may die while it tells a person that a turn is given up."""


class FencedError(StoreError):
    """Another attempt has begun this turn, or the turn is over: this attempt must end at once."""

    code = "fenced"


class Store(Protocol):
    """The verbs of a store. Raises `StoreError` when it can't be read or written."""

    async def ingest(self, incoming: Incoming) -> Receipt:
        """Keep what came in and give it a turn, in one transaction.

        A channel is told that a message was received only after this returned. What has come
        before, by the id of the turn or by the external id in that chat of the channel, gets the
        turn it has.
        """
        ...

    async def open_turns(self) -> Sequence[TurnRef]:
        """Return the turns that have not ended, in the order in which they came."""
        ...

    async def dead_turns(self) -> Sequence[TurnRef]:
        """Return the turns that were given up, the one that ended last first."""
        ...

    async def turn(self, turn: str) -> TurnRecord | None:
        """Return a turn, or None."""
        ...

    async def begun(self, turn: str) -> Begun | None:
        """Return a turn with its calls, its reply and what was asked, without beginning it."""
        ...

    async def begin(self, turn: str, *, now: float, max_attempts: int) -> Begun | NotBegun:
        """Begin the next attempt of a turn that is the first open one of its conversation.

        Beginning adds 1 to the fence. A turn that some living host runs is busy: so each attempt
        must be ended with `finish`, `wait` or `release`, whatever happens in it. (When that raises
        as well, the attempt is over all the same: the next `begin` takes the turn over.)

        A turn that was begun `max_attempts` times without an end is begun once more as `given_up`:
        to tell the person, and to end as `dead`. When that too comes to no end `TELLING_ATTEMPTS`
        times, it becomes `dead` without a word. One that was to be stopped is begun, with
        `cancel_asked`, so that it can be written down; it ends as `cancelled` at once when it was
        begun `max_attempts` times, or did nothing yet and its epoch is over.
        """
        ...

    async def wait(self, turn: str, fence: int, *, until: float | None) -> bool:
        """Put a running turn aside until a time, or until `wake`; it keeps its place.

        Returns False when it can go on at once: it was woken, or asked to stop, since it was begun.
        """
        ...

    async def wake(self, turn: str) -> bool:
        """Let a waiting turn go on now; False when it does not wait.

        One that runs will not begin to wait: its next `wait` returns False.
        """
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
        """End a turn and add its messages to the history, in one transaction.

        What the results of its model calls hold under `state` served to go on, and is dropped.
        Parts of the reply that were not sent become stale, and questions expire. `tokens` = None
        leaves the number that is known.
        """
        ...

    async def ask_to_stop(self, key: str, *, turn: str | None = None) -> Sequence[TurnRef]:
        """Mark the open turns of a conversation as to be stopped, and return them in order.

        One that waits goes on at once, to end; one that is queued ends when it is begun. What
        nobody wrote (a job, an event) and nobody has begun is left as it is.

        Args:
            key: The conversation.
            turn: Only this turn of it, whoever wrote it; None = all.
        """
        ...

    async def stopping(self, turn: str, fence: int) -> bool:
        """Tell whether somebody asked to stop this attempt, or it holds an old fence."""
        ...

    async def new_epoch(self, key: str, *, now: float, by: str | None = None) -> Sequence[TurnRef]:
        """Begin a conversation anew; return its open turns, each of which is now to be stopped.

        Those that nobody has begun end as `cancelled` at once. The transcript is empty from here
        on; what was said stays readable through `messages`.

        Args:
            key: The conversation.
            now: Seconds since the epoch.
            by: The turn that asks for it, if one does: it and what came after it are not stopped
                and belong to the new epoch.
        """
        ...

    async def intend(self, turn: str, fence: int, calls: Sequence[CallRecord]) -> None:
        """Write that calls are about to run; one that is known begins its next attempt.

        One that comes with its result is recorded with it, in the same transaction. One that has
        finished is left as it is.

        Raises:
            StoreError: When a call with another digest has finished under that id.
        """
        ...

    async def record(self, turn: str, fence: int, call: str, result: Json) -> None:
        """Write what a call returned; a second time changes nothing.

        50 MB are kept, but a large result delays whatever else is written, and takes many times its
        size in memory meanwhile: what is over 1 MB belongs in a blob.
        """
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

    async def give_up(self, turn: str, part: int, *, now: float) -> None:
        """Write that a part can't be delivered: it was certainly not sent, and never will be."""
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

        Returns it as it is kept: with the token and the time of the one that is pending for the
        same subject in this conversation, if there is one: it is shared. A call that was asked
        about keeps its question and the answer to it.
        """
        ...

    async def answer(
        self, key: str, token: str, *, agreed: bool, grain: Grain, by: str, now: float
    ) -> Approval | None:
        """Answer a pending question of a conversation by its token, once; None = there is none.

        What has expired is not answered. Every call that waits for the same subject is answered,
        and its turn is woken in the same transaction; the engine is still to be poked.
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
