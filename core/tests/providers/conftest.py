from __future__ import annotations

from collections.abc import AsyncIterator, Iterable

import pytest

from pegboard.contracts.provider import (
    ChatRequest,
    Done,
    ModelCaps,
    ModelInfo,
    ProviderEvent,
    ProviderInfo,
    ProviderState,
    Start,
    TextDelta,
)
from pegboard.testing.clock import FakeClock

Step = Iterable[ProviderEvent | BaseException]


class RawProvider:
    """A provider that streams exactly the events it is given, lawful or not."""

    def __init__(self, *answers: Step, id: str = "raw", caps: ModelCaps | None = None) -> None:
        self.info = ProviderInfo(id=id, dialect=id, network="none", title=id.title())
        self.requests: list[ChatRequest] = []
        self.closed = 0
        self._answers = list(answers)
        self._caps = caps or ModelCaps()

    def capabilities(self, model: str) -> ModelCaps:
        return self._caps

    async def models(self) -> list[ModelInfo]:
        return []

    async def aclose(self) -> None:
        return None

    async def stream(self, request: ChatRequest) -> AsyncIterator[ProviderEvent]:
        self.requests.append(request)
        try:
            for event in self._answers.pop(0):
                if isinstance(event, BaseException):
                    raise event
                yield event
        finally:
            self.closed += 1


def says(text: str, *, provider: str = "raw") -> list[ProviderEvent]:
    """A plain answer with state."""
    state = ProviderState(provider, provider, "", "", {"said": text})
    return [Start("m"), TextDelta(text), Done(text=text, state=state)]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def raw() -> type[RawProvider]:
    return RawProvider


@pytest.fixture
def answer():
    return says


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(auto=True)
