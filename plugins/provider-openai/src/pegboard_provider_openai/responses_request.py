"""A portable request as Responses takes it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from pegboard_provider_http import Echoes, encoded, told

from pegboard import Blobs, CallResult, ChatRequest, File, Image, Message, ToolDeclaration
from pegboard.providers import ToolNames, repaired
from pegboard_provider_openai.freeform import Freeform
from pegboard_provider_openai.json_shapes import object_text

EMPTY: Final = "(empty)"
_FILES: Final = frozenset({"application/pdf"})
_IMAGES: Final = frozenset({"image/gif", "image/jpeg", "image/png", "image/webp"})
_PLAIN: Final = re.compile(r"(?:gpt-[34]|chatgpt|gpt-5[.\d]*-chat)")
"""Models that do not reason: they refuse a request that speaks of reasoning."""


async def responses_payload(
    request: ChatRequest,
    *,
    model: str,
    tools: Sequence[ToolDeclaration],
    names: ToolNames,
    echoes: Echoes,
    images: bool,
    summary: bool = False,
    freeform: bool | None = None,
) -> dict[str, Any]:
    """Return the body of a request.

    Nothing is stored at the provider: what it needs to go on, encrypted reasoning included, comes
    back with each request.

    Args:
        request: The request.
        model: The model that is asked.
        tools: The tools, as the dialect takes them.
        names: The way between names and aliases.
        echoes: What the provider said before in this run.
        images: True when the model takes images.
        summary: True to ask for summaries of the reasoning.
        freeform: Whether tools that take plain text are declared so; None = as the model does.
    """
    blobs = request.blobs if images else None
    plain = Freeform(tools, model, freeform)
    items: list[Any] = []
    for message in request.messages:
        if message.role != "system":
            items.extend(await _items(message, names, echoes, blobs, plain))
    payload: dict[str, Any] = {
        "model": model,
        "input": items,
        "stream": True,
        "store": False,
    }
    system = "\n\n".join(
        repaired(message.text) for message in request.messages if message.role == "system"
    )
    if system:
        payload["instructions"] = system
    if tools:
        payload["tools"] = [
            plain.declared(tool)
            or {
                "type": "function",
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.parameters,
                "strict": False,
            }
            for tool in tools
        ]
        payload["tool_choice"] = request.tool_choice
    if request.max_output is not None:
        payload["max_output_tokens"] = request.max_output
    if not _PLAIN.match(model):
        payload["include"] = ["reasoning.encrypted_content"]
        reasoning = {"effort": request.effort, "summary": "auto" if summary else None}
        asked = {name: value for name, value in reasoning.items() if value is not None}
        if asked:
            payload["reasoning"] = asked
    return payload


async def _items(
    message: Message, names: ToolNames, echoes: Echoes, blobs: Blobs | None, plain: Freeform
) -> list[Any]:
    if message.role == "tool":
        return [
            await _result(result, plain.result(result.call_id), blobs) for result in message.results
        ]
    if message.role == "user":
        content = await _content(message.parts, blobs)
        return [{"role": "user", "content": content or [_text(EMPTY)]}]
    echo = echoes.find(message)
    if isinstance(echo, list):
        plain.saw(echo)
        return _echoed(echo)
    items: list[Any] = []
    text = repaired(message.text)
    if text:
        said = {"type": "output_text", "text": text}
        items.append({"type": "message", "role": "assistant", "content": [said]})
    items.extend(
        plain.call(call, names.alias(call.name))
        or {
            "type": "function_call",
            "call_id": call.id,
            "name": names.alias(call.name),
            "arguments": object_text(call.arguments),
        }
        for call in message.calls
    )
    return items


def _echoed(items: Sequence[Any]) -> list[Any]:
    """Return an answer's items as they can come back to a provider that stored nothing.

    An id would be looked up there, and reasoning that is not in the item is lost.
    """
    return [
        {key: value for key, value in item.items() if key != "id"}
        for item in items
        if isinstance(item, Mapping)
        and (item.get("type") != "reasoning" or item.get("encrypted_content"))
    ]


async def _result(result: CallResult, kind: str, blobs: Blobs | None) -> dict[str, Any]:
    content = await _content(result.parts, blobs)
    words = all(item["type"] == "input_text" for item in content)
    output: Any = "\n".join(item["text"] for item in content) if words else content
    return {"type": kind, "call_id": result.call_id, "output": output or EMPTY}


async def _content(parts: Sequence[Any], blobs: Blobs | None) -> list[dict[str, Any]]:
    return [await _part(part, blobs) for part in parts]


async def _part(part: Any, blobs: Blobs | None) -> dict[str, Any]:
    if not isinstance(part, Image | File):
        return _text(repaired(part.text) or EMPTY)
    sent = await encoded(part, blobs, takes=_IMAGES | _FILES)
    if sent is None:
        return _text(told(part))
    if sent.media_type in _FILES:
        return {
            "type": "input_file",
            "filename": sent.name or "file.pdf",
            "file_data": sent.url,
        }
    return {"type": "input_image", "image_url": sent.url}


def _text(text: str) -> dict[str, Any]:
    return {"type": "input_text", "text": text}
