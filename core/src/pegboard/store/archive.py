"""The archive of a host on one machine: its SQLite file, searched, exported and cleared."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from functools import partial
from pathlib import Path
from typing import Final

import anyio.to_thread

from pegboard.contracts.archive import CallResultRecord, Erased, Erasure, Found, Scope
from pegboard.contracts.transcript import Conversation, TurnMessages
from pegboard.contracts.turn import Json
from pegboard.store import blob_rows, erasure_rows, person_rows, retention_rows, search_rows
from pegboard.store.crash_points import reached
from pegboard.store.database import Database

_TURNS_AT_ONCE: Final = 100
"""Turns that one transaction reads or erases: nobody else shall wait for long."""


class EmbeddedArchive:
    """Finds, exports and erases in the host's SQLite file; an `Archive`.

    Args:
        database: The file, that of the store.
        beside: Folder below which plugins keep files of their own, which may refer to blobs too.
    """

    def __init__(self, database: Database, *, beside: Path | None = None) -> None:
        self.database = database
        self._beside = beside

    async def conversations(
        self, scope: Scope, *, limit: int | None = None
    ) -> Sequence[Conversation]:
        """Return the conversations of a scope, the one that last changed first."""
        work = partial(search_rows.conversations, scope=scope, limit=limit)
        return await self.database.read(work)

    async def said(
        self, key: str, *, before: int | None = None, limit: int | None = None
    ) -> Sequence[TurnMessages]:
        """Return the last turns of a conversation before a place, the oldest of them first."""
        return await self.database.read(
            partial(search_rows.said, key=key, before=before, limit=limit)
        )

    async def call_result(self, key: str, call: str) -> CallResultRecord | None:
        """Return what a tool call of a conversation returned, the latest of that id, or None."""
        return await self.database.read(partial(search_rows.call_result, key=key, call=call))

    async def search(self, query: str, scope: Scope, *, limit: int) -> Sequence[Found]:
        """Return turns in which all words occur, else those with some, the best first."""
        work = partial(search_rows.search, query=query, scope=scope, limit=limit)
        return await self.database.read(work)

    async def person(self, sender: str) -> AsyncIterator[Json]:
        """Yield all that is kept of one person, one JSON object for each thing."""
        for item in await self.database.read(partial(person_rows.told_beside, sender=sender)):
            yield item
        turns = await self.database.read(partial(person_rows.turns_of, sender=sender))
        for start in range(0, len(turns), _TURNS_AT_ONCE):
            some = turns[start : start + _TURNS_AT_ONCE]
            for item in await self.database.read(partial(person_rows.told_of_turns, turns=some)):
                yield item

    async def erase_person(self, sender: str) -> Erased:
        """Erase all that is kept of one person."""
        reached("erase_person", "before")
        erased = await self.database.write(partial(person_rows.erase, sender=sender))
        reached("erase_person", "after")
        return erased

    async def expire(self, before: float) -> int:
        """Erase what was said in turns that ended before a time; return how many turns went."""
        gone = 0
        while True:
            reached("expire", "before")
            work = partial(retention_rows.expire, before=before, limit=_TURNS_AT_ONCE)
            some = await self.database.write(work)
            reached("expire", "after")
            gone += some
            if some < _TURNS_AT_ONCE:
                return gone

    async def erasures(self) -> Sequence[Erasure]:
        """Return what was erased here and may still be kept elsewhere, the first erased first."""
        return await self.database.read(erasure_rows.pending)

    async def settle(
        self, erasures: Sequence[Erasure], *, now: float, left: Sequence[str] = ()
    ) -> None:
        """Forget what is erased everywhere; turns that ran when they were erased stay for a day."""
        reached("settle", "before")
        await self.database.write(
            partial(erasure_rows.settle, erasures=erasures, now=now, left=left)
        )
        reached("settle", "after")

    async def blobs_of(self, key: str) -> set[str]:
        """Return the ids of the blobs that one conversation may refer to."""
        return await self.database.read(partial(blob_rows.of_conversation, key=key))

    async def blob_references(self) -> set[str]:
        """Return the ids of all blobs that something in the store may refer to."""
        found = await self.database.read(blob_rows.references)
        if self._beside is not None:
            found |= await anyio.to_thread.run_sync(blob_rows.references_below, self._beside)
        return found
