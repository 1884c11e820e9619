"""What runs when a tool is called, once its plugin is imported."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import anyio

from pegboard.contracts.context import PluginContext
from pegboard.contracts.errors import PluginError
from pegboard.contracts.tool import RegisteredTool, Tool
from pegboard.plugins.declaration import TOOL_MARK
from pegboard.tools.core_tool import CoreTool
from pegboard.tools.function_tool import FunctionTool

Available = Callable[..., str | None]
THREADS_PER_PLUGIN = 4


class Implementation(NamedTuple):
    """A tool that can be called now.

    Args:
        call: The tool itself.
        context: The context of its plugin; None for core's own tools, which get none.
        available: Says why the tool can't work now, or None when it always can.
    """

    call: Tool | CoreTool
    context: PluginContext | None
    available: Available | None


class Limiters:
    """How many threads each plugin may use at a time."""

    def __init__(self, threads: int = THREADS_PER_PLUGIN) -> None:
        self._threads = threads
        self._by_plugin: dict[str, anyio.CapacityLimiter] = {}

    def of(self, plugin: str) -> anyio.CapacityLimiter:
        """Return the limiter of a plugin."""
        limiter = self._by_plugin.get(plugin)
        if limiter is None:
            limiter = self._by_plugin[plugin] = anyio.CapacityLimiter(self._threads)
        return limiter


def as_tool(tool: RegisteredTool, found: Any, limiter: anyio.CapacityLimiter) -> Tool:
    """Return what a plugin brings for a tool as something to call.

    Args:
        tool: The registered tool; its statement is what counts.
        found: A function marked with `tool`, or an object with `spec` and an async `__call__`.
        limiter: For functions that run in threads.

    Raises:
        PluginError: When it is neither.
    """
    facts = getattr(found, TOOL_MARK, None)
    if facts is not None:
        return FunctionTool(tool.spec, found, limiter=limiter, available=facts.available)
    if callable(found) and hasattr(found, "spec"):
        return found  # type: ignore[no-any-return]
    raise PluginError(
        f"plugin {tool.plugin} brings a {type(found).__name__} as tool {tool.spec.name}, "
        "which is neither a function marked with @plugin.tool nor a Tool",
        fix=f"Run: pegboard plugins build {tool.plugin} --check",
    )
