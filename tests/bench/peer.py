"""The peers' side of the dispatch bench, run by the peers' own Python.

A line `pydantic_ai` or `fastmcp` makes it call a trivial tool many times and print the CPU seconds
of one call.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable

CALLS = {"pydantic_ai": 2000, "fastmcp": 300}


async def add(a: int, b: int) -> str:
    """Add two numbers."""
    return str(a + b)


async def pydantic_ai() -> Callable[[], Awaitable[object]]:
    from pydantic_ai._run_context import RunContext
    from pydantic_ai.messages import ToolCallPart
    from pydantic_ai.models.test import TestModel
    from pydantic_ai.tool_manager import ToolManager
    from pydantic_ai.toolsets import FunctionToolset
    from pydantic_ai.usage import RunUsage

    context = RunContext(deps=None, model=TestModel(), usage=RunUsage(), prompt="", run_step=1)
    manager = await ToolManager(FunctionToolset([add])).for_run_step(context)
    call = ToolCallPart(tool_name="add", args={"a": 1, "b": 2}, tool_call_id="c1")
    assert await manager.handle_call(call) == "3"
    return lambda: manager.handle_call(call)


async def fastmcp() -> Callable[[], Awaitable[object]]:
    from fastmcp import FastMCP

    server = FastMCP("bench")
    server.tool(add)
    result = await server.call_tool("add", {"a": 1, "b": 2})
    assert result.content[0].text == "3"
    return lambda: server.call_tool("add", {"a": 1, "b": 2})


async def main() -> None:
    calls = {"pydantic_ai": await pydantic_ai(), "fastmcp": await fastmcp()}
    for line in sys.stdin:
        name = line.strip()
        call = calls[name]
        started = time.process_time()
        for _ in range(CALLS[name]):
            await call()
        print((time.process_time() - started) / CALLS[name], flush=True)


asyncio.run(main())
