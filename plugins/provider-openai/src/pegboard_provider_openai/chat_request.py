"""A portable request as Chat Completions takes it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, Final

from pegboard_provider_http import Echoes, encoded, told

from pegboard import Blobs, CallResult, ChatRequest, File, Image, Message, ToolDeclaration
from pegboard.providers import ToolNames, repaired
from pegboard_provider_openai.json_shapes import object_text
from pegboard_provider_openai.presets import Preset

EMPTY: Final = "(empty)"
"""Some servers refuse a message without content."""


async def chat_payload(
    request: ChatRequest,
    *,
    model: str,
    preset: Preset,
    tools: Sequence[ToolDeclaration],
    names: ToolNames,
    echoes: Echoes,
    images: bool,
) -> dict[str, Any]:
    """Return the body of a request.

    Args:
        request: The request.
        model: The model that is asked.
        preset: What the server does otherwise.
        tools: The tools, as the dialect takes them.
        names: The way between names and aliases.
        echoes: What the provider said before in this run.
        images: True when the model takes images.
    """
    blobs = request.blobs if images else None
    writer = _Messages(preset, names, echoes, blobs)
    for message in request.messages:
        await writer.add(message)
    payload: dict[str, Any] = {"model": model, "messages": writer.messages, "stream": True}
    if preset.usage_asked:
        payload["stream_options"] = {"include_usage": True}
    if tools:
        payload["tools"] = [
            {
                "type": "function",
                "function": {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": tool.parameters,
                },
            }
            for tool in tools
        ]
        payload["tool_choice"] = request.tool_choice
        if preset.parallel:
            payload["parallel_tool_calls"] = True
    if request.max_output is not None:
        payload[preset.max_tokens] = request.max_output
    if request.effort is not None and preset.effort:
        payload["reasoning_effort"] = request.effort
    return payload


class _Messages:
    """The conversation on the wire.

    Args:
        preset: What the server does otherwise.
        names: The way between names and aliases.
        echoes: What the provider said before in this run.
        blobs: Where images are, or None when they are told in words.
    """

    def __init__(
        self, preset: Preset, names: ToolNames, echoes: Echoes, blobs: Blobs | None
    ) -> None:
        self.messages: list[dict[str, Any]] = []
        self._preset = preset
        self._names = names
        self._echoes = echoes
        self._blobs = blobs

    async def add(self, message: Message) -> None:
        """Add one portable message."""
        if message.role == "tool":
            await self._add_results(message.results)
        elif message.role == "assistant":
            self._add_answer(message)
        elif message.role == "system":
            self.messages.append({"role": "system", "content": repaired(message.text) or EMPTY})
        else:
            content = await self._content(message.parts)
            self.messages.append({"role": "user", "content": content or EMPTY})

    def _add_answer(self, message: Message) -> None:
        text = repaired(message.text)
        wire: dict[str, Any] = {"role": "assistant", "content": text or None}
        if message.calls:
            wire["tool_calls"] = [
                {
                    "id": self._id(call.id),
                    "type": "function",
                    "function": {
                        "name": self._names.alias(call.name),
                        "arguments": object_text(call.arguments),
                    },
                }
                for call in message.calls
            ]
            echo = self._echoes.find(message)
            if isinstance(echo, Mapping):
                wire.update(echo)
        elif not text:
            wire["content"] = EMPTY
        self.messages.append(wire)

    async def _add_results(self, results: Sequence[CallResult]) -> None:
        seen: list[Image | File] = []
        for result in results:
            pictures = [part for part in result.parts if isinstance(part, Image | File)]
            text = repaired(result.text)
            words = [text] if text else []
            for part in pictures:
                if self._blobs is not None and isinstance(part, Image):
                    seen.append(part)
                    words.append("[an image, shown below]")
                else:
                    words.append(told(part))
            self.messages.append(
                {
                    "role": "tool",
                    "tool_call_id": self._id(result.call_id),
                    "content": "\n".join(words) or EMPTY,
                }
            )
        if seen:  # a tool's message holds text only
            self.messages.append({"role": "user", "content": await self._content(seen)})

    async def _content(self, parts: Sequence[Any]) -> str | list[dict[str, Any]]:
        """Return what a message says: plain text while nothing else is in it."""
        made: list[dict[str, Any]] = []
        for part in parts:
            if isinstance(part, Image | File):
                image = await encoded(part, self._blobs)
                if image is not None:
                    made.append({"type": "image_url", "image_url": {"url": image.url}})
                    continue
                text = told(part)
            else:
                text = repaired(part.text)
            made.append({"type": "text", "text": text})
        if all(item["type"] == "text" for item in made):
            return "\n".join(item["text"] for item in made)
        return made

    def _id(self, call: str) -> str:
        if not self._preset.nine_ids:
            return call
        return hashlib.sha256(call.encode("utf-8", "surrogatepass")).hexdigest()[:9]
