"""The tool that reads back what was left out of a result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pegboard.contracts.result import ToolResult
from pegboard.tools import core_specs
from pegboard.tools.core_tool import CoreTool
from pegboard.tools.kept_results import KeptResult, KeptResults
from pegboard.tools.recall import matches, page
from pegboard.tools.run_scope import CallRequest


class ToolResultRecall(CoreTool):
    """Reads back what was left out of a result of this run, or of an earlier turn."""

    spec = core_specs.TOOL_RESULT_RECALL

    async def answer(self, request: CallRequest, arguments: Mapping[str, Any]) -> ToolResult:
        """Return a page of the text, or the lines that hold the query."""
        kept = await request.run.kept.find(arguments["call_id"])
        if kept is None:
            return _not_kept(arguments["call_id"], request.run.kept)
        try:
            text = (await request.run.blobs.get(kept.blob.id)).decode("utf-8", "replace")
        except KeyError:
            return ToolResult.failed(
                "not_found", "The whole text is no longer kept.", fix="Call the tool again."
            )
        if "query" in arguments:
            return _found(kept, text, arguments["query"])
        return _page(kept, text, arguments)


def _not_kept(call_id: str, kept: KeptResults) -> ToolResult:
    ids = ", ".join(item.call for item in kept) or "none"
    return ToolResult.failed(
        "not_found",
        f"No shortened result has the id {call_id!r}.",
        fix=f"Shortened results of this run: {ids}.",
    )


def _found(kept: KeptResult, text: str, query: str) -> ToolResult:
    part = matches(text, query)
    if not part.text:
        return ToolResult(f"No line of {kept.tool} holds {query!r}.")
    return _joined(kept, f"Lines of {kept.tool} that hold {query!r}:", part.text, part.more)


def _page(kept: KeptResult, text: str, arguments: Mapping[str, Any]) -> ToolResult:
    offset = arguments.get("offset", 1)
    part = page(
        text,
        offset=offset,
        limit=arguments.get("limit", 200),
        from_char=arguments.get("from_char", 0),
    )
    if part is None:
        return ToolResult.failed(
            "out_of_range",
            f"Line {offset} is beyond the end: there are {kept.lines}.",
            fix="Use a smaller offset.",
        )
    first, last = part.lines
    head = f"Lines {first} to {last} of {kept.lines} of {kept.tool}:"
    return _joined(kept, head, part.text, part.more)


def _joined(kept: KeptResult, *parts: str) -> ToolResult:
    return ToolResult("\n".join(part for part in parts if part), outside=kept.outside)
