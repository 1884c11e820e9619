"""Calls of a model that can't call tools: the server holds its whole answer to their schemas.

Only where a call is required, and only at a server that takes a schema for the answer
(`response_format`): whatever the model writes then is a call, if seldom a clever one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from pegboard import Done, ProviderError, ProviderEvent, TextDelta, ToolCall, ToolDeclaration
from pegboard_provider_openai.chat_stream import ChatFold

_ASKED: Final = (
    'Answer with one JSON object and nothing else: {"name": the tool to call, "arguments": what it '
    "is called with}. The tools:"
)


def held(payload: Mapping[str, Any], tools: Sequence[ToolDeclaration]) -> dict[str, Any]:
    """Return the body of a request whose answer can only be a call.

    Args:
        payload: The body, without tools.
        tools: The tools, one at least.
    """
    told = "\n".join((_ASKED, *(f"- {tool.name}: {tool.description}" for tool in tools)))
    first, *others = payload["messages"]
    if first["role"] == "system":  # not every template takes a second one
        messages = [{**first, "content": f"{first['content']}\n\n{told}"}, *others]
    else:
        messages = [{"role": "system", "content": told}, first, *others]
    schema = {"name": "call", "schema": {"anyOf": [_shape(tool) for tool in tools]}}
    response = {"type": "json_schema", "json_schema": schema}
    return {**payload, "messages": messages, "response_format": response}


class ForcedFold(ChatFold):
    """Takes the chunks of an answer that is a call as a whole; none of it is text for a person."""

    def add(self, chunk: Any) -> list[ProviderEvent]:
        """Take one chunk and return what it says beside the call."""
        return [event for event in super().add(chunk) if not isinstance(event, TextDelta)]

    def done(self) -> Done:
        """Return the end of the stream, with the call.

        Raises:
            ProviderError: When it ended without saying why, or the answer is no call.
        """
        done = super().done()
        call = _read(done.text)
        if call is not None:
            name, arguments = call
            made = ToolCall(self._new_id(), self._names.name(name), arguments)
            return replace(done, text="", calls=(made,), stop="tool_use")
        if done.stop == "max_tokens":
            return replace(done, text="")
        raise ProviderError(
            f"{self._api.title} was held to a call and wrote something else.",
            kind="malformed_tool_call",
        )


def _shape(tool: ToolDeclaration) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {"name": {"const": tool.name}, "arguments": tool.parameters},
        "required": ["name", "arguments"],
        "additionalProperties": False,
    }


def _read(text: str) -> tuple[str, str] | None:
    """Return the name and the arguments of a call, or None."""
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(said, dict) or not isinstance(said.get("arguments"), dict):
        return None
    name = said.get("name")
    arguments = json.dumps(said["arguments"], ensure_ascii=False)
    return (name, arguments) if isinstance(name, str) and name else None
