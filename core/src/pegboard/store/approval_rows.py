"""Questions about calls as rows, and what people answered."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from typing import Any, Final

from pegboard.contracts.approval import Approval, Grain
from pegboard.store.encoding import as_was, kept

_COLUMNS: Final = (
    "turn, call, key, tool, subject, question, rule, token, asked_at, expires_at, state, grain, by"
)


def ask(connection: sqlite3.Connection, approval: Approval) -> Approval:
    """Keep a question about a call and return it as it is kept.

    A call that was asked about keeps its question and the answer. One whose subject somebody else
    is asked about just now, in the same conversation, shares that question's token and time.
    """
    known = connection.execute(
        f"SELECT {_COLUMNS} FROM approval WHERE turn = ? AND call = ? AND subject = ?",
        (kept(approval.turn), kept(approval.call), kept(approval.subject)),
    ).fetchone()
    if known is not None:
        return _approval(known)
    shared = connection.execute(
        f"""
        SELECT {_COLUMNS} FROM approval
        WHERE key = ? AND state = 'pending' AND subject = ? AND expires_at > ?
        ORDER BY number LIMIT 1
        """,
        (kept(approval.key), kept(approval.subject), approval.asked_at),
    ).fetchone()
    if shared is not None:
        approval = replace(_approval(shared), turn=approval.turn, call=approval.call)
    connection.execute(
        f"""
        INSERT OR REPLACE INTO approval({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """,
        (
            *(kept(text) for text in (approval.turn, approval.call, approval.key, approval.tool)),
            *(kept(text) for text in (approval.subject, approval.question, approval.rule)),
            kept(approval.token),
            approval.asked_at,
            approval.expires_at,
            approval.state,
            approval.grain,
            kept(approval.by),
        ),
    )
    return approval


def answer(
    connection: sqlite3.Connection,
    key: str,
    token: str,
    *,
    agreed: bool,
    grain: Grain,
    by: str,
    now: float,
) -> list[Approval]:
    """Answer a pending question, and each that shares it; return them, in order."""
    rows = connection.execute(
        f"""
        UPDATE approval SET state = ?, grain = ?, by = ?
        WHERE key = ? AND token = ? AND state = 'pending' AND expires_at > ?
        RETURNING {_COLUMNS}
        """,
        ("agreed" if agreed else "refused", grain, kept(by), kept(key), kept(token), now),
    ).fetchall()
    return sorted(map(_approval, rows), key=lambda approval: (approval.turn, approval.call))


def pending(connection: sqlite3.Connection, key: str | None) -> list[Approval]:
    """Return what waits for an answer, of one conversation or of all; the oldest first."""
    where = "state = 'pending'"
    values: tuple[str, ...] = ()
    if key is not None:
        where, values = f"key = ? AND {where}", (kept(key),)
    # the index is named since SQLite would rather read all questions than sort these
    rows = connection.execute(
        f"""
        SELECT {_COLUMNS} FROM approval INDEXED BY approval_pending WHERE {where} ORDER BY number
        """,
        values,
    )
    return [_approval(row) for row in rows]


def of_turn(connection: sqlite3.Connection, turn: str) -> dict[str, Approval]:
    """Return what was asked about the calls of a turn, by id of the call."""
    rows = connection.execute(
        f"SELECT {_COLUMNS} FROM approval WHERE turn = ? ORDER BY number", (kept(turn),)
    )
    return {approval.call: approval for approval in map(_approval, rows)}


def expire(connection: sqlite3.Connection, turn: str, now: float) -> None:
    """Let the questions of a turn expire whose time is over."""
    connection.execute(
        """
        UPDATE approval SET state = 'expired'
        WHERE turn = ? AND state = 'pending' AND expires_at <= ?
        """,
        (kept(turn), now),
    )


def close(connection: sqlite3.Connection, turn: str) -> None:
    """Let every open question of a turn expire: it has ended."""
    connection.execute(
        "UPDATE approval SET state = 'expired' WHERE turn = ? AND state = 'pending'", (kept(turn),)
    )


def _approval(row: tuple[Any, ...]) -> Approval:
    turn, call, key, tool, subject, question, rule, token = map(as_was, row[:8])
    return Approval(
        turn=turn,
        call=call,
        key=key,
        tool=tool,
        subject=subject,
        question=question,
        rule=rule,
        token=token,
        asked_at=row[8],
        expires_at=row[9],
        state=row[10],
        grain=row[11],
        by=as_was(row[12]),
    )
