"""The provider: what a model would decide, decided by rules."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import AsyncIterator, Iterator
from typing import Final, Literal

from anyio.lowlevel import checkpoint

from pegboard import (
    ChatRequest,
    Done,
    Message,
    ModelCaps,
    ModelInfo,
    ProviderError,
    ProviderEvent,
    ProviderInfo,
    Start,
    Text,
    TextDelta,
    ToolCall,
    ToolCallDelta,
    ToolCallStart,
    Usage,
)
from pegboard_provider_offline.plan import PlannedCall, plan
from pegboard_provider_offline.report import report

_Stop = Literal["end", "tool_use", "max_tokens"]

MODEL: Final = "offline"
_CHARS_PER_TOKEN: Final = 4
_CHUNK_CHARS: Final = 80
_CAPS: Final = ModelCaps(context=1_000_000, max_output=64_000)


class OfflineProvider:
    """Answers without a model: the same requests get the same bytes, always.

    A message that names tools, or says a phrase that tools declare, becomes calls; what they answer
    is reported. Nothing is remembered but how many calls were made, which makes their ids unique.
    """

    info = ProviderInfo(
        id="offline", dialect="offline", network="none", title="Offline responder (no model)"
    )

    def __init__(self) -> None:
        self._numbers = itertools.count(1)

    def capabilities(self, model: str) -> ModelCaps:
        """Return wide limits: nothing is kept in a window."""
        return _CAPS

    async def models(self) -> list[ModelInfo]:
        """Return the one name there is."""
        return [ModelInfo(id=MODEL, title=self.info.title, caps=_CAPS)]

    async def aclose(self) -> None:
        """Do nothing: there is nothing to give back."""

    async def stream(self, request: ChatRequest) -> AsyncIterator[ProviderEvent]:
        """Answer the last user message, or report on the calls that have just answered.

        Raises:
            ProviderError: When another model is asked for.
        """
        if request.model not in ("", MODEL):
            raise ProviderError(
                f"The offline responder has no model {request.model!r}.",
                kind="not_found",
                fix='Name its provider too, --provider NAME, or set model = "" under [agent].',
            )
        text, planned = _decide(request)
        wanted = self._calls(planned, request.messages)
        answer, calls, stop = _within(request.max_output, text, wanted)
        yield Start(MODEL)
        for start in range(0, len(answer), _CHUNK_CHARS):
            await checkpoint()
            yield TextDelta(answer[start : start + _CHUNK_CHARS])
        for index, call in enumerate(calls):
            await checkpoint()
            yield ToolCallStart(index, call.id, call.name)
            yield ToolCallDelta(index, call.arguments)
        yield Done(
            stop=stop,
            text=answer,
            calls=calls,
            usage=_usage(request, answer, calls),
            raw_stop=stop,
        )

    def _calls(
        self, planned: tuple[PlannedCall, ...], messages: tuple[Message, ...]
    ) -> tuple[ToolCall, ...]:
        """Give each call an id that no other has, not even after a restart of the host."""
        digest = hashlib.sha256()
        for message in messages:
            digest.update(f"{message.role}\0{message.text}\0".encode("utf-8", "surrogatepass"))
            digest.update("".join(call.id for call in message.calls).encode())
        stem = digest.hexdigest()[:8]
        return tuple(
            ToolCall(f"call_{stem}_{next(self._numbers)}", call.name, call.arguments)
            for call in planned
        )


def _decide(request: ChatRequest) -> tuple[str, tuple[PlannedCall, ...]]:
    """Return the answer's text and the calls that are wanted; one of them is empty."""
    messages = request.messages
    asked = max((i for i, item in enumerate(messages) if item.role == "user"), default=-1)
    # what else stands there the host has added, such as that a command has ended meanwhile
    said = [part.text for part in messages[asked].parts if isinstance(part, Text)]
    text = said[0] if asked >= 0 and said else ""
    made = plan(text, request.tools, may_call=request.tool_choice != "none")
    since = messages[asked + 1 :]
    results = [result for message in since for result in message.results]
    if results:
        calls = [call for message in since for call in message.calls]
        return report(made, calls, results, request.tools), ()
    return made.answer, made.calls


def _within(
    max_output: int | None, text: str, calls: tuple[ToolCall, ...]
) -> tuple[str, tuple[ToolCall, ...], _Stop]:
    """Cut the answer to the length allowed; a call that does not fit whole is dropped."""
    room = _CAPS.max_output if max_output is None else max_output
    left = room * _CHARS_PER_TOKEN
    if len(text) > left:
        return text[:left], (), "max_tokens"
    kept: list[ToolCall] = []
    for call in calls:
        left -= len(call.name) + len(call.arguments)
        if left < 0:
            return text, tuple(kept), "max_tokens"
        kept.append(call)
    return text, tuple(kept), "tool_use" if kept else "end"


def _usage(request: ChatRequest, answer: str, calls: tuple[ToolCall, ...]) -> Usage:
    read = sum(len(piece) for message in request.messages for piece in _pieces(message))
    read += sum(
        len(tool.name) + len(tool.description) + len(json.dumps(tool.parameters, default=str))
        for tool in request.tools
    )
    written = len(answer) + sum(len(call.name) + len(call.arguments) for call in calls)
    return Usage(input=_tokens(read), output=_tokens(written), estimated=True)


def _pieces(message: Message) -> Iterator[str]:
    yield message.text
    for call in message.calls:
        yield from (call.name, call.arguments)
    for result in message.results:
        yield result.text


def _tokens(chars: int) -> int:
    return -(-chars // _CHARS_PER_TOKEN)
