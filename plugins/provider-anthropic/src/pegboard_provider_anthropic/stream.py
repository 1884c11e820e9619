"""A Messages stream, folded into what the host reads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from pegboard_provider_http.api import HttpApi
from pegboard_provider_http.echoes import Echoes
from pegboard_provider_http.json_shapes import mapping, string

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
from pegboard_provider_anthropic.blocks import Block, Blocks

_STOPS: Final[Mapping[str, Stop]] = {
    "end_turn": "end",
    "stop_sequence": "end",
    "tool_use": "tool_use",
    "max_tokens": "max_tokens",
    "pause_turn": "pause",
    "refusal": "refusal",
    "model_context_window_exceeded": "context_overflow",
}


_Take = Callable[[Mapping[str, Any], list[ProviderEvent]], None]
_Piece = Callable[[Any, Mapping[str, Any], list[ProviderEvent]], None]


class MessagesFold:
    """Takes the events of one stream.

    Args:
        api: Makes the errors.
        names: The way back from aliases.

    Attributes:
        ended: True once the service said that the answer is whole; what follows counts no more.
    """

    def __init__(self, api: HttpApi, names: ToolNames) -> None:
        self.ended = False
        self._api = api
        self._names = names
        self._begun = False
        self._blocks = Blocks()
        self._text: list[str] = []
        self._counts: dict[str, int] = {}
        self._stop = ""
        self._takes: Mapping[str, _Take] = {
            "message_start": self._started,
            "content_block_start": self._block,
            "content_block_delta": self._delta,
            "message_delta": self._closing,
            "message_stop": self._stopped,
        }
        self._pieces: Mapping[str, _Piece] = {
            "text_delta": self._said,
            "thinking_delta": self._thought,
            "signature_delta": self._signed,
            "input_json_delta": self._argued,
        }

    def add(self, event: Any) -> list[ProviderEvent]:
        """Take one event and return what it says; an event that nobody knows says nothing.

        Raises:
            ProviderError: When the event reports a failure.
        """
        said: list[ProviderEvent] = []
        if self.ended or not isinstance(event, Mapping):
            return said
        kind = string(event.get("type"))
        if kind == "error" or (not kind and event.get("error")):
            raise self._api.failed(event)
        take = self._takes.get(kind)
        if take is not None:
            if not self._begun:
                self._begun = True
                message = mapping(event.get("message"))
                said.append(Start(string(message.get("model")), string(message.get("id"))))
            take(event, said)
        return said

    def done(self) -> Done:
        """Return the end of the stream.

        Raises:
            ProviderError: When it ended without saying so, or announced calls that did not come.
        """
        if not self.ended:
            raise self._api.unfinished(begun=bool(self._blocks))
        stop = _STOPS.get(self._stop, "other")
        # what was declined while it was being said is no order to run anything
        calls = () if stop == "refusal" else tuple(self._calls())
        if stop == "tool_use" and not calls:
            text = f"{self._api.title} announced a tool call and sent none."
            raise ProviderError(text, kind="malformed_tool_call")
        if calls and stop in ("end", "other"):
            stop = "tool_use"  # some servers say `end_turn` all the same
        return Done(
            stop=stop,
            text="".join(self._text),
            calls=calls,
            usage=self._usage(),
            raw_stop=self._stop,
        )

    def content(self) -> list[dict[str, Any]]:
        """Return the answer as it was on the wire: what must come back unchanged."""
        return self._blocks.content()

    def state(self, echoes: Echoes, done: Done) -> ProviderState:
        """Return what was said in this run, after what came before a pause."""
        before = echoes.paused if isinstance(echoes.paused, list) else []
        wire = [*before, *self.content()]
        return echoes.state(done.calls, wire, paused=done.stop == "pause")

    def _calls(self) -> Iterator[ToolCall]:
        for block in self._blocks.calls():
            name = self._names.name(string(block.wire.get("name")))
            yield ToolCall(string(block.wire.get("id")), name, self._arguments(block))

    def _arguments(self, block: Block) -> str:
        # of a call that the limit cut off before its arguments nobody knows that it has none
        cut = self._stop == "max_tokens" and self._blocks.ends_with(block)
        return "" if cut and block.is_bare else block.arguments()

    def _usage(self) -> Usage:
        counts = self._counts
        read = counts.get("cache_read_input_tokens", 0)
        written = counts.get("cache_creation_input_tokens", 0)
        output = counts.get("output_tokens", 0)
        return Usage(
            # the service counts what came from and went into the cache apart
            input=counts.get("input_tokens", 0) + read + written,
            output=output,
            cache_read=read,
            cache_write=written,
            reasoning=min(counts.get("thinking_tokens", 0), output),
        )

    def _started(self, event: Mapping[str, Any], said: list[ProviderEvent]) -> None:
        self._count(mapping(event.get("message")).get("usage"))

    def _block(self, event: Mapping[str, Any], said: list[ProviderEvent]) -> None:
        block = self._blocks.begin(event.get("index"), mapping(event.get("content_block")))
        if block.call is not None:
            name = self._names.name(string(block.wire.get("name")))
            said.append(ToolCallStart(block.call, string(block.wire.get("id")), name))
            # pieces that came before it
            said += [ToolCallDelta(block.call, piece) for piece in block.pieces]
        elif block.kind == "text" and (text := string(block.wire.get("text"))):
            self._text.append(text)
            said.append(TextDelta(text))
        elif block.kind == "thinking" and (text := string(block.wire.get("thinking"))):
            said.append(ThinkingDelta(text))

    def _delta(self, event: Mapping[str, Any], said: list[ProviderEvent]) -> None:
        delta = mapping(event.get("delta"))
        take = self._pieces.get(string(delta.get("type")))
        if take is not None:
            take(event.get("index"), delta, said)

    def _said(self, index: Any, delta: Mapping[str, Any], said: list[ProviderEvent]) -> None:
        text = string(delta.get("text"))
        if text:
            self._blocks.find(index, "text").pieces.append(text)
            self._text.append(text)
            said.append(TextDelta(text))

    def _thought(self, index: Any, delta: Mapping[str, Any], said: list[ProviderEvent]) -> None:
        text = string(delta.get("thinking"))
        if text:
            self._blocks.find(index, "thinking").pieces.append(text)
            said.append(ThinkingDelta(text))

    def _signed(self, index: Any, delta: Mapping[str, Any], said: list[ProviderEvent]) -> None:
        wire = self._blocks.find(index, "thinking").wire
        wire["signature"] = string(wire.get("signature")) + string(delta.get("signature"))

    def _argued(self, index: Any, delta: Mapping[str, Any], said: list[ProviderEvent]) -> None:
        text = string(delta.get("partial_json"))
        if text:
            block = self._blocks.find(index, "")
            block.pieces.append(text)
            if block.call is not None:
                said.append(ToolCallDelta(block.call, text))

    def _closing(self, event: Mapping[str, Any], said: list[ProviderEvent]) -> None:
        delta = mapping(event.get("delta"))
        self._stop = string(delta.get("stop_reason")) or self._stop
        self._count(event.get("usage"))
        why = string(mapping(delta.get("stop_details")).get("explanation"))
        if why:
            said.append(Notice("refusal", self._api.quoted(why)))

    def _stopped(self, event: Mapping[str, Any], said: list[ProviderEvent]) -> None:
        self.ended = True
        for block in self._blocks.calls():
            text = "" if block.pieces else self._arguments(block)
            if block.call is not None and text:
                said.append(ToolCallDelta(block.call, text))

    def _count(self, usage: Any) -> None:
        """Take counts: each says how many so far, and some servers begin or end with zeros."""
        given = mapping(usage)
        for name, value in (*given.items(), *mapping(given.get("output_tokens_details")).items()):
            if isinstance(value, int) and not isinstance(value, bool):
                self._counts[str(name)] = max(value, self._counts.get(str(name), 0))
