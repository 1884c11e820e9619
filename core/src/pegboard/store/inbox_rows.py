"""What comes in as rows: each gets a turn, and what comes twice gets the one it has."""

from __future__ import annotations

import sqlite3
from typing import Final, NamedTuple

from pegboard.contracts.turn import Incoming, Receipt, TurnRef
from pegboard.store.encoding import dumped, kept
from pegboard.store.titles import title_of
from pegboard.store.turn_rows import REF, ref_of

_KNOWN: Final = f"""
    SELECT {REF} FROM turn WHERE id = coalesce(
        (SELECT turn FROM inbox WHERE turn = ?),
        (SELECT turn FROM inbox WHERE channel = ? AND chat = ? AND external_id = ?
            AND external_id <> ''))
"""


class Row(NamedTuple):
    """What came in, as its rows hold it.

    Args:
        incoming: What came in.
        message: Its message as JSON.
        caller: Its caller as JSON.
        title: What a conversation that begins with it is called.
    """

    incoming: Incoming
    message: str
    caller: str
    title: str


def row_of(incoming: Incoming) -> Row:
    """Return the rows of what came in; done before the writer is asked, which must not wait.

    Raises:
        StoreError: When the message or the caller is no JSON.
    """
    text = incoming.message.get("text") if incoming.title is None else incoming.title
    return Row(
        incoming,
        dumped(incoming.message, "message"),
        dumped(incoming.caller, "caller"),
        kept(title_of(text)),
    )


def ingest(connection: sqlite3.Connection, row: Row) -> Receipt:
    """Keep what came in and give it a turn; what came before gets the turn it has."""
    incoming = row.incoming
    turn, key, channel = kept(incoming.turn), kept(incoming.key), kept(incoming.channel)
    chat, agent = kept(incoming.chat), kept(incoming.agent)
    external_id = kept(incoming.external_id)
    new = connection.execute(
        """
        INSERT INTO inbox(turn, channel, chat, external_id, message, caller, received_at)
        VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING 1
        """,
        (turn, channel, chat, external_id, row.message, row.caller, incoming.at),
    ).fetchone()
    if new is None:
        known = connection.execute(_KNOWN, (turn, channel, chat, external_id)).fetchone()
        return Receipt(ref=ref_of(known), duplicate=True)
    seq, epoch = connection.execute(
        """
        INSERT INTO conversation(key, channel, chat, thread, agent, title, next_seq, created_at,
            updated_at)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, 2, ?7, ?7)
        ON CONFLICT(key) DO UPDATE SET next_seq = next_seq + 1, updated_at = max(updated_at, ?7),
            title = CASE title WHEN '' THEN excluded.title ELSE title END
        RETURNING next_seq - 1, epoch
        """,
        (key, channel, chat, kept(incoming.thread), agent, row.title, incoming.at),
    ).fetchone()
    connection.execute(
        """
        INSERT INTO turn(id, key, seq, channel, agent, source, background, epoch)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?)
        """,
        (turn, key, seq, channel, agent, incoming.source, int(incoming.background), epoch),
    )
    ref = TurnRef(
        turn=incoming.turn,
        key=incoming.key,
        seq=seq,
        channel=incoming.channel,
        background=incoming.background,
    )
    return Receipt(ref=ref)
