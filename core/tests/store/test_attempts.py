"""Who may run a turn, and what becomes of the attempts that may not any more."""

from __future__ import annotations

import threading
import time

import anyio
import pytest

from pegboard.contracts.errors import StoreError
from pegboard.contracts.store import FencedError
from pegboard.contracts.turn import Begun, NotBegun
from pegboard.store.embedded import open_store

pytestmark = pytest.mark.anyio


async def begin(store, turn="t1", *, now=2.0, max_attempts=3):
    return await store.begin(turn, now=now, max_attempts=max_attempts)


async def dies(store):
    """Let a host end as `kill -9` ends it: the lock is gone, nothing else was done."""
    store._workers.leave()
    await store.database.aclose()


async def test_a_begun_turn_is_busy_for_everybody_until_it_ends(store, other, make):
    await store.ingest(make.incoming("t1"))
    begun = await begin(store)
    assert isinstance(begun, Begun)
    assert (begun.turn.state, begun.turn.fence, begun.turn.attempts) == ("running", 1, 1)
    assert await begin(other) == NotBegun(why="busy")
    assert await begin(store) == NotBegun(why="busy")
    await store.finish("t1", 1, state="done", now=3.0)
    for host in (store, other):
        assert (await begin(host)).why == "over"
    turn = await store.turn("t1")
    assert (turn.state, turn.ended_at, turn.fence) == ("done", 3.0, 1)


async def test_only_the_first_open_turn_of_a_conversation_can_be_begun(store, make):
    for turn in ("t1", "t2", "t3"):
        await store.ingest(make.incoming(turn))
    await store.ingest(make.incoming("u1", "other"))
    assert await begin(store, "t2") == NotBegun(why="busy")
    assert isinstance(await begin(store, "u1"), Begun)
    assert isinstance(await begin(store, "t1"), Begun)
    assert await begin(store, "t2") == NotBegun(why="busy")
    await store.wait("t1", 1, until=None)
    assert await begin(store, "t2") == NotBegun(why="busy")
    await store.wake("t1")
    await begin(store, "t1")
    await store.finish("t1", 2, state="failed", now=3.0, error={"code": "x"})
    assert isinstance(await begin(store, "t2"), Begun)
    assert (await store.turn("t1")).error == {"code": "x"}


async def test_a_turn_that_nobody_knows_is_over(store):
    assert await begin(store, "t9") == NotBegun(why="over")


async def test_two_who_begin_at_once_get_one_attempt(store, other, make):
    await store.ingest(make.incoming("t1"))
    got = []

    async def attempt(host):
        got.append(await begin(host))

    async with anyio.create_task_group() as group:
        for host in (store, other, store, other, store):
            group.start_soon(attempt, host)
    assert sorted(type(one).__name__ for one in got) == ["Begun"] + ["NotBegun"] * 4


async def test_a_dead_host_s_turn_is_taken_over_and_its_old_attempt_fenced_off(
    tmp_path, store, make
):
    dead = await open_store(tmp_path, worker="dead")
    await dead.ingest(make.incoming("t1"))
    await begin(dead)
    await dead.intend("t1", 1, [make.tool_call("a"), make.tool_call("b")])
    await dead.record("t1", 1, "a", {"text": "done"})
    assert await begin(store) == NotBegun(why="busy")
    await dies(dead)
    begun = await begin(store)
    assert (begun.turn.fence, begun.turn.attempts) == (2, 2)
    assert begun.calls["a"].result == {"text": "done"} and begun.calls["b"].result is None

    zombie = await open_store(tmp_path, worker="zombie")  # as the dead one would be, woken up
    for verb in (
        zombie.intend("t1", 1, [make.tool_call("c")]),
        zombie.record("t1", 1, "b", {"text": "late"}),
        zombie.reply("t1", 1, [{"text": "late"}], now=5.0),
        zombie.finish("t1", 1, state="done", now=5.0),
        zombie.wait("t1", 1, until=None),
        zombie.release("t1", 1),
    ):
        with pytest.raises(FencedError, match=r"attempt 2 has begun, and this is attempt 1") as no:
            await verb
        assert no.value.fix and no.value.code == "fenced"
    assert await zombie.stopping("t1", 1) and not await zombie.stopping("t1", 2)
    await zombie.aclose()
    again = await store.begun("t1")
    assert again.turn.state == "running" and set(again.calls) == {"a", "b"}
    await store.finish("t1", 2, state="done", now=6.0)


async def test_what_has_ended_can_not_be_written_to(store, make):
    await store.ingest(make.incoming("t1"))
    await begin(store)
    await store.finish("t1", 1, state="done", now=3.0)
    with pytest.raises(FencedError, match="it is done"):
        await store.finish("t1", 1, state="failed", now=4.0)
    with pytest.raises(FencedError, match="it is done"):
        await store.record("t1", 1, "a", {})
    with pytest.raises(FencedError, match="it was erased"):
        await store.record("t9", 1, "a", {})


async def test_a_turn_can_not_end_open(store, make):
    await store.ingest(make.incoming("t1"))
    await begin(store)
    with pytest.raises(StoreError, match="can't end as waiting") as raised:
        await store.finish("t1", 1, state="waiting", now=3.0)
    assert raised.value.fix == "use Store.wait or Store.release"


async def test_a_turn_that_ends_its_host_each_time_is_given_up(tmp_path, store, make):
    await store.ingest(make.incoming("t1"))
    await store.ingest(make.incoming("t2"))
    for number in range(3):
        host = await open_store(tmp_path, worker=f"host{number}")
        assert (await begin(host)).turn.attempts == number + 1
        await host.reply("t1", number + 1, [{"text": "one"}, {"text": "two"}], now=3.0)
        assert await host.sending("t1", number + 1, 0, now=3.0)
        await dies(host)
    for number in range(3, 6):  # and also while they tell that it is given up
        host = await open_store(tmp_path, worker=f"host{number}")
        assert (await begin(host)).given_up
        await dies(host)
    given_up = await begin(store, now=9.0)
    assert given_up.why == "dead"
    assert (given_up.turn.state, given_up.turn.ended_at) == ("dead", 9.0)
    assert (
        given_up.turn.error["code"] == "turn_dead" and "6 times" in given_up.turn.error["message"]
    )
    states = [part.state for part in (await store.begun("t1")).outbox]
    assert states == ["in_doubt", "stale"]
    assert (await begin(store)).why == "over"
    assert isinstance(await begin(store, "t2"), Begun)


async def test_the_person_can_be_told_of_a_turn_that_was_given_up(tmp_path, store, make):
    await store.ingest(make.incoming("t1"))
    host = await open_store(tmp_path, worker="poisoned")
    await begin(host)
    await dies(host)
    begun = await begin(store, max_attempts=1)
    fence = begun.turn.fence
    assert (begun.given_up, fence) == (True, 2)
    with pytest.raises(FencedError):
        await store.reply("t1", 1, [{"text": "late"}], now=3.0)
    await store.reply("t1", fence, [{"text": "I gave up."}], now=3.0)
    assert await store.sending("t1", fence, 0, now=3.0)
    await store.sent("t1", 0, ["7"], now=4.0)
    await store.finish("t1", fence, state="dead", now=4.0)
    assert (await store.turn("t1")).state == "dead"
    assert (await store.begun("t1")).outbox[0].state == "sent"


async def test_a_handed_back_turn_does_not_count_as_begun(store, make):
    await store.ingest(make.incoming("t1"))
    for number in range(5):
        begun = await begin(store, max_attempts=2)
        assert (begun.turn.fence, begun.turn.attempts) == (number + 1, 1)
        await store.release("t1", number + 1)
        turn = await store.turn("t1")
        assert (turn.state, turn.attempts) == ("queued", 0)


async def test_a_waiting_turn_goes_on_at_its_time_and_does_not_count_as_begun(store, make):
    await store.ingest(make.incoming("t1"))
    for number in range(3):
        begun = await begin(store, now=10.0 * (number + 1), max_attempts=1)
        assert begun.turn.not_before is None
        until = 10.0 * (number + 2)
        assert await store.wait("t1", number + 1, until=until)
        assert await begin(store, now=until - 1) == NotBegun(why="later", at=until)
        assert (await store.turn("t1")).not_before == until
    assert isinstance(await begin(store, now=40.0, max_attempts=1), Begun)


async def test_a_turn_that_waits_for_somebody_goes_on_when_it_is_woken(store, other, make):
    await store.ingest(make.incoming("t1"))
    await begin(store)
    await store.wait("t1", 1, until=None)
    assert await begin(store, now=1e9) == NotBegun(why="later", at=None)
    assert await other.wake("t1")
    assert isinstance(await begin(other), Begun)


async def test_a_turn_that_was_woken_while_it_ran_does_not_begin_to_wait(store, make):
    await store.ingest(make.incoming("t1"))
    assert not await store.wake("t1")
    assert not await store.wake("t9")
    await begin(store)
    assert not await store.wake("t1")
    assert not await store.wait("t1", 1, until=99.0)
    assert isinstance(await begin(store), Begun)
    # only once
    assert await store.wait("t1", 2, until=99.0)
    await store.wake("t1")
    await begin(store)
    assert await store.wait("t1", 3, until=99.0)


@pytest.mark.parametrize("ending", ["finish", "wait", "release"])
async def test_an_attempt_whose_end_can_not_be_written_is_over_all_the_same(
    store, make, ending, monkeypatch
):
    await store.ingest(make.incoming("t1"))
    await begin(store)

    async def full(work):
        raise StoreError("The disk is full.")

    with monkeypatch.context() as patch, pytest.raises(StoreError, match="disk is full"):
        patch.setattr(store.database, "write", full)
        if ending == "finish":
            await store.finish("t1", 1, state="done", now=3.0)
        elif ending == "wait":
            await store.wait("t1", 1, until=None)
        else:
            await store.release("t1", 1)
    assert (await begin(store)).turn.fence == 2


async def test_a_beginning_that_nobody_heard_of_is_taken_over(store, make):
    await store.ingest(make.incoming("t1"))
    started = threading.Event()

    def slow(connection):
        started.set()
        time.sleep(0.1)

    async with anyio.create_task_group() as group:
        with anyio.CancelScope() as scope:
            async with anyio.create_task_group() as both:
                both.start_soon(begin, store)
                # of the same group, so that it holds up the commit of the beginning
                both.start_soon(store.database.write, slow)
                await anyio.to_thread.run_sync(started.wait)
                scope.cancel()
        group.cancel_scope.cancel()
    await store.database.write(lambda connection: None)
    assert (await store.turn("t1")).state == "running"
    begun = await begin(store)
    assert (begun.turn.fence, begun.turn.attempts) == (2, 2)


async def test_a_beginning_that_was_given_up_in_the_queue_did_not_happen(store, make):
    await store.ingest(make.incoming("t1"))
    started = threading.Event()

    def slow(connection):
        started.set()
        time.sleep(0.1)

    async with anyio.create_task_group() as group:
        group.start_soon(store.database.write, slow)
        await anyio.to_thread.run_sync(started.wait)
        with anyio.move_on_after(0.01):
            await begin(store)
    await store.database.write(lambda connection: None)
    assert (await begin(store)).turn.fence == 1


async def test_stopping_marks_what_is_open_and_nothing_that_comes_later(store, make):
    await store.ingest(make.incoming("t1"))
    assert await store.ask_to_stop("nobody") == []
    await begin(store)
    assert not await store.stopping("t1", 1)
    assert [ref.turn for ref in await store.ask_to_stop("k")] == ["t1"]
    await store.ingest(make.incoming("t2"))
    assert await store.stopping("t1", 1)
    assert (await store.turn("t1")).cancel_asked and not (await store.turn("t2")).cancel_asked
    # what it did can still be written, only nothing is sent any more
    await store.intend("t1", 1, [make.tool_call("a", result={"text": "x"})])
    await store.reply("t1", 1, [{"text": "no"}], now=3.0)
    assert not await store.sending("t1", 1, 0, now=3.0)
    await store.finish("t1", 1, state="cancelled", now=4.0)
    assert await store.stopping("t1", 1)
    assert await store.stopping("t9", 1)
    assert isinstance(await begin(store, "t2"), Begun)


async def test_a_waiting_turn_that_is_stopped_is_begun_once_more_to_end(store, make):
    await store.ingest(make.incoming("t1"))
    await begin(store)
    await store.wait("t1", 1, until=None)
    assert [ref.turn for ref in await store.ask_to_stop("k")] == ["t1"]
    begun = await begin(store)
    assert begun.turn.cancel_asked and await store.stopping("t1", 2)
    # and one that is stopped while it runs does not begin to wait
    assert not await store.wait("t1", 2, until=None)
    assert (await begin(store)).turn.cancel_asked


async def test_a_handed_back_turn_can_be_stopped(store, make):
    await store.ingest(make.incoming("t1"))
    await begin(store)
    await store.release("t1", 1)
    assert [ref.turn for ref in await store.ask_to_stop("k")] == ["t1"]
    assert (await begin(store)).turn.cancel_asked


async def test_a_turn_to_be_stopped_that_ends_its_host_ends_as_cancelled(tmp_path, store, make):
    await store.ingest(make.incoming("t1"))
    host = await open_store(tmp_path, worker="dead")
    await begin(host)
    await host.ask_to_stop("k")
    await dies(host)
    ended = await begin(store, max_attempts=1)
    assert (ended.why, ended.turn.state) == ("over", "cancelled")


async def test_beginning_anew_stops_what_was_begun_and_ends_what_was_not(store, make):
    for turn in ("t1", "t2", "t3"):
        await store.ingest(make.incoming(turn))
    await begin(store)
    await store.reply("t1", 1, [{"text": "late"}], now=3.0)
    stopped = await store.new_epoch("k", now=4.0)
    assert [ref.turn for ref in stopped] == ["t1", "t2", "t3"]
    assert [(await store.turn(turn)).state for turn in ("t1", "t2", "t3")] == [
        "running",
        "cancelled",
        "cancelled",
    ]
    assert (await store.turn("t2")).ended_at == 4.0
    assert await store.stopping("t1", 1)
    assert not await store.sending("t1", 1, 0, now=5.0)
    assert (await store.begun("t1")).outbox[0].state == "stale"
    await store.ingest(make.incoming("t4"))
    assert (await store.turn("t4")).epoch == 1
    assert await begin(store, "t4") == NotBegun(why="busy")
    await store.finish("t1", 1, state="cancelled", now=5.0)
    assert isinstance(await begin(store, "t4"), Begun)
    assert not await store.stopping("t4", 1)
    assert await store.new_epoch("nobody", now=6.0) == []


async def test_the_turn_that_asks_for_a_new_beginning_goes_on_with_what_came_after(store, make):
    for turn in ("t1", "t2", "t3"):
        await store.ingest(make.incoming(turn))
    await begin(store)
    await store.finish("t1", 1, state="done", now=3.0, messages=[make.said("old")])
    await begin(store, "t2")
    assert await store.new_epoch("k", now=4.0, by="t2") == []
    assert not await store.stopping("t2", 1)
    await store.reply("t2", 1, [{"text": "A new conversation."}], now=5.0)
    assert await store.sending("t2", 1, 0, now=5.0)
    await store.finish("t2", 1, state="done", now=5.0)
    begun = await begin(store, "t3")
    assert (begun.turn.epoch, begun.turn.cancel_asked) == (1, False)
    await store.finish("t3", 1, state="done", now=6.0, messages=[make.said("new")])
    assert [turn.seq for turn in (await store.transcript("k")).turns] == [3]


async def test_a_turn_of_an_older_epoch_is_to_be_stopped_whatever_its_mark_says(store, make):
    await store.ingest(make.incoming("t1"))
    await store.ingest(make.incoming("u1", "u"))
    await begin(store, "u1")
    await store.release("u1", 1)
    await store.ingest(make.incoming("v1", "v"))
    await begin(store, "v1")
    await store.reply("v1", 1, [{"text": "late"}], now=2.0)
    await store.database.write(
        lambda connection: connection.execute("UPDATE conversation SET epoch = epoch + 1")
    )
    assert await store.stopping("v1", 1)
    assert not await store.sending("v1", 1, 0, now=3.0)
    ended = await begin(store)
    assert (ended.why, ended.turn.state) == ("over", "cancelled")
    assert (await begin(store, "u1")).turn.cancel_asked
