"""Portable messages as Messages takes them."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Sequence
from typing import Any, Final

from pegboard_provider_http import Echoes, encoded, told

from pegboard import Blobs, CallResult, File, Image, Message, ToolCall
from pegboard.providers import ToolNames, repaired

EMPTY: Final = "(empty)"
"""The service refuses a text without any."""
_GO_ON: Final = "Go on."
"""New models refuse a conversation that ends with their own words."""
_IMAGES: Final = frozenset({"image/gif", "image/jpeg", "image/png", "image/webp"})
_PDF: Final = frozenset({"application/pdf"})
_TEXTS: Final = frozenset(
    {"application/json", "text/csv", "text/html", "text/markdown", "text/plain"}
)
_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,128}")
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
            self._put("user", [text_block(_GO_ON)])
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
            "id": call_id(call.id),
            "name": self._names.alias(call.name),
            "input": arguments(call.arguments),
        }

    async def _result(self, result: CallResult) -> dict[str, Any]:
        made: dict[str, Any] = {
            "type": "tool_result",
            "tool_use_id": call_id(result.call_id),
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
        takes = _IMAGES | _PDF | _TEXTS
        if part.blob.media_type in _IMAGES and part.blob.size > _MAX_IMAGE:
            takes = frozenset()
        sent = await encoded(part, self._blobs, takes=takes)
        if sent is None:
            return text_block(told(part))
        source = {"type": "base64", "media_type": sent.media_type, "data": sent.data}
        if sent.media_type in _IMAGES:
            return {"type": "image", "source": source}
        if sent.media_type in _TEXTS:
            text = base64.b64decode(sent.data).decode("utf-8", "replace")
            if not text.strip():
                return text_block(told(part))
            source = {"type": "text", "media_type": "text/plain", "data": text}
        made: dict[str, Any] = {"type": "document", "source": source}
        if sent.name:
            made["title"] = repaired(sent.name)
        return made


def call_id(id: str) -> str:
    """Return the id of a call as the service takes it; other providers' may hold anything."""
    if _ID.fullmatch(id):
        return id
    return f"call_{hashlib.sha256(id.encode('utf-8', 'surrogatepass')).hexdigest()[:24]}"


def arguments(text: str) -> dict[str, Any]:
    """Return the arguments of a call as an object, which the service insists on.

    A text that is none was answered with an error already; the model need not read it again.
    """
    try:
        given = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return {}
    return given if isinstance(given, dict) else {"value": given}


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
