"""The peers' side of the benches of dispatch and of steps, run by the peers' own Python.

A line with a name of `PEERS` makes it do that many times and print the CPU seconds of one: a call
of a trivial tool, or a step of an agent whose model answers at once.
"""

from __future__ import annotations

import asyncio
import functools
import sys
import time
from collections.abc import Awaitable, Callable

Once = Callable[[], Awaitable[object]]
STEPS = 20
"""Steps with a call in each run of an agent; one more answers."""


async def add(a: int, b: int) -> str:
    """Add two numbers."""
    return str(a + b)


async def pydantic_ai() -> Once:
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


async def fastmcp() -> Once:
    from fastmcp import FastMCP

    server = FastMCP("bench")
    server.tool(add)
    result = await server.call_tool("add", {"a": 1, "b": 2})
    assert result.content[0].text == "3"
    return lambda: server.call_tool("add", {"a": 1, "b": 2})


async def pydantic_ai_steps() -> Once:
    from pydantic_ai import Agent
    from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import AgentInfo, FunctionModel

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        said = len(messages) // 2
        if said == STEPS:
            return ModelResponse(parts=[TextPart("done")])
        call = ToolCallPart(
            tool_name="add", args=f'{{"a": {said}, "b": 2}}', tool_call_id=f"c{said}"
        )
        return ModelResponse(parts=[call])

    agent = Agent(FunctionModel(answer), tools=[add], instructions="Be brief.")
    result = await agent.run("add")
    assert (result.output, len(result.all_messages())) == ("done", 2 * STEPS + 2)
    return lambda: agent.run("add")


async def openai_agents_steps() -> Once:
    from agents import Agent, Model, ModelResponse, Runner, Usage, function_tool
    from agents.tracing import set_tracing_disabled
    from openai.types.responses import (
        ResponseFunctionToolCall,
        ResponseOutputMessage,
        ResponseOutputText,
    )

    set_tracing_disabled(True)

    class Scripted(Model):
        async def get_response(self, system_instructions, input, *args, **options):
            said = (len(input) - 1) // 2 if isinstance(input, list) else 0
            if said == STEPS:
                text = ResponseOutputText(text="done", type="output_text", annotations=[])
                message = ResponseOutputMessage(
                    id="m", type="message", role="assistant", content=[text], status="completed"
                )
                return ModelResponse(output=[message], usage=Usage(), response_id=None)
            call = ResponseFunctionToolCall(
                id=f"f{said}",
                call_id=f"c{said}",
                type="function_call",
                name="add",
                arguments=f'{{"a": {said}, "b": 2}}',
            )
            return ModelResponse(output=[call], usage=Usage(), response_id=None)

        def stream_response(self, *args, **options):
            raise AssertionError

    agent = Agent(
        name="bench", instructions="Be brief.", model=Scripted(), tools=[function_tool(add)]
    )
    run = functools.partial(Runner.run, agent, "add", max_turns=STEPS + 2)
    result = await run()
    assert (result.final_output, len(result.raw_responses)) == ("done", STEPS + 1)
    return run


PEERS: dict[str, tuple[Callable[[], Awaitable[Once]], int, int]] = {
    "pydantic_ai": (pydantic_ai, 2000, 1),
    "fastmcp": (fastmcp, 300, 1),
    "pydantic_ai_steps": (pydantic_ai_steps, 10, STEPS + 1),
    "openai_agents_steps": (openai_agents_steps, 10, STEPS + 1),
}
"""What is measured: what makes it ready, how often it is done, and what each time counts for."""


async def main() -> None:
    ready: dict[str, Once] = {}
    for line in sys.stdin:
        name = line.strip()
        make, times, count = PEERS[name]
        if name not in ready:
            ready[name] = await make()
        once = ready[name]
        started = time.process_time()
        for _ in range(times):
            await once()
        print((time.process_time() - started) / times / count, flush=True)


asyncio.run(main())
