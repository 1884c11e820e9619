"""The store of a host on one machine: every verb is one transaction of one SQLite file."""

from __future__ import annotations

import os
import secrets
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

from pegboard.contracts.approval import Approval, Grain
from pegboard.contracts.errors import StoreError
from pegboard.contracts.spending import Spending
from pegboard.contracts.transcript import Conversation, Transcript, TurnMessages
from pegboard.contracts.turn import (
    OPEN_STATES,
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
from pegboard.store import (
    approval_rows,
    call_rows,
    conversation_rows,
    inbox_rows,
    message_rows,
    outbox_rows,
    spending_rows,
    turn_rows,
)
from pegboard.store.crash_points import reached
from pegboard.store.database import Database
from pegboard.store.encoding import dumped
from pegboard.store.workers import FOLDER, Workers

T = TypeVar("T")
_ID_BYTES: Final = 4


@dataclass(slots=True)
class _Attempt:
    """An attempt that this host has begun.

    Args:
        ended: True once it can't write any more, or nobody heard that it was begun.
    """

    ended: bool = False


class EmbeddedStore:
    """Keeps conversations, turns, calls and replies in the host's SQLite file; a `Store`.

    Nothing is opened before the first verb.

    Args:
        database: The file; others may use it as well.
        worker: Id of this host, never used before; made up when it is not given.
    """

    def __init__(self, database: Database, *, worker: str | None = None) -> None:
        self.database = database
        self._workers = Workers(
            database.path.parent / FOLDER,
            f"{os.getpid()}-{secrets.token_hex(_ID_BYTES)}" if worker is None else worker,
        )
        self._attempts: dict[tuple[str, int], _Attempt] = {}

    @property
    def worker(self) -> str:
        """Id of this host."""
        return self._workers.name

    async def aclose(self) -> None:
        """Write what waits and close the file; what this host ran may be taken over.

        A second time does nothing.
        """
        await self.database.aclose()
        self._workers.leave()

    async def ingest(self, incoming: Incoming) -> Receipt:
        """Keep what came in and give it a turn."""
        row = inbox_rows.row_of(incoming)
        return await self._write("ingest", partial(inbox_rows.ingest, row=row))

    async def open_turns(self) -> Sequence[TurnRef]:
        """Return the turns that have not ended, in the order in which they came."""
        return await self.database.read(turn_rows.open_turns)

    async def dead_turns(self) -> Sequence[TurnRef]:
        """Return the turns that were given up, the one that ended last first."""
        return await self.database.read(turn_rows.dead_turns)

    async def turn(self, turn: str) -> TurnRecord | None:
        """Return a turn, or None."""
        return await self.database.read(partial(turn_rows.record, turn=turn))

    async def begun(self, turn: str) -> Begun | None:
        """Return a turn with all that its attempts have left, without beginning it."""
        return await self.database.read(partial(turn_rows.begun, turn=turn))

    async def begin(self, turn: str, *, now: float, max_attempts: int) -> Begun | NotBegun:
        """Begin the next attempt of a turn, or say why not."""
        attempt = _Attempt()

        def work(connection: sqlite3.Connection) -> Begun | NotBegun:
            begun = turn_rows.begin(
                connection,
                turn,
                worker=self.worker,
                runs=self._runs,
                now=now,
                max_attempts=max_attempts,
            )
            if isinstance(begun, Begun):
                # known before it is committed: who asks next must not take it over
                self._attempts[turn, begun.turn.fence] = attempt
            return begun

        self._enter()
        try:
            return await self._write("begin", work)
        except BaseException:
            attempt.ended = True
            raise

    async def wait(self, turn: str, fence: int, *, until: float | None) -> bool:
        """Put a running turn aside; False when it was woken meanwhile."""
        work = partial(turn_rows.wait, turn=turn, fence=fence, until=until)
        return await self._end_attempt("wait", turn, fence, work)

    async def wake(self, turn: str) -> bool:
        """Let a waiting turn go on now; False when it does not wait."""
        return await self._write("wake", partial(turn_rows.wake, turn=turn))

    async def release(self, turn: str, fence: int) -> None:
        """Hand a running turn back unfinished."""
        work = partial(turn_rows.release, turn=turn, fence=fence)
        await self._end_attempt("release", turn, fence, work)

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
        """End a turn and add its messages to the history."""
        if state in OPEN_STATES:
            raise StoreError(f"A turn can't end as {state}.", fix="use Store.wait or Store.release")
        row = message_rows.row_of(messages)

        def work(connection: sqlite3.Connection) -> None:
            turn_rows.held(connection, turn, fence)
            message_rows.add(connection, turn, row, tokens, now)
            turn_rows.end(connection, turn, state, now=now, error=error)

        await self._end_attempt("finish", turn, fence, work)

    async def ask_to_stop(self, key: str, *, turn: str | None = None) -> Sequence[TurnRef]:
        """Mark the open turns of a conversation, or one of them, as to be stopped."""
        work = partial(turn_rows.ask_to_stop, key=key, turn=turn)
        return await self._write("ask_to_stop", work)

    async def stopping(self, turn: str, fence: int) -> bool:
        """Tell whether somebody asked to stop this attempt, or it holds an old fence."""
        return await self.database.read(partial(turn_rows.stopping, turn=turn, fence=fence))

    async def new_epoch(self, key: str, *, now: float, by: str | None = None) -> Sequence[TurnRef]:
        """Begin a conversation anew; return the turns that are stopped by it."""
        work = partial(conversation_rows.new_epoch, key=key, now=now, by=by)
        return await self._write("new_epoch", work)

    async def intend(self, turn: str, fence: int, calls: Sequence[CallRecord]) -> None:
        """Write that calls are about to run; one that is known begins its next attempt."""
        rows = [call_rows.row_of(call) for call in calls]

        def work(connection: sqlite3.Connection) -> None:
            turn_rows.held(connection, turn, fence)
            call_rows.intend(connection, turn, rows)

        await self._write("intend", work)

    async def record(self, turn: str, fence: int, call: str, result: Json) -> None:
        """Write what a call returned; a second time changes nothing."""
        text = dumped(result, "result")

        def work(connection: sqlite3.Connection) -> None:
            turn_rows.held(connection, turn, fence)
            call_rows.record(connection, turn, call, text)

        await self._write("record", work)

    async def reply(self, turn: str, fence: int, parts: Sequence[Json], *, now: float) -> None:
        """Write the reply of a turn before it is sent; a second time changes nothing."""
        texts = [dumped(part, "reply") for part in parts]

        def work(connection: sqlite3.Connection) -> None:
            turn_rows.held(connection, turn, fence)
            outbox_rows.reply(connection, turn, texts, now)

        await self._write("reply", work)

    async def sending(self, turn: str, fence: int, part: int, *, now: float) -> bool:
        """Mark a part as being sent, right before it is; False = it must not be sent."""
        work = partial(outbox_rows.sending, turn=turn, fence=fence, part=part, now=now)
        return await self._write("sending", work)

    async def sent(self, turn: str, part: int, external_ids: Sequence[str], *, now: float) -> None:
        """Write that a part was sent."""
        ids = dumped(list(external_ids), "ids of a message")
        work = partial(outbox_rows.sent, turn=turn, part=part, external_ids=ids, now=now)
        await self._write("sent", work)

    async def doubt(self, turn: str, part: int, *, now: float) -> None:
        """Write that nobody knows whether a part was sent."""
        await self._write("doubt", partial(outbox_rows.doubt, turn=turn, part=part, now=now))

    async def give_up(self, turn: str, part: int, *, now: float) -> None:
        """Write that a part can't be delivered and was not sent."""
        await self._write("give_up", partial(outbox_rows.give_up, turn=turn, part=part, now=now))

    async def doubtful(self, key: str | None = None, *, settle: bool = False) -> list[OutboxPart]:
        """Return the parts in doubt, of one conversation or of all."""
        work = partial(outbox_rows.doubtful, key=key, settle=settle)
        if settle:
            return await self._write("doubtful", work)
        return await self.database.read(work)

    async def ask(self, approval: Approval) -> Approval:
        """Keep a question about a call, or share the pending one about the same subject."""
        return await self._write("ask", partial(approval_rows.ask, approval=approval))

    async def answer(
        self, key: str, token: str, *, agreed: bool, grain: Grain, by: str, now: float
    ) -> Approval | None:
        """Answer a pending question by its token and wake who waits for it."""
        work = partial(
            turn_rows.answer, key=key, token=token, agreed=agreed, grain=grain, by=by, now=now
        )
        return await self._write("answer", work)

    async def approvals(self, key: str | None = None) -> Sequence[Approval]:
        """Return what is pending, of one conversation or of all; the oldest first."""
        return await self.database.read(partial(approval_rows.pending, key=key))

    async def transcript(self, key: str) -> Transcript:
        """Return what the model is given of a conversation."""
        return await self.database.read(partial(message_rows.transcript, key=key))

    async def summarize(
        self, key: str, *, through: int, messages: Sequence[Json], tokens: int | None, now: float
    ) -> bool:
        """Let a summary stand for all turns up to `through`; False when there are none."""
        row = message_rows.row_of(messages)
        work = partial(
            message_rows.summarize, key=key, through=through, row=row, tokens=tokens, now=now
        )
        return await self._write("summarize", work)

    async def messages(self, key: str) -> Sequence[TurnMessages]:
        """Return all that was ever said in a conversation, summaries left out."""
        return await self.database.read(partial(message_rows.messages, key=key))

    async def conversations(
        self, *, channel: str | None = None, limit: int | None = None
    ) -> Sequence[Conversation]:
        """Return conversations, the one that last changed first."""
        work = partial(conversation_rows.listed, channel=channel, limit=limit)
        return await self.database.read(work)

    async def fork(self, key: str, copy: Conversation) -> bool:
        """Copy what was said to a new conversation; False when there is no such one."""
        return await self._write("fork", partial(conversation_rows.fork, key=key, copy=copy))

    async def forget(self, key: str) -> bool:
        """Erase a conversation; False when there is no such one."""
        return await self._write("forget", partial(conversation_rows.forget, key=key))

    async def spend(self, spending: Spending) -> None:
        """Keep what a model call cost."""
        await self._write("spend", partial(spending_rows.add, spending=spending))

    async def spent(self, *, since: float, **of: str) -> Sequence[Spending]:
        """Return what was spent since a time."""
        return await self.database.read(partial(spending_rows.since, at=since, of=of))

    async def _write(self, verb: str, work: Callable[[sqlite3.Connection], T]) -> T:
        reached(verb, "before")
        result = await self.database.write(partial(_done, verb, work))
        reached(verb, "after")
        return result

    async def _end_attempt(
        self, verb: str, turn: str, fence: int, work: Callable[[sqlite3.Connection], T]
    ) -> T:
        """Run what an attempt ends with; it is over also when that can't be written."""
        try:
            return await self._write(verb, work)
        finally:
            self._attempts.pop((turn, fence), None)

    def _runs(self, worker: str, turn: str, fence: int) -> bool:
        """Tell whether a host still runs an attempt. Called in the writer's thread."""
        if worker != self.worker:
            return self._workers.alive(worker)
        attempt = self._attempts.get((turn, fence))
        return attempt is not None and not attempt.ended

    def _enter(self) -> None:
        try:
            self._workers.enter()
        except OSError as error:
            raise StoreError(
                f"This host can't be entered in {self.database.path.parent}: {error.strerror}.",
                fix=f"ls -ld {self.database.path.parent}",
            ) from error


def _done(verb: str, work: Callable[[sqlite3.Connection], T], connection: sqlite3.Connection) -> T:
    result = work(connection)
    reached(verb, "during")
    return result


async def open_store(
    folder: Path, *, exclusive: bool = False, worker: str | None = None
) -> EmbeddedStore:
    """Open the store of a folder, and make it when it is not there.

    Args:
        folder: The state folder.
        exclusive: True to own the store, as a resident host does.
        worker: Id of this host, never used before; made up when it is not given.

    Raises:
        StoreError: When that can't be done; says why and how to mend it.
    """
    store = EmbeddedStore(Database(folder, exclusive=exclusive), worker=worker)
    try:
        await store.database.open()
        store._enter()
    except BaseException:
        await store.aclose()
        raise
    return store
