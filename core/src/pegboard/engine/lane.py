"""The turns of one conversation that an engine holds, and which conversation is next."""

from __future__ import annotations

from bisect import insort
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, Literal

import anyio

from pegboard.contracts.engine import Lease
from pegboard.contracts.turn import TurnRef

SUSPECT_AFTER: Final = 2
"""Attempts without an end after which a turn is suspected of killing its hosts."""


@dataclass(slots=True, eq=False)
class Lane:
    """One conversation, for as long as it has turns in the engine.

    Args:
        key: Key of the conversation.
        turns: Its turns, the first of them first.
        state: `ready` waits for a slot, `running` has one, `resting` waits for a time or a poke.
        lease: The delivery that runs.
        poked: True when the conversation was poked while its delivery ran.
        tries: How often in a row its first turn came to nothing.
        later: True when it is its first turn's own wish to rest.
        due: Until when that wish was waited for in full, or None.
        rest: Ends the rest early; None when nothing but a poke ends it.
        queue: Where it waits for a slot.
    """

    key: str
    turns: list[TurnRef] = field(default_factory=list)
    state: Literal["ready", "running", "resting"] = "ready"
    lease: Lease | None = None
    poked: bool = False
    tries: int = 0
    later: bool = False
    due: float | None = None
    rest: anyio.CancelScope | None = None
    queue: deque[Lane] | None = None

    @property
    def background(self) -> bool:
        """Whether nobody waits for any of its turns: a person may wait behind the first."""
        return all(ref.background for ref in self.turns)

    @property
    def suspect(self) -> bool:
        """Whether hosts have died, again and again, while its first turn ran."""
        return self.turns[0].attempts >= SUSPECT_AFTER

    def add(self, ref: TurnRef) -> None:
        """Put a turn in its place."""
        if self.turns[-1].seq < ref.seq:
            self.turns.append(ref)
        else:
            insort(self.turns, ref, key=lambda held: held.seq)

    def learn(self, ref: TurnRef) -> None:
        """Take over how often a turn was begun: who submitted it may not have known."""
        place = self.turns.index(ref)
        if ref.attempts > self.turns[place].attempts:
            self.turns[place] = ref

    def over(self, ref: TurnRef) -> None:
        """Take out a turn that this engine need not deliver again."""
        self.turns.remove(ref)
        self.tries = 0


@dataclass(frozen=True, slots=True)
class Slot:
    """A place for one delivery, taken by a lane.

    Args:
        lane: Whose first turn is to be delivered.
        background: True when nobody waited for it as it was taken.
        suspect: True when the turn may kill this process.
    """

    lane: Lane
    background: bool
    suspect: bool


class Turnstile:
    """Which conversation gets the next slot: each in its turn, people's before background work.

    Two slots are kept free of background work, one of two, and none where there is only one. People
    come first, so background work waits while they alone fill every slot.

    Turns that were running when hosts died go first, one at a time: the one that kills its process
    each time must not take the others with it until they are given up as well.

    Attributes:
        slots: How many deliveries may run at a time.
        running: How many do.
        running_background: Those of them that nobody waits for.
    """

    def __init__(self) -> None:
        self.slots = 0
        self._suspects: deque[Lane] = deque()
        self._people: deque[Lane] = deque()
        self._background: deque[Lane] = deque()
        self.running = 0
        self.running_background = 0
        self._suspect_runs = False

    def queue(self, lane: Lane) -> None:
        """Put a lane at the end of those that are ready."""
        lane.state, lane.queue = "ready", self._queue_of(lane)
        lane.queue.append(lane)

    def requeue(self, lane: Lane) -> None:
        """Move a ready lane to where it belongs, if that has changed since it was queued."""
        queue = self._queue_of(lane)
        if lane.queue is not queue:
            assert lane.queue is not None
            lane.queue.remove(lane)
            self.queue(lane)

    def take(self) -> Slot | None:
        """Return the next lane with a slot that must be given back; None when none may run now."""
        if self.running >= self.slots:
            return None
        for queue in self._queues():
            lane = queue[0]
            background = lane.background
            if background and self.running_background >= background_slots(self.slots):
                continue
            queue.popleft()
            lane.state, lane.queue = "running", None
            self.running += 1
            self.running_background += background
            self._suspect_runs |= lane.suspect
            return Slot(lane, background, lane.suspect)
        return None

    def give_back(self, slot: Slot) -> None:
        """Free a slot."""
        self.running -= 1
        self.running_background -= slot.background
        if slot.suspect:
            self._suspect_runs = False

    def _queue_of(self, lane: Lane) -> deque[Lane]:
        if lane.suspect:
            return self._suspects
        return self._background if lane.background else self._people

    def _queues(self) -> Iterator[deque[Lane]]:
        """Yield the queues that are not empty, the most urgent first."""
        if self._suspects and not self._suspect_runs:
            yield self._suspects
        if self._people:
            yield self._people
        if self._background:
            yield self._background


def background_slots(slots: int) -> int:
    """Return how many of `slots` background work may have at most."""
    return max(1, slots - 2)
