"""The list and the look-up over 10,000 tools, against copying a list and a dict look-up."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

from pegboard import Caller, RegisteredTool, ToolFilter, ToolSpec
from pegboard.policy.snapshot import OPEN_POLICY
from pegboard.tools.registry import Registry

TOOLS = 10_000
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
    yield from (listed, found)


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
