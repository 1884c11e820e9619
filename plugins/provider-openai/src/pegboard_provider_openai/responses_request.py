"""A portable request as Responses takes it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from pegboard_provider_http.attachments import IMAGES, PDF, encoded, told
from pegboard_provider_http.calls import arguments_text, call_id
from pegboard_provider_http.exchange import EMPTY, Question

from pegboard import Blobs, CallResult, File, Image, Message
from pegboard.providers import repaired
from pegboard_provider_openai.freeform import Freeform

_LONGEST_ID: Final = 64
_PLAIN: Final = re.compile(r"(?:gpt-[34]|chatgpt|gpt-5[.\d]*-chat)")
"""Models that do not reason: they refuse a request that speaks of reasoning."""


async def responses_payload(
    question: Question, *, summary: bool = False, freeform: bool | None = None
) -> dict[str, Any]:
    """Return the body of a request.

    Nothing is stored at the provider: what it needs to go on, encrypted reasoning included, comes
    back with each request.

    Args:
        question: What is asked.
        summary: True to ask for summaries of the reasoning.
        freeform: Whether tools that take plain text are declared so; None = as the model does.
    """
    request, model, tools = question.request, question.model, question.tools
    plain = Freeform(tools, model, freeform)
    items: list[dict[str, Any]] = []
    for message in question.spoken:
        items.extend(await _items(message, question, plain))
    for item in items:
        if isinstance(item.get("call_id"), str):
            item["call_id"] = call_id(item["call_id"], _LONGEST_ID)
    payload: dict[str, Any] = {"model": model, "input": items, "stream": True, "store": False}
    if system := question.system:
        payload["instructions"] = "\n\n".join(system)
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


async def _items(message: Message, question: Question, plain: Freeform) -> list[dict[str, Any]]:
    names, blobs = question.names, question.blobs
    if message.role == "tool":
        return [
            await _result(result, plain.result(result.call_id), blobs) for result in message.results
        ]
    if message.role == "user":
        content = await _content(message.parts, blobs)
        return [{"role": "user", "content": content or [_text(EMPTY)]}]
    echo = question.echoes.find(message)
    if isinstance(echo, list):
        plain.saw(echo)
        return _echoed(echo)
    items: list[dict[str, Any]] = []
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
            "arguments": arguments_text(call.arguments),
        }
        for call in message.calls
    )
    return items


def _echoed(items: Sequence[Any]) -> list[dict[str, Any]]:
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
    sent = await encoded(part, blobs, takes=IMAGES | PDF)
    if sent is None:
        return _text(told(part))
    if sent.media_type in PDF:
        return {
            "type": "input_file",
            "filename": sent.name or "file.pdf",
            "file_data": sent.url,
        }
    return {"type": "input_image", "image_url": sent.url}


def _text(text: str) -> dict[str, Any]:
    return {"type": "input_text", "text": text}
