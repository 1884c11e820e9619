"""Portable messages as generateContent takes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from pegboard_provider_http.attachments import told
from pegboard_provider_http.calls import arguments_object
from pegboard_provider_http.echoes import Echoes
from pegboard_provider_http.exchange import EMPTY, GO_ON

from pegboard import Blobs, CallResult, File, Image, Message, ToolCall
from pegboard.providers import ToolNames, repaired
from pegboard_provider_gemini.attachments import IN_RESULTS, inline
from pegboard_provider_gemini.generations import sees_results, signs_calls

UNSIGNED: Final = "skip_thought_signature_validator"
"""Stands where a signature is missing because another model, or nobody, made the call.

Documented by Google for that case: ai.google.dev/gemini-api/docs/thought-signatures.
"""


class Conversation:
    """The conversation on the wire.

    Args:
        model: The model that is asked.
        names: The way between names and aliases.
        echoes: What the provider said before in this run.
        blobs: Where images and files are, or None when they are told in words.

    Attributes:
        contents: What was made so far.
    """

    def __init__(self, model: str, names: ToolNames, echoes: Echoes, blobs: Blobs | None) -> None:
        self.contents: list[dict[str, Any]] = []
        self._signs = signs_calls(model)
        self._sees = sees_results(model)
        self._names = names
        self._echoes = echoes
        self._blobs = blobs
        self._answered: dict[str, Mapping[str, Any]] = {}
        self._unsigned: list[dict[str, Any]] = []
        self._spoken = 0

    async def add(self, message: Message) -> None:
        """Add one portable message that is no system text."""
        if message.role == "assistant":
            self._add_answer(message)
        elif message.role == "tool":
            await self._add_results(message.results)
        else:
            self._unsigned.clear()  # signatures are asked for from here on
            parts = [await self._part(part) for part in message.parts]
            self._put("user", [part for part in parts if part] or [{"text": EMPTY}])

    def finish(self) -> None:
        """Make it what the service takes: a user first and last, a signature in every step."""
        if self._echoes.paused is not None:
            self._unsay()
        elif self.contents and self.contents[-1]["role"] == "model":
            self._put("user", [{"text": GO_ON}])
        if self._signs:
            for part in self._unsigned:
                part["thoughtSignature"] = UNSIGNED
        if not self.contents or self.contents[0]["role"] != "user":
            self.contents.insert(0, {"role": "user", "parts": [{"text": EMPTY}]})

    def _add_answer(self, message: Message) -> None:
        echo = self._echoes.find(message)
        known = isinstance(echo, list)
        if known:
            self._unsay()
            parts = [dict(part) for part in echo if isinstance(part, Mapping)]
        else:
            text = repaired(message.text)
            parts = [{"text": text}] if text.strip() else []
            parts.extend(self._call(call) for call in message.calls)
            parts = parts or [{"text": EMPTY}]
        made = [part for part in parts if "functionCall" in part]
        for call, part in zip(message.calls, made, strict=False):
            self._answered[call.id] = part["functionCall"]
        if made and "thoughtSignature" not in made[0]:
            self._unsigned.append(made[0])
        self._put("model", parts)
        self._spoken = 0 if known else self._spoken + len(parts)

    def _put(self, role: str, parts: list[dict[str, Any]]) -> None:
        # calls must come right after the user: what was said before them is the same content
        if role == "model" and self.contents and self.contents[-1]["role"] == role:
            self.contents[-1]["parts"].extend(parts)
            return
        self.contents.append({"role": role, "parts": parts})
        self._spoken = 0

    def _unsay(self) -> None:
        """Take back what was just said in portable form: an answer that paused holds it too."""
        if self._spoken:
            parts = self.contents[-1]["parts"]
            del parts[len(parts) - self._spoken :]
            self._spoken = 0
            if not parts:
                self.contents.pop()

    def _call(self, call: ToolCall) -> dict[str, Any]:
        return {
            "functionCall": {
                "name": self._names.alias(call.name),
                "args": arguments_object(call.arguments),
            }
        }

    async def _add_results(self, results: Sequence[CallResult]) -> None:
        parts: list[dict[str, Any]] = []
        shown: list[dict[str, Any]] = []
        for result in results:
            parts.append({"functionResponse": await self._result(result, shown)})
        self._put("user", parts)
        if shown:  # results come first and alone
            self._put("user", shown)

    async def _result(self, result: CallResult, shown: list[dict[str, Any]]) -> dict[str, Any]:
        """Return one result; what can't stand in it is added to `shown`, or told in words."""
        words: list[str] = []
        inside: list[dict[str, Any]] = []
        for part in result.parts:
            if not isinstance(part, Image | File):
                words.append(repaired(part.text))
            elif self._sees and (made := await inline(part, self._blobs, takes=IN_RESULTS)):
                inside.append(made)
            elif made := await inline(part, self._blobs):
                shown += [{"text": f"A result of {result.name}:"}, made]
                words.append("[a file, shown below]")
            else:
                words.append(told(part))
        call = self._answered.get(result.call_id, {})
        made = {
            "name": call.get("name") or self._names.alias(result.name),
            "response": {"error" if result.error else "output": "\n".join(words)},
        }
        if call.get("id"):  # one that the service did not give is nobody's but ours
            made["id"] = call["id"]
        if inside:
            made["parts"] = inside
        return made

    async def _part(self, part: Any) -> dict[str, Any] | None:
        if isinstance(part, Image | File):
            return await inline(part, self._blobs) or {"text": told(part)}
        return {"text": repaired(part.text)} if part.text.strip() else None
