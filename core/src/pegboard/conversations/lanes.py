"""One turn at a time in each conversation, in the order in which they came."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio

from pegboard.conversations.key import ConversationKey


@dataclass(slots=True)
class _Lane:
    lock: anyio.Lock = field(default_factory=anyio.Lock)
    users: int = 0


class Lanes:
    """A queue for each conversation; different conversations do not wait for each other."""

    def __init__(self) -> None:
        self._lanes: dict[ConversationKey, _Lane] = {}

    @asynccontextmanager
    async def place(self, key: ConversationKey) -> AsyncIterator[None]:
        """Wait for the turn's place in the conversation and hold it."""
        lane = self._lanes.setdefault(key, _Lane())
        lane.users += 1
        try:
            # anyio's lock serves those who wait in the order in which they came
            async with lane.lock:
                yield
        finally:
            lane.users -= 1
            if not lane.users:
                del self._lanes[key]

    def waiting(self, key: ConversationKey) -> int:
        """Return how many turns of a conversation run or wait."""
        lane = self._lanes.get(key)
        return lane.users if lane else 0
