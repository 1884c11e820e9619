"""Tools whose one argument a model writes as plain text, as Responses has them: `custom` tools.

A patch in JSON is full of escapes, which models that were trained without get wrong.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from pegboard import ToolCall, ToolDeclaration

CALL: Final = "custom_tool_call"
RESULT: Final = "custom_tool_call_output"
_FAMILIES: Final = re.compile(r"(?:gpt-5(?![.\d]*-chat)|codex)")
"""Models that take such tools."""


class Freeform:
    """The tools of one request that are declared so, and the calls of the conversation.

    Args:
        tools: Its tools, as the dialect takes them.
        model: The model that is asked.
        wanted: What the operator says; None = as the model's family is used to.
    """

    def __init__(
        self, tools: Iterable[ToolDeclaration], model: str, wanted: bool | None = None
    ) -> None:
        used = _FAMILIES.match(model) is not None if wanted is None else wanted
        self._arguments = {tool.name: tool.freeform for tool in tools if used and tool.freeform}
        self._calls: set[str] = set()

    def declared(self, tool: ToolDeclaration) -> dict[str, Any] | None:
        """Return how a tool is declared, or None when it is a function like others."""
        if tool.name not in self._arguments:
            return None
        return {"type": "custom", "name": tool.name, "description": tool.description}

    def call(self, call: ToolCall, alias: str) -> dict[str, Any] | None:
        """Return an earlier call of such a tool, or None when it is a call like others."""
        argument = self._arguments.get(alias)
        if argument is None:
            return None
        self._calls.add(call.id)
        text = _text_in(call.arguments, argument)
        return {"type": CALL, "call_id": call.id, "name": alias, "input": text}

    def saw(self, items: Iterable[Any]) -> None:
        """Take in items that come back as they were."""
        for item in items:
            if isinstance(item, Mapping) and item.get("type") == CALL:
                self._calls.add(str(item.get("call_id")))

    def result(self, call: str) -> str:
        """Return the type of the item with the result of a call."""
        return RESULT if call in self._calls else "function_call_output"


def _text_in(arguments: str, name: str) -> str:
    """Return the text that a call gave, in JSON or as it is."""
    try:
        said = json.loads(arguments)
    except (ValueError, RecursionError):
        return arguments
    value = said.get(name) if isinstance(said, dict) else said
    return value if isinstance(value, str) else arguments
