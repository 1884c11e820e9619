"""A stream of generateContent, folded into what the host reads."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal

from pegboard_provider_http.api import HttpApi
from pegboard_provider_http.echoes import Echoes
from pegboard_provider_http.json_shapes import count, mapping, string

from pegboard import (
    Done,
    Notice,
    ProviderError,
    ProviderEvent,
    ProviderState,
    Start,
    Stop,
    TextDelta,
    ThinkingDelta,
    ToolCall,
    ToolCallDelta,
    ToolCallStart,
    Usage,
)
from pegboard.providers import ToolNames
from pegboard_provider_gemini.parts import Parts

STOPS: Final[Mapping[str, Stop]] = {
    "STOP": "end",
    "MAX_TOKENS": "max_tokens",
    "CONTINUATION": "pause",
    "SAFETY": "refusal",
    "RECITATION": "refusal",
    "BLOCKLIST": "refusal",
    "PROHIBITED_CONTENT": "refusal",
    "SPII": "refusal",
    "IMAGE_SAFETY": "refusal",
    "IMAGE_PROHIBITED_CONTENT": "refusal",
    "IMAGE_RECITATION": "refusal",
    "ESCALATION": "refusal",
    "MODEL_ARMOR": "refusal",
}
"""Why it stopped; what is not here is `other`."""
Fault = Literal["bad_request", "malformed_tool_call", "permission"]
FAULTS: Final[Mapping[str, Fault]] = {
    "MALFORMED_FUNCTION_CALL": "malformed_tool_call",
    "MALFORMED_RESPONSE": "malformed_tool_call",
    "UNEXPECTED_TOOL_CALL": "malformed_tool_call",
    "MISSING_THOUGHT_SIGNATURE": "bad_request",
    "PUP_LIMITED_DISABLED": "permission",
}
"""Reasons to stop that are no answer."""


class GenerateFold:
    """Takes the chunks of one stream.

    Args:
        api: Makes the errors.
        names: The way back from aliases.
        new_id: Makes ids of calls that have none.

    Attributes:
        ended: True once the service said why it stopped.
        token: What the service wants to be told to go on, or "".
    """

    def __init__(self, api: HttpApi, names: ToolNames, new_id: Callable[[], str]) -> None:
        self.ended = False
        self.token = ""
        self._api = api
        self._names = names
        self._new_id = new_id
        self._begun = False
        self._parts = Parts()
        self._text: list[str] = []
        self._calls: list[ToolCall] = []
        self._counts: dict[str, Any] = {}
        self._stop = ""
        self._why = ""
        self._blocked = ""

    def add(self, chunk: Any) -> list[ProviderEvent]:
        """Take one chunk and return what it says; one of another form says nothing.

        Raises:
            ProviderError: When the chunk reports a failure.
        """
        said: list[ProviderEvent] = []
        if isinstance(chunk, Mapping):
            self._take(chunk, said)
        elif isinstance(chunk, list):  # a server that streams no events sends all in one list
            for item in chunk:
                if isinstance(item, Mapping):
                    self._take(item, said)
        return said

    def done(self) -> Done:
        """Return the end of the stream.

        Raises:
            ProviderError: When it ended without saying so, or with what is no answer.
        """
        if not self.ended:
            raise self._api.unfinished(begun=bool(self._parts))
        fault = FAULTS.get(self._stop)
        if fault is not None:
            why = f": {self._why}" if self._why else "."
            text = f"{self._api.title} stopped with {self._stop}{why}"
            raise ProviderError(text, kind=fault)
        stop = "refusal" if self._blocked else STOPS.get(self._stop, "other")
        # what was declined while it was being said is no order to run anything
        calls = () if stop == "refusal" else tuple(self._calls)
        if calls and stop in ("end", "other"):
            stop = "tool_use"
        if stop == "pause" and not self.token:
            stop = "max_tokens"  # nobody can go on from there
        return Done(
            stop=stop,
            text="".join(self._text),
            calls=calls,
            usage=self._usage(),
            raw_stop=self._blocked or self._stop,
        )

    def parts(self) -> list[dict[str, Any]]:
        """Return the answer as it was on the wire: what must come back unchanged."""
        return self._parts.whole()

    def state(self, echoes: Echoes, done: Done) -> ProviderState:
        """Return what was said in this run, with what came before a pause."""
        parts = [*mapping(echoes.paused).get("parts", ()), *self.parts()]
        if done.stop == "pause" and not done.calls:
            return echoes.state((), {"token": self.token, "parts": parts}, paused=True)
        return echoes.state(done.calls, parts)

    def _take(self, chunk: Mapping[str, Any], said: list[ProviderEvent]) -> None:
        error = chunk.get("error")
        if error:
            code = error.get("code") if isinstance(error, Mapping) else None
            raise self._api.failed(chunk, status=code if isinstance(code, int) else None)
        if not self._begun:
            self._begun = True
            said.append(Start(string(chunk.get("modelVersion")), string(chunk.get("responseId"))))
        counts = chunk.get("usageMetadata")
        if isinstance(counts, dict):
            self._counts.update(counts)  # each says how many so far
        feedback = chunk.get("promptFeedback")
        if isinstance(feedback, Mapping) and string(feedback.get("blockReason")):
            self._blocked, self.ended = string(feedback["blockReason"]), True
        candidates = chunk.get("candidates")
        if isinstance(candidates, list) and candidates and isinstance(candidates[0], Mapping):
            self._candidate(candidates[0], said)

    def _candidate(self, candidate: Mapping[str, Any], said: list[ProviderEvent]) -> None:
        content = candidate.get("content")
        parts = content.get("parts") if isinstance(content, Mapping) else None
        if isinstance(parts, list):
            for part in parts:
                if isinstance(part, dict):
                    self._parts.add(part)
                    self._part(part, said)
        self.token = string(candidate.get("continuationToken")) or self.token
        stop = candidate.get("finishReason")
        if stop and isinstance(stop, str):
            self._stop, self.ended = stop, True
            self._why = self._api.quoted(string(candidate.get("finishMessage")))

    def _part(self, part: Mapping[str, Any], said: list[ProviderEvent]) -> None:
        call, text = part.get("functionCall"), part.get("text")
        if isinstance(call, Mapping):
            self._call(call, said)
        elif isinstance(text, str) and text:
            if part.get("thought"):
                said.append(ThinkingDelta(text))
            else:
                self._text.append(text)
                said.append(TextDelta(text))
        elif isinstance(part.get("inlineData"), Mapping):
            kind = string(part["inlineData"].get("mimeType")) or "a file"
            said.append(Notice("not_shown", f"The model sent {kind}, which can't be shown."))

    def _call(self, call: Mapping[str, Any], said: list[ProviderEvent]) -> None:
        index, args = len(self._calls), call.get("args")
        text = json.dumps(args, ensure_ascii=False) if isinstance(args, Mapping) else "{}"
        # the service sends a call whole, and often without an id
        id = string(call.get("id")) or f"call_{self._new_id()}"
        made = ToolCall(id, self._names.name(string(call.get("name"))), text)
        self._calls.append(made)
        said += (ToolCallStart(index, made.id, made.name), ToolCallDelta(index, text))

    def _usage(self) -> Usage:
        read = self._count("promptTokenCount") + self._count("toolUsePromptTokenCount")
        thought = self._count("thoughtsTokenCount")
        return Usage(
            input=read,
            # the service counts reasoning apart
            output=self._count("candidatesTokenCount") + thought,
            cache_read=min(self._count("cachedContentTokenCount"), read),
            reasoning=thought,
        )

    def _count(self, name: str) -> int:
        return count(self._counts.get(name))
