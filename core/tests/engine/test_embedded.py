"""What the embedded engine does beyond the laws of every backend."""

from __future__ import annotations

import logging
from itertools import pairwise

import anyio
import pytest

from pegboard.contracts.engine import After, EngineStats, Later
from pegboard.contracts.errors import StoreError
from pegboard.engine.embedded import BUSY_S, busy_s, failed_s
from pegboard.engine.lane import SUSPECT_AFTER
from pegboard.engine.reconcile import RECONCILE_S
from pegboard.testing.contracts.backend_run import Turns
from pegboard.testing.contracts.backend_suite import (
    NOW,
    began,
    incoming,
    served,
    took,
    took_all,
    until,
)

pytestmark = pytest.mark.anyio


def test_pauses_grow_and_stop_growing():
    assert [busy_s(tries) for tries in (1, 10, 20, 1000)] == [0.3, 0.3, 0.6, 3.0]
    assert [failed_s(tries) for tries in (1, 2, 3, 8, 10_000)] == [0.5, 1.0, 2.0, 60.0, 60.0]


async def test_only_the_clock_wakes_a_busy_turn(opened, clock):
    delivered = []

    async def busy(ref, lease):
        delivered.append(clock.now())
        return After.BUSY

    async with opened() as (store, engine), served(engine, busy):
        await engine.submit(await took(store))
        await until(lambda: delivered, "the first delivery")
        start = delivered[0]
        await clock.advance(BUSY_S - 0.01)
        assert len(delivered) == 1
        await clock.advance(0.02)
        assert len(delivered) == 2
        await engine.poke("chat")
        await until(lambda: len(delivered) == 3, "the delivery after the poke")
        await clock.advance(10 * BUSY_S)
        assert len(delivered) > 5
        assert delivered[0] == start


async def test_a_handler_that_fails_is_logged_and_asked_less_and_less_often(opened, clock, caplog):
    delivered = []

    async def failing(ref, lease):
        delivered.append(clock.monotonic())
        raise LookupError("nobody expected this")

    caplog.set_level(logging.ERROR, "pegboard.engine")
    async with opened() as (store, engine), served(engine, failing):
        ref = await took(store)
        await engine.submit(ref)
        await until(lambda: delivered, "the first delivery")
        await clock.advance(4)
    gaps = [later - earlier for earlier, later in pairwise(delivered)]
    assert gaps == pytest.approx([0.5, 1, 2])
    first = caplog.records[0]
    assert first.getMessage() == f"turn {ref.turn} failed; it is delivered again in 0.5 s"
    assert "nobody expected this" in caplog.text


async def test_a_clock_that_is_set_forward_does_not_let_a_turn_wait(opened, clock):
    async def later(begun, lease):
        if begun.turn.fence > 1:
            return None
        at = clock.now() + 3600
        await store.wait(begun.turn.ref.turn, begun.turn.fence, until=at)
        return Later(at)

    async with opened() as (store, engine):
        turns = Turns(store, later)
        async with served(engine, turns):
            await engine.submit(await took(store))
            await until(lambda: engine.stats().later == 1, "the wait")
            await clock.advance(RECONCILE_S)
            assert engine.stats().later == 1
            clock._start += 3600
            await clock.advance(RECONCILE_S)
            await until(lambda: engine.stats() == EngineStats(), "the end of the turn")
    assert len(turns.began) == 2


async def test_a_store_that_cannot_be_read_for_a_while_is_read_again(
    opened, clock, caplog, monkeypatch
):
    async with opened() as (store, engine), served(engine, Turns(store)):
        await until(lambda: clock.sleepers, "the first look")
        broken = [True]
        read = store.open_turns

        async def open_turns():
            if broken[0]:
                raise StoreError("The disk is gone.")
            return await read()

        monkeypatch.setattr(store, "open_turns", open_turns)
        await took(store)
        caplog.set_level(logging.WARNING, "pegboard.engine")
        await clock.advance(RECONCILE_S)
        await until(lambda: "The disk is gone." in caplog.text, "the warning")
        broken[0] = False
        await clock.advance(RECONCILE_S)
        await until(lambda: _ended(store), "the end of the turn")


async def test_turns_that_were_running_when_hosts_died_go_one_at_a_time(opened):
    async with opened() as (store, _):
        receipts = await took_all(store, [incoming(f"chat{number}") for number in range(4)])
    for _ in range(SUSPECT_AFTER):
        async with opened() as (store, _):
            for receipt in receipts[:3]:
                await began(store, receipt.ref, max_attempts=9)

    async def pausing(begun, lease):
        await anyio.sleep(0.01)

    async with opened() as (store, engine):
        assert [ref.attempts for ref in await store.open_turns()] == [2, 2, 2, 0]
        turns = Turns(store, pausing)
        async with served(engine, turns, slots=4):
            await until(lambda: _ended(store), "the end of the turns")
        assert turns.most == 2


async def test_it_is_served_once(opened):
    async with opened() as (store, engine):
        with pytest.raises(ValueError, match="one slot at least"):
            await engine.serve(Turns(store), slots=0)
        async with served(engine, Turns(store)):
            await anyio.sleep(0)
            with pytest.raises(StoreError, match="served already"):
                await engine.serve(Turns(store), slots=1)


async def test_an_engine_that_was_closed_before_it_serves_delivers_nothing(opened):
    async with opened() as (store, engine):
        await engine.close(1)
        turns = Turns(store)
        ref = await took(store)
        await engine.serve(turns, slots=1)
        assert turns.began == []
        assert await store.open_turns() == [ref]


async def test_a_store_that_cannot_be_read_ends_serving(opened, monkeypatch):
    async with opened() as (store, engine):

        async def unreadable():
            raise StoreError("The disk is gone.")

        monkeypatch.setattr(store, "open_turns", unreadable)
        with pytest.raises(StoreError, match="The disk is gone"):
            await engine.serve(Turns(store), slots=1)
        await engine.close(1)


async def test_nothing_is_held_of_a_conversation_that_is_idle(opened):
    async with opened() as (store, engine), served(engine, Turns(store)):
        for receipt in await took_all(store, [incoming(f"chat{number}") for number in range(50)]):
            await engine.submit(receipt.ref)
        await until(lambda: engine.stats() == EngineStats(), "rest")
        assert engine._lanes == {}
        assert engine._held == set()


async def test_a_missing_earlier_turn_goes_first(opened):
    """The reconciler may find a turn that was submitted to another host and left there."""
    busy, go_on = [], anyio.Event()

    async with opened() as (store, engine):
        first, second = await took(store), await took(store)
        turns = Turns(store)

        async def handle(ref, lease):
            if not go_on.is_set():
                busy.append(ref.seq)
                return After.BUSY
            return await turns(ref, lease)

        async with served(engine, handle):
            await until(lambda: busy, "the delivery")
        assert busy[0] == 1
    async with opened() as (store, engine):
        await engine.submit(second)
        await engine.submit(first)
        go_on.set()
        turns = Turns(store)
        async with served(engine, turns, slots=2):
            await until(lambda: _ended(store), "the end of the turns")
        assert turns.sequence("chat") == [1, 2]


async def test_closing_gives_the_file_back(opened):
    async with opened() as (store, engine):
        await engine.submit(await took(store, at=NOW))
    with pytest.raises(StoreError, match="closed"):
        await took(store)


async def _ended(store):
    return not await store.open_turns()
