"""A Chat Completions stream, folded into what the host reads."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from pegboard import (
    Done,
    ProviderError,
    ProviderEvent,
    Stop,
    TextDelta,
    ThinkingDelta,
    ToolCall,
    ToolCallDelta,
    ToolCallStart,
    Usage,
)
from pegboard.providers import CallAssembler, ToolNames
from pegboard_provider_openai.json_shapes import count, mapping, mappings, text

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
        title: Name of the server, for messages.
        names: The way back from aliases.
        new_id: Makes ids for calls that the server gives none.
        echo: Field of the reasoning that must come back with the calls, or "".

    Attributes:
        model: The model that answered, as the server says.
        request: The server's id of the request.
        stop: The server's word for why it stopped, or "".
        error: What the last chunk reports in place of an answer, or None.
    """

    def __init__(
        self, title: str, names: ToolNames, new_id: Callable[[], str], *, echo: str = ""
    ) -> None:
        self.model = ""
        self.request = ""
        self.stop = ""
        self.error: Mapping[str, Any] | None = None
        self._title = title
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
        """Take one chunk and return what it says; a chunk of another form says nothing."""
        passed: list[ProviderEvent] = []
        if not isinstance(chunk, dict):
            return passed
        if not self.request:
            self.model, self.request = text(chunk.get("model")), text(chunk.get("id"))
        choices = chunk.get("choices")
        if choices and isinstance(choices, list) and isinstance(choices[0], dict):
            self._choice(choices[0], passed)
        if chunk.get("error"):
            self.error = chunk
        elif chunk.get("object") == "error":
            self.error = {"error": chunk}
        usage = chunk.get("usage")
        if usage:
            self._usage = usage_of(mapping(usage))
        return passed

    def done(self) -> Done:
        """Return the end of the stream.

        Raises:
            ProviderError: When it ended without saying why, or with half a call.
        """
        if not self.stop:
            begun = self._answered or self._refused or len(self._calls) > 0
            raise unfinished(self._title, begun=begun)
        cut = _STOPS.get(self.stop) == "max_tokens"
        calls = self._whole_calls(cut)
        whole = self._text.getvalue()
        return Done(
            stop=self._why(calls, cut),
            text=whole,
            calls=calls,
            usage=self._usage or _estimate(whole, calls),
            raw_stop=self.stop,
        )

    def echoed(self) -> dict[str, Any]:
        """Return the field of reasoning that must come back with the calls, if there was any."""
        if self._details:
            return {_DETAILS: [_whole(detail) for detail in self._details]}
        return {self._echo: "".join(self._thoughts)} if self._thoughts else {}

    def _why(self, calls: tuple[ToolCall, ...], cut: bool) -> Stop:
        stop = _STOPS.get(self.stop, "other")
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
                raise ProviderError(
                    f"{self._title} asked for a tool without naming it.", kind="malformed_tool_call"
                )
        return tuple(calls)

    def _choice(self, choice: Mapping[str, Any], passed: list[ProviderEvent]) -> None:
        delta = choice.get("delta") or choice.get("message")
        if isinstance(delta, dict):
            self._delta(delta, passed)
        reason = choice.get("finish_reason")
        if reason:
            self.stop = text(reason) or self.stop
        if reason == "error" or choice.get("error"):
            self.error = {"error": choice.get("error") or "it stopped with an error"}

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
            thought = text(delta.get(field))
            if thought:
                if field == self._echo:
                    self._thoughts.append(thought)
                passed.append(ThinkingDelta(thought))
                break
        if self._echo == _DETAILS:
            for detail in mappings(delta.get(_DETAILS)):
                self._detail(detail)
        refusal = text(delta.get("refusal"))
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
                last.setdefault(key, []).append(text(value))
            elif value is not None:
                last[key] = value

    def _call(self, piece: Mapping[str, Any], passed: list[ProviderEvent]) -> None:
        index, id = piece.get("index"), text(piece.get("id"))
        index = index if isinstance(index, int) else None
        function = mapping(piece.get("function"))
        name, arguments = text(function.get("name")), function.get("arguments")
        if isinstance(arguments, dict):  # some servers send an object
            arguments = json.dumps(arguments)
        if not (id or name or arguments):
            return
        if id or (name and self._begins(index, name)):
            self._calls.start(index=index, id=id, name=name)
        place = self._calls.add(text(arguments), index=index, id=id)
        if place in self._told:
            if arguments:
                passed.append(ToolCallDelta(place, text(arguments)))
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


def usage_of(usage: Mapping[str, Any]) -> Usage:
    """Return token counts; those of cached input are part of the input."""
    read = mapping(usage.get("prompt_tokens_details"))
    wrote = mapping(usage.get("completion_tokens_details"))
    prompt, completion = count(usage.get("prompt_tokens")), count(usage.get("completion_tokens"))
    return Usage(
        input=prompt,
        output=completion,
        cache_read=min(
            count(read.get("cached_tokens", usage.get("prompt_cache_hit_tokens"))), prompt
        ),
        cache_write=min(count(read.get("cache_write_tokens")), prompt),
        reasoning=min(count(wrote.get("reasoning_tokens")), completion),
    )


def unfinished(title: str, *, begun: bool) -> ProviderError:
    """Return the error of a stream that ended without saying why."""
    if not begun:
        return ProviderError(f"{title} sent an empty answer.", kind="empty_stream")
    return ProviderError(f"{title} broke off in the middle of its answer.", kind="network")


def _estimate(whole: str, calls: tuple[ToolCall, ...]) -> Usage:
    written = len(whole) + sum(len(call.arguments) for call in calls)
    return Usage(output=-(-written // _CHARS_PER_TOKEN), estimated=True)


_CHARS_PER_TOKEN: Final = 4


def _joined(value: Any) -> str:
    """Return text that came as a list of parts."""
    return "".join(text(part.get("text")) for part in mappings(value))


def _is_object(arguments: str) -> bool:
    try:
        return isinstance(json.loads(arguments), dict)
    except (ValueError, RecursionError):
        return False
