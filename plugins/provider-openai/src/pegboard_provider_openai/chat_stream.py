"""A Chat Completions stream, folded into what the host reads."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from pegboard_provider_http.api import HttpApi
from pegboard_provider_http.echoes import Echoes
from pegboard_provider_http.json_shapes import count, mapping, mappings, string

from pegboard import (
    Done,
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
from pegboard.providers import CallAssembler, ToolNames

_STOPS: Final[Mapping[str, Stop]] = {
    "stop": "end",
    "eos": "end",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    "length": "max_tokens",
    "model_length": "max_tokens",
    "content_filter": "refusal",
}
_REASONING: Final = ("reasoning_content", "reasoning")
_DETAILS: Final = "reasoning_details"


class ChatFold:
    """Takes the chunks of one stream.

    Args:
        api: Makes the errors.
        names: The way back from aliases.
        new_id: Makes ids for calls that the server gives none.
        model: The model that was asked, for a server that does not say which one answers.
        echo: Field of the reasoning that must come back with the calls, or "".

    Attributes:
        ended: Always False: counts may come long after the server's word for why it stopped.
    """

    def __init__(
        self,
        api: HttpApi,
        names: ToolNames,
        new_id: Callable[[], str],
        *,
        model: str = "",
        echo: str = "",
    ) -> None:
        self.ended = False
        self._model, self._id = model, ""
        self._stop = ""
        self._error: Mapping[str, Any] | None = None
        self._started = False
        self._api = api
        self._names = names
        self._new_id = new_id
        self._echo = echo
        self._thoughts: list[str] = []
        self._details: list[dict[str, Any]] = []
        self._text = io.StringIO()
        self._answered = self._refused = False
        self._calls = CallAssembler()
        self._told: dict[int, str] = {}
        self._usage: Usage | None = None

    def add(self, chunk: Any) -> list[ProviderEvent]:
        """Take one chunk and return what it says; a chunk of another form says nothing.

        Raises:
            ProviderError: When the chunk reports a failure.
        """
        passed: list[ProviderEvent] = []
        if not isinstance(chunk, dict):
            return passed
        if not self._id:
            self._model = string(chunk.get("model")) or self._model
            self._id = string(chunk.get("id"))
        choices = chunk.get("choices")
        if choices and isinstance(choices, list) and isinstance(choices[0], dict):
            self._choice(choices[0], passed)
        if chunk.get("error"):
            self._error = chunk
        elif chunk.get("object") == "error":
            self._error = {"error": chunk}
        if self._error is not None:
            raise self._api.failed(self._error, status=status_in(self._error))
        usage = chunk.get("usage")
        if usage:
            self._usage = usage_of(mapping(usage))
        if not self._started and (passed or self._stop):
            self._started = True
            passed.insert(0, Start(self._model, self._id))
        return passed

    def done(self) -> Done:
        """Return the end of the stream.

        Raises:
            ProviderError: When it ended without saying why, or with half a call.
        """
        if not self._stop:
            begun = self._answered or self._refused or len(self._calls) > 0
            raise self._api.unfinished(begun=begun)
        cut = _STOPS.get(self._stop) == "max_tokens"
        calls = self._whole_calls(cut)
        whole = self._text.getvalue()
        return Done(
            stop=self._why(calls, cut),
            text=whole,
            calls=calls,
            usage=self._usage or _estimate(whole, calls),
            raw_stop=self._stop,
        )

    def state(self, echoes: Echoes, done: Done) -> ProviderState:
        """Return what was said in this run."""
        return echoes.state(done.calls, self._echoed())

    def _echoed(self) -> dict[str, Any]:
        """Return the field of reasoning that must come back with the calls, if there was any."""
        if self._details:
            return {_DETAILS: [_whole(detail) for detail in self._details]}
        return {self._echo: "".join(self._thoughts)} if self._thoughts else {}

    def _why(self, calls: tuple[ToolCall, ...], cut: bool) -> Stop:
        stop = _STOPS.get(self._stop, "other")
        if self._refused and not self._answered and not calls:
            return "refusal"
        # some servers say `stop` all the same
        return "tool_use" if calls and not cut and stop in ("end", "other") else stop

    def _whole_calls(self, cut: bool) -> tuple[ToolCall, ...]:
        calls = []
        for place, call in enumerate(self._calls.calls()):
            if place in self._told:
                name = self._names.name(call.name)
                calls.append(ToolCall(self._told[place], name, call.arguments))
            elif not cut:
                text = f"{self._api.title} asked for a tool without naming it."
                raise ProviderError(text, kind="malformed_tool_call")
        return tuple(calls)

    def _choice(self, choice: Mapping[str, Any], passed: list[ProviderEvent]) -> None:
        delta = choice.get("delta") or choice.get("message")
        if isinstance(delta, dict):
            self._delta(delta, passed)
        reason = choice.get("finish_reason")
        if reason:
            self._stop = string(reason) or self._stop
        if reason == "error" or choice.get("error"):
            self._error = {"error": choice.get("error") or "it stopped with an error"}

    def _delta(self, delta: Mapping[str, Any], passed: list[ProviderEvent]) -> None:
        content = delta.get("content")
        if content:
            said = content if isinstance(content, str) else _joined(content)
            if said:
                self._answered = True
                self._text.write(said)
                passed.append(TextDelta(said))
        if not content or len(delta) > 1:  # most chunks hold text and nothing else
            self._rest(delta, passed)

    def _rest(self, delta: Mapping[str, Any], passed: list[ProviderEvent]) -> None:
        for field in _REASONING:
            thought = string(delta.get(field))
            if thought:
                if field == self._echo:
                    self._thoughts.append(thought)
                passed.append(ThinkingDelta(thought))
                break
        if self._echo == _DETAILS:
            for detail in mappings(delta.get(_DETAILS)):
                self._detail(detail)
        refusal = string(delta.get("refusal"))
        if refusal:
            self._refused = True
            self._text.write(refusal)
            passed.append(TextDelta(refusal))
        for piece in mappings(delta.get("tool_calls")):
            self._call(piece, passed)

    def _detail(self, detail: Mapping[str, Any]) -> None:
        """Keep a detail of reasoning; the pieces of one belong together."""
        last = self._details[-1] if self._details else {}
        if "index" not in detail or any(last.get(key) != detail.get(key) for key in _SAME):
            last = dict(detail, **{key: [] for key in _PIECEWISE if key in detail})
            self._details.append(last)
        for key, value in detail.items():
            if key in _PIECEWISE:
                last.setdefault(key, []).append(string(value))
            elif value is not None:
                last[key] = value

    def _call(self, piece: Mapping[str, Any], passed: list[ProviderEvent]) -> None:
        index, id = piece.get("index"), string(piece.get("id"))
        index = index if isinstance(index, int) else None
        function = mapping(piece.get("function"))
        name, arguments = string(function.get("name")), function.get("arguments")
        if isinstance(arguments, dict):  # some servers send an object
            arguments = json.dumps(arguments)
        if not (id or name or arguments):
            return
        if id or (name and self._begins(index, name)):
            self._calls.start(index=index, id=id, name=name)
        place = self._calls.add(string(arguments), index=index, id=id)
        if place in self._told:
            if arguments:
                passed.append(ToolCallDelta(place, string(arguments)))
            return
        call = self._calls.calls()[place]
        if call.name:  # a name may come late, and only then is there a call to speak of
            self._told[place] = call.id or self._new_id()
            passed.append(ToolCallStart(place, self._told[place], self._names.name(call.name)))
            if call.arguments:
                passed.append(ToolCallDelta(place, call.arguments))

    def _begins(self, index: int | None, name: str) -> bool:
        """Tell whether a name without an id begins a call, or is given again with each piece."""
        found = self._calls.find(index=index)
        if found is None:
            return True
        _, call = found
        return call.name != name or _is_object(call.arguments)


_SAME: Final = ("type", "index")
_PIECEWISE: Final = frozenset({"text", "summary"})


def _whole(detail: Mapping[str, Any]) -> dict[str, Any]:
    return {key: "".join(value) if key in _PIECEWISE else value for key, value in detail.items()}


def status_in(error: Mapping[str, Any]) -> int | None:
    """Return the HTTP status that an error in a stream stands for, where it says one."""
    code = mapping(error.get("error")).get("code")
    if isinstance(code, str) and code.isdecimal():
        code = int(code[:4])
    return code if isinstance(code, int) and 400 <= code <= 599 else None


def usage_of(usage: Mapping[str, Any], read: str = "prompt", wrote: str = "completion") -> Usage:
    """Return token counts; those of cached input are part of the input.

    Args:
        usage: As the server tells them.
        read: What the dialect calls tokens that the model reads.
        wrote: What it calls those that it writes.
    """
    of_read = mapping(usage.get(f"{read}_tokens_details"))
    of_wrote = mapping(usage.get(f"{wrote}_tokens_details"))
    taken, written = count(usage.get(f"{read}_tokens")), count(usage.get(f"{wrote}_tokens"))
    cached = count(of_read.get("cached_tokens", usage.get("prompt_cache_hit_tokens")))
    return Usage(
        input=taken,
        output=written,
        cache_read=min(cached, taken),
        cache_write=min(count(of_read.get("cache_write_tokens")), taken),
        reasoning=min(count(of_wrote.get("reasoning_tokens")), written),
        estimated=not usage,
    )


def _estimate(whole: str, calls: tuple[ToolCall, ...]) -> Usage:
    written = len(whole) + sum(len(call.arguments) for call in calls)
    return Usage(output=-(-written // _CHARS_PER_TOKEN), estimated=True)


_CHARS_PER_TOKEN: Final = 4


def _joined(value: Any) -> str:
    """Return text that came as a list of parts."""
    return "".join(string(part.get("text")) for part in mappings(value))


def _is_object(arguments: str) -> bool:
    try:
        return isinstance(json.loads(arguments), dict)
    except (ValueError, RecursionError):
        return False
