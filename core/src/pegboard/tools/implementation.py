"""What runs when a tool is called, once its plugin is imported."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

from pegboard.contracts.context import PluginContext
from pegboard.contracts.errors import PluginError
from pegboard.contracts.tool import RegisteredTool, Tool
from pegboard.plugins.building.tool_schema import CONTEXT_NAME, NO_DEFAULT
from pegboard.plugins.declaration import TOOL_MARK
from pegboard.tools.core_tool import CoreTool
from pegboard.tools.function_tool import FunctionTool
from pegboard.tools.threads import THREADS_PER_PLUGIN, Threads

Available = Callable[..., str | None]


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


class ThreadsByPlugin:
    """The threads of each plugin."""

    def __init__(self, most: int = THREADS_PER_PLUGIN) -> None:
        self._most = most
        self._by_plugin: dict[str, Threads] = {}

    def of(self, plugin: str) -> Threads:
        """Return the threads of a plugin."""
        threads = self._by_plugin.get(plugin)
        if threads is None:
            threads = self._by_plugin[plugin] = Threads(self._most)
        return threads


def as_tool(tool: RegisteredTool, found: Any, threads: Threads) -> Tool:
    """Return what a plugin brings for a tool as something to call.

    Args:
        tool: The registered tool; its statement is what counts.
        found: A function marked with `tool`, or an object with `spec` and an async `__call__`.
        threads: Where plain functions run.

    Raises:
        PluginError: When it is neither, or can't be called as its manifest says.
    """
    facts = getattr(found, TOOL_MARK, None)
    if facts is not None:
        _check_parameters(tool, found)
        return FunctionTool(tool.spec, found, threads=threads, available=facts.available)
    if callable(found) and hasattr(found, "spec"):
        return found  # type: ignore[no-any-return]
    raise PluginError(
        f"plugin {tool.plugin} brings a {type(found).__name__} as tool {tool.spec.name}, "
        "which is neither a function marked with @plugin.tool nor a Tool",
        fix=f"Run: pegboard plugins build {tool.plugin} --check",
    )


def _check_parameters(tool: RegisteredTool, function: Callable[..., Any]) -> None:
    """Refuse a function that its author gave other parameters since the manifest was built.

    Any call would be a TypeError, which tells neither the author nor a model what to do.
    """
    stated = set(tool.spec.parameters.get("properties", ()))
    parameters = inspect.signature(function).parameters
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
        return  # a wrapper that does not say what it takes
    taken = {
        name: parameter.default is NO_DEFAULT
        for name, parameter in parameters.items()
        if name != CONTEXT_NAME
    }
    missing = [name for name, required in taken.items() if required and name not in stated]
    gone = sorted(stated.difference(taken))
    if not missing and not gone:
        return
    facts = [f"the code needs {name}, which its plugin.json lacks" for name in missing]
    facts += [f"its plugin.json states {name}, which the code does not take" for name in gone]
    raise PluginError(
        f"plugin {tool.plugin}, tool {tool.spec.name}: {'; '.join(facts)}",
        fix=f"pegboard plugins build {tool.plugin}",
    )
