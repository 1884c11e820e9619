"""The latest events of all turns, in order, for whoever follows them: bounded, whoever reads."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

import anyio

from pegboard.contracts.stream import StreamEvent, ToolFinished

MOST: Final = 8_192
"""Events that are kept of all conversations together."""
MOST_OF_ONE: Final = 1_024
"""Events that are kept of one conversation, beside those."""
MOST_OF_EACH: Final = 32_768
"""Events that are kept of single conversations; of those that were silent longest none are."""
MOST_BYTES: Final = 32_000_000
MOST_COUNTED: Final = 10_000
"""Conversations of which it is known how many events they had."""
_FRAME: Final = 200
_BATCH: Final = 100


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """An event in its place.

    Args:
        seq: Its place among all events of this host, from 1.
        number: Its place in its conversation, from 1.
        at: When it came, in seconds since the epoch.
        key: Key of the conversation.
        turn: Id of the turn.
        event: The event.
    """

    seq: int
    number: int
    at: float
    key: str
    turn: str
    event: StreamEvent


@dataclass(slots=True)
class _Ring:
    """Entries of which the oldest go first, by their count and their size."""

    most: int
    entries: deque[Entry] = field(default_factory=deque)
    bytes: int = 0

    def add(self, entry: Entry) -> None:
        self.entries.append(entry)
        self.bytes += _size(entry.event)
        while len(self.entries) > self.most:
            self.drop()

    def drop(self) -> None:
        self.bytes -= _size(self.entries.popleft().event)


class EventLog:
    """Keeps the latest events, and tells who listens of each at once.

    Nobody is waited for: a reader keeps its place, and learns how many it has missed when it comes
    too late.

    Args:
        now: Returns seconds since the epoch.
        most: Events of all conversations.
        most_of_one: Events of one conversation.
        most_of_each: Events of single conversations, all together.
        most_bytes: Bytes that either of them may take, roughly.
    """

    def __init__(
        self,
        now: Callable[[], float],
        *,
        most: int = MOST,
        most_of_one: int = MOST_OF_ONE,
        most_of_each: int = MOST_OF_EACH,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        self._now = now
        self._all = _Ring(most)
        self._most_of_one = most_of_one
        self._most_of_each = most_of_each
        self._most_bytes = most_bytes
        self._of: OrderedDict[str, _Ring] = OrderedDict()
        self._held = 0
        self._held_bytes = 0
        self._counts: OrderedDict[str, int] = OrderedDict()
        self._listeners: list[Callable[[Entry], None]] = []
        self._news = anyio.Event()
        self.seq = 0
        """Place of the newest event."""

    def add(self, key: str, turn: str, event: StreamEvent) -> None:
        """Take an event; returns at once and raises nothing.

        Args:
            key: Key of the conversation.
            turn: Id of the turn.
            event: The event.
        """
        self.seq += 1
        entry = Entry(self.seq, self._count(key), self._now(), key, turn, event)
        self._all.add(entry)
        while self._all.bytes > self._most_bytes:
            self._all.drop()
        self._keep(entry)
        news, self._news = self._news, anyio.Event()
        news.set()
        for listener in self._listeners:
            listener(entry)

    def listen(self, listener: Callable[[Entry], None]) -> None:
        """Tell `listener` of every event from now on; it must return at once and raise nothing."""
        self._listeners.append(listener)

    def reader(self, key: str | None = None, after: int | None = None) -> Reader:
        """Return a reader of what comes, and of what is kept.

        Args:
            key: Only of this conversation; None = of all.
            after: Place behind which it begins: `number` of a conversation, `seq` of all; None = it
                begins with what comes next.
        """
        if after is None:
            after = self.seq if key is None else self._counts.get(key, 0)
        return Reader(self, key, after)

    def newest(self, key: str | None) -> int:
        """Return the place of the newest event, of one conversation or of all."""
        return self.seq if key is None else self._counts.get(key, 0)

    def kept(self, key: str | None) -> Sequence[Entry] | deque[Entry]:
        """Return what is kept, the oldest first."""
        if key is None:
            return self._all.entries
        ring = self._of.get(key)
        return () if ring is None else ring.entries

    async def news(self) -> None:
        """Wait for the next event, of whichever conversation."""
        await self._news.wait()

    def _count(self, key: str) -> int:
        number = self._counts.pop(key, 0) + 1
        self._counts[key] = number
        while len(self._counts) > MOST_COUNTED:
            forgotten, _ = self._counts.popitem(last=False)
            self._forget(forgotten)
        return number

    def _keep(self, entry: Entry) -> None:
        ring = self._of.get(entry.key)
        if ring is None:
            ring = self._of[entry.key] = _Ring(self._most_of_one)
        self._of.move_to_end(entry.key)
        count, size = len(ring.entries), ring.bytes
        ring.add(entry)
        self._held += len(ring.entries) - count
        self._held_bytes += ring.bytes - size
        while len(self._of) > 1 and self._too_many():
            self._forget(next(iter(self._of)))
        while self._too_many() and ring.entries:  # one conversation alone is too large
            self._held -= 1
            size = ring.bytes
            ring.drop()
            self._held_bytes += ring.bytes - size

    def _too_many(self) -> bool:
        return self._held > self._most_of_each or self._held_bytes > self._most_bytes

    def _forget(self, key: str) -> None:
        ring = self._of.pop(key, None)
        if ring is not None:
            self._held -= len(ring.entries)
            self._held_bytes -= ring.bytes


class Reader:
    """Somebody's place in the log.

    Args:
        log: The log.
        key: Key of the conversation, or None for all.
        after: Place of what was read last.
    """

    def __init__(self, log: EventLog, key: str | None, after: int) -> None:
        self._log = log
        self._key = key
        self.after = after

    def read(self, most: int = _BATCH) -> tuple[int | None, Sequence[Entry]]:
        """Return how many events were missed, and the next ones; none when there are none yet.

        None in place of a number = nobody knows how many: the place is of another host, or of a
        conversation that was forgotten.
        """
        kept, newest = self._log.kept(self._key), self._log.newest(self._key)
        first = self._place(kept[0]) if kept else newest + 1
        missed: int | None = 0
        if self.after > newest:
            missed, self.after = None, first - 1
        elif self.after < first - 1:
            missed, self.after = first - 1 - self.after, first - 1
        start = self.after + 1 - first
        taken = list(islice(kept, start, start + most))
        if taken:
            self.after = self._place(taken[-1])
        return missed, taken

    async def wait(self) -> None:
        """Wait until there may be something to read."""
        if self.after >= self._log.newest(self._key):
            await self._log.news()

    def _place(self, entry: Entry) -> int:
        return entry.seq if self._key is None else entry.number


def _size(event: StreamEvent) -> int:
    """Return about how much memory an event takes."""
    if isinstance(event, ToolFinished):
        return _FRAME + len(event.output)
    text = getattr(event, "text", None) or getattr(event, "arguments", None)
    return _FRAME + (len(text) if isinstance(text, str) else _deep(text))


def _deep(value: object) -> int:
    """Return about how much text a JSON-like value holds."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, dict):
        return sum(_deep(item) for item in value.values())
    items: Iterable[object] = value if isinstance(value, (list, tuple)) else ()
    return sum(_deep(item) for item in items)
