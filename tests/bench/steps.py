"""A step of the agent loop, with a model that answers at once, against two peers.

Each run makes 20 calls of a trivial tool, one a step, and then answers; what is compared is the CPU
time of a step. Ours streams, validates, decides and tells events; the peers don't stream.
"""

from __future__ import annotations

import itertools
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import anyio
from dispatch import CONTEXT, SCHEMA, _never, add, peer

from pegboard import (
    Caller,
    ChatRequest,
    Done,
    Message,
    ModelCaps,
    ModelInfo,
    ProviderEvent,
    ProviderInfo,
    RegisteredTool,
    Start,
    TextDelta,
    ToolCall,
    ToolCallDelta,
    ToolCallStart,
    ToolSpec,
    Usage,
)
from pegboard.agent.loop import run_loop
from pegboard.agent.setup import LoopSetup
from pegboard.contracts.clock import SystemClock
from pegboard.contracts.provider import ToolDeclaration
from pegboard.contracts.turn import Begun, Incoming
from pegboard.providers.route import Hop, Route
from pegboard.sandboxes.missing import MissingSandbox
from pegboard.store.blobs import FolderBlobs
from pegboard.store.database import Database
from pegboard.store.embedded import EmbeddedStore
from pegboard.tools.dispatch import Dispatcher
from pegboard.tools.function_tool import FunctionTool
from pegboard.tools.parallel import StepRunner
from pegboard.tools.registry import Registry
from pegboard.tools.run_scope import RunScope
from pegboard.turns.journal import TurnJournal

ROUNDS = 9
RUNS = 10
STEPS = 20
CLOCK = SystemClock()
ASKED = (Message.of("system", "Be brief."), Message.of("user", "add"))
CALLER = Caller(trust="operator", admin=True, origin="person")
SPEC = ToolSpec(
    name="add",
    description="Add two numbers.",
    parameters=SCHEMA,
    effects=frozenset({"read"}),
    category="bench",
)
DECLARED = (ToolDeclaration(SPEC.name, SPEC.description, SCHEMA),)


def measure(row: Any, peers_python: Callable[[], Path]) -> Iterator[Any]:
    third = 1 / 3
    pydantic_ai = row("a step against pydantic-ai", "us", third, "Agent.run, FunctionModel")
    openai_agents = row("a step against openai-agents", "us", third, "Runner.run, own Model")
    # no target: the peers keep no journal that a killed host could go on from
    journal = row("a step with the journal, pydantic-ai", "us", 100.0, "Agent.run, no journal")
    names = ("pydantic_ai_steps", "openai_agents_steps")
    with peer(peers_python(), *names) as ask, tempfile.TemporaryDirectory() as folder:
        for number in range(ROUNDS):
            ours = anyio.run(step_us)
            pydantic_ai.ours.append(ours)
            openai_agents.ours.append(ours)
            journal.ours.append(anyio.run(journalled_step_us, Path(folder) / str(number)))
            pydantic_ai.reference.append(ask(names[0]) * 1e6)
            openai_agents.reference.append(ask(names[1]) * 1e6)
            journal.reference.append(pydantic_ai.reference[-1])
    yield from (pydantic_ai, openai_agents, journal)


class Instant:
    """A provider that answers at once: a call in each of the first steps, then a word."""

    info = ProviderInfo(id="instant", dialect="instant", network="none")

    def capabilities(self, model: str) -> ModelCaps:
        return ModelCaps()

    async def models(self) -> list[ModelInfo]:
        return []

    async def aclose(self) -> None:
        return None

    async def stream(self, request: ChatRequest) -> AsyncIterator[ProviderEvent]:
        said = (len(request.messages) - len(ASKED)) // 2
        usage = Usage(input=10, output=5)
        yield Start("instant")
        if said == STEPS:
            yield TextDelta("done")
            yield Done(stop="end", text="done", usage=usage)
            return
        call = ToolCall(f"c{said}", "add", f'{{"a": {said}, "b": 2}}')
        yield ToolCallStart(0, call.id, call.name)
        yield ToolCallDelta(0, call.arguments)
        yield Done(stop="tool_use", calls=(call,), usage=usage)


class Agent:
    """What a host wires once: tools, a provider, and a caller."""

    def __init__(self) -> None:
        registry = Registry(_never, lambda plugin: CONTEXT)
        registry.register(RegisteredTool(SPEC, "bench", first_party=True), FunctionTool(SPEC, add))
        self._dispatcher = Dispatcher(registry)
        self._route = Route([Hop(name="instant", provider=Instant())], clock=CLOCK)

    async def run(self, journal: TurnJournal | None = None) -> None:
        """Run the loop once."""
        scope = RunScope(
            run="r",
            sandbox=MissingSandbox(Path.cwd()),
            workspace=Path.cwd(),
            blobs=None,
            model=None,
            runs=None,
            journal=journal,
        )
        setup = LoopSetup(
            route=self._route,
            dispatch_step=StepRunner(self._dispatcher, scope, CALLER),
            declare=declare,
            emit=ignore,
            clock=CLOCK,
            run="r",
            journal=journal,
        )
        result = await run_loop(setup, ASKED)
        assert (result.text, result.steps, result.tool_failures) == ("done", STEPS + 1, 0)


async def step_us() -> float:
    """Return the CPU microseconds of a step without a journal."""
    agent = Agent()
    await agent.run()
    started = time.process_time()
    for _ in range(RUNS):
        await agent.run()
    return (time.process_time() - started) / RUNS / (STEPS + 1) * 1e6


async def journalled_step_us(home: Path) -> float:
    """Return the CPU microseconds of a step each call and answer of which is on the disk."""
    store = EmbeddedStore(Database(home))
    blobs = FolderBlobs(home / "blobs")
    agent = Agent()
    numbers = itertools.count()
    journals: Sequence[TurnJournal] = [
        await begun(store, blobs, f"t{next(numbers)}") for _ in range(RUNS + 1)
    ]
    await agent.run(journals[0])
    started = time.process_time()
    for journal in journals[1:]:
        await agent.run(journal)
    took = time.process_time() - started
    await store.aclose()
    return took / RUNS / (STEPS + 1) * 1e6


async def begun(store: EmbeddedStore, blobs: FolderBlobs, turn: str) -> TurnJournal:
    incoming = Incoming(
        turn=turn, key=turn, channel="desk", chat=turn, message={}, caller={}, at=CLOCK.now()
    )
    await store.ingest(incoming)
    started = await store.begin(turn, now=CLOCK.now(), max_attempts=3)
    assert isinstance(started, Begun)
    return TurnJournal(store, turn, started.turn.fence, started.calls, blobs=blobs)


async def declare(added: frozenset[str]) -> Sequence[ToolDeclaration]:
    return DECLARED


async def ignore(event: Any) -> None:
    """Stand for a surface that shows nothing."""
