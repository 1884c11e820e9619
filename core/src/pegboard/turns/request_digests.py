"""What a turn asked its models, told in few bytes.

Each message is told by its digest: what was said in the conversation is kept elsewhere. Only system
messages are nowhere else, so their texts are kept here, long ones once for all turns.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final

from pegboard.contracts.blob import Blobs
from pegboard.contracts.message import Message
from pegboard.contracts.provider import ChatRequest
from pegboard.contracts.wire import MESSAGE, WireError

INLINE_CHARS: Final = 300
"""Characters of the longest system message that is kept beside its digest, and not as a blob."""


class RequestDigests:
    """Tells the requests of one attempt in order, each by what is new since the one before.

    Args:
        blobs: Where long system messages go.
    """

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs
        self._messages: tuple[Message, ...] = ()
        self._digests: list[str] = []
        self._tools: list[str] | None = None

    async def form(self, request: ChatRequest) -> dict[str, Any]:
        """Return what is kept of a request.

        `kept` is the number of messages that it has in common with the one before, `messages` the
        digests of the others, `system` the system messages among them by digest, `tools` the names
        of the declared tools when they are others than before.
        """
        messages = request.messages
        same = _common(self._messages, messages)
        digests = [*self._digests[:same], *map(message_digest, messages[same:])]
        kept = _equal(self._digests, digests)
        form: dict[str, Any] = {"kept": kept, "messages": digests[kept:]}
        for digest, message in zip(digests[kept:], messages[kept:], strict=True):
            if digest and message.role == "system":
                form.setdefault("system", {})[digest] = await self._system(message)
        tools = [tool.name for tool in request.tools]
        if tools != self._tools:
            form["tools"] = tools
        self._messages, self._digests, self._tools = messages, digests, tools
        return form

    async def _system(self, message: Message) -> dict[str, Any]:
        form = MESSAGE.write(message)
        if len(message.text) > INLINE_CHARS:
            data = json.dumps(form, sort_keys=True).encode("ascii")
            with suppress(OSError):  # for a recording only: no reason to end the turn
                blob = await self._blobs.put(
                    data, media_type="application/json", name="system.json"
                )
                return {"blob": blob.id}
            return {}
        return {"message": form}


def message_digest(message: Message) -> str:
    """Return what tells a message from others; "" for one that can't be kept."""
    try:
        text = json.dumps(MESSAGE.write(message), sort_keys=True)
    except WireError:
        return ""
    return hashlib.sha256(text.encode("ascii")).hexdigest()[:32]


def _common(before: Sequence[Message], messages: Sequence[Message]) -> int:
    """Return how many messages at the beginning are the very same objects."""
    count = 0
    for one, other in zip(before, messages, strict=False):
        if one is not other:
            break
        count += 1
    return count


def _equal(before: Sequence[str], digests: Sequence[str]) -> int:
    """Return how many messages at the beginning say the same."""
    count = 0
    for one, other in zip(before, digests, strict=False):
        if one != other or not one:
            break
        count += 1
    return count
