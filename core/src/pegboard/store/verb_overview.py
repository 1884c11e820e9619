"""The overview of a store that is known by its verbs only: of whatever backend keeps the turns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pegboard.contracts.store import Store
from pegboard.contracts.turn import TurnRef
from pegboard.store.overview import MOST, Doubtful, Overview, Question, TurnLine, shortened


async def overview_of(store: Store, *, now: float) -> Overview:
    """Return what is open, given up, in doubt and asked.

    Args:
        store: An open store.
        now: Seconds since the epoch.

    Raises:
        StoreError: When it can't be read.
    """
    refs, dead = await store.open_turns(), await store.dead_turns()
    doubtful = [
        Doubtful(turn=part.turn, conversation=part.key, at=part.at, text=shortened(part.message))
        for part in (await store.doubtful())[:MOST]
    ]
    questions = [
        Question(
            conversation=item.key,
            token=item.token,
            tool=item.tool,
            question=item.question,
            expires_at=item.expires_at,
        )
        for item in await store.approvals()
        if item.state_at(now) == "pending"
    ]
    return Overview(
        open=await _lines(store, refs),
        open_turns=len(refs),
        dead=await _lines(store, dead),
        dead_turns=len(dead),
        doubtful=tuple(doubtful),
        questions=tuple(questions[:MOST]),
    )


async def _lines(store: Store, refs: Sequence[TurnRef]) -> tuple[TurnLine, ...]:
    turns = []
    for ref in refs[:MOST]:
        found = await store.turn(ref.turn)
        if found is None:
            continue  # it was erased meanwhile
        turns.append(
            TurnLine(
                turn=ref.turn,
                conversation=ref.key,
                state=found.state,
                background=ref.background,
                at=found.received_at,
                text=shortened(found.message),
            )
        )
    return tuple(turns)


def overview_from(data: Mapping[str, Any]) -> Overview:
    """Return an overview that another process gave as data."""
    return Overview(
        open=tuple(TurnLine(**item) for item in data["open"]),
        open_turns=data["open_turns"],
        dead=tuple(TurnLine(**item) for item in data["dead"]),
        dead_turns=data["dead_turns"],
        doubtful=tuple(Doubtful(**item) for item in data["doubtful"]),
        questions=tuple(Question(**item) for item in data["questions"]),
    )
