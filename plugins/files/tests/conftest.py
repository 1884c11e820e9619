from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from pegboard import ToolResult
from pegboard.testing import HostFactory, HostUnderTest


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Desk:
    """The file tools in a real host, and the folder they work in."""

    def __init__(self, running: HostUnderTest) -> None:
        self.running = running
        self.folder: Path = running.workspace

    async def call(self, tool: str, /, **arguments: Any) -> ToolResult:
        return await self.running.call(f"files:{tool}", **arguments)

    async def ok(self, tool: str, /, **arguments: Any) -> ToolResult:
        result = await self.call(tool, **arguments)
        assert result.error is None, result.error
        return result

    async def error(self, tool: str, /, **arguments: Any):
        result = await self.call(tool, **arguments)
        assert result.error is not None, result.text
        assert result.error.fix, result.error
        return result.error

    def put(self, name: str, data: bytes | str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data.encode() if isinstance(data, str) else data)
        return path


@pytest.fixture
async def desk(host: HostFactory) -> AsyncIterator[Desk]:
    async with host("files", "sandbox-local", record=False) as running:
        yield Desk(running)
