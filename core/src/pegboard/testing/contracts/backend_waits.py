"""The laws of a store about waiting, `/stop` and `/new`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from pegboard.contracts.turn import Begun
from pegboard.testing.contracts.backend_suite import (
    MAX_ATTEMPTS,
    NOW,
    BackendSuite,
    began,
    incoming,
    open_ids,
    refused,
    took,
)


class WaitLaws(BackendSuite):
    """A turn that waits keeps its place, and goes on at its time or when it is woken."""

    async def test_a_waiting_turn_begins_at_its_time(self, tmp_path: Path) -> None:
        """Before it, it is told when; from then on it begins."""
        async with self.opened(tmp_path) as (store, _):
            ref = await took(store)
            fence = (await began(store, ref)).turn.fence
            assert await store.wait(ref.turn, fence, until=NOW + 60)
            record = await store.turn(ref.turn)
            assert record is not None
            assert (record.state, record.not_before) == ("waiting", NOW + 60)
            early = await refused(store, ref, now=NOW + 59)
            assert (early.why, early.at) == ("later", NOW + 60)
            assert await open_ids(store) == [ref.turn]
            late = await store.begin(ref.turn, now=NOW + 60, max_attempts=MAX_ATTEMPTS)
            assert isinstance(late, Begun)

    async def test_a_turn_without_a_time_waits_to_be_woken(self, tmp_path: Path) -> None:
        """Time alone does not begin it; waking does, once, and also after a restart."""
        async with self.opened(tmp_path) as (store, _):
            ref = await took(store)
            await store.wait(ref.turn, (await began(store, ref)).turn.fence, until=None)
        async with self.opened(tmp_path) as (store, _):
            never = await refused(store, ref, now=NOW + 1e9)
            assert (never.why, never.at) == ("later", None)
            assert await store.wake(ref.turn)
            await began(store, ref)
            assert not await store.wake(ref.turn)
            assert not await store.wake("nothing")

    async def test_a_turn_that_was_woken_does_not_begin_to_wait(self, tmp_path: Path) -> None:
        """The answer may come while the turn still runs: then it can go on at once."""
        async with self.opened(tmp_path) as (store, _):
            ref = await took(store)
            fence = (await began(store, ref)).turn.fence
            await store.wake(ref.turn)
            assert not await store.wait(ref.turn, fence, until=NOW + 60)
            fence = (await began(store, ref)).turn.fence
            assert await store.wait(ref.turn, fence, until=NOW + 60), "it was woken twice"


class StopLaws(BackendSuite):
    """`/stop` and `/new`."""

    async def test_what_runs_is_asked_to_stop(self, tmp_path: Path) -> None:
        """The running turn hears of it; what comes later does not."""
        async with self.opened(tmp_path) as (store, _):
            first = await took(store)
            assert list(await store.ask_to_stop("other")) == []
            fence = (await began(store, first)).turn.fence
            assert not await store.stopping(first.turn, fence)
            assert [ref.turn for ref in await store.ask_to_stop("chat")] == [first.turn]
            assert await store.stopping(first.turn, fence)
            second = await took(store)
            stopped, later = await store.turn(first.turn), await store.turn(second.turn)
            assert stopped is not None
            assert later is not None
            assert (stopped.cancel_asked, later.cancel_asked) == (True, False)
            await store.finish(first.turn, fence, state="cancelled", now=NOW)
            fence = (await began(store, second)).turn.fence
            assert not await store.stopping(second.turn, fence)

    async def test_what_is_queued_is_asked_to_stop(self, tmp_path: Path) -> None:
        """In its order: it is begun only to be written down as stopped."""
        async with self.opened(tmp_path) as (store, _):
            first, second, third = [await took(store) for _ in range(3)]
            fence = (await began(store, first)).turn.fence
            named = await store.ask_to_stop("chat", turn=third.turn)
            assert [ref.turn for ref in named] == [third.turn]
            assert not await store.stopping(first.turn, fence)
            every = [ref.turn for ref in await store.ask_to_stop("chat")]
            assert every == [first.turn, second.turn, third.turn]
            assert (await refused(store, second)).why == "busy"
            await store.finish(first.turn, fence, state="cancelled", now=NOW)
            begun = await began(store, second)
            assert begun.turn.cancel_asked
            said = [{"role": "user", "text": "never mind"}]
            fence = begun.turn.fence
            await store.finish(second.turn, fence, state="cancelled", now=NOW, messages=said)
            assert (await began(store, third)).turn.cancel_asked

    async def test_what_nobody_wrote_is_not_stopped_before_it_began(self, tmp_path: Path) -> None:
        """A job that is queued goes on; one that runs is stopped."""
        async with self.opened(tmp_path) as (store, _):
            job = (await store.ingest(replace(incoming(), source="job"))).ref
            assert list(await store.ask_to_stop("chat")) == []
            begun = await began(store, job)
            assert not begun.turn.cancel_asked
            assert [ref.turn for ref in await store.ask_to_stop("chat")] == [job.turn]

    async def test_what_waits_is_asked_to_stop(self, tmp_path: Path) -> None:
        """Also a turn that waits for an answer; it finds that when it is begun."""
        async with self.opened(tmp_path) as (store, _):
            ref = await took(store)
            await store.wait(ref.turn, (await began(store, ref)).turn.fence, until=None)
            assert [found.turn for found in await store.ask_to_stop("chat")] == [ref.turn]
            begun = await began(store, ref)
            assert begun.turn.cancel_asked
            assert await store.stopping(ref.turn, begun.turn.fence)

    async def test_a_new_epoch_ends_what_is_open(self, tmp_path: Path) -> None:
        """The running turn is to stop, queued ones are cancelled, and what comes later is new."""
        async with self.opened(tmp_path) as (store, _):
            first, second = await took(store), await took(store)
            fence = (await began(store, first)).turn.fence
            stopping = await store.new_epoch("chat", now=NOW)
            assert first.turn in [ref.turn for ref in stopping]
            assert await store.stopping(first.turn, fence)
            assert (await refused(store, second)).why == "over"
            cancelled = await store.turn(second.turn)
            assert cancelled is not None
            assert cancelled.state == "cancelled"
            third = await took(store)
            assert third.seq == 3
            assert (await refused(store, third)).why == "busy"
            await store.finish(first.turn, fence, state="cancelled", now=NOW)
            begun = await began(store, third)
            assert begun.turn.epoch == 1
            assert not await store.stopping(third.turn, begun.turn.fence)

    async def test_a_turn_that_is_to_stop_does_not_begin_to_wait(self, tmp_path: Path) -> None:
        """It goes on at once, to end; and when it was begun too often it ends without that."""
        async with self.opened(tmp_path) as (store, _):
            ref = await took(store)
            fence = (await began(store, ref)).turn.fence
            await store.ask_to_stop("chat")
            assert not await store.wait(ref.turn, fence, until=None)
            await began(store, ref)
        async with self.opened(tmp_path) as (store, _):
            answer = await store.begin(ref.turn, now=NOW, max_attempts=1)
            assert not isinstance(answer, Begun)
            assert answer.why == "over", "it is given up instead of cancelled"
            record = await store.turn(ref.turn)
            assert record is not None
            assert record.state == "cancelled"

    async def test_the_turn_that_asks_for_a_new_epoch_belongs_to_it(self, tmp_path: Path) -> None:
        """It goes on, and so does what came after it; what came before is stopped."""
        async with self.opened(tmp_path) as (store, _):
            waiting, asking, following = [await took(store) for _ in range(3)]
            stopped = await store.new_epoch("chat", now=NOW, by=asking.turn)
            assert asking.turn not in [ref.turn for ref in stopped]
            assert (await refused(store, waiting)).why == "over"
            begun = await began(store, asking)
            assert begun.turn.epoch == 1
            assert not await store.stopping(asking.turn, begun.turn.fence)
            assert await open_ids(store) == [asking.turn, following.turn]
