"""One dispatch of a trivial tool against bare anyio plus validation, and against two peers."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import jsonschema_rs

from pegboard import Caller, RegisteredTool, ToolSpec, tool
from pegboard.sandboxes.missing import MissingSandbox
from pegboard.tools.dispatch import Dispatcher
from pegboard.tools.function_tool import FunctionTool
from pegboard.tools.registry import Registry
from pegboard.tools.run_scope import CallRequest, RunScope

CONTEXT = object()
"""Stands for a plugin's context, which this tool does not look at."""
ROUNDS = 15
CALLS = 2000
SCHEMA = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
    "required": ["a", "b"],
    "additionalProperties": False,
}


@tool(effects={"read"})
async def add(a: int, b: int) -> str:
    """Add two numbers."""
    return str(a + b)


def measure(row: Any, peers_python: Callable[[], Path]) -> Iterator[Any]:
    bare = row("dispatch against anyio + validation", "us", 3.0, "fail_after + validate + await")
    pydantic_ai = row("dispatch against pydantic-ai", "us", 1.0, "ToolManager.handle_call")
    fastmcp = row("dispatch against fastmcp", "us", 0.2, "FastMCP.call_tool")
    with peer(peers_python(), "pydantic_ai", "fastmcp") as ask:
        for _ in range(ROUNDS):
            ours, reference = anyio.run(ours_and_bare)
            for item, samples in ((bare, reference), (pydantic_ai, None), (fastmcp, None)):
                item.ours.append(ours)
                if samples is not None:
                    item.reference.append(samples)
            pydantic_ai.reference.append(ask("pydantic_ai") * 1e6)
            fastmcp.reference.append(ask("fastmcp") * 1e6)
    yield from (bare, pydantic_ai, fastmcp)


async def ours_and_bare() -> tuple[float, float]:
    """Return the CPU microseconds of one call of each, measured in turns."""
    dispatch = prepared()
    validator = jsonschema_rs.validator_for(SCHEMA)
    arguments = {"a": 1, "b": 2}

    async def bare() -> object:
        validator.is_valid(arguments)
        with anyio.fail_after(1):
            return await add(**arguments)

    assert (await dispatch()).text == "3"
    await bare()
    ours, reference = [], []
    for _ in range(3):
        ours.append(await cpu_us(dispatch))
        reference.append(await cpu_us(bare))
    return min(ours), min(reference)


def prepared() -> Callable[[], Awaitable[Any]]:
    """Return a call that validates, decides, passes the hooks, limits and times; no journal."""
    spec = ToolSpec(
        name="add",
        description="Add two numbers.",
        parameters=SCHEMA,
        effects=frozenset({"read"}),
        category="bench",
    )
    registry = Registry(_never, lambda plugin: CONTEXT)
    entry = RegisteredTool(spec, "bench", first_party=True)
    registry.register(entry, FunctionTool(spec, add))
    dispatcher = Dispatcher(registry)
    scope = RunScope(
        run="r",
        sandbox=MissingSandbox(Path.cwd()),
        workspace=Path.cwd(),
        blobs=None,
        model=None,
        runs=None,
    )
    caller = Caller(trust="operator", admin=True, origin="person")
    request = CallRequest(id="c1", name="add", arguments={"a": 1, "b": 2}, caller=caller, run=scope)
    return lambda: dispatcher.dispatch(request)


async def cpu_us(call: Callable[[], Awaitable[object]]) -> float:
    started = time.process_time()
    for _ in range(CALLS):
        await call()
    return (time.process_time() - started) / CALLS * 1e6


@contextmanager
def peer(python: Path, *names: str) -> Iterator[Callable[[str], float]]:
    """Start the peers' process; the function given asks it for one sample in seconds.

    Args:
        python: The peers' Python.
        names: What will be asked for.
    """
    process = subprocess.Popen(
        [python, Path(__file__).with_name("peer.py")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdin is not None and process.stdout is not None

    def ask(name: str) -> float:
        process.stdin.write(f"{name}\n")
        process.stdin.flush()
        return float(json.loads(process.stdout.readline()))

    try:
        for name in names:  # warm
            ask(name)
        yield ask
    finally:
        process.stdin.close()
        process.wait(10)


async def _never(*args: object) -> Any:
    raise AssertionError("a registered implementation needs no activation")
