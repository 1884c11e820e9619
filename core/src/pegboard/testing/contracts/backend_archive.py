"""The laws of a backend's archive: what was said is found, erased and expires."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio

from pegboard.contracts.archive import Archive, Scope
from pegboard.contracts.store import Store
from pegboard.testing.contracts.backend_suite import CLOCK, NOW, BackendSuite, finished, took
from pegboard.testing.contracts.suite import LIMIT_S

ANN = {"trust": "operator", "sender": "desk:ann"}
BOB = {"trust": "operator", "sender": "desk:bob"}


class ArchiveLaws(BackendSuite):
    """What was said, beside the verbs by which turns run."""

    @asynccontextmanager
    async def kept(self, folder: Path) -> AsyncIterator[tuple[Store, Archive]]:
        """Open a backend with a turn of each of two people, for the time of the block."""
        backend = self.make_backend(folder)
        try:
            with anyio.fail_after(LIMIT_S):
                store, _ = await backend.open({}, CLOCK)
                for key, caller in (("ann", ANN), ("bob", BOB)):
                    ref = await took(store, key, f"I am {key}", caller=caller)
                    said = {"role": "user", "parts": [{"type": "text", "text": f"I am {key}"}]}
                    await finished(store, ref, said)
                yield store, backend.archive
        finally:
            with anyio.CancelScope(shield=True):
                await backend.aclose()

    async def test_a_person_has_the_conversations_they_wrote_in(self, tmp_path: Path) -> None:
        """And nobody else's; a key is a scope of its own."""
        async with self.kept(tmp_path) as (_, archive):
            found = await archive.conversations(Scope(sender="desk:ann"))
            assert [conversation.key for conversation in found] == ["ann"]
            found = await archive.conversations(Scope(key="bob"))
            assert [conversation.key for conversation in found] == ["bob"]
            assert [len(turn.messages) for turn in await archive.said("ann")] == [1]

    async def test_an_erased_person_is_gone_and_others_stay(self, tmp_path: Path) -> None:
        """With their conversations and turns."""
        async with self.kept(tmp_path) as (store, archive):
            assert [item async for item in archive.person("desk:ann")]
            erased = await archive.erase_person("desk:ann")
            assert (erased.conversations, erased.turns) == (1, 1)
            assert [item async for item in archive.person("desk:ann")] == []
            assert [conversation.key for conversation in await store.conversations()] == ["bob"]

    async def test_what_was_said_long_ago_expires(self, tmp_path: Path) -> None:
        """What ended before a time goes, and nothing that ended later."""
        async with self.kept(tmp_path) as (store, archive):
            assert await archive.expire(NOW - 60) == 0
            assert len(await store.conversations()) == 2
            assert await archive.expire(NOW + 60) == 2
            assert list(await store.conversations()) == []

    async def test_what_is_erased_is_known_until_it_is_settled(self, tmp_path: Path) -> None:
        """So that it goes out of what plugins keep as well, whatever happens in between."""
        async with self.kept(tmp_path) as (store, archive):
            assert list(await archive.erasures()) == []
            assert await store.forget("bob")
            first = await archive.erasures()
            assert ("conversation", "bob") in [(item.kind, item.name) for item in first]
            assert len([item for item in first if item.kind == "turn"]) == 1
            await archive.erase_person("desk:ann")
            await archive.settle(first, now=NOW, left=["web/tables.db"])
            again = (await archive.erasures())[: len(first)]
            assert [item.left for item in again] == [("web/tables.db",)] * len(first)
            await archive.settle(again, now=NOW, left=["other/tables.db"])
            later = [(item.kind, item.name) for item in await archive.erasures()]
            assert ("person", "desk:ann") in later
            assert ("conversation", "ann") in later
            assert ("conversation", "bob") not in later
