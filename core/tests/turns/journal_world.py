"""A turn with a journal on a real store; as a program, one attempt of it in a process of its own.

`python journal_world.py FOLDER` takes up the turn of a folder and prints what it came to.
"""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio

from pegboard.agent.loop import run_loop
from pegboard.agent.setup import LoopResult, LoopSetup
from pegboard.contracts.caller import Caller
from pegboard.contracts.clock import SystemClock
from pegboard.contracts.message import InboundMessage, Message
from pegboard.contracts.provider import ToolDeclaration
from pegboard.contracts.tool import RegisteredTool
from pegboard.contracts.turn import Begun, Incoming
from pegboard.contracts.wire import CALLER, INBOUND
from pegboard.plugins.building.tool_schema import build_spec
from pegboard.plugins.declaration import TOOL_MARK, tool
from pegboard.providers.route import Hop, Route
from pegboard.sandboxes.missing import MissingSandbox
from pegboard.store.blobs import FolderBlobs
from pegboard.store.embedded import EmbeddedStore, open_store
from pegboard.testing.model import Call, ScriptedModel
from pegboard.tools import core_tools
from pegboard.tools.dispatch import Dispatcher
from pegboard.tools.function_tool import FunctionTool
from pegboard.tools.parallel import StepRunner
from pegboard.tools.registry import Registry
from pegboard.tools.run_scope import CallRequest, RunScope
from pegboard.tools.search import ToolSearch
from pegboard.turns.journal import TurnJournal

OWNER = Caller(trust="operator", admin=True, origin="person")
SYSTEM = Message.of("system", "Be brief.")
NOW = 1_767_225_600.0


class World:
    """A store in a folder, with one turn, and functions as tools.

    Attributes:
        caller: Whom the turn acts for.
        scope: The run of the attempt that runs.
        journal: Its journal.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.caller = OWNER
        self.blobs = FolderBlobs(folder / "blobs")
        self.registry = Registry(self._never, lambda plugin: object())
        self.dispatcher = Dispatcher(self.registry)
        core_tools.register(self.registry, self.dispatcher, ToolSearch(folder / "cache"))

    def add(self, function: Any = None, **facts: Any) -> Any:
        """Add a function as a tool of the plugin `demo`."""

        def add(function: Any) -> Any:
            facts.setdefault("effects", {"read"})
            marked = tool(**facts)(function)
            spec = build_spec(marked, getattr(marked, TOOL_MARK))
            entry = RegisteredTool(spec, "demo", first_party=True)
            self.registry.register(entry, FunctionTool(spec, marked))
            return function

        return add if function is None else add(function)

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[EmbeddedStore]:
        """Open the store."""
        store = await open_store(self.folder)
        try:
            yield store
        finally:
            await store.aclose()

    @asynccontextmanager
    async def attempt(self) -> AsyncIterator[Begun]:
        """Begin an attempt of the turn; it is left unfinished, as by a host that dies."""
        async with self.opened() as store:
            await store.ingest(incoming())
            begun = await store.begin("t1", now=NOW, max_attempts=50)
            assert isinstance(begun, Begun), begun
            self.use(store, begun)
            yield begun

    def use(self, store: EmbeddedStore, begun: Begun) -> None:
        """Write for an attempt from now on."""
        self.store, self.begun = store, begun
        self.journal = TurnJournal(
            store, begun.turn.ref.turn, begun.turn.fence, begun.calls, blobs=self.blobs
        )
        self.scope = RunScope(
            run="t1",
            turn="t1",
            sandbox=MissingSandbox(self.folder),
            workspace=self.folder,
            blobs=self.blobs,
            model=None,
            runs=None,
            journal=self.journal,
            kept=self.journal.kept,
        )

    async def call(self, name: str, arguments: Any = "{}", *, id: str = "c1") -> Any:
        """Dispatch one call."""
        return await self.dispatcher.dispatch(
            CallRequest(id=id, name=name, arguments=arguments, caller=self.caller, run=self.scope)
        )

    async def run(self, model: ScriptedModel, **facts: Any) -> LoopResult:
        """Run the loop."""

        async def declare(added: frozenset[str]) -> list[ToolDeclaration]:
            return []

        async def emit(event: Any) -> None:
            return None

        clock = SystemClock()
        setup = LoopSetup(
            route=Route([Hop(name="scripted", provider=model)], clock=clock),
            dispatch_step=StepRunner(self.dispatcher, self.scope, self.caller),
            declare=declare,
            emit=emit,
            clock=clock,
            run="t1",
            journal=self.journal,
            **facts,
        )
        return await run_loop(setup, [SYSTEM, Message.of("user", "Go.")])

    async def _never(self, plugin: str, kind: str, name: str) -> Any:
        raise AssertionError(name)


def incoming() -> Incoming:
    """Return the message of the turn."""
    return Incoming(
        turn="t1",
        key="desk/1",
        channel="desk",
        chat="1",
        external_id="m1",
        message=INBOUND.write(
            InboundMessage(channel="desk", chat="1", sender="me", text="Go.", external_id="m1")
        ),
        caller=CALLER.write(OWNER),
        at=NOW,
    )


async def work(folder: Path) -> dict[str, Any]:
    """Take up a turn whose calls append a line to a file each, and finish it."""
    world = World(folder)
    log = folder / "log"

    def note(line: str) -> None:
        with log.open("a") as file:
            file.write(f"{line}\n")

    @world.add(effects={"read"})
    async def look(ctx: Any, name: str) -> str:
        """Look at something."""
        note(f"look {name} {ctx.call.attempt}")
        return f"saw {name}"

    @world.add(effects={"fs_write"})
    async def put(ctx: Any, name: str) -> str:
        """Write something."""
        note(f"put {name} {ctx.call.attempt}")
        return f"put {name}"

    @world.add(effects={"net_write"}, on_interrupt="reconcile")
    async def pay(ctx: Any) -> str:
        """Pay once, whatever happens."""
        note(f"pay {ctx.call.idempotency_key}")
        return "paid"

    @world.add(effects={"read"})
    async def both(ctx: Any) -> str:
        """Write two things."""
        for name in ("inner1", "inner2"):
            await ctx.invoke("put", {"name": name})
        return "both"

    script = [
        [Call("look", name="a"), Call("put", name="b")],
        [Call("both"), Call("pay")],
        "All done.",
    ]

    def answer(request: Any) -> Any:
        note(f"asked {sum(message.role == 'assistant' for message in request.messages)}")
        return script[sum(message.role == "assistant" for message in request.messages)]

    async with world.attempt() as begun:
        result = await world.run(ScriptedModel([answer], repeat=True))
        await world.store.finish("t1", begun.turn.fence, state="done", now=NOW)
    told = [item.text for message in result.messages for item in message.results]
    return {"text": result.text, "told": told, "steps": result.steps}


if __name__ == "__main__":
    print(json.dumps(anyio.run(work, Path(sys.argv[1]))))
