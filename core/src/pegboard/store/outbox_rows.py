"""The replies of turns as rows: written before they are sent, marked before and after."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from typing import Any, Final

from pegboard.contracts.errors import StoreError
from pegboard.contracts.turn import OutboxPart
from pegboard.store.encoding import as_was, kept, loaded

_PART: Final = "turn, part, key, message, state, external_ids, at"


def reply(connection: sqlite3.Connection, turn: str, parts: Iterable[str], now: float) -> None:
    """Write the reply of a turn, each part as JSON; a second time changes nothing."""
    written = "SELECT 1 FROM outbox WHERE turn = ? LIMIT 1"
    if connection.execute(written, (kept(turn),)).fetchone() is not None:
        return
    for number, message in enumerate(parts):
        connection.execute(
            """
            INSERT INTO outbox(turn, part, key, message, at)
            VALUES (?1, ?2, (SELECT key FROM turn WHERE id = ?1), ?3, ?4)
            """,
            (kept(turn), number, message, now),
        )


def sending(connection: sqlite3.Connection, turn: str, fence: int, part: int, now: float) -> bool:
    """Mark a part as being sent; False when it must not be.

    Raises:
        StoreError: When the turn has no such part.
    """
    row = connection.execute(
        """
        SELECT t.state = 'running' AND t.fence = ?, t.cancel_asked OR t.epoch < c.epoch,
            (SELECT o.state FROM outbox o WHERE o.turn = t.id AND o.part = ?)
        FROM turn t JOIN conversation c ON c.key = t.key WHERE t.id = ?
        """,
        (fence, part, kept(turn)),
    ).fetchone()
    if row is None or not row[0]:  # erased, or of an earlier attempt
        return False
    _, stop, state = row
    if state is None:
        raise StoreError(
            f"The reply of turn {turn} has no part {part}.",
            fix="call Store.reply before Store.sending",
        )
    if stop:
        _move(connection, turn, "pending", "stale")
        return False
    if state not in ("pending", "sending"):
        return False
    connection.execute(
        "UPDATE outbox SET state = 'sending', at = ? WHERE turn = ? AND part = ?",
        (now, kept(turn), part),
    )
    return True


def sent(
    connection: sqlite3.Connection, turn: str, part: int, external_ids: str, now: float
) -> None:
    """Write that a part was sent, with the channel's ids as JSON."""
    row = connection.execute(
        """
        UPDATE outbox SET state = 'sent', external_ids = ?, at = ? WHERE turn = ? AND part = ?
        RETURNING key
        """,
        (external_ids, now, kept(turn), part),
    ).fetchone()
    if row is not None:
        connection.execute(
            "UPDATE conversation SET updated_at = max(updated_at, ?) WHERE key = ?", (now, row[0])
        )


def doubt(connection: sqlite3.Connection, turn: str, part: int, now: float) -> None:
    """Write that nobody knows whether a part was sent that was being sent."""
    connection.execute(
        """
        UPDATE outbox SET state = 'in_doubt', at = ?
        WHERE turn = ? AND part = ? AND state = 'sending'
        """,
        (now, kept(turn), part),
    )


def give_up(connection: sqlite3.Connection, turn: str, part: int, now: float) -> None:
    """Write that a part that was to be sent can't be delivered: nobody was sent it."""
    connection.execute(
        """
        UPDATE outbox SET state = 'failed', at = ?
        WHERE turn = ? AND part = ? AND state IN ('pending', 'sending')
        """,
        (now, kept(turn), part),
    )


def doubtful(
    connection: sqlite3.Connection, key: str | None, *, settle: bool = False
) -> list[OutboxPart]:
    """Return the parts in doubt that nobody was told of, of one conversation or of all.

    Args:
        connection: The store.
        key: The conversation, or None.
        settle: True to mark them as told.
    """
    where = "state = 'in_doubt' AND settled = 0"
    values: tuple[str, ...] = ()
    if key is not None:
        where, values = f"key = ? AND {where}", (kept(key),)
    # the index is named since SQLite would rather read all parts than sort these
    rows = connection.execute(
        f"SELECT {_PART} FROM outbox INDEXED BY outbox_doubt WHERE {where} ORDER BY number", values
    )
    parts = [_part(row) for row in rows]
    if settle and parts:
        connection.execute(
            f"UPDATE outbox INDEXED BY outbox_doubt SET settled = 1 WHERE {where}", values
        )
    return parts


def of_turn(connection: sqlite3.Connection, turn: str) -> tuple[OutboxPart, ...]:
    """Return the reply of a turn, in order."""
    rows = connection.execute(
        f"SELECT {_PART} FROM outbox WHERE turn = ? ORDER BY part", (kept(turn),)
    )
    return tuple(_part(row) for row in rows)


def close(connection: sqlite3.Connection, turn: str) -> None:
    """Settle the reply of a turn that has ended: nobody sends any more of it."""
    _move(connection, turn, "pending", "stale")
    _move(connection, turn, "sending", "in_doubt")


def _move(connection: sqlite3.Connection, turn: str, state: str, to: str) -> None:
    connection.execute(
        "UPDATE outbox SET state = ? WHERE turn = ? AND state = ?", (to, kept(turn), state)
    )


def _part(row: tuple[Any, ...]) -> OutboxPart:
    return OutboxPart(
        turn=as_was(row[0]),
        part=row[1],
        key=as_was(row[2]),
        message=loaded(row[3]),
        state=row[4],
        external_ids=tuple(loaded(row[5])),
        at=row[6],
    )
