"""Lists and look-ups: of 10,000 tools kept, of 500 tools made anew."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

from pegboard import Caller, RegisteredTool, ToolFilter, ToolSpec
from pegboard.policy.snapshot import OPEN_POLICY
from pegboard.tools.registry import Registry

TOOLS = 10_000
OFFERED = 500
SERVERS = 6
ROUNDS = 15


def measure(row: Any, peers_python: Any) -> Iterator[Any]:
    registry = filled()
    caller = Caller(trust="operator", origin="person")
    narrow = ToolFilter(excluded_categories=frozenset({"scheduling"}))
    listed = row("list of 10,000 tools, unchanged", "us", 3.0, "copy of a list of 10,000")
    found = row("find among 10,000 tools", "ns", 3.0, "dict look-up")
    references = list(registry.list_all())
    names = {tool.name: tool for tool in references}
    assert len(registry.list(narrow, caller, OPEN_POLICY)) == TOOLS
    for _ in range(ROUNDS):
        listed.ours.append(cpu(lambda: registry.list(narrow, caller, OPEN_POLICY), 200) * 1e6)
        listed.reference.append(cpu(references.copy, 200) * 1e6)
        found.ours.append(cpu(lambda: registry.find("tool_5000"), 20_000) * 1e9)
        found.reference.append(cpu(lambda: names.get("tool_5000"), 20_000) * 1e9)
    yield from (listed, found, built(row))


def built(row: Any) -> Any:
    """Return what the list of 500 tools costs that nobody has asked for yet.

    Most are of MCP servers, as in an installation with that many; the others differ in effects,
    category and capability. The reference is one membership test for each.
    """
    result = row("list of 500 tools, made anew", "us", 10.0, "500 membership tests")
    registry = offered()
    caller = Caller(trust="operator", origin="person")
    names = [tool.canonical for tool in registry.list_all()]
    held = frozenset(names)
    turns = iter(range(10**9))

    def anew() -> object:
        # another filter each time, that leaves nothing out: no list is kept for it
        none = frozenset({f"category {next(turns)}"})
        return registry.list(ToolFilter(excluded_categories=none), caller, OPEN_POLICY)

    assert len(anew()) == OFFERED
    for _ in range(ROUNDS):
        result.ours.append(cpu(anew, 100) * 1e6)
        result.reference.append(cpu(lambda: [name in held for name in names], 100) * 1e6)
    return result


def offered() -> Registry:
    """Return a registry of 500 tools: of MCP servers and of plugins, with 21 statements."""
    registry = Registry(None, None)
    effects = ({"read"}, {"fs_write"}, {"exec"}, {"net_read"}, {"net_write"})
    entries = []
    for number in range(OFFERED):
        mcp = number % 5 < 3
        spec = ToolSpec(
            name=f"tool_{number}",
            description=f"Do thing number {number} to a value.",
            effects=None if mcp else frozenset(effects[number % 7 % 5]),
            capability="orch:mcp" if mcp else None,
            category="mcp" if mcp else ("web", "file", "media", "system")[number % 4],
        )
        plugin, metadata = f"plugin{number % 20}", {}
        if mcp:
            plugin, metadata = "mcp", {"family": "mcp_", "group": f"server{number % SERVERS}"}
        kind = "mcp" if mcp else "tool"
        entries.append((RegisteredTool(spec, plugin, kind=kind, metadata=metadata), None))
    registry.swap_family({}, entries)
    return registry


def filled() -> Registry:
    """Return a registry of many tools of several categories."""
    registry = Registry(None, None)
    registry.swap_family(
        {},
        [
            (
                RegisteredTool(
                    ToolSpec(
                        name=f"tool_{number}",
                        description=f"Do thing number {number} to a value.",
                        effects=frozenset({"read"}),
                        category=("web", "file", "media")[number % 3],
                    ),
                    f"plugin{number % 100}",
                    first_party=True,
                ),
                None,
            )
            for number in range(TOOLS)
        ],
    )
    return registry


def cpu(call: Callable[[], object], times: int) -> float:
    """Return the CPU seconds of one call."""
    started = time.process_time()
    for _ in range(times):
        call()
    return (time.process_time() - started) / times
