"""Conversations as a model reads them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pegboard import SessionInfo, SessionTurn


def when(at: float) -> str:
    """Return a time as people write it here.

    Args:
        at: Seconds since the epoch.
    """
    return datetime.fromtimestamp(at).astimezone().strftime("%Y-%m-%d %H:%M")


def line(session: SessionInfo) -> str:
    """Return a conversation as one line."""
    here = ", this one" if session.current else ""
    turns = f"{session.turns} turn{'' if session.turns == 1 else 's'}"
    return (
        f"{session.id}: {session.title or '(no title)'} "
        f"({session.channel}, {turns}, last {when(session.updated_at)}{here})"
    )


def facts(session: SessionInfo) -> dict[str, Any]:
    """Return a conversation as data; its key, which holds ids of people, is not part of it."""
    found = asdict(session)
    del found["key"]
    return found


def talk(turn: SessionTurn) -> str:
    """Return what was said in a turn."""
    lines = [f"[{turn.seq}] {when(turn.at)}"]
    for said in turn.messages:
        who = "person" if said.role == "user" else "agent"
        if said.text:
            lines.append(f"{who}: {said.text}")
        if said.calls:
            lines.append(f"agent called: {', '.join(said.calls)}")
    return "\n".join(lines)


def said(turn: SessionTurn) -> Mapping[str, Any]:
    """Return a turn as data."""
    return asdict(turn)
