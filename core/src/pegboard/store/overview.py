"""What is open, given up, in doubt and asked in the store: what `pegboard status` tells."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import asdict, dataclass
from typing import Any, Final

from pegboard.contracts.turn import Json
from pegboard.store.encoding import as_was
from pegboard.store.schema_turns import OPEN

SHOWN_CHARS: Final = 80
MOST: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnLine:
    """A turn in short.

    Args:
        turn: Its id.
        conversation: Key of its conversation.
        state: How far it is.
        background: True when nobody waits for it.
        at: When it came in, in seconds since the epoch.
        text: Beginning of what came in.
    """

    turn: str
    conversation: str
    state: str
    background: bool
    at: float
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question that waits for a person.

    Args:
        conversation: Key of the conversation in which it can be answered.
        token: What names it in `/confirm` and `/deny`.
        tool: Canonical name of the tool.
        question: What is asked.
        expires_at: From when on it is a no.
    """

    conversation: str
    token: str
    tool: str
    question: str
    expires_at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Doubtful:
    """A part of a reply of which nobody knows whether it was sent.

    Args:
        turn: Id of the turn.
        conversation: Key of the conversation.
        at: When it was tried.
        text: Its beginning.
    """

    turn: str
    conversation: str
    at: float
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """What needs somebody's eye.

    Args:
        open: Turns that have not ended, the oldest first; at most 20.
        open_turns: How many there are.
        dead: Turns that were given up, the latest first; at most 20.
        dead_turns: How many there are.
        doubtful: Replies that may or may not have been sent, and nobody was told of.
        questions: What waits for a person's word.
    """

    open: tuple[TurnLine, ...] = ()
    open_turns: int = 0
    dead: tuple[TurnLine, ...] = ()
    dead_turns: int = 0
    doubtful: tuple[Doubtful, ...] = ()
    questions: tuple[Question, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-serialisable data."""
        return asdict(self)


def overview(connection: sqlite3.Connection, *, now: float) -> Overview:
    """Return what is open, given up, in doubt and asked.

    Args:
        connection: A store of the newest version.
        now: Seconds since the epoch.
    """
    return Overview(
        open=_turns(connection, OPEN, "number"),
        open_turns=_count(connection, OPEN),
        dead=_turns(connection, "state = 'dead'", "ended_at DESC"),
        dead_turns=_count(connection, "state = 'dead'"),
        doubtful=_doubtful(connection),
        questions=_questions(connection, now),
    )


def _turns(connection: sqlite3.Connection, where: str, order: str) -> tuple[TurnLine, ...]:
    rows = connection.execute(
        f"""
        SELECT id, key, state, background, received_at, message
        FROM turn LEFT JOIN inbox ON inbox.turn = turn.id
        WHERE {where} ORDER BY {order} LIMIT {MOST}
        """
    )
    return tuple(
        TurnLine(
            turn=as_was(id),
            conversation=as_was(key),
            state=state,
            background=bool(background),
            at=at or 0.0,
            text=_text(message),
        )
        for id, key, state, background, at, message in rows
    )


def _count(connection: sqlite3.Connection, where: str) -> int:
    return int(connection.execute(f"SELECT count(*) FROM turn WHERE {where}").fetchone()[0])


def _doubtful(connection: sqlite3.Connection) -> tuple[Doubtful, ...]:
    rows = connection.execute(
        f"""
        SELECT turn, key, at, message FROM outbox
        WHERE state = 'in_doubt' AND settled = 0 ORDER BY number LIMIT {MOST}
        """
    )
    return tuple(
        Doubtful(turn=as_was(turn), conversation=as_was(key), at=at, text=_text(message))
        for turn, key, at, message in rows
    )


def _questions(connection: sqlite3.Connection, now: float) -> tuple[Question, ...]:
    rows = connection.execute(
        f"""
        SELECT DISTINCT key, token, tool, question, expires_at FROM approval
        WHERE state = 'pending' AND expires_at > ? ORDER BY expires_at LIMIT {MOST}
        """,
        (now,),
    )
    return tuple(
        Question(
            conversation=as_was(key),
            token=as_was(token),
            tool=as_was(tool),
            question=as_was(question),
            expires_at=expires_at,
        )
        for key, token, tool, question, expires_at in rows
    )


def shortened(message: Json) -> str:
    """Return the beginning of the text of a message."""
    text = " ".join(str(message.get("text", "")).split())
    return text if len(text) <= SHOWN_CHARS else f"{text[: SHOWN_CHARS - 3]}..."


def _text(message: str | None) -> str:
    return shortened(json.loads(message) if message else {})
