"""The registry's own tools: finding, reading about and calling tools, and reading results back.

Each shows exactly what its caller could call. What is above the caller's ceiling is answered as
what does not exist.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import anyio
import anyio.to_thread

from pegboard.config.core_schema import CORE
from pegboard.contracts.result import AddTools, ToolResult
from pegboard.contracts.tool import RegisteredTool
from pegboard.tools import core_specs, refusals
from pegboard.tools.core_tool import CoreTool
from pegboard.tools.dispatch import Dispatcher
from pegboard.tools.help import brief, described, description_text, help_text, summary_of
from pegboard.tools.recall_tool import ToolResultRecall
from pegboard.tools.registry import Registry
from pegboard.tools.run_scope import CallRequest
from pegboard.tools.search import ToolSearch


def register(
    registry: Registry, dispatcher: Dispatcher, search: ToolSearch, *, searching: bool = True
) -> None:
    """Add core's tools to a registry.

    Args:
        registry: Where they go.
        dispatcher: Tells what a caller could call.
        search: The search index.
        searching: False to leave out those that only serve the search for tools.
    """
    tools: list[CoreTool] = [ToolHelp(dispatcher), ToolResultRecall()]
    if searching:
        found = Finder(registry, dispatcher, search)
        tools = [FindTools(found), DescribeTool(dispatcher), CallTool(), *tools]
    for tool in tools:
        registry.register(RegisteredTool(tool.spec, CORE, first_party=True), tool)


class Finder:
    """The search index, kept up to date with the registry.

    Args:
        registry: The tools.
        dispatcher: Tells what a caller could call.
        search: The index.
    """

    def __init__(self, registry: Registry, dispatcher: Dispatcher, search: ToolSearch) -> None:
        self._registry = registry
        self._dispatcher = dispatcher
        self._search = search
        self._lock = anyio.Lock()

    async def find(self, request: CallRequest, query: str, limit: int) -> list[RegisteredTool]:
        """Return the best tools that the caller could call, best first."""
        run, caller = request.run, request.caller

        def offers(tool: RegisteredTool) -> bool:
            return self._dispatcher.offers(caller, run, tool)

        if caller.trust != "operator":
            # among their own few tools alone: how rare a word is in all would tell of the others
            own = ToolSearch()
            own.adopt(own.build(tuple(self._dispatcher.allowed(caller, run))))
            return own.search(query, limit, offers)
        if not self._search.fits(self._registry.list_all()):
            await self._update()
        return self._search.search(query, limit, offers)

    async def _update(self) -> None:
        async with self._lock:
            tools = self._registry.list_all()
            if not self._search.fits(tools):
                self._search.adopt(await anyio.to_thread.run_sync(self._search.build, tools))


class FindTools(CoreTool):
    """Finds tools by what they do."""

    spec = core_specs.TOOL_SEARCH

    def __init__(self, finder: Finder) -> None:
        self._finder = finder

    async def answer(self, request: CallRequest, arguments: Mapping[str, Any]) -> ToolResult:
        """Search, and have what is found declared from the next step on."""
        query = arguments["query"]
        found = await self._finder.find(request, query, arguments.get("limit", 5))
        matched = [
            {"name": tool.wire_name, "plugin": tool.plugin, "description": summary_of(tool)}
            for tool in found
        ]
        structured = {"query": query, "matches": matched}
        if not found:
            return ToolResult(
                "No tool matches. Try other words for what it should do.", structured=structured
            )
        return ToolResult(
            "\n".join(brief(tool) for tool in found),
            structured=structured,
            control=AddTools(tuple(tool.wire_name for tool in found)),
        )


class DescribeTool(CoreTool):
    """Returns the schema of one tool."""

    spec = core_specs.TOOL_DESCRIBE

    def __init__(self, dispatcher: Dispatcher) -> None:
        self._dispatcher = dispatcher

    async def answer(self, request: CallRequest, arguments: Mapping[str, Any]) -> ToolResult:
        """Look the tool up."""
        tool = _visible(self._dispatcher, request, arguments["name"])
        if isinstance(tool, ToolResult):
            return tool
        return ToolResult(description_text(tool), structured=described(tool))


class ToolHelp(CoreTool):
    """Explains one tool."""

    spec = core_specs.TOOL_HELP

    def __init__(self, dispatcher: Dispatcher) -> None:
        self._dispatcher = dispatcher

    async def answer(self, request: CallRequest, arguments: Mapping[str, Any]) -> ToolResult:
        """Look the tool up."""
        tool = _visible(self._dispatcher, request, arguments["name"])
        return tool if isinstance(tool, ToolResult) else ToolResult(help_text(tool))


class CallTool(CoreTool):
    """Stands for the tool that it names: dispatch looks inside before it decides anything."""

    spec = core_specs.TOOL_CALL

    async def answer(self, request: CallRequest, arguments: Mapping[str, Any]) -> ToolResult:
        """Never called with a tool inside; an empty wrapper is an error."""
        return refusals.nested_too_deeply()


def _visible(
    dispatcher: Dispatcher, request: CallRequest, name: str
) -> RegisteredTool | ToolResult:
    tool = dispatcher.registry.find(name)
    run, caller = request.run, request.caller
    if tool is None or not dispatcher.allows(caller, run, tool):
        return dispatcher.not_found(name, caller, run)
    return tool
