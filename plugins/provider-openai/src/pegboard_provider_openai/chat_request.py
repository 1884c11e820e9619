"""A portable request as Chat Completions takes it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from pegboard_provider_http.attachments import encoded, told
from pegboard_provider_http.calls import arguments_text, call_id
from pegboard_provider_http.echoes import Echoes
from pegboard_provider_http.exchange import EMPTY, Question

from pegboard import Blobs, CallResult, File, Image, Message, ToolDeclaration
from pegboard.providers import ToolNames, repaired
from pegboard_provider_openai.presets import Preset


async def chat_payload(
    question: Question, preset: Preset, tools: Sequence[ToolDeclaration]
) -> dict[str, Any]:
    """Return the body of a request.

    Args:
        question: What is asked.
        preset: What the server does otherwise.
        tools: The tools that are declared.
    """
    request = question.request
    writer = _Messages(preset, question.names, question.echoes, question.blobs)
    for message in request.messages:
        await writer.add(message)
    payload: dict[str, Any] = {
        "model": question.model,
        "messages": writer.messages,
        "stream": True,
    }
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
                        "arguments": arguments_text(call.arguments),
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
        preset = self._preset
        if not preset.nine_ids:
            # a server of its own kind may have put into an id what it wants to find there again
            return call_id(call, preset.longest_id) if preset.longest_id else call
        return hashlib.sha256(call.encode("utf-8", "surrogatepass")).hexdigest()[:9]
