"""The engine of one process: turns are delivered by the event loop that serves them."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Final

import anyio
import anyio.abc

from pegboard.contracts.clock import Clock
from pegboard.contracts.engine import (
    Accepts,
    After,
    EngineStats,
    Handler,
    Later,
    Lease,
    Outcome,
    accept_all,
)
from pegboard.contracts.errors import StoreError
from pegboard.contracts.store import Store
from pegboard.contracts.turn import TurnRef
from pegboard.engine.lane import Lane, Slot, Turnstile
from pegboard.engine.reconcile import RECONCILE_S, keep_reconciled

BUSY_S: Final = 0.3
"""Seconds until a turn that can't be begun yet is delivered again."""
BUSY_MOST_S: Final = 3.0
"""What that grows to while it stays so: another host may run the conversation for long."""
_PATIENCE: Final = 10
FAILED_S: Final = 0.5
"""Seconds until a turn whose handler failed is delivered again; doubled each time."""
FAILED_MOST_S: Final = 60.0
_log = logging.getLogger("pegboard.engine")


class EmbeddedEngine:
    """Delivers turns in this process, the conversations' each in order, side by side.

    Only conversations with open turns take memory. What it holds is lost with the process; the
    store has it all, and `serve` begins with reading that.

    Args:
        store: Where the truth about turns is.
        clock: The host's clock.
        accepts: Tells which turns this host delivers; the others are left to other hosts.
        reconcile_s: Seconds between two looks for turns that nobody submitted here.
    """

    def __init__(
        self,
        store: Store,
        clock: Clock,
        *,
        accepts: Accepts = accept_all,
        reconcile_s: float = RECONCILE_S,
    ) -> None:
        self._store = store
        self._clock = clock
        self._accepts = accepts
        self._reconcile_s = reconcile_s
        self._lanes: dict[str, Lane] = {}
        self._held: set[str] = set()
        self._turnstile = Turnstile()
        self._handler: Handler | None = None
        self._group: anyio.abc.TaskGroup | None = None
        self._closing = False
        self._idle: list[_Idle] = []
        self._still = anyio.Event()
        self._ended = anyio.Event()

    async def submit(self, ref: TurnRef) -> None:
        """Take a turn that was ingested; the same one twice is harmless."""
        self._put(ref)
        self._start()

    async def serve(self, handler: Handler, *, slots: int) -> None:
        """Deliver turns until cancelled or closed, at most `slots` at a time.

        Begins with what is open in the store.

        Raises:
            StoreError: When it serves already, or the store can't be read.
            ValueError: When `slots` is less than 1.
        """
        if slots < 1:
            raise ValueError("an engine needs one slot at least")
        if self._handler is not None:
            raise StoreError("This engine is being served already.")
        self._handler = handler
        self._turnstile.slots = slots
        try:
            for ref in await self._store.open_turns():
                self._put(ref)
            async with anyio.create_task_group() as self._group:
                if self._closing:
                    return
                self._start()
                await keep_reconciled(self._store, self, self._clock, every_s=self._reconcile_s)
        finally:
            self._group = None
            self._closing = True
            self._ended.set()

    async def poke(self, key: str) -> None:
        """Tell a conversation that something changed: wake what waits, tell what runs."""
        lane = self._lanes.get(key)
        if lane is None:
            return
        if lane.lease is not None:
            lane.poked = True
            lane.lease.poked()
        elif lane.state == "resting":
            self._wake(lane)

    def stats(self) -> EngineStats:
        """Return what it does now."""
        later = sum(1 for lane in self._lanes.values() if lane.later)
        return EngineStats(
            running=self._turnstile.running,
            waiting=len(self._held) - self._turnstile.running - later,
            later=later,
            keys=len(self._lanes),
            background=self._turnstile.running_background,
        )

    async def close(self, grace_s: float) -> None:
        """Deliver no more; let what runs finish for `grace_s` seconds, then cancel it."""
        self._closing = True
        group = self._group
        if group is None:
            return
        if self._turnstile.running:
            with anyio.move_on_after(grace_s):
                await self._still.wait()
        group.cancel_scope.cancel()
        await self._ended.wait()

    def holds(self, turn: str) -> bool:
        """Tell whether it has this turn."""
        return turn in self._held

    def resting(self) -> Iterator[TurnRef]:
        """Yield the turns that wait for a time or for a poke."""
        for lane in self._lanes.values():
            if lane.later:
                yield lane.turns[0]

    def _put(self, ref: TurnRef) -> None:
        if self._closing or not self._accepts(ref):
            return
        lane = self._lanes.get(ref.key)
        if lane is None:
            lane = self._lanes[ref.key] = Lane(ref.key, [ref])
            self._held.add(ref.turn)
            self._turnstile.queue(lane)
            return
        first = lane.turns[0]
        if ref.turn in self._held:
            lane.learn(ref)
        else:
            lane.add(ref)
            self._held.add(ref.turn)
        if lane.state == "ready":
            self._turnstile.requeue(lane)
        elif lane.state == "resting" and lane.turns[0].turn != first.turn:
            self._wake(lane)

    def _start(self) -> None:
        """Start a delivery on every slot that is free, for whatever may run."""
        if self._group is None or self._closing:
            return
        while (slot := self._turnstile.take()) is not None:
            if self._idle:
                self._idle.pop().begin(slot)
            else:
                self._group.start_soon(self._work, slot)

    async def _work(self, first: Slot) -> None:
        """Deliver with one slot, lane after lane; a worker that has nothing to do stays for more.

        A task for each delivery would be as much work for the event loop as the whole delivery.
        """
        slot: Slot | None = first
        while slot is not None:
            try:
                await self._deliver(slot.lane)
            finally:
                self._turnstile.give_back(slot)
            slot = None if self._closing else self._turnstile.take()
            if slot is None and not self._closing:
                idle = _Idle()
                self._idle.append(idle)
                slot = await idle.slot()
        if not self._turnstile.running:
            self._still.set()

    async def _deliver(self, lane: Lane) -> None:
        """Deliver the first turn of a lane, and do with it what its handler says."""
        ref = lane.turns[0]
        lane.poked = False
        lane.lease = Lease(ref.key, due=lane.due)
        lane.due = None
        try:
            outcome = await self._handled(lane, ref, lane.lease)
        finally:
            lane.lease = None
        if isinstance(outcome, Later):
            self._put_aside(lane, outcome.at)
        elif outcome in (After.DONE, After.FENCED):
            self._finish(lane, ref)
        else:
            lane.tries += 1
            failed = outcome is None
            self._rest(lane, failed_s(lane.tries) if failed else busy_s(lane.tries))

    async def _handled(self, lane: Lane, ref: TurnRef, lease: Lease) -> Outcome | None:
        """Return what the handler says, or None when it failed."""
        assert self._handler is not None
        try:
            return await self._handler(ref, lease)
        except Exception:  # whatever it is: no turn may end the engine
            again = failed_s(lane.tries + 1)
            _log.exception("turn %s failed; it is delivered again in %g s", ref.turn, again)
            return None

    def _finish(self, lane: Lane, ref: TurnRef) -> None:
        self._held.discard(ref.turn)
        lane.over(ref)
        if lane.turns:
            self._turnstile.queue(lane)
        else:
            del self._lanes[lane.key]

    def _put_aside(self, lane: Lane, at: float | None) -> None:
        """Let a lane rest until a time; not at all when it was poked while it said so."""
        lane.tries = 0
        if lane.poked:
            self._turnstile.queue(lane)
            return
        lane.later = True
        seconds = None if at is None else max(0.0, at - self._clock.now())
        self._rest(lane, seconds, due=at if seconds else None)

    def _rest(self, lane: Lane, seconds: float | None, *, due: float | None = None) -> None:
        lane.state = "resting"
        if seconds is not None:
            assert self._group is not None
            lane.rest = anyio.CancelScope()
            self._group.start_soon(self._sleep, lane, lane.rest, seconds, due)

    async def _sleep(
        self, lane: Lane, rest: anyio.CancelScope, seconds: float, due: float | None
    ) -> None:
        with rest:
            await self._clock.sleep(seconds)
            if lane.rest is rest:
                lane.rest = None
                lane.due = due
                self._wake(lane)

    def _wake(self, lane: Lane) -> None:
        if lane.rest is not None:
            lane.rest.cancel()
            lane.rest = None
        lane.later = False
        self._turnstile.queue(lane)
        self._start()


class _Idle:
    """A worker that waits for a slot."""

    def __init__(self) -> None:
        self._begun = anyio.Event()
        self._slot: Slot | None = None

    def begin(self, slot: Slot) -> None:
        self._slot = slot
        self._begun.set()

    async def slot(self) -> Slot | None:
        await self._begun.wait()
        return self._slot


def busy_s(tries: int) -> float:
    """Return the seconds to wait for a conversation that was busy so many times in a row."""
    return min(BUSY_S * max(1.0, tries / _PATIENCE), BUSY_MOST_S)


def failed_s(tries: int) -> float:
    """Return the seconds to wait after a handler has failed so many times in a row."""
    return min(FAILED_S * 2.0 ** min(tries - 1, 16), FAILED_MOST_S)
