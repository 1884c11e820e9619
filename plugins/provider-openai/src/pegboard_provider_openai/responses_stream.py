"""A Responses stream, folded into what the host reads."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from typing import Any, Final, NoReturn

from pegboard_provider_http.api import HttpApi
from pegboard_provider_http.echoes import Echoes
from pegboard_provider_http.json_shapes import mapping, mappings, string

from pegboard import (
    Done,
    ProviderEvent,
    ProviderState,
    Start,
    Stop,
    TextDelta,
    ThinkingDelta,
    ToolCall,
    ToolCallDelta,
    ToolCallStart,
)
from pegboard.providers import ToolNames
from pegboard_provider_openai.chat_stream import usage_of
from pegboard_provider_openai.freeform import CALL

_ARGUMENTS: Final = {"function_call": "arguments", CALL: "input"}
"""Type of an item that is a call -> the field with what it is called with."""
_Take = Callable[[Mapping[str, Any], list[ProviderEvent]], None]


class ResponsesFold:
    """Takes the events of one stream.

    Args:
        api: Makes the errors.
        names: The way back from aliases.
        model: The model that was asked, for a server that does not say which one answers.
        max_output: The longest answer that was asked for, or None.

    Attributes:
        items: The output as it was on the wire, which must come back with the results.
        whole: False when a call among the items was cut off, so that they can't come back.
    """

    def __init__(
        self, api: HttpApi, names: ToolNames, *, model: str = "", max_output: int | None = None
    ) -> None:
        self.items: list[Mapping[str, Any]] = []
        self.whole = True
        self._api = api
        self._names = names
        self._model = model
        self._max_output = max_output
        self._started = False
        self._text = io.StringIO()
        self._answered = self._refused = False
        self._places: dict[str, int] = {}
        self._calls: dict[int, ToolCall] = {}
        self._end: Mapping[str, Any] | None = None
        self._takes: Mapping[str, _Take] = {
            "response.created": self._created,
            "response.output_text.delta": self._said,
            "response.refusal.delta": self._refusal,
            "response.reasoning_summary_text.delta": self._thought,
            "response.reasoning_text.delta": self._thought,
            "response.output_item.added": self._added,
            "response.function_call_arguments.delta": self._argued,
            "response.custom_tool_call_input.delta": self._argued,
            "response.output_item.done": self._item,
            "response.completed": self._ended,
            "response.incomplete": self._ended,
        }

    @property
    def ended(self) -> bool:
        """True once the service said that the answer is whole."""
        return self._end is not None

    def add(self, event: Any) -> list[ProviderEvent]:
        """Take one event and return what it says; an event that nobody knows says nothing.

        Raises:
            ProviderError: When the event reports a failure.
        """
        passed: list[ProviderEvent] = []
        if self.ended or not isinstance(event, dict):
            return passed
        kind = string(event.get("type"))
        if kind == "response.failed":
            self._fail({"error": mapping(event.get("response")).get("error") or {}})
        if kind == "error" or (not kind and event.get("error")):
            self._fail(event)
        take = self._takes.get(kind)
        if take is not None:
            take(event, passed)
        elif event.get("object") == "response":  # the whole answer, by a server that streams none
            self._ended({"response": event}, passed)
        return passed

    def done(self) -> Done:
        """Return the end of the stream.

        Raises:
            ProviderError: When it ended without saying so.
        """
        end = self._end
        if end is None:
            begun = self._answered or self._refused or bool(self._places or self.items)
            raise self._api.unfinished(begun=begun)
        usage = usage_of(mapping(end.get("usage")), "input", "output")
        reason = string(mapping(end.get("incomplete_details")).get("reason"))
        calls = tuple(call for _, call in sorted(self._calls.items()))
        return Done(
            stop=self._why(string(end.get("status")), reason, bool(calls), usage.output),
            text=self._text.getvalue(),
            calls=calls,
            usage=usage,
            raw_stop=reason or string(end.get("status")),
        )

    def state(self, echoes: Echoes, done: Done) -> ProviderState:
        """Return what was said in this run; items with half a call in them can't come back."""
        return echoes.state(done.calls if self.whole else (), self.items)

    def _why(self, status: str, reason: str, called: bool, output: int) -> Stop:
        if status == "incomplete":
            return "refusal" if reason == "content_filter" else "max_tokens"
        if self._max_output is not None and output >= self._max_output:
            return "max_tokens"  # llama.cpp calls an answer that it cut off completed
        if called:
            return "tool_use"
        return "refusal" if self._refused and not self._answered else "end"

    def _fail(self, event: Mapping[str, Any]) -> NoReturn:
        error = event.get("error")
        # a failure that names neither code nor message still failed
        raise self._api.failed(event if error or "message" in event else {"error": {}})

    def _start(self, passed: list[ProviderEvent], model: str = "", id: str = "") -> None:
        if not self._started:
            self._started = True
            passed.append(Start(model or self._model, id))

    def _created(self, event: Mapping[str, Any], passed: list[ProviderEvent]) -> None:
        response = mapping(event.get("response"))
        self._start(passed, string(response.get("model")), string(response.get("id")))

    def _said(self, event: Mapping[str, Any], passed: list[ProviderEvent]) -> None:
        self._answered |= self._spoke(event, passed)

    def _refusal(self, event: Mapping[str, Any], passed: list[ProviderEvent]) -> None:
        self._refused |= self._spoke(event, passed)

    def _spoke(self, event: Mapping[str, Any], passed: list[ProviderEvent]) -> bool:
        said = string(event.get("delta"))
        if said:
            self._start(passed)
            self._text.write(said)
            passed.append(TextDelta(said))
        return bool(said)

    def _thought(self, event: Mapping[str, Any], passed: list[ProviderEvent]) -> None:
        thought = string(event.get("delta"))
        if thought:
            self._start(passed)
            passed.append(ThinkingDelta(thought))

    def _added(self, event: Mapping[str, Any], passed: list[ProviderEvent]) -> None:
        item = mapping(event.get("item"))
        if string(item.get("type")) in _ARGUMENTS:
            self._place(item, passed)

    def _place(self, item: Mapping[str, Any], passed: list[ProviderEvent]) -> int:
        """Return the place of a call among the calls; a new one begins."""
        key = string(item.get("id")) or _call_id(item)
        place = self._places.get(key)
        if place is None:
            self._start(passed)
            place = self._places[key] = len(self._places)
            name = self._names.name(string(item.get("name")))
            passed.append(ToolCallStart(place, _call_id(item), name))
        return place

    def _argued(self, event: Mapping[str, Any], passed: list[ProviderEvent]) -> None:
        piece = string(event.get("delta"))
        place = self._places.get(string(event.get("item_id")), len(self._places) - 1)
        if piece and place >= 0:
            passed.append(ToolCallDelta(place, piece))

    def _item(self, event: Mapping[str, Any], passed: list[ProviderEvent]) -> None:
        item = mapping(event.get("item"))
        if not item:
            return
        # what the provider says here is authoritative, whatever the deltas were
        self.items.append(item)
        field = _ARGUMENTS.get(string(item.get("type")))
        if field is not None:
            told = len(self._places)
            place = self._place(item, passed)
            arguments = string(item.get(field))
            if place == told and arguments:
                passed.append(ToolCallDelta(place, arguments))
            if item.get("status") == "incomplete":
                self.whole = False
                return
            name = self._names.name(string(item.get("name")))
            self._calls[place] = ToolCall(_call_id(item), name, arguments)

    def _ended(self, event: Mapping[str, Any], passed: list[ProviderEvent]) -> None:
        self._end = mapping(event.get("response"))
        if self._end.get("status") == "failed":
            self._fail({"error": self._end.get("error") or {}})
        self._created(event, passed)
        if not self.items:  # a server that streams no finished items lists them here
            for item in mappings(self._end.get("output")):
                self._item({"item": item}, passed)
        if not (self._answered or self._refused):
            for part in _spoken(self.items):
                self._said({"delta": part.get("text")}, passed)
                self._refusal({"delta": part.get("refusal")}, passed)


def _spoken(items: list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the parts of the messages among items."""
    return [
        part
        for item in items
        if item.get("type") == "message"
        for part in mappings(item.get("content"))
    ]


def _call_id(item: Mapping[str, Any]) -> str:
    return string(item.get("call_id")) or string(item.get("id"))
