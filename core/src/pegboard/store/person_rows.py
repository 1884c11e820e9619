"""All that is kept of one person: exported, and erased.

A person is a normalised sender id (`telegram:123`). What turns of theirs cost is theirs as well.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any, Final

from pegboard.contracts.archive import Erased
from pegboard.contracts.turn import Json
from pegboard.store import (
    approval_rows,
    call_rows,
    conversation_rows,
    erasure_rows,
    outbox_rows,
    spending_rows,
    turn_rows,
)
from pegboard.store.blob_rows import blob_ids
from pegboard.store.encoding import as_was, kept, loaded
from pegboard.store.search_rows import has_index
from pegboard.store.titles import retitle, titles_of

_TURNS: Final = """
    SELECT turn.id, turn.key FROM inbox JOIN turn ON turn.id = inbox.turn
    WHERE json_extract(caller, '$.sender') = ?
"""
_OTHERS: Final = """
    SELECT 1 FROM turn JOIN inbox ON inbox.turn = turn.id
    WHERE turn.key = ? AND json_extract(caller, '$.sender') NOT IN (?, '') LIMIT 1
"""


def turns_of(connection: sqlite3.Connection, sender: str) -> list[str]:
    """Return the ids of a person's turns, the oldest first."""
    rows = connection.execute(f"{_TURNS} ORDER BY turn.number", (sender,))
    return [as_was(row[0]) for row in rows]


def told_of_turns(connection: sqlite3.Connection, turns: Sequence[str]) -> list[Json]:
    """Return what is kept of turns, one JSON object for each thing."""
    return [item for turn in turns for item in _of_turn(connection, turn)]


def told_beside(connection: sqlite3.Connection, sender: str) -> list[Json]:
    """Return what else is kept of a person: their conversations, answers and spending."""
    keys = sorted({key for _, key in _theirs(connection, sender)})
    marks = ", ".join("?" * len(keys))
    conversations = conversation_rows.listed_where(connection, f"key IN ({marks})", (*keys,), None)
    spent = spending_rows.since(connection, 0.0, {"sender": sender})
    answered = connection.execute(
        "SELECT turn, call, tool, question, state FROM approval WHERE by = ? ORDER BY number",
        (kept(sender),),
    )
    return [
        *({"kind": "conversation", **asdict(conversation)} for conversation in conversations),
        *(
            {
                "kind": "answered",
                **dict(
                    zip(
                        ("turn", "call", "tool", "question", "state"),
                        map(as_was, row),
                        strict=True,
                    )
                ),
            }
            for row in answered
        ),
        *({"kind": "spending", **asdict(item)} for item in spent),
    ]


def erase(connection: sqlite3.Connection, sender: str) -> Erased:
    """Erase a person; what was there is overwritten in the file, and not only given free."""
    theirs = _theirs(connection, sender)
    titles = titles_of(_messages(connection, sender))
    blobs = _blobs(connection, [turn for turn, _ in theirs])
    connection.execute("PRAGMA secure_delete=ON")
    try:
        alone, shared = _parted(connection, sender, theirs)
        spendings = _erase_spending(connection, sender, alone)
        # first: a fork of a conversation has copies of what was said, and no turns of its own
        copies = _erase_said(connection, [turn for turn, _ in theirs])
        for key in alone:
            connection.execute("DELETE FROM conversation WHERE key = ?", (key,))
        for key in shared:
            turns = [(turn,) for turn, other in theirs if other == key]
            connection.executemany("DELETE FROM turn WHERE id = ?", turns)
            erasure_rows.add(connection, "thinned", key)
        erasure_rows.add(connection, "person", kept(sender))
        for key in {*shared, *copies}:
            retitle(connection, key, titles)
        connection.execute("UPDATE approval SET by = '' WHERE by = ?", (kept(sender),))
        if theirs and has_index(connection):
            # else the words stay in the index until it is next merged
            connection.execute("INSERT INTO message_fts(message_fts) VALUES ('optimize')")
    finally:
        connection.execute("PRAGMA secure_delete=FAST")
    return Erased(
        conversations=len(alone),
        turns=len(theirs),
        spendings=spendings,
        blobs=frozenset(blobs),
    )


def _theirs(connection: sqlite3.Connection, sender: str) -> list[tuple[str, str]]:
    """Return id and key of each of a person's turns, as they are kept."""
    return connection.execute(f"{_TURNS} ORDER BY turn.number", (sender,)).fetchall()


def _parted(
    connection: sqlite3.Connection, sender: str, theirs: Sequence[tuple[str, str]]
) -> tuple[list[str], list[str]]:
    """Return the keys of the conversations that were theirs alone, and of the others."""
    keys = list(dict.fromkeys(key for _, key in theirs))
    shared = [key for key in keys if connection.execute(_OTHERS, (key, sender)).fetchone()]
    return [key for key in keys if key not in shared], shared


def _messages(connection: sqlite3.Connection, sender: str) -> list[Json]:
    """Return what a person wrote, as it came in."""
    rows = connection.execute(
        "SELECT message FROM inbox WHERE json_extract(caller, '$.sender') = ?", (sender,)
    )
    return [loaded(message) for (message,) in rows]


def _erase_said(connection: sqlite3.Connection, turns: Sequence[str]) -> set[str]:
    """Erase what was said in turns, in copies as well; return the conversations it was in."""
    rows = connection.execute(
        """
        DELETE FROM message WHERE turn IN (SELECT value FROM json_each(?)) AND turn <> ''
        RETURNING key
        """,
        (json.dumps(turns),),
    )
    keys = {key for (key,) in rows.fetchall()}
    for key in keys:
        # a summary may tell what they said; the turns that it stood for count again
        connection.execute("DELETE FROM message WHERE key = ? AND summary = 1", (key,))
        connection.execute("UPDATE conversation SET tokens = NULL WHERE key = ?", (key,))
        connection.execute(
            """
            DELETE FROM conversation WHERE key = ?1
                AND NOT EXISTS (SELECT 1 FROM message WHERE key = ?1)
                AND NOT EXISTS (SELECT 1 FROM turn WHERE key = ?1)
            """,
            (key,),
        )
    return keys


def _erase_spending(connection: sqlite3.Connection, sender: str, keys: Sequence[str]) -> int:
    erased = connection.execute("DELETE FROM spending WHERE sender = ?", (kept(sender),)).rowcount
    for key in keys:
        erased += connection.execute("DELETE FROM spending WHERE key = ?", (key,)).rowcount
    return erased


def _blobs(connection: sqlite3.Connection, turns: Sequence[str]) -> set[str]:
    found: set[str] = set()
    for turn in turns:
        for item in _of_turn(connection, as_was(turn)):
            found |= blob_ids(item)
    return found


def _of_turn(connection: sqlite3.Connection, turn: str) -> Iterator[dict[str, Any]]:
    record = turn_rows.record(connection, turn)
    if record is None:
        return
    yield {"kind": "turn", **asdict(record)}
    ref = record.ref
    said = connection.execute(
        "SELECT messages, at FROM message WHERE key = ? AND summary = 0 AND seq = ?",
        (kept(ref.key), ref.seq),
    ).fetchone()
    if said is not None:
        yield {
            "kind": "said",
            "key": ref.key,
            "seq": ref.seq,
            "turn": turn,
            "at": said[1],
            "messages": loaded(said[0]),
        }
    for call in call_rows.of_turn(connection, turn).values():
        effects = None if call.effects is None else sorted(call.effects)
        yield {**asdict(call), "kind": "call", "of": call.kind, "turn": turn, "effects": effects}
    for part in outbox_rows.of_turn(connection, turn):
        yield {"kind": "reply", **asdict(part)}
    for approval in approval_rows.of_turn(connection, turn).values():
        yield {"kind": "approval", **asdict(approval)}
