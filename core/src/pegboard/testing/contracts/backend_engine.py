"""The laws of an engine: every turn is delivered, in order, and none waits for another's key.

What can't go on when it is delivered is in `backend_engine_waits.py`.
"""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from pegboard.contracts.engine import After, EngineStats, Lease, Outcome
from pegboard.contracts.turn import Begun
from pegboard.testing.contracts.backend_run import SOON_S, Turns, ended, pausing
from pegboard.testing.contracts.backend_suite import (
    BackendSuite,
    incoming,
    open_ids,
    served,
    took,
    took_all,
    until,
)
from pegboard.testing.contracts.suite import PROMPT_S, no_tasks_left


class DeliveryLaws(BackendSuite):
    """Every turn is delivered until it has ended."""

    async def test_what_is_submitted_is_delivered(self, tmp_path: Path) -> None:
        """Before and while it serves; afterwards the engine is empty."""
        async with self.opened(tmp_path) as (store, engine):
            turns = Turns(store)
            await engine.submit(await took(store, "a"))
            async with served(engine, turns):
                await engine.submit(await took(store, "b"))
                await until(lambda: ended(store), "the end of both turns")
                await until(lambda: engine.stats() == EngineStats(), "rest")
            assert {ref.key for ref in turns.began} == {"a", "b"}

    async def test_what_is_open_is_delivered(self, tmp_path: Path) -> None:
        """Serving begins with what the store holds: nobody has to submit it again."""
        async with self.opened(tmp_path) as (store, _):
            for _ in range(3):
                await took(store)
        async with self.opened(tmp_path) as (store, engine):
            turns = Turns(store)
            async with served(engine, turns):
                await until(lambda: ended(store), "the end of the turns")
            assert turns.sequence("chat") == [1, 2, 3]

    async def test_a_turn_that_nobody_submitted_is_found(self, tmp_path: Path) -> None:
        """A host that died between writing and submitting, or another one, has left it."""
        async with self.opened(tmp_path) as (store, engine), served(engine, Turns(store)):
            await until(lambda: engine.stats() == EngineStats(), "rest")
            await took(store)
            await until(lambda: ended(store), "the end of the turn")

    async def test_the_same_turn_five_times_is_run_once(self, tmp_path: Path) -> None:
        """Submitting again what waits, runs or has ended is harmless."""
        async with self.opened(tmp_path) as (store, engine):
            turns = Turns(store, pausing(0.05))
            ref = await took(store)
            async with served(engine, turns):
                async with anyio.create_task_group() as group:
                    for _ in range(5):
                        group.start_soon(engine.submit, ref)
                await until(lambda: ended(store), "the end of the turn")
                await engine.submit(ref)
                await until(lambda: engine.stats() == EngineStats(), "rest")
            assert turns.began == [ref]
            assert turns.overlapped == []

    async def test_turns_of_a_conversation_come_in_order_one_at_a_time(
        self, tmp_path: Path
    ) -> None:
        """Whatever order they are submitted in; conversations run side by side."""
        async with self.opened(tmp_path) as (store, engine):
            turns = Turns(store, pausing(0.01))
            keys = ["a", "b", "c"]
            receipts = await took_all(store, [incoming(key) for _ in range(5) for key in keys])
            for receipt in reversed(receipts):
                await engine.submit(receipt.ref)
            async with served(engine, turns, slots=2 * len(keys)):
                await until(lambda: ended(store), "the end of the turns")
            assert [turns.sequence(key) for key in keys] == [[1, 2, 3, 4, 5]] * len(keys)
            assert turns.overlapped == []
            assert 1 < turns.most <= len(keys)

    async def test_a_handler_that_fails_is_asked_again(self, tmp_path: Path) -> None:
        """What it raises ends neither the engine nor another turn, and no turn is lost."""
        failed: list[str] = []

        async def failing(begun: Begun, lease: Lease) -> Outcome | None:
            key = begun.turn.ref.key
            if key == "bad" and len(failed) < 2:
                failed.append(key)
                raise RuntimeError("broken on purpose")
            return None

        async with self.opened(tmp_path) as (store, engine):
            turns = Turns(store, failing)
            async with served(engine, turns, slots=1):
                for key in ("bad", "good", "bad"):
                    await engine.submit(await took(store, key))
                await until(lambda: ended(store), "the end of the turns")
            assert turns.sequence("bad") == [1, 1, 1, 2]

    async def test_a_fenced_delivery_is_dropped_and_the_turn_is_not_lost(
        self, tmp_path: Path
    ) -> None:
        """The attempt that has it may die as well: as long as it is open it comes again."""
        fenced: list[str] = []

        async def work(begun: Begun, lease: Lease) -> Outcome | None:
            if fenced:
                return None
            fenced.append(begun.turn.ref.turn)
            await store.release(begun.turn.ref.turn, begun.turn.fence)
            return After.FENCED

        async with self.opened(tmp_path) as (store, engine), served(engine, Turns(store, work)):
            await engine.submit(await took(store))
            await engine.submit(await took(store))
            await until(lambda: ended(store), "the end of the turns")

    async def test_a_host_delivers_what_it_accepts(self, tmp_path: Path) -> None:
        """The rest is left to the host that does, without a word."""
        async with (
            self.opened(tmp_path, accepts=lambda ref: ref.channel == "desk") as (store, engine),
            self.opened(tmp_path, accepts=lambda ref: ref.channel == "mail") as (other, second),
        ):
            desk, mail = Turns(store), Turns(other)
            refs = [await took(store, channel, channel=channel) for channel in ("desk", "mail")]
            async with served(engine, desk):
                for ref in refs:
                    await engine.submit(ref)
                await until(lambda: desk.began == refs[:1], "the delivery")
                await anyio.sleep(SOON_S)
                assert (desk.began, await open_ids(store)) == (refs[:1], [refs[1].turn])
                async with served(second, mail):
                    await until(lambda: ended(store), "the end of the other turn")
            assert (desk.began, mail.began) == (refs[:1], refs[1:])


class FairnessLaws(BackendSuite):
    """One conversation does not delay another, and background work delays nobody."""

    async def test_at_most_so_many_run_at_a_time(self, tmp_path: Path) -> None:
        """Each slot is used, and none twice."""
        go_on = anyio.Event()

        async def waiting(begun: Begun, lease: Lease) -> Outcome | None:
            await go_on.wait()
            return None

        async with self.opened(tmp_path) as (store, engine):
            turns = Turns(store, waiting)
            receipts = await took_all(store, [incoming(f"chat{number}") for number in range(7)])
            async with served(engine, turns, slots=3):
                for receipt in receipts:
                    await engine.submit(receipt.ref)
                await until(lambda: engine.stats().running == 3, "three turns")
                await anyio.sleep(SOON_S)
                stats = engine.stats()
                assert (stats.running, stats.waiting, stats.keys) == (3, 4, 7)
                go_on.set()
                await until(lambda: ended(store), "the end of the turns")
            assert turns.most == 3

    async def test_one_busy_conversation_does_not_delay_the_others(self, tmp_path: Path) -> None:
        """With 500 turns of one key waiting, 100 others run before a fraction of those has."""
        async with self.opened(tmp_path) as (store, engine):
            turns = Turns(store, pausing(0.002))
            many = await took_all(store, [incoming("busy") for _ in range(500)])
            few = await took_all(store, [incoming(f"chat{number}") for number in range(100)])
            async with served(engine, turns, slots=4):
                for receipt in (*many, *few):
                    await engine.submit(receipt.ref)
                await until(
                    lambda: len(turns.began) - len(turns.sequence("busy")) == 100,
                    "the other turns",
                )
                assert len(turns.sequence("busy")) < 150

    @pytest.mark.parametrize("slots", [2, 4])
    async def test_background_work_leaves_a_slot(self, tmp_path: Path, slots: int) -> None:
        """A person's turn begins at once, however much work that nobody waits for is there."""
        go_on = anyio.Event()

        async def waiting(begun: Begun, lease: Lease) -> Outcome | None:
            if begun.turn.ref.background:
                await go_on.wait()
            return None

        async with self.opened(tmp_path) as (store, engine):
            turns = Turns(store, waiting)
            work = [incoming(f"job{number}", background=True) for number in range(8)]
            receipts = await took_all(store, work)
            async with served(engine, turns, slots=slots):
                for receipt in receipts:
                    await engine.submit(receipt.ref)
                await until(lambda: engine.stats().background > 0, "background work")
                await anyio.sleep(SOON_S)
                assert engine.stats().background == engine.stats().running < slots
                await engine.submit(await took(store))
                await until(lambda: turns.sequence("chat") == [1], "the turn", limit_s=PROMPT_S)
                go_on.set()
                await until(lambda: ended(store), "the end of the turns")

    async def test_background_work_is_done_when_nobody_waits(self, tmp_path: Path) -> None:
        """Even with a single slot, where a person would come first."""
        async with self.opened(tmp_path) as (store, engine):
            turns = Turns(store)
            for key in ("job1", "job2"):
                await engine.submit(await took(store, key, background=True))
            await engine.submit(await took(store))
            async with served(engine, turns, slots=1):
                await until(lambda: ended(store), "the end of the turns")
            assert turns.began[0].key == "chat"

    async def test_a_person_behind_background_work_is_not_background(self, tmp_path: Path) -> None:
        """A conversation that somebody waits for goes first, whatever is at its head."""
        async with self.opened(tmp_path) as (store, engine):
            turns = Turns(store)
            refs = [await took(store, key, background=True) for key in ("job", "chat")]
            refs.append(await took(store, "chat"))
            for ref in refs:
                await engine.submit(ref)
            async with served(engine, turns, slots=1):
                await until(lambda: ended(store), "the end of the turns")
            assert [ref.key for ref in turns.began] == ["chat", "chat", "job"]


class ClosingLaws(BackendSuite):
    """An engine that closes loses nothing."""

    async def test_what_runs_may_finish(self, tmp_path: Path) -> None:
        """Within the grace; nothing more is begun, and the rest stays open."""
        async with self.opened(tmp_path) as (store, engine):
            turns = Turns(store, pausing(0.2))
            refs = [await took(store) for _ in range(2)]
            async with anyio.create_task_group() as group:

                async def serve() -> None:
                    await engine.serve(turns, slots=1)

                group.start_soon(serve)
                await until(lambda: engine.stats().running == 1, "the first turn")
                await engine.close(PROMPT_S)
            assert turns.began == refs[:1]
            assert await open_ids(store) == [refs[1].turn]
            await engine.submit(refs[1])
            await anyio.sleep(SOON_S)
            assert turns.began == refs[:1], "a closed engine began a turn"

    async def test_what_does_not_finish_is_handed_back(self, tmp_path: Path) -> None:
        """After the grace it is cancelled; another host goes on with it, in order."""
        async with self.opened(tmp_path) as (store, engine):
            refs = [await took(store) for _ in range(2)]
            with no_tasks_left():
                async with anyio.create_task_group() as group:

                    async def serve() -> None:
                        await engine.serve(Turns(store, pausing(3600)), slots=1)

                    group.start_soon(serve)
                    await until(lambda: engine.stats().running == 1, "the first turn")
                    await engine.close(0.1)
            record = await store.turn(refs[0].turn)
            assert record is not None
            assert (record.state, record.attempts) == ("queued", 0)
            async with self.opened(tmp_path) as (other, second):
                turns = Turns(other)
                async with served(second, turns):
                    await until(lambda: ended(other), "the end of the turns")
                assert turns.began == refs

    async def test_cancelling_ends_it(self, tmp_path: Path) -> None:
        """At once, with all that it runs, and what it ran is open."""
        async with self.opened(tmp_path) as (store, engine):
            with no_tasks_left():
                async with served(engine, Turns(store, pausing(3600))):
                    ref = await took(store)
                    await engine.submit(ref)
                    await until(lambda: engine.stats().running == 1, "the turn")
            assert await open_ids(store) == [ref.turn]

    async def test_closing_again_does_nothing(self, tmp_path: Path) -> None:
        """Also one that has never served."""
        async with self.opened(tmp_path) as (store, engine):
            await engine.submit(await took(store))
            for _ in range(2):
                await engine.close(PROMPT_S)
            assert len(await open_ids(store)) == 1
