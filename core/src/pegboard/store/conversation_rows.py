"""Conversations as rows: begun anew, listed, copied, erased."""

from __future__ import annotations

import sqlite3
from typing import Any, Final

from pegboard.contracts.errors import StoreError
from pegboard.contracts.transcript import Conversation
from pegboard.contracts.turn import TurnRef
from pegboard.store import message_rows, turn_rows
from pegboard.store.encoding import as_was, kept
from pegboard.store.schema_turns import OPEN

_LISTED: Final = f"""
    SELECT key, channel, chat, thread, agent, title, next_seq - 1,
        (SELECT count(*) FROM turn t WHERE t.key = conversation.key AND t.{OPEN}),
        epoch, created_at, updated_at
    FROM conversation
"""


def new_epoch(
    connection: sqlite3.Connection, key: str, now: float, by: str | None = None
) -> list[TurnRef]:
    """Begin a conversation anew and return the turns that were stopped by it.

    Args:
        connection: The store.
        key: The conversation.
        now: Seconds since the epoch.
        by: The turn that asks for it; it and what came after it go on in the new epoch.
    """
    turns = turn_rows.open_of(connection, key)
    asking = None if by is None else _place(connection, key, by)
    connection.execute(
        """
        UPDATE conversation SET epoch = epoch + 1, tokens = NULL,
            begins_after = coalesce(?, next_seq - 1), updated_at = max(updated_at, ?)
        WHERE key = ?
        """,
        (asking, now, kept(key)),
    )
    if asking is not None:
        connection.execute(
            f"UPDATE turn SET epoch = epoch + 1 WHERE key = ? AND seq >= ? AND {OPEN}",
            (kept(key), asking),
        )
    stopped = [(ref, fence) for ref, _, fence in turns if asking is None or ref.seq < asking]
    for ref, fence in stopped:
        if fence:
            turn_rows.stop(connection, ref.turn)
        else:
            turn_rows.end(connection, ref.turn, "cancelled", now=now)
    return [ref for ref, _ in stopped]


def _place(connection: sqlite3.Connection, key: str, turn: str) -> int | None:
    row = connection.execute(
        "SELECT seq FROM turn WHERE id = ? AND key = ?", (kept(turn), kept(key))
    ).fetchone()
    return None if row is None else int(row[0])


def listed(
    connection: sqlite3.Connection, channel: str | None, limit: int | None
) -> list[Conversation]:
    """Return conversations, the one that last changed first.

    Args:
        connection: The store.
        channel: Instance name of the channel; None = of all.
        limit: How many at most; None = all.
    """
    if channel is None:
        return listed_where(connection, "1", (), limit)
    return listed_where(connection, "channel = ?", (kept(channel),), limit)


def listed_where(
    connection: sqlite3.Connection, where: str, values: tuple[str, ...], limit: int | None
) -> list[Conversation]:
    """Return the conversations that meet a condition, the one that last changed first."""
    rows = connection.execute(
        f"{_LISTED} WHERE {where} ORDER BY updated_at DESC LIMIT ?",
        (*values, -1 if limit is None else limit),
    )
    return [_conversation(row) for row in rows]


def fork(connection: sqlite3.Connection, key: str, copy: Conversation) -> bool:
    """Copy what was said to a new conversation; False when there is nothing to copy from.

    Raises:
        StoreError: When the copy's key is taken.
    """
    source, target = kept(key), kept(copy.key)
    if connection.execute("SELECT 1 FROM conversation WHERE key = ?", (target,)).fetchone():
        raise StoreError(
            f"There is a conversation {copy.key} already.", fix=f"pegboard sessions show {copy.key}"
        )
    copied = connection.execute(
        """
        INSERT INTO conversation(key, channel, chat, thread, agent, title, next_seq, begins_after,
            tokens, created_at, updated_at)
        SELECT ?, ?, ?, ?, ?, coalesce(nullif(?, ''), title), next_seq, begins_after, tokens, ?, ?
        FROM conversation WHERE key = ? RETURNING 1
        """,
        (
            target,
            *(kept(text) for text in (copy.channel, copy.chat, copy.thread, copy.agent)),
            kept(copy.title),
            copy.created_at,
            copy.updated_at or copy.created_at,
            source,
        ),
    ).fetchone()
    if copied is None:
        return False
    connection.execute(
        """
        INSERT INTO message(key, seq, summary, turn, messages, text, at)
        SELECT ?, seq, summary, turn, messages, text, at FROM message WHERE key = ?
        ORDER BY summary, seq
        """,
        (target, source),
    )
    return True


def forget(connection: sqlite3.Connection, key: str) -> bool:
    """Erase a conversation and all that hangs on it; what was spent on it stays.

    What was there is overwritten in the file, and not only given free.
    """
    connection.execute("PRAGMA secure_delete=ON")
    try:
        erased = connection.execute(
            "DELETE FROM conversation WHERE key = ? RETURNING 1", (kept(key),)
        ).fetchall()
        if erased:
            message_rows.scrub(connection)
    finally:
        connection.execute("PRAGMA secure_delete=FAST")
    return bool(erased)


def _conversation(row: tuple[Any, ...]) -> Conversation:
    key, channel, chat, thread, agent, title = map(as_was, row[:6])
    return Conversation(
        key=key,
        channel=channel,
        chat=chat,
        thread=thread,
        agent=agent,
        title=title,
        turns=row[6],
        open=row[7],
        epoch=row[8],
        created_at=row[9],
        updated_at=row[10],
    )
