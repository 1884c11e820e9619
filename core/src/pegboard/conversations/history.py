"""What was said in each conversation, as the store keeps it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from pegboard.contracts.message import Message
from pegboard.contracts.store import Store
from pegboard.contracts.turn import TurnRecord
from pegboard.contracts.wire import MESSAGE

MAX_MESSAGES: Final = 400
MAX_CHARS: Final = 240_000
"""About 60,000 tokens: a history that fits beside the tools in the window of any common model."""
REMEMBERED: Final = 64
"""Conversations of which the history is also kept in memory."""


@dataclass(frozen=True, slots=True)
class _Said:
    """The messages of one turn. Turns are dropped whole, so calls never part from results."""

    messages: tuple[Message, ...]
    chars: int
    summary: bool = False


@dataclass(slots=True)
class _Remembered:
    """What was said up to and with the turn at a place, in an epoch of the conversation."""

    seq: int
    epoch: int
    said: list[_Said]


class History:
    """The turns of every conversation; the latest few conversations stay in memory.

    Args:
        store: Where the truth is.
        max_messages: Messages that a model is given of one conversation.
        max_chars: Characters that it is given.
        remembered: Conversations kept in memory.
    """

    def __init__(
        self,
        store: Store,
        *,
        max_messages: int = MAX_MESSAGES,
        max_chars: int = MAX_CHARS,
        remembered: int = REMEMBERED,
    ) -> None:
        self._store = store
        self._max_messages = max_messages
        self._max_chars = max_chars
        self._most = remembered
        self._remembered: OrderedDict[str, _Remembered] = OrderedDict()

    async def messages(self, key: str) -> tuple[Message, ...]:
        """Return what a model is given of a conversation, the oldest first."""
        return _joined(await self._read(key))

    async def before(self, turn: TurnRecord) -> tuple[Message, ...]:
        """Return what a model is given of the conversation before a turn that was begun.

        Raises:
            StoreError: When what is kept can't be read.
        """
        key, seq = turn.ref.key, turn.ref.seq - 1
        found = self._remembered.get(key)
        # another host may have had turns of this conversation meanwhile
        if found is None or (found.seq, found.epoch) != (seq, turn.epoch):
            found = _Remembered(seq, turn.epoch, await self._read(key))
        self._keep(key, found)
        return _joined(found.said)

    def add(self, turn: TurnRecord, messages: Sequence[Message]) -> int:
        """Take note of what the store was given of a turn that ended.

        Returns:
            How many old turns a model is no longer given because of it; never the newest.
        """
        found = self._remembered.get(turn.ref.key)
        if found is None or (found.seq, found.epoch) != (turn.ref.seq - 1, turn.epoch):
            self.forget(turn.ref.key)
            return 0
        found.seq = turn.ref.seq
        if messages:
            found.said.append(_Said(tuple(messages), _size(messages)))
        return self._trim(found.said)

    def forget(self, key: str) -> None:
        """Read a conversation anew the next time: it was changed in the store."""
        self._remembered.pop(key, None)

    async def _read(self, key: str) -> list[_Said]:
        transcript = await self._store.transcript(key)
        said = []
        for turn in transcript.turns:
            messages = tuple(MESSAGE.read(message) for message in turn.messages)
            said.append(_Said(messages, _size(messages), turn.summary))
        self._trim(said)
        return said

    def _keep(self, key: str, what: _Remembered) -> None:
        self._remembered[key] = what
        self._remembered.move_to_end(key)
        while len(self._remembered) > self._most:
            self._remembered.popitem(last=False)

    def _trim(self, said: list[_Said]) -> int:
        """Drop the oldest turns of what is too long; a summary stays, since it stands for many."""
        dropped = 0
        first = 1 if said and said[0].summary else 0
        while len(said) - first > 1 and self._too_long(said):
            del said[first]
            dropped += 1
        return dropped

    def _too_long(self, said: list[_Said]) -> bool:
        return (
            sum(len(turn.messages) for turn in said) > self._max_messages
            or sum(turn.chars for turn in said) > self._max_chars
        )


def _joined(said: Iterable[_Said]) -> tuple[Message, ...]:
    return tuple(message for turn in said for message in turn.messages)


def _size(messages: Iterable[Message]) -> int:
    return sum(
        len(message.text)
        + sum(len(call.arguments) for call in message.calls)
        + sum(len(result.text) for result in message.results)
        for message in messages
    )
