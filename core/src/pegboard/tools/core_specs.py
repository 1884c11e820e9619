"""What core's own tools state about themselves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pegboard.contracts.effects import Exposure
from pegboard.contracts.tool import OutputLimits, ToolHelp, ToolSpec

MAX_FOUND: Final = 20
PAGE_LINES: Final = 400
PAGE_CHARS: Final = 16_000

_NAME: Final = {"type": "string", "minLength": 1, "description": "Name of the tool."}


def _spec(
    name: str,
    description: str,
    properties: Mapping[str, Any],
    *required: str,
    exposure: Exposure = "direct",
    help: ToolHelp,
    limits: OutputLimits | None = None,
) -> ToolSpec:
    return ToolSpec(
        name=name,
        description=description,
        parameters={
            "type": "object",
            "properties": dict(properties),
            "required": list(required),
            "additionalProperties": False,
        },
        category="system",
        effects=frozenset({"read"}),
        exposure=exposure,
        help=help,
        limits=limits or OutputLimits(),
    )


TOOL_SEARCH: Final = _spec(
    "tool_search",
    "Find tools by what they do. What it finds can be called from the next step on.",
    {
        "query": {"type": "string", "minLength": 1, "description": "What the tool should do."},
        "limit": {
            "type": "integer",
            "minimum": 1,
            "maximum": MAX_FOUND,
            "default": 5,
            "description": "Tools at most.",
        },
    },
    "query",
    exposure="model_only",
    help=ToolHelp(
        when_to_use="When no declared tool does what is needed: more may be installed.",
        examples=('{"query": "create a calendar event"}',),
        failure_modes=("Nothing matches: use other words, or do without.",),
    ),
)
TOOL_DESCRIBE: Final = _spec(
    "tool_describe",
    "Return the full description and the JSON Schema of one tool.",
    {"name": _NAME},
    "name",
    exposure="model_only",
    help=ToolHelp(
        when_to_use="Before tool_call, when only a tool's name is known.",
        examples=('{"name": "calendar_create"}',),
    ),
)
TOOL_CALL: Final = _spec(
    "tool_call",
    "Call a tool that is not declared, by its name, under the same rules as a direct call.",
    {
        "name": _NAME,
        "arguments": {
            "type": "object",
            "description": "The arguments of that tool, as tool_describe shows them.",
        },
    },
    "name",
    exposure="model_only",
    help=ToolHelp(
        when_to_use="For tools that tool_search or the list of further tools names.",
        examples=('{"name": "calendar_create", "arguments": {"title": "Lunch"}}',),
    ),
)
TOOL_HELP: Final = _spec(
    "tool_help",
    "Explain one tool: when to use it, its arguments, examples and what can go wrong.",
    {"name": _NAME},
    "name",
    help=ToolHelp(
        when_to_use="When a tool's description leaves a question, or a call failed.",
        examples=('{"name": "tool_search"}',),
    ),
)
TOOL_RESULT_RECALL: Final = _spec(
    "tool_result_recall",
    "Read what was left out of a tool result: page by page, or the lines that hold some text.",
    {
        "call_id": {
            "type": "string",
            "minLength": 1,
            "description": "The id that the shortened result names.",
        },
        "offset": {
            "type": "integer",
            "minimum": 1,
            "default": 1,
            "description": "First line to read; lines count from 1.",
        },
        "limit": {
            "type": "integer",
            "minimum": 1,
            "maximum": PAGE_LINES,
            "default": 200,
            "description": "Lines at most.",
        },
        "from_char": {
            "type": "integer",
            "minimum": 0,
            "default": 0,
            "description": "Characters of the first line to skip, for very long lines.",
        },
        "query": {
            "type": "string",
            "minLength": 1,
            "description": "Return only lines that hold this text; case does not matter.",
        },
    },
    "call_id",
    help=ToolHelp(
        when_to_use="When a result says that part of it was left out and that part matters.",
        examples=('{"call_id": "c7", "offset": 120}', '{"call_id": "c7", "query": "error"}'),
        failure_modes=("Only results of this run that were shortened can be read.",),
    ),
    limits=OutputLimits(chars=PAGE_CHARS + 2_000, keep="head"),
)
