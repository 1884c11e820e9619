"""The news of one turn: what its conversation waits to be told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from pegboard.contracts.effects import Trust
from pegboard.contracts.news import NewsItem


class NewsDesk(Protocol):
    """Keeps what conversations wait to be told."""

    async def due(self, conversation: str, trust: Trust) -> Sequence[NewsItem]:
        """Return what the model is to be told at its next step, oldest first; never raises."""
        ...

    async def told(self, conversation: str, items: Sequence[NewsItem]) -> None:
        """Forget what was told; never raises."""
        ...


@dataclass(frozen=True, slots=True)
class TurnNews:
    """What one turn tells; a `StepNews`.

    Args:
        desk: Who keeps it.
        conversation: Key of the conversation.
        trust: Whose turn it is.
    """

    desk: NewsDesk
    conversation: str
    trust: Trust

    async def due(self, step: int) -> Sequence[NewsItem]:
        """Return what the model is to be told before a step."""
        return await self.desk.due(self.conversation, self.trust)

    async def told(self, items: Sequence[NewsItem]) -> None:
        """Forget what it was told."""
        await self.desk.told(self.conversation, items)
