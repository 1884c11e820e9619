"""Calls of a turn as rows: an intent before each, a result after."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from typing import NamedTuple

from pegboard.contracts.effects import effects
from pegboard.contracts.errors import StoreError
from pegboard.contracts.turn import CallRecord
from pegboard.store.encoding import as_was, dumped, kept, loaded


class Row(NamedTuple):
    """A call, as its row holds it.

    Args:
        call: The call.
        effects: Its effects as JSON, or None.
        result: Its result as JSON, or None.
    """

    call: CallRecord
    effects: str | None
    result: str | None


def row_of(call: CallRecord) -> Row:
    """Return the row of a call; done before the writer is asked, which must not wait.

    Raises:
        StoreError: When the result is no JSON.
    """
    return Row(
        call,
        None if call.effects is None else json.dumps(sorted(call.effects)),
        None if call.result is None else dumped(call.result, "result"),
    )


def intend(connection: sqlite3.Connection, turn: str, rows: Iterable[Row]) -> None:
    """Write that calls are about to run; one that is known begins its next attempt.

    Raises:
        StoreError: When another call that has finished is known under that id.
    """
    for row in rows:
        known = connection.execute(
            "SELECT digest, attempt, result IS NOT NULL FROM call WHERE turn = ? AND id = ?",
            (kept(turn), kept(row.call.id)),
        ).fetchone()
        if known is None:
            _insert(connection, turn, row, row.call.attempt)
        elif known[0] != kept(row.call.digest):
            if known[2]:
                raise _other(row.call)
            _replace(connection, turn, row, row.call.attempt)
        elif not known[2]:
            _replace(connection, turn, row, max(known[1] + 1, row.call.attempt))


def record(connection: sqlite3.Connection, turn: str, call: str, result: str) -> None:
    """Write what a call returned; what is written stays.

    Args:
        connection: The store.
        turn: Id of the turn.
        call: Id of the call.
        result: As JSON.

    Raises:
        StoreError: When nobody has written that the call is about to run.
    """
    row = connection.execute(
        """
        UPDATE call SET result = coalesce(result, ?) WHERE turn = ? AND id = ?
        RETURNING 1
        """,
        (result, kept(turn), kept(call)),
    ).fetchone()
    if row is None:
        raise StoreError(
            f"Turn {turn} has no call {call[:80]}: a result needs an intent before it.",
            fix="call Store.intend before Store.record",
        )


def of_turn(connection: sqlite3.Connection, turn: str) -> dict[str, CallRecord]:
    """Return the calls of a turn by id, in the order in which they were first begun."""
    rows = connection.execute(
        """
        SELECT id, kind, name, digest, effects, on_interrupt, idempotency_key, attempt, result
        FROM call WHERE turn = ? ORDER BY number
        """,
        (kept(turn),),
    )
    calls = (
        CallRecord(
            id=as_was(row[0]),
            kind=row[1],
            name=as_was(row[2]),
            digest=as_was(row[3]),
            effects=None if row[4] is None else effects(loaded(row[4])),
            on_interrupt=row[5],
            idempotency_key=as_was(row[6]),
            attempt=row[7],
            result=loaded(row[8]),
        )
        for row in rows
    )
    return {call.id: call for call in calls}


def close(connection: sqlite3.Connection, turn: str) -> None:
    """Drop the providers' states from what the model calls of a turn answered: it has ended."""
    connection.execute(
        """
        UPDATE call SET result = json_remove(result, '$.state')
        WHERE turn = ? AND kind = 'model' AND json_type(result, '$.state') IS NOT NULL
        """,
        (kept(turn),),
    )


def _insert(connection: sqlite3.Connection, turn: str, row: Row, attempt: int) -> None:
    connection.execute(
        """
        INSERT INTO call(kind, name, digest, effects, on_interrupt, idempotency_key, attempt,
            result, turn, id)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """,
        _values(turn, row, attempt),
    )


def _replace(connection: sqlite3.Connection, turn: str, row: Row, attempt: int) -> None:
    connection.execute(
        """
        UPDATE call SET kind = ?, name = ?, digest = ?, effects = ?, on_interrupt = ?,
            idempotency_key = ?, attempt = ?, result = ?
        WHERE turn = ? AND id = ?
        """,
        _values(turn, row, attempt),
    )


def _values(turn: str, row: Row, attempt: int) -> tuple[object, ...]:
    call = row.call
    return (
        call.kind,
        kept(call.name),
        kept(call.digest),
        row.effects,
        call.on_interrupt,
        kept(call.idempotency_key),
        attempt,
        row.result,
        kept(turn),
        kept(call.id),
    )


def _other(call: CallRecord) -> StoreError:
    return StoreError(
        f"Another call of this turn has finished under the id {call.id[:80]}.",
        fix="give each call of a turn an id of its own",
    )
