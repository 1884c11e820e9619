"""The laws of a store about calls: what a turn has done is known to its next attempt."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest

from pegboard.contracts.errors import StoreError
from pegboard.contracts.turn import CallRecord
from pegboard.testing.contracts.backend_suite import (
    NOW,
    ODD,
    BackendSuite,
    began,
    began_again,
    took,
)

CALL: Final = CallRecord(id="c1", kind="tool", name="files:read", effects=frozenset({"read"}))


class CallLaws(BackendSuite):
    """What a turn has called is known to its next attempt."""

    async def test_a_recorded_call_survives(self, tmp_path: Path) -> None:
        """The next attempt finds what was finished, and what was begun, also after a restart."""
        calls = [
            CallRecord(id="model:1", kind="model", name="m", digest="d0", effects=frozenset()),
            CallRecord(
                id="c1",
                kind="tool",
                name="shell:run",
                digest="d1",
                effects=frozenset({"exec", "net_write"}),
                on_interrupt="tell",
                idempotency_key="k1",
            ),
            CallRecord(id="c2", kind="tool", name="mcp:x", effects=None),
        ]
        async with self.opened(tmp_path) as (store, _):
            ref = await took(store)
            fence = (await began(store, ref)).turn.fence
            await store.intend(ref.turn, fence, calls)
            await store.record(ref.turn, fence, "c1", {"output": ODD, "n": [1, 2.5, None, True]})
        async with self.opened(tmp_path) as (store, _):
            found = (await began(store, ref)).calls
        assert set(found) == {"model:1", "c1", "c2"}
        assert found["model:1"] == calls[0]
        assert found["c2"] == calls[2]
        done = found["c1"]
        assert done.result == {"output": ODD, "n": [1, 2.5, None, True]}
        assert (done.name, done.digest, done.idempotency_key) == ("shell:run", "d1", "k1")
        assert (done.effects, done.on_interrupt) == (frozenset({"exec", "net_write"}), "tell")

    async def test_intending_again_is_the_next_attempt(self, tmp_path: Path) -> None:
        """An interrupted call that is run again counts its attempts; its key stays the same."""
        call = CallRecord(id="c1", kind="tool", name="files:read", idempotency_key="k1")
        async with self.opened(tmp_path) as (store, _):
            ref = await took(store)
            for attempt in (1, 2):
                begun = await began(store, ref)
                await store.intend(ref.turn, begun.turn.fence, [call])
                await store.release(ref.turn, begun.turn.fence)
                begun = await began(store, ref)
                found = begun.calls["c1"]
                assert (found.attempt, found.idempotency_key) == (attempt, "k1")
                await store.release(ref.turn, begun.turn.fence)

    async def test_calls_of_one_turn_are_not_anothers(self, tmp_path: Path) -> None:
        """The same id in another turn is another call."""
        async with self.opened(tmp_path) as (store, _):
            first, second = await took(store, "a"), await took(store, "b")
            fence = (await began(store, first)).turn.fence
            await store.intend(first.turn, fence, [CALL])
            await store.record(first.turn, fence, "c1", {"output": "first"})
            assert dict((await began(store, second)).calls) == {}

    async def test_a_large_result_is_kept_whole(self, tmp_path: Path) -> None:
        """Three megabytes come back as they were."""
        text = "0123456789" * 300_000
        async with self.opened(tmp_path) as (store, _):
            ref = await took(store)
            fence = (await began(store, ref)).turn.fence
            await store.intend(ref.turn, fence, [CALL])
            await store.record(ref.turn, fence, "c1", {"output": text})
            await store.release(ref.turn, fence)
            assert (await began(store, ref)).calls["c1"].result == {"output": text}

    async def test_what_was_recorded_stays_as_it_is(self, tmp_path: Path) -> None:
        """A second result, or beginning it again, changes nothing; another call is refused."""
        done = replace(CALL, digest="d1", result={"output": "first"})
        async with self.opened(tmp_path) as (store, _):
            ref = await took(store)
            begun = await began(store, ref)
            fence = begun.turn.fence
            await store.intend(ref.turn, fence, [done, replace(CALL, id="c2")])
            await store.record(ref.turn, fence, "c1", {"output": "second"})
            await store.intend(ref.turn, fence, [replace(CALL, digest="d1")])
            with pytest.raises(StoreError):
                await store.intend(ref.turn, fence, [replace(CALL, digest="d2")])
            found = (await began_again(store, begun)).calls
            assert found["c1"] == done
            assert found["c2"].result is None

    async def test_a_turn_is_looked_at_without_beginning_it(self, tmp_path: Path) -> None:
        """With its calls and its reply, as the next attempt would find them."""
        async with self.opened(tmp_path) as (store, _):
            ref = await took(store)
            begun = await began(store, ref)
            await store.intend(ref.turn, begun.turn.fence, [CALL])
            await store.reply(ref.turn, begun.turn.fence, [{"text": "x"}], now=NOW)
            seen = await store.begun(ref.turn)
            assert seen is not None
            assert seen.turn == begun.turn
            assert (set(seen.calls), len(seen.outbox)) == ({"c1"}, 1)
            again = await began_again(store, begun)
            assert (again.calls, again.outbox) == (seen.calls, seen.outbox)
            assert await store.begun("nothing") is None
