"""Portable messages as Messages takes them."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any, Final

from pegboard_provider_http.attachments import IMAGES, PDF, TEXTS, encoded, told
from pegboard_provider_http.calls import arguments_object, call_id
from pegboard_provider_http.echoes import Echoes
from pegboard_provider_http.exchange import EMPTY, GO_ON

from pegboard import Blobs, CallResult, File, Image, Message, ToolCall
from pegboard.providers import ToolNames, repaired

_LONGEST_ID: Final = 128
_MAX_IMAGE: Final = 3_932_160
"""Bytes of an image: the service takes 5 MiB of base64."""


class Conversation:
    """The conversation on the wire: what one side says in a row is one message.

    Args:
        names: The way between names and aliases.
        echoes: What the provider said before in this run.
        blobs: Where images and files are, or None when they are told in words.

    Attributes:
        messages: What was made so far.
        unsigned: True when the calls of the last answer come without the reasoning before them.
    """

    def __init__(self, names: ToolNames, echoes: Echoes, blobs: Blobs | None) -> None:
        self.messages: list[dict[str, Any]] = []
        self.unsigned = False
        self._names = names
        self._echoes = echoes
        self._blobs = blobs
        self._spoken = 0

    async def add(self, message: Message) -> None:
        """Add one portable message that is no system text."""
        if message.role == "assistant":
            self._add_answer(message)
        elif message.role == "tool":
            results = [await self._result(result) for result in message.results]
            self._put("user", results)
        else:
            self._put("user", await self._parts(message.parts) or [text_block(EMPTY)])

    def finish(self) -> None:
        """Make it what the service takes: an answer that paused last, and a user first."""
        paused = self._echoes.paused
        if isinstance(paused, list):
            self._unsay()
            self._put("assistant", _unspaced(paused))
        elif self.messages and self.messages[-1]["role"] == "assistant":
            self._put("user", [text_block(GO_ON)])
        if not self.messages or self.messages[0]["role"] != "user":
            self.messages.insert(0, {"role": "user", "content": [text_block(EMPTY)]})

    def _add_answer(self, message: Message) -> None:
        echo = self._echoes.find(message)
        self.unsigned = bool(message.calls) and not _reasoned(echo)
        if isinstance(echo, list):
            self._unsay()
            self._put("assistant", list(echo))
            return
        text = repaired(message.text)
        content = [text_block(text)] if text.strip() else []
        content.extend(self._call(call) for call in message.calls)
        content = content or [text_block(EMPTY)]
        self._put("assistant", content)
        self._spoken += len(content)

    def _put(self, role: str, content: list[dict[str, Any]]) -> None:
        if self.messages and self.messages[-1]["role"] == role:
            self.messages[-1]["content"].extend(content)
            return
        self.messages.append({"role": role, "content": content})
        self._spoken = 0

    def _unsay(self) -> None:
        """Take back what was just said in portable form: an answer that paused holds it too."""
        if not self._spoken:
            return
        content = self.messages[-1]["content"]
        del content[len(content) - self._spoken :]
        self._spoken = 0
        if not content:
            self.messages.pop()

    def _call(self, call: ToolCall) -> dict[str, Any]:
        return {
            "type": "tool_use",
            "id": call_id(call.id, _LONGEST_ID),
            "name": self._names.alias(call.name),
            "input": arguments_object(call.arguments),
        }

    async def _result(self, result: CallResult) -> dict[str, Any]:
        made: dict[str, Any] = {
            "type": "tool_result",
            "tool_use_id": call_id(result.call_id, _LONGEST_ID),
            "content": await self._parts(result.parts) or [text_block(EMPTY)],
        }
        if result.error:
            made["is_error"] = True
        return made

    async def _parts(self, parts: Sequence[Any]) -> list[dict[str, Any]]:
        made = []
        for part in parts:
            if isinstance(part, Image | File):
                made.append(await self._attached(part))
            elif part.text.strip():
                made.append(text_block(repaired(part.text)))
        return made

    async def _attached(self, part: Image | File) -> dict[str, Any]:
        takes = IMAGES | PDF | TEXTS
        if part.blob.media_type in IMAGES and part.blob.size > _MAX_IMAGE:
            takes = frozenset()
        sent = await encoded(part, self._blobs, takes=takes)
        if sent is None:
            return text_block(told(part))
        source = {"type": "base64", "media_type": sent.media_type, "data": sent.data}
        if sent.media_type in IMAGES:
            return {"type": "image", "source": source}
        if sent.media_type in TEXTS:
            text = base64.b64decode(sent.data).decode("utf-8", "replace")
            if not text.strip():
                return text_block(told(part))
            source = {"type": "text", "media_type": "text/plain", "data": text}
        made: dict[str, Any] = {"type": "document", "source": source}
        if sent.name:
            made["title"] = repaired(sent.name)
        return made


def _reasoned(echo: Any) -> bool:
    """Tell whether an answer of the service begins with its reasoning."""
    first = echo[0] if isinstance(echo, list) and echo else None
    kind = first.get("type") if isinstance(first, dict) else None
    return kind in ("thinking", "redacted_thinking")


def _unspaced(content: Sequence[Any]) -> list[Any]:
    """Return an answer without space at its end, with which the service refuses to go on."""
    *before, last = content or [text_block(EMPTY)]
    if isinstance(last, dict) and last.get("type") == "text":
        last = {**last, "text": str(last.get("text")).rstrip()}
    return [*before, last]


def text_block(text: str) -> dict[str, Any]:
    """Return a block of text."""
    return {"type": "text", "text": text}
