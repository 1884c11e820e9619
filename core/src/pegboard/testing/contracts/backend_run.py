"""A turn as the laws of a backend run it: the same verbs in the same order as a real one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Final

import anyio

from pegboard.contracts.engine import After, Later, Lease, Outcome
from pegboard.contracts.store import FencedError, Store
from pegboard.contracts.turn import Begun, CallRecord, NotBegun, TurnRef
from pegboard.testing.contracts.backend_suite import CLOCK, MAX_ATTEMPTS

CALLS: Final = ("read", "write")
Work = Callable[[Begun, Lease], Awaitable[Outcome | None]]
"""What a turn does; an outcome that it returns is the delivery's, and the turn stays open."""
Note = Callable[[str, TurnRef, str], None]
"""Told of each thing that happens: what, to which turn, and the call or part it is about."""

SOON_S = 0.4
"""Long enough that what must not come has had its time to come."""


def outcome_of(answer: NotBegun) -> Outcome:
    """Return what to tell the engine about a turn that can't be begun."""
    if answer.why == "later":
        return Later(answer.at)
    return After.BUSY if answer.why == "busy" else After.DONE


class Turns:
    """A handler that begins each turn that is delivered, does some work, and ends it.

    Args:
        store: Where the turns are.
        work: What each does; None = nothing.

    Attributes:
        began: The turns that were begun, in that order.
        most: How many ran at a time at most.
        overlapped: Conversations that had two deliveries at a time.
    """

    def __init__(self, store: Store, work: Work | None = None) -> None:
        self.store = store
        self.work = work
        self.began: list[TurnRef] = []
        self.most = 0
        self.overlapped: list[str] = []
        self._running: list[str] = []

    async def __call__(self, ref: TurnRef, lease: Lease) -> Outcome:
        """Handle a delivery."""
        if ref.key in self._running:
            self.overlapped.append(ref.key)
        self._running.append(ref.key)
        self.most = max(self.most, len(self._running))
        try:
            return await self._run(ref, lease)
        except FencedError:
            return After.FENCED
        finally:
            self._running.remove(ref.key)

    def sequence(self, key: str) -> list[int]:
        """Return the places of a conversation's turns in the order in which they were begun."""
        return [ref.seq for ref in self.began if ref.key == key]

    async def _run(self, ref: TurnRef, lease: Lease) -> Outcome:
        begun = await self.store.begin(ref.turn, now=CLOCK.now(), max_attempts=MAX_ATTEMPTS)
        if isinstance(begun, NotBegun):
            return outcome_of(begun)
        self.began.append(begun.turn.ref)
        fence = begun.turn.fence
        try:
            outcome = await self.work(begun, lease) if self.work else None
        except BaseException:
            with anyio.CancelScope(shield=True):
                await self.store.release(ref.turn, fence)
            raise
        if outcome is None:
            await self.store.finish(ref.turn, fence, state="done", now=CLOCK.now())
        return outcome or After.DONE


class NotedTurns:
    """A handler whose turns make two calls and send a reply of one part, and note each thing.

    Args:
        store: Where the turns are.
        note: Told of each thing before, and of each that is known after, it happens.
        call_s: Seconds that a call takes.
    """

    def __init__(self, store: Store, note: Note, *, call_s: float = 0.0) -> None:
        self._store = store
        self._note = note
        self._call_s = call_s

    async def __call__(self, ref: TurnRef, lease: Lease) -> Outcome:
        """Handle a delivery."""
        begun = await self._store.begin(ref.turn, now=CLOCK.now(), max_attempts=MAX_ATTEMPTS)
        if isinstance(begun, NotBegun):
            if begun.why == "dead":
                self._note("finishing", ref, "")
            return outcome_of(begun)
        try:
            if begun.given_up:
                return await self._give_up(begun)
            self._note("began", ref, "")
            for name in CALLS:
                await self._call(begun, name)
            await self._reply(begun)
            self._note("finishing", ref, "")
            fence = begun.turn.fence
            await self._store.finish(ref.turn, fence, state="done", now=CLOCK.now())
        except FencedError:
            return After.FENCED
        return After.DONE

    async def _give_up(self, begun: Begun) -> Outcome:
        """Tell that a turn is given up, and end it."""
        ref, fence = begun.turn.ref, begun.turn.fence
        await self._reply(begun)
        self._note("finishing", ref, "")
        await self._store.finish(ref.turn, fence, state="dead", now=CLOCK.now())
        return After.DONE

    async def _call(self, begun: Begun, name: str) -> None:
        turn, fence = begun.turn.ref, begun.turn.fence
        if name in begun.calls and begun.calls[name].result is not None:
            return
        call = CallRecord(id=name, kind="tool", name=name, effects=frozenset({"read"}))
        await self._store.intend(turn.turn, fence, [call])
        self._note("calling", turn, name)
        await CLOCK.sleep(self._call_s)
        await self._store.record(turn.turn, fence, name, {"output": name})
        self._note("called", turn, name)

    async def _reply(self, begun: Begun) -> None:
        ref, fence, now = begun.turn.ref, begun.turn.fence, CLOCK.now()
        await self._store.reply(ref.turn, fence, [{"text": "done"}], now=now)
        state = begun.outbox[0].state if begun.outbox else "pending"
        if state == "sending":
            await self._store.doubt(ref.turn, 0, now=now)
        elif state == "pending" and await self._store.sending(ref.turn, fence, 0, now=now):
            self._note("sent", ref, "0")
            await self._store.sent(ref.turn, 0, [ref.turn], now=now)


async def ended(store: Store) -> bool:
    """Tell whether every turn of a store has ended."""
    return not await store.open_turns()


def pausing(seconds: float) -> Work:
    """Return work that takes so long."""

    async def work(begun: Begun, lease: Lease) -> Outcome | None:
        await anyio.sleep(seconds)
        return None

    return work


def broken(noted: Sequence[tuple[str, str, int, str]]) -> list[str]:
    """Return what is wrong with things that were noted; empty when all laws were kept.

    Args:
        noted: What happened, key and place of its turn, and the call or part; in order.
    """
    wrong: list[str] = []
    ended: set[tuple[str, int]] = set()
    once: set[tuple[str, str, int, str]] = set()
    for what, key, seq, name in noted:
        if what in ("received", "duplicate"):
            continue
        if what == "finishing":
            ended.add((key, seq))
        elif seq > 1 and (key, seq - 1) not in ended:
            wrong.append(f"{what} {name} of turn {seq} of {key} before turn {seq - 1} had ended")
        if what == "calling" and ("called", key, seq, name) in once:
            wrong.append(f"the call {name} of turn {seq} of {key} was made again")
        if what == "sent" and (what, key, seq, name) in once:
            wrong.append(f"part {name} of turn {seq} of {key} was sent again")
        once.add((what, key, seq, name))
    return wrong
