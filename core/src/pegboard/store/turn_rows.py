"""Turns as rows: how they begin, wait and end.

The functions of this file, and of the other `_rows` files, take a connection that is inside a
transaction; those that write are called by the store's one writer.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

from pegboard.contracts.approval import Approval, Grain
from pegboard.contracts.store import TELLING_ATTEMPTS, FencedError
from pegboard.contracts.turn import (
    OPEN_STATES,
    Begun,
    Json,
    NotBegun,
    TurnRecord,
    TurnRef,
    TurnState,
)
from pegboard.store import approval_rows, call_rows, outbox_rows
from pegboard.store.encoding import as_was, dumped, kept, loaded
from pegboard.store.schema_turns import OPEN

REF: Final = "id, key, seq, channel, background"
_RECORD: Final = """
    t.id, t.key, t.seq, t.channel, t.background, t.state, t.fence, t.attempts, t.epoch,
    t.source, t.agent, i.message, i.caller, i.received_at, t.not_before, t.ended_at, t.error,
    t.cancel_asked
"""
_READ: Final = f"SELECT {_RECORD} FROM turn t JOIN inbox i ON i.turn = t.id WHERE t.id = ?"
_TO_BEGIN: Final = f"""
    SELECT t.state, t.fence, t.attempts, t.worker, t.not_before,
        t.cancel_asked OR t.epoch < c.epoch, t.epoch < c.epoch AND t.fence = 0,
        EXISTS (SELECT 1 FROM turn e WHERE e.key = t.key AND e.seq < t.seq AND e.{OPEN}),
        {_RECORD}
    FROM turn t JOIN inbox i ON i.turn = t.id JOIN conversation c ON c.key = t.key WHERE t.id = ?
"""
_LEFT: Final = """
    SELECT EXISTS (SELECT 1 FROM approval WHERE turn = ? AND state = 'pending'),
        EXISTS (SELECT 1 FROM outbox WHERE turn = ? AND state IN ('pending', 'sending')),
        EXISTS (SELECT 1 FROM call WHERE turn = ? AND kind = 'model')
"""

Runs = Callable[[str, str, int], bool]
"""Tells whether a worker still runs a turn with a fence: `runs(worker, turn, fence)`."""


def open_turns(connection: sqlite3.Connection) -> list[TurnRef]:
    """Return the turns that have not ended, in the order in which they came."""
    # its index is named since SQLite would rather read all turns than sort the open ones
    rows = connection.execute(
        f"SELECT {REF}, attempts FROM turn INDEXED BY turn_open WHERE {OPEN} ORDER BY number"
    )
    return [ref_of(row, attempts=row[5]) for row in rows]


def dead_turns(connection: sqlite3.Connection) -> list[TurnRef]:
    """Return the turns that were given up, the one that ended last first."""
    rows = connection.execute(
        f"""
        SELECT {REF}, attempts FROM turn WHERE state = 'dead' ORDER BY ended_at DESC, number DESC
        """
    )
    return [ref_of(row, attempts=row[5]) for row in rows]


def open_of(connection: sqlite3.Connection, key: str) -> list[tuple[TurnRef, TurnState, int]]:
    """Return the open turns of a conversation in order, each with its state and fence."""
    rows = connection.execute(
        f"SELECT {REF}, state, fence FROM turn WHERE key = ? AND {OPEN} ORDER BY seq", (kept(key),)
    )
    return [(ref_of(row), row[5], row[6]) for row in rows]


def record(connection: sqlite3.Connection, turn: str) -> TurnRecord | None:
    """Return a turn, or None."""
    row = connection.execute(_READ, (kept(turn),)).fetchone()
    return None if row is None else _record(row)


def begin(
    connection: sqlite3.Connection,
    turn: str,
    *,
    worker: str,
    runs: Runs,
    now: float,
    max_attempts: int,
) -> Begun | NotBegun:
    """Begin the next attempt of a turn, or say why not.

    Args:
        connection: The store.
        turn: Id of the turn.
        worker: The host that begins it.
        runs: Tells whether somebody still runs an earlier attempt.
        now: Seconds since the epoch.
        max_attempts: How often a turn may be begun without an end.
    """
    row = connection.execute(_TO_BEGIN, (kept(turn),)).fetchone()
    if row is None:  # erased, together with its conversation
        return NotBegun(why="over")
    state, fence, attempts, owner, not_before, stop, forgotten, behind, *rest = row
    if state not in OPEN_STATES:
        return NotBegun(why="over")
    if behind or (state == "running" and runs(owner, turn, fence)):
        return NotBegun(why="busy")
    if state == "waiting" and (not_before is None or now < not_before):
        return NotBegun(why="later", at=not_before)
    given_up = attempts >= max_attempts
    if forgotten or (stop and given_up):
        end(connection, turn, "cancelled", now=now)
        return NotBegun(why="over", turn=record(connection, turn))
    if attempts >= max_attempts + TELLING_ATTEMPTS:
        end(connection, turn, "dead", now=now, error=_given_up(attempts))
        return NotBegun(why="dead", turn=record(connection, turn))
    connection.execute(
        """
        UPDATE turn SET state = 'running', fence = fence + 1, attempts = attempts + 1, worker = ?,
            not_before = NULL, woken = 0, cancel_asked = ?
        WHERE id = ?
        """,
        (kept(worker), int(stop), kept(turn)),
    )
    # what has been changed just now, in the columns of `_RECORD`
    rest[5:8], rest[14], rest[17] = ("running", fence + 1, attempts + 1), None, stop
    begun = _record(rest)
    if fence == 0:  # nothing can have been left of earlier attempts
        return Begun(turn=begun)
    approval_rows.expire(connection, turn, now)
    return replace(_with_rest(connection, begun), given_up=given_up)


def begun(connection: sqlite3.Connection, turn: str) -> Begun | None:
    """Return a turn with all that its attempts have left, or None."""
    found = record(connection, turn)
    return None if found is None else _with_rest(connection, found)


def _with_rest(connection: sqlite3.Connection, record: TurnRecord) -> Begun:
    return Begun(
        turn=record,
        calls=call_rows.of_turn(connection, record.ref.turn),
        outbox=outbox_rows.of_turn(connection, record.ref.turn),
        approvals=approval_rows.of_turn(connection, record.ref.turn),
    )


def _given_up(attempts: int) -> Json:
    return {
        "code": "turn_dead",
        "message": f"The turn was begun {attempts} times, and each time its host ended before it.",
        "fix": "pegboard logs",
    }


def held(connection: sqlite3.Connection, turn: str, fence: int) -> None:
    """Refuse an attempt that no longer owns its turn.

    Args:
        connection: The store.
        turn: Id of the turn.
        fence: What the attempt was begun with.

    Raises:
        FencedError: When another attempt was begun, or the turn is over.
    """
    row = connection.execute("SELECT state, fence FROM turn WHERE id = ?", (kept(turn),)).fetchone()
    if row is None:
        said = "it was erased"
    elif row[1] != fence:
        said = f"attempt {row[1]} has begun, and this is attempt {fence}"
    elif row[0] != "running":
        said = f"it is {row[0]}"
    else:
        return
    raise FencedError(
        f"Nothing can be written any more for this attempt of turn {turn}: {said}.",
        fix="pegboard status",
        turn=turn,
    )


def wait(connection: sqlite3.Connection, turn: str, fence: int, until: float | None) -> bool:
    """Put a running turn aside; False when it was woken meanwhile and can go on at once."""
    held(connection, turn, fence)
    row = connection.execute(
        """
        UPDATE turn SET state = 'waiting', attempts = attempts - 1, worker = '', woken = 0,
            not_before = CASE WHEN woken OR cancel_asked THEN 0.0 ELSE ? END
        WHERE id = ? RETURNING not_before
        """,
        (until, kept(turn)),
    ).fetchone()
    return row[0] is None or row[0] > 0


def wake(connection: sqlite3.Connection, turn: str) -> bool:
    """Let a waiting turn go on now; one that runs will not begin to wait."""
    row = connection.execute(
        f"""
        UPDATE turn SET woken = 1, not_before = CASE state WHEN 'waiting' THEN 0.0 END
        WHERE id = ? AND {OPEN} RETURNING state
        """,
        (kept(turn),),
    ).fetchone()
    return row is not None and row[0] == "waiting"


def answer(
    connection: sqlite3.Connection,
    key: str,
    token: str,
    *,
    agreed: bool,
    grain: Grain,
    by: str,
    now: float,
) -> Approval | None:
    """Answer a pending question and wake the turns that waited for it; None = there is none."""
    answered = approval_rows.answer(
        connection, key, token, agreed=agreed, grain=grain, by=by, now=now
    )
    for approval in answered:
        wake(connection, approval.turn)
    return answered[0] if answered else None


def release(connection: sqlite3.Connection, turn: str, fence: int) -> None:
    """Hand a running turn back unfinished; this attempt does not count."""
    held(connection, turn, fence)
    connection.execute(
        "UPDATE turn SET state = 'queued', attempts = attempts - 1, worker = '' WHERE id = ?",
        (kept(turn),),
    )


def end(
    connection: sqlite3.Connection,
    turn: str,
    state: TurnState,
    *,
    now: float,
    error: Json | None = None,
) -> None:
    """End a turn, and with it what it asked and what it has not sent.

    What the answers of its model calls hold under `state` is dropped: it served to go on with the
    turn, and is the larger part of what a turn leaves behind.
    """
    connection.execute(
        """
        UPDATE turn SET state = ?, ended_at = ?, error = ?, worker = '', not_before = NULL,
            woken = 0
        WHERE id = ?
        """,
        (state, now, None if error is None else dumped(error, "error"), kept(turn)),
    )
    left = connection.execute(_LEFT, (kept(turn),) * 3).fetchone()
    for close, some in zip(
        (approval_rows.close, outbox_rows.close, call_rows.close), left, strict=True
    ):
        if some:
            close(connection, turn)


def ask_to_stop(connection: sqlite3.Connection, key: str, turn: str | None = None) -> list[TurnRef]:
    """Mark the open turns of a conversation as to be stopped, and return them in order.

    Args:
        connection: The store.
        key: The conversation.
        turn: Only this turn; None = all that was begun or that somebody wrote.
    """
    which = "(fence > 0 OR source = 'message')" if turn is None else "id = ?"
    values = (kept(key),) if turn is None else (kept(key), kept(turn))
    rows = connection.execute(
        f"SELECT {REF} FROM turn WHERE key = ? AND {OPEN} AND {which} ORDER BY seq", values
    ).fetchall()
    for row in rows:
        stop(connection, as_was(row[0]))
    return [ref_of(row) for row in rows]


def stop(connection: sqlite3.Connection, turn: str) -> None:
    """Mark a turn as to be stopped; one that waits goes on now, to end."""
    connection.execute(
        """
        UPDATE turn SET cancel_asked = 1,
            not_before = CASE state WHEN 'waiting' THEN 0.0 ELSE not_before END
        WHERE id = ?
        """,
        (kept(turn),),
    )


def stopping(connection: sqlite3.Connection, turn: str, fence: int) -> bool:
    """Tell whether an attempt must end: it was asked to, or another one was begun."""
    row = connection.execute(
        """
        SELECT t.state = 'running' AND t.fence = ? AND NOT t.cancel_asked AND t.epoch = c.epoch
        FROM turn t JOIN conversation c ON c.key = t.key WHERE t.id = ?
        """,
        (fence, kept(turn)),
    ).fetchone()
    return row is None or not row[0]


def ref_of(row: Sequence[Any], *, attempts: int = 0) -> TurnRef:
    """Return the turn whose row begins with the columns of `REF`."""
    return TurnRef(
        turn=as_was(row[0]),
        key=as_was(row[1]),
        seq=row[2],
        channel=as_was(row[3]),
        background=bool(row[4]),
        attempts=attempts,
    )


def _record(row: Sequence[Any]) -> TurnRecord:
    return TurnRecord(
        ref=ref_of(row),
        state=row[5],
        fence=row[6],
        attempts=row[7],
        epoch=row[8],
        source=row[9],
        agent=as_was(row[10]),
        message=loaded(row[11]),
        caller=loaded(row[12]),
        received_at=row[13],
        not_before=row[14],
        ended_at=row[15],
        error=loaded(row[16]),
        cancel_asked=bool(row[17]),
    )
