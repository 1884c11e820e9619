"""The laws of a store about turns: what came in is kept, in order, and one attempt owns it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

import anyio
import pytest

from pegboard.contracts.store import TELLING_ATTEMPTS, FencedError, Store
from pegboard.contracts.turn import Begun, TurnRef, TurnState
from pegboard.testing.contracts.backend_calls import CALL
from pegboard.testing.contracts.backend_suite import (
    MAX_ATTEMPTS,
    NOW,
    ODD,
    BackendSuite,
    began,
    finished,
    incoming,
    open_ids,
    refused,
    took,
    took_all,
)

Write = Callable[[Store, str, int], Awaitable[object]]
WRITES: Final[dict[str, Write]] = {
    "wait": lambda store, turn, fence: store.wait(turn, fence, until=None),
    "release": lambda store, turn, fence: store.release(turn, fence),
    "finish": lambda store, turn, fence: store.finish(turn, fence, state="done", now=NOW),
    "intend": lambda store, turn, fence: store.intend(turn, fence, [CALL]),
    "record": lambda store, turn, fence: store.record(turn, fence, "c1", {"output": "x"}),
    "reply": lambda store, turn, fence: store.reply(turn, fence, [{"text": "x"}], now=NOW),
}
"""Every write that holds a fence; `sending` answers False instead."""


class IngestLaws(BackendSuite):
    """What a channel was told is received is there."""

    async def test_what_comes_in_is_kept_as_it_is(self, tmp_path: Path) -> None:
        """Message and caller are the same afterwards, also after the store was closed."""
        came = incoming(
            text=ODD, agent="helper", source="job", background=True, caller={"trust": "guest"}
        )
        async with self.opened(tmp_path) as (store, _):
            receipt = await store.ingest(came)
            assert not receipt.duplicate
        async with self.opened(tmp_path) as (store, _):
            record = await store.turn(came.turn)
        assert record is not None
        assert record.ref == receipt.ref
        assert record.ref == TurnRef(
            turn=came.turn, key=came.key, seq=1, channel=came.channel, background=True
        )
        assert (record.state, record.fence, record.attempts) == ("queued", 0, 0)
        assert (record.message, record.caller) == ({"text": ODD}, {"trust": "guest"})
        assert (record.source, record.agent, record.received_at) == ("job", "helper", NOW)

    async def test_each_conversation_counts_from_one(self, tmp_path: Path) -> None:
        """Numbers of one conversation have no gap, and no other conversation uses them up."""
        async with self.opened(tmp_path) as (store, _):
            refs = [await took(store, key) for key in ("a", "b", "a", "a", "b")]
            assert [ref.seq for ref in refs] == [1, 1, 2, 3, 2]
            assert [ref.turn for ref in await store.open_turns()] == [ref.turn for ref in refs]

    async def test_what_comes_at_once_gets_different_numbers(self, tmp_path: Path) -> None:
        """Fifty messages of one conversation at one time are fifty turns in a row."""
        async with self.opened(tmp_path) as (store, _):
            receipts = await took_all(store, [incoming() for _ in range(50)])
            assert sorted(receipt.ref.seq for receipt in receipts) == list(range(1, 51))

    async def test_what_comes_five_times_at_once_gets_one_turn(self, tmp_path: Path) -> None:
        """A channel that sends a message again, even at the same time, makes no second turn."""
        same = [incoming(external_id="m1") for _ in range(5)]
        async with self.opened(tmp_path) as (store, _), self.opened(tmp_path) as (other, _):
            receipts = await took_all(store, same[:3]) + await took_all(other, same[3:])
            assert len({receipt.ref.turn for receipt in receipts}) == 1
            assert [receipt.duplicate for receipt in receipts].count(False) == 1
            assert await open_ids(store) == [receipts[0].ref.turn]
            await finished(store, receipts[0].ref)
            for again in (incoming(external_id="m1"), incoming(turn=receipts[0].ref.turn)):
                receipt = await store.ingest(again)
                assert receipt.duplicate, "it came back after its turn had ended"
                assert receipt.ref == receipts[0].ref
            assert (await took(store)).seq == 2, "a duplicate used up a number"

    async def test_only_the_same_id_of_the_same_chat_is_the_same(self, tmp_path: Path) -> None:
        """Another channel's, or chat's, is another one; without an id each is one of its own."""
        others = [{"channel": "mail", "external_id": "m1"}, {"chat": "x", "external_id": "m1"}]
        async with self.opened(tmp_path) as (store, _):
            await took(store, external_id="m1")
            for more in (*others, {"external_id": ""}, {"external_id": ""}):
                assert not (await store.ingest(incoming(**more))).duplicate
            assert len(await open_ids(store)) == 5

    async def test_an_unknown_turn_is_none(self, tmp_path: Path) -> None:
        """No turn is made up; and one that is not there is over."""
        async with self.opened(tmp_path) as (store, _):
            assert await store.turn("nothing") is None
            nothing = TurnRef(turn="nothing", key="chat", seq=1)
            assert (await refused(store, nothing)).why == "over"


class BeginLaws(BackendSuite):
    """One attempt owns a turn, and turns of a conversation come one after the other."""

    async def test_an_attempt_has_the_fence_and_all_that_it_needs(self, tmp_path: Path) -> None:
        """Beginning returns the turn as it is now."""
        async with self.opened(tmp_path) as (store, _):
            ref = await took(store, text="do it")
            begun = await began(store, ref)
            assert (begun.turn.state, begun.turn.fence, begun.turn.attempts) == ("running", 1, 1)
            assert begun.turn.message == {"text": "do it"}
            assert (dict(begun.calls), begun.outbox, dict(begun.approvals)) == ({}, (), {})
            assert await store.turn(ref.turn) == begun.turn
            assert await open_ids(store) == [ref.turn]

    async def test_a_turn_waits_for_the_one_before_it(self, tmp_path: Path) -> None:
        """The next of a conversation is busy until the first has ended; others are not."""
        async with self.opened(tmp_path) as (store, _):
            first, second, other = [await took(store, key) for key in ("a", "a", "b")]
            assert (await refused(store, second)).why == "busy"
            begun = await began(store, first)
            assert (await refused(store, second)).why == "busy"
            await began(store, other)
            await store.wait(first.turn, begun.turn.fence, until=NOW + 60)
            assert (await refused(store, second)).why == "busy", "a waiting turn lost its place"
            await store.wake(first.turn)
            assert (await refused(store, second)).why == "busy"
            await finished(store, first)
            await began(store, second)
            assert (await refused(store, first)).why == "over"

    @pytest.mark.parametrize("state", ["done", "failed", "cancelled"])
    async def test_what_has_ended_is_over(self, tmp_path: Path, state: TurnState) -> None:
        """Each end is one, and says when and why it came."""
        error = {"code": "run_failed", "message": "It failed.", "fix": None}
        async with self.opened(tmp_path) as (store, _):
            ref = await took(store)
            fence = (await began(store, ref)).turn.fence
            await store.finish(ref.turn, fence, state=state, now=NOW + 5, error=error)
            record = await store.turn(ref.turn)
            assert record is not None
            assert (record.state, record.ended_at, record.error) == (state, NOW + 5, error)
            assert (await refused(store, ref)).why == "over"
            assert await open_ids(store) == []

    @pytest.mark.parametrize("write", WRITES)
    async def test_an_old_attempt_writes_nothing(self, tmp_path: Path, write: str) -> None:
        """Once a turn was begun again, everything that the attempt before writes is refused."""
        async with self.opened(tmp_path) as (store, _):
            ref = await took(store)
            old = (await began(store, ref)).turn.fence
            await store.release(ref.turn, old)
            begun = await began(store, ref)
            assert begun.turn.fence > old
            with pytest.raises(FencedError):
                await WRITES[write](store, ref.turn, old)
            assert await store.stopping(ref.turn, old)
            assert not await store.stopping(ref.turn, begun.turn.fence)
            assert await store.turn(ref.turn) == begun.turn
            await store.release(ref.turn, begun.turn.fence)
            again = await began(store, ref)
            assert (dict(again.calls), again.outbox) == ({}, ())

    @pytest.mark.parametrize("write", WRITES)
    async def test_after_the_end_nothing_is_written(self, tmp_path: Path, write: str) -> None:
        """A turn that ended can't be written to by the attempt that ended it."""
        async with self.opened(tmp_path) as (store, _):
            ref = await took(store)
            fence = (await began(store, ref)).turn.fence
            await store.finish(ref.turn, fence, state="failed", now=NOW)
            with pytest.raises(FencedError):
                await WRITES[write](store, ref.turn, fence)
            record = await store.turn(ref.turn)
            assert record is not None
            assert record.state == "failed"

    async def test_a_living_hosts_turn_is_busy(self, tmp_path: Path) -> None:
        """A second host can't begin what the first one runs, and can once the first has closed."""
        async with self.opened(tmp_path) as (other, _):
            async with self.opened(tmp_path) as (store, _):
                ref = await took(store)
                first = await began(store, ref)
                assert (await refused(other, ref)).why == "busy"
            second = await began(other, ref)
            assert second.turn.fence > first.turn.fence

    async def test_of_those_that_begin_at_once_one_does(self, tmp_path: Path) -> None:
        """Of two hosts, and of two deliveries in one of them, that begin the same turn."""
        async with self.opened(tmp_path) as (store, _), self.opened(tmp_path) as (other, _):
            refs = [await took(store, f"chat{number}") for number in range(20)]
            begun: list[bool] = []

            async def begin(host: Store, ref: TurnRef) -> None:
                answer = await host.begin(ref.turn, now=NOW, max_attempts=MAX_ATTEMPTS)
                begun.append(isinstance(answer, Begun))

            async with anyio.create_task_group() as group:
                for ref in refs:
                    for host in (store, other, store):
                        group.start_soon(begin, host, ref)
            assert begun.count(True) == len(refs)

    async def test_a_turn_that_never_ends_is_given_up(self, tmp_path: Path) -> None:
        """Begun too often by hosts that ended before it, it is begun once more, to tell that.

        Where hosts end before that as well it is dead without it, and its conversation goes on.
        """
        async with self.opened(tmp_path) as (store, _):
            ref, following = await took(store), await took(store)
        for attempt in range(1, MAX_ATTEMPTS + 1):
            async with self.opened(tmp_path) as (store, _):
                assert (await began(store, ref)).turn.attempts == attempt
        for _ in range(TELLING_ATTEMPTS):
            async with self.opened(tmp_path) as (store, _):
                begun = await began(store, ref)
                assert begun.given_up
                assert (await refused(store, following)).why == "busy"
        async with self.opened(tmp_path) as (store, _):
            given_up = await refused(store, ref)
            assert given_up.why == "dead"
            assert given_up.turn is not None
            assert (given_up.turn.ref, given_up.turn.state) == (ref, "dead")
            assert [dead.turn for dead in await store.dead_turns()] == [ref.turn]
            assert (await refused(store, ref)).why == "over", "it was given up twice"
            await began(store, following)

    async def test_that_a_turn_was_given_up_can_be_told(self, tmp_path: Path) -> None:
        """What tells it is kept, and sent as any reply, also by the host after the next."""
        async with self.opened(tmp_path) as (store, _):
            ref = await took(store)
            assert not (await began(store, ref)).given_up
        async with self.opened(tmp_path) as (store, _):
            begun = await store.begin(ref.turn, now=NOW, max_attempts=1)
            assert isinstance(begun, Begun)
            assert begun.given_up
            fence = begun.turn.fence
            await store.reply(ref.turn, fence, [{"text": "I gave up."}], now=NOW)
        async with self.opened(tmp_path) as (store, _):
            begun = await store.begin(ref.turn, now=NOW, max_attempts=1)
            assert isinstance(begun, Begun)
            assert begun.given_up
            assert [part.state for part in begun.outbox] == ["pending"]
            fence = begun.turn.fence
            assert await store.sending(ref.turn, fence, 0, now=NOW)
            await store.sent(ref.turn, 0, ["m1"], now=NOW)
            await store.finish(ref.turn, fence, state="dead", now=NOW)
            record = await store.turn(ref.turn)
            assert record is not None
            assert record.state == "dead"

    async def test_handing_back_counts_for_nothing(self, tmp_path: Path) -> None:
        """Neither a release nor a wait is an attempt that failed."""
        async with self.opened(tmp_path) as (store, _):
            ref = await took(store)
            for _ in range(MAX_ATTEMPTS + 1):
                begun = await began(store, ref)
                assert begun.turn.attempts == 1
                await store.release(ref.turn, begun.turn.fence)
                record = await store.turn(ref.turn)
                assert record is not None
                assert record.state == "queued"
                begun = await began(store, ref)
                await store.wait(ref.turn, begun.turn.fence, until=None)
                assert await store.wake(ref.turn)
