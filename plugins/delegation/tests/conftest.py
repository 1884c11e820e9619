from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from pegboard import ChatRequest, Plugin, ToolContext, ToolResult
from pegboard.contracts.stream import StreamEvent, ToolProgress
from pegboard.testing import Call, HostFactory, HostUnderTest, ScriptedModel

Answers = Callable[[str], Any]
"""What a worker answers to its task."""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Office:
    """Workers in a real host, each of whose answers a test decides by its task."""

    def __init__(self, running: HostUnderTest, model: ScriptedModel) -> None:
        self.running = running
        self.model = model
        self.progress: list[str] = []

    async def call(self, tool: str = "subagents", /, **arguments: Any) -> ToolResult:
        host = self.running.host
        caller = arguments.pop("caller", None) or host.local_caller()
        return await host.call_tool(tool, arguments, caller, emit=self._emit)

    async def results(self, tool: str = "subagents", /, **arguments: Any) -> list[dict[str, Any]]:
        result = await self.call(tool, **arguments)
        assert result.error is None, result.error
        return result.structured["results"]

    @property
    def working(self) -> int:
        """How many workers the host knows to work now."""
        return len(self.running.host._parts.spaces.children)

    @property
    def asked(self) -> list[str]:
        """The tasks of all workers that have asked their model, each once for each request."""
        return [task_of(request) for request in self.model.requests]

    async def _emit(self, event: StreamEvent) -> None:
        if isinstance(event, ToolProgress):
            self.progress.append(event.message)


def task_of(request: ChatRequest) -> str:
    return next(message.text for message in request.messages if message.role == "user")


def results_in(request: ChatRequest) -> list[str]:
    return [result.text for message in request.messages for result in message.results]


def desk() -> Plugin:
    plugin = Plugin(summary="Things that a worker can do")

    @plugin.tool(effects={"read"})
    async def look(ctx: ToolContext) -> str:
        """Look."""
        return "seen"

    @plugin.tool(effects={"read"})
    async def rest(ctx: ToolContext) -> str:
        """Rest for a moment."""
        await anyio.sleep(0.05)
        return "rested"

    @plugin.tool(effects={"read"})
    async def wait(ctx: ToolContext) -> str:
        """Wait for a minute."""
        await anyio.sleep(60)
        return "never"

    @plugin.tool(effects={"net_write"}, capability="orch:message")
    async def tell(ctx: ToolContext) -> str:
        """Write to somebody."""
        return "told"

    @plugin.tool(effects={"read", "fs_write"})
    async def change(ctx: ToolContext) -> str:
        """Change a file."""
        return "changed"

    return plugin


@pytest.fixture
def office(host: HostFactory) -> Any:
    @asynccontextmanager
    async def opened(
        answer: Answers, *, config: Mapping[str, Any] | None = None, **more: Plugin
    ) -> AsyncIterator[Office]:
        def next_answer(request: ChatRequest) -> Any:
            return answer(task_of(request)) if not results_in(request) else "after a call"

        model = ScriptedModel([next_answer], repeat=True)
        async with host(
            "delegation", inline={"desk": desk(), **more}, model=model, config=config or {}
        ) as running:
            yield Office(running, model)

    return opened


__all__ = ["Call", "Office", "results_in", "task_of"]
