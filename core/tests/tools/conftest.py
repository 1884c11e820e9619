from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from pegboard.contracts.caller import NO_FILTER, Caller
from pegboard.contracts.effects import ALL_EFFECTS
from pegboard.contracts.errors import PluginError
from pegboard.contracts.message import ToolCall
from pegboard.contracts.tool import RegisteredTool, ToolSpec
from pegboard.plugins.building.tool_schema import build_spec
from pegboard.plugins.declaration import TOOL_MARK, tool
from pegboard.policy.snapshot import OPEN_POLICY
from pegboard.store.blobs import FolderBlobs
from pegboard.tools import core_tools
from pegboard.tools.dispatch import Dispatcher
from pegboard.tools.registry import Registry
from pegboard.tools.run_scope import CallRequest, RunScope
from pegboard.tools.search import ToolSearch

OPERATOR = Caller(
    trust="operator",
    admin=True,
    origin="person",
    attended=True,
    live_reply=True,
    slash_commands=True,
    surface="terminal",
)
GUEST = Caller(trust="guest", origin="person", attended=True, live_reply=True)


class NarrowedSandbox:
    """A sandbox of which only the effects matter."""

    def __init__(self, effects=ALL_EFFECTS):
        self.effects = effects

    def narrowed(self, effects):
        return NarrowedSandbox(self.effects & effects)


class World:
    """A registry, a dispatcher and one run, with functions as tools."""

    def __init__(self, folder: Path):
        self.functions = {}
        self.contexts = {}
        self.activated = []
        self.events = []
        self.stages = []
        self.registry = Registry(self._resolve, self._context)
        self.dispatcher = Dispatcher(self.registry)
        self.search = ToolSearch(folder / "cache")
        self.caller = OPERATOR
        self.calls = 0
        self.run = RunScope(
            run="r1",
            sandbox=NarrowedSandbox(),
            workspace=folder,
            blobs=FolderBlobs(folder / "blobs"),
            model=None,
            runs=None,
            turn="t1",
            conversation="c1",
            reply="the person",
            emit=self._emit,
        )

    def add_core(self, **options):
        core_tools.register(self.registry, self.dispatcher, self.search, **options)

    def add(self, function=None, *, plugin="demo", first_party=True, kind="tool", **facts):
        """Add a function as a tool of a plugin that is imported when it is first called."""

        def add(function):
            facts.setdefault("effects", {"read"})
            marked = tool(**facts)(function)
            spec = build_spec(marked, getattr(marked, TOOL_MARK))
            self.functions[plugin, spec.name] = marked
            added = RegisteredTool(spec, plugin, kind=kind, first_party=first_party)
            self.registry.register(added)
            return function

        return add if function is None else add(function)

    async def call(self, name, arguments="{}", *, caller=None, run=None, **more):
        self.calls += 1
        more.setdefault("id", f"call{self.calls}")
        request = CallRequest(
            name=name,
            arguments=arguments,
            caller=caller or self.caller,
            run=run or self.run,
            **more,
        )
        return await self.dispatcher.dispatch(request)

    def request(self, name, arguments="{}", **more):
        self.calls += 1
        return CallRequest(
            id=f"call{self.calls}",
            name=name,
            arguments=arguments,
            caller=self.caller,
            run=self.run,
            **more,
        )

    def tool_call(self, name, arguments="{}"):
        self.calls += 1
        return ToolCall(f"call{self.calls}", name, arguments)

    def with_filter(self, filter):
        return replace(self.run, filter=filter)

    def names(self, caller=None, filter=NO_FILTER, policy=OPEN_POLICY):
        return [
            tool.wire_name for tool in self.registry.list(filter, caller or self.caller, policy)
        ]

    async def _resolve(self, plugin, kind, name):
        assert kind == "tool"
        self.activated.append(f"{plugin}:{name}")
        found = self.functions.get((plugin, name))
        if found is None:
            raise PluginError(f"plugin {plugin} is broken", fix=f"pegboard plugins why {plugin}")
        return found

    def _context(self, plugin):
        return self.contexts.setdefault(plugin, SimpleNamespace(id=plugin))

    async def _emit(self, event):
        self.events.append(event)


class Taking:
    """Hooks made of functions, as the plugins' hook table offers them."""

    def __init__(self, **functions):
        self.functions = functions
        self.observed = []

    def wants(self, hook, event_type=""):
        return hook in self.functions

    async def observe(self, event):
        self.observed.append(event)

    async def transform(self, hook, event):
        return self.functions[hook](event)

    async def guard(self, hook, event):
        return self.functions[hook](event)


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture
def world(tmp_path):
    made = World(tmp_path)
    yield made
    made.search.close()


@pytest.fixture
def taking():
    return Taking


@pytest.fixture
def operator():
    return OPERATOR


@pytest.fixture
def guest():
    return GUEST


@pytest.fixture
def plain():
    def plain(name, plugin="demo", effects=("read",), *, name_given=None, **facts):
        """A registered tool without code."""
        outer = {key: facts.pop(key) for key in ("kind", "first_party", "metadata") if key in facts}
        declared = None if effects is None else frozenset(effects)
        return RegisteredTool(ToolSpec(name=name, effects=declared, **facts), plugin, **outer)

    return plain
