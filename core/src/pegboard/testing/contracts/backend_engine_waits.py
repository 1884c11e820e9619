"""The laws of an engine about turns that can't go on now: they come again when they can."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from pegboard.contracts.engine import Later, Lease, Outcome
from pegboard.contracts.store import Store
from pegboard.contracts.turn import Begun, TurnRef
from pegboard.testing.contracts.backend_run import SOON_S, Turns, Work, ended
from pegboard.testing.contracts.backend_suite import CLOCK, NOW, BackendSuite, served, took, until
from pegboard.testing.contracts.suite import PROMPT_S


class WaitingLaws(BackendSuite):
    """A turn that can't go on now is delivered again when it can."""

    async def test_a_busy_turn_comes_again_soon(self, tmp_path: Path) -> None:
        """While another host runs its conversation; it has no slot meanwhile."""
        async with self.opened(tmp_path) as (other, _), self.opened(tmp_path) as (store, engine):
            first, second = await took(store), await took(store)
            begun = await other.begin(first.turn, now=NOW, max_attempts=3)
            assert isinstance(begun, Begun)
            turns = Turns(store)
            async with served(engine, turns, slots=1):
                await engine.submit(second)
                await engine.submit(await took(store, "free"))
                await until(lambda: turns.sequence("free") == [1], "the turn of a free key")
                assert turns.sequence("chat") == []
                await other.finish(first.turn, begun.turn.fence, state="done", now=NOW)
                await until(lambda: turns.sequence("chat") == [2], "the turn", limit_s=PROMPT_S)

    async def test_a_later_turn_comes_at_its_time(self, tmp_path: Path) -> None:
        """Not before, and told for which time; what comes after it in its conversation waits."""
        times: list[float] = []
        due: list[float | None] = []

        async def once(begun: Begun, lease: Lease) -> Outcome | None:
            times.append(CLOCK.now())
            due.append(lease.due)
            if len(times) > 1:
                return None
            at = CLOCK.now() + SOON_S
            times.append(at)
            await store.wait(begun.turn.ref.turn, begun.turn.fence, until=at)
            return Later(at)

        async with self.opened(tmp_path) as (store, engine):
            turns = Turns(store, once)
            async with served(engine, turns):
                for _ in range(2):
                    await engine.submit(await took(store))
                await until(lambda: engine.stats().later == 1, "the wait")
                assert (engine.stats().running, engine.stats().keys) == (0, 1)
                await until(lambda: ended(store), "the end of the turns")
            assert turns.sequence("chat") == [1, 1, 2]
            begun, at, again = times[:3]
            assert SOON_S <= again - begun < SOON_S + PROMPT_S
            assert due == [None, at, None]

    @pytest.mark.parametrize("at", [None, 3600.0])
    async def test_a_poke_wakes_a_later_turn(self, tmp_path: Path, at: float | None) -> None:
        """At once, long before its time; another key's poke does not."""
        async with self.opened(tmp_path) as (store, engine):
            turns = Turns(store, _waiting_once(store, None if at is None else CLOCK.now() + at))
            async with served(engine, turns):
                ref = await took(store)
                await engine.submit(ref)
                await until(lambda: engine.stats().later == 1, "the wait")
                await engine.poke("other")
                await anyio.sleep(SOON_S)
                assert len(turns.began) == 1
                await store.wake(ref.turn)
                await engine.poke(ref.key)
                await until(lambda: ended(store), "the end of the turn", limit_s=PROMPT_S)

    async def test_a_turn_that_another_host_woke_goes_on(self, tmp_path: Path) -> None:
        """Nobody pokes this engine then: it looks by itself."""
        async with (
            self.opened(tmp_path) as (other, _),
            self.opened(tmp_path) as (store, engine),
            served(engine, Turns(store, _waiting_once(store, None))),
        ):
            ref = await took(store)
            await engine.submit(ref)
            await until(lambda: engine.stats().later == 1, "the wait")
            assert await other.wake(ref.turn)
            await until(lambda: ended(store), "the end of the turn")

    async def test_a_poke_reaches_what_runs(self, tmp_path: Path) -> None:
        """The lease of the running turn hears of it, and no other."""
        heard: list[str] = []
        go_on = anyio.Event()

        async def listening(begun: Begun, lease: Lease) -> Outcome | None:
            lease.poked = lambda: heard.append(lease.key)
            await go_on.wait()
            return None

        async with self.opened(tmp_path) as (store, engine):
            turns = Turns(store, listening)
            async with served(engine, turns):
                for key in ("a", "b"):
                    await engine.submit(await took(store, key))
                await until(lambda: len(turns.began) == 2, "both turns")
                await engine.poke("a")
                await until(lambda: bool(heard), "the poke", limit_s=PROMPT_S)
                assert heard == ["a"]
                go_on.set()
                await until(lambda: ended(store), "the end of the turns")

    async def test_a_poke_is_not_lost_while_a_turn_goes_to_wait(self, tmp_path: Path) -> None:
        """The answer may come after the turn was put aside and before its handler returned."""
        aside, woken = anyio.Event(), anyio.Event()

        async def slow(begun: Begun, lease: Lease) -> Outcome | None:
            if aside.is_set():
                return None
            await store.wait(begun.turn.ref.turn, begun.turn.fence, until=None)
            aside.set()
            await woken.wait()
            return Later(None)

        async with self.opened(tmp_path) as (store, engine), served(engine, Turns(store, slow)):
            ref = await took(store)
            await engine.submit(ref)
            await aside.wait()
            assert await store.wake(ref.turn)
            await engine.poke(ref.key)
            woken.set()
            await until(lambda: ended(store), "the end of the turn", limit_s=PROMPT_S)


def _waiting_once(store: Store, at: float | None) -> Work:
    """Return work that is put aside the first time, and done the second."""
    waited: set[str] = set()

    async def work(begun: Begun, lease: Lease) -> Outcome | None:
        ref: TurnRef = begun.turn.ref
        if ref.turn in waited:
            return None
        waited.add(ref.turn)
        await store.wait(ref.turn, begun.turn.fence, until=at)
        return Later(at)

    return work
