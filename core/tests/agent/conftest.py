from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

import anyio
import pytest

from pegboard.agent.setup import LoopSetup, Watch
from pegboard.contracts.message import ToolCall
from pegboard.contracts.provider import (
    ChatRequest,
    ModelCaps,
    ModelInfo,
    ProviderEvent,
    ProviderInfo,
    ToolDeclaration,
)
from pegboard.contracts.result import ToolResult
from pegboard.providers.route import Hop, Route
from pegboard.testing.clock import FakeClock
from pegboard.testing.model import ScriptedModel
from pegboard.testing.recorder import Recorder


class RawProvider:
    """A provider that streams exactly the events it is given."""

    def __init__(self, *answers: Sequence[ProviderEvent]) -> None:
        self.info = ProviderInfo(id="raw", dialect="raw", network="none")
        self.requests: list[ChatRequest] = []
        self._answers = list(answers)

    def capabilities(self, model: str) -> ModelCaps:
        return ModelCaps()

    async def models(self) -> list[ModelInfo]:
        return []

    async def aclose(self) -> None:
        return None

    async def stream(self, request: ChatRequest) -> AsyncIterator[ProviderEvent]:
        self.requests.append(request)
        for event in self._answers.pop(0):
            yield event


Function = Callable[..., Awaitable[ToolResult] | ToolResult | str]


@dataclass
class Bench:
    """A loop with a scripted model and real callables as tools, run one after the other."""

    tools: dict[str, Function] = field(default_factory=dict)
    ran: list[tuple[str, dict, bool]] = field(default_factory=list)
    recorder: Recorder = field(default_factory=Recorder)
    clock: FakeClock = field(default_factory=lambda: FakeClock(auto=True))
    declared: list[frozenset[str]] = field(default_factory=list)

    def setup(self, provider, **facts) -> LoopSetup:
        if isinstance(provider, list):
            provider = ScriptedModel(provider)
        self.model = provider
        values = {
            "route": Route([Hop(name="model", provider=provider)], clock=self.clock),
            "dispatch_step": self.dispatch_step,
            "declare": self.declare,
            "emit": self.recorder,
            "clock": self.clock,
            "run": "run",
        }
        return LoopSetup(**{**values, **facts})

    async def declare(self, added: frozenset[str]) -> list[ToolDeclaration]:
        self.declared.append(added)
        return [ToolDeclaration(name, "", {}) for name in sorted({*self.tools, *added})]

    async def dispatch_step(
        self, calls: Sequence[ToolCall], *, approved: bool, watch: Watch
    ) -> list[ToolResult]:
        return [await watch(call, partial(self._run, call, approved)) for call in calls]

    async def _run(self, call: ToolCall, approved: bool) -> ToolResult:
        await anyio.lowlevel.checkpoint()
        arguments = json.loads(call.arguments)
        self.ran.append((call.name, arguments, approved))
        value = self.tools[call.name](**arguments)
        if not isinstance(value, ToolResult | str):
            value = await value
        return ToolResult(output=value) if isinstance(value, str) else value


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def bench() -> Bench:
    return Bench()


@pytest.fixture
def raw() -> type[RawProvider]:
    return RawProvider
