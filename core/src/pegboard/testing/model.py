"""A provider that answers from a script: what tests use in place of a model."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

import anyio.lowlevel

from pegboard.contracts.message import ToolCall
from pegboard.contracts.provider import (
    ChatRequest,
    Done,
    ErrorKind,
    ModelCaps,
    ModelInfo,
    ProviderError,
    ProviderEvent,
    ProviderInfo,
    ProviderState,
    Start,
    TextDelta,
    ToolCallDelta,
    ToolCallStart,
    Usage,
)

CHUNK_CHARS: Final = 7
"""Length of one text delta: short, so that every answer arrives in several pieces."""


class Call:
    """A tool call that the scripted model makes.

    Args:
        name: The name it calls.
        raw: The text of the arguments as it is, e.g. invalid JSON; None = from `arguments`.
        arguments: The arguments by name.
    """

    def __init__(self, name: str, /, raw: str | None = None, **arguments: Any) -> None:
        self.name = name
        self.arguments = json.dumps(arguments) if raw is None else raw


@dataclass(frozen=True, slots=True)
class Fail:
    """An answer that fails.

    Args:
        kind: Class of the failure.
        message: What the provider says.
        after: Text that was streamed before.
        retry_after: Seconds to wait, as the provider says, or None.
        reset_at: When a limit is lifted (seconds since the epoch), or None.
    """

    kind: ErrorKind = "server"
    message: str = "The scripted model fails here."
    after: str = ""
    retry_after: float | None = None
    reset_at: float | None = None


@dataclass(frozen=True, slots=True)
class Cut:
    """A stream that ends without `Done`, as a broken connection ends it.

    Args:
        text: What was streamed before.
        call: A call that looked complete; it must never run.
    """

    text: str = ""
    call: Call | None = None


Answer = str | Call | Fail | Cut | Iterable[str | Call]
"""One answer: a text, a call, several of them in one answer, or a fault."""
Script = Iterable[Answer | Callable[[ChatRequest], Answer]]


class ScriptedModel:
    """A `Provider` that gives one answer of its script for each request.

    Args:
        script: Answers in order; a function receives the request and returns the answer.
        repeat: True to give the last answer again and again.
        context: Context window in tokens.

    Attributes:
        requests: Every request, in order.
        closed: Number of times that `aclose` was called.
    """

    def __init__(
        self, script: Script = (), *, repeat: bool = False, context: int = 128_000
    ) -> None:
        if isinstance(script, str):
            raise TypeError("a script is a list of answers; write ScriptedModel([text])")
        self.info = ProviderInfo(
            id="scripted", dialect="scripted", network="none", title="Scripted model"
        )
        self.requests: list[ChatRequest] = []
        self.closed = 0
        self._script = list(script)
        self._repeat = repeat
        self._caps = ModelCaps(context=context)
        self._calls = 0

    @property
    def left(self) -> int:
        """How many answers were not given yet."""
        return len(self._script)

    def capabilities(self, model: str) -> ModelCaps:
        """Return the same for every model."""
        return self._caps

    async def models(self) -> list[ModelInfo]:
        """Return the one model."""
        return [ModelInfo(id="scripted", title="Scripted model", caps=self._caps)]

    async def aclose(self) -> None:
        """Count the call."""
        self.closed += 1

    async def stream(self, request: ChatRequest) -> AsyncIterator[ProviderEvent]:
        """Stream the next answer.

        Raises:
            ProviderError: As the script says, and when it has no answer left.
        """
        self.requests.append(request)
        answer = self._next(request)
        yield Start(request.model or "scripted", f"request-{len(self.requests)}")
        if isinstance(answer, Cut):
            async for event in self._pieces(answer.text, (answer.call,) if answer.call else ()):
                yield event
            return
        if isinstance(answer, Fail):
            async for event in self._pieces(answer.after, ()):
                yield event
            raise _error(answer)
        text, calls = _split(answer)
        made: list[ToolCall] = []
        async for event in self._pieces(text, calls, made):
            yield event
        yield self._done(request, text, tuple(made))

    def _next(self, request: ChatRequest) -> Answer:
        if not self._script:
            raise ProviderError(
                f"The script of this model has no answer for request {len(self.requests)}.",
                kind="bad_request",
                fix="Give ScriptedModel one answer for each request that the test makes.",
            )
        keep = self._repeat and len(self._script) == 1
        answer = self._script[0] if keep else self._script.pop(0)
        return answer(request) if callable(answer) else answer

    async def _pieces(
        self, text: str, calls: Iterable[Call], made: list[ToolCall] | None = None
    ) -> AsyncIterator[ProviderEvent]:
        for start in range(0, len(text), CHUNK_CHARS):
            await anyio.lowlevel.checkpoint()
            yield TextDelta(text[start : start + CHUNK_CHARS])
        for index, call in enumerate(calls):
            self._calls += 1
            done = ToolCall(f"call-{self._calls}", call.name, call.arguments)
            yield ToolCallStart(index, done.id, done.name)
            await anyio.lowlevel.checkpoint()
            yield ToolCallDelta(index, done.arguments)
            if made is not None:
                made.append(done)

    def _done(self, request: ChatRequest, text: str, calls: tuple[ToolCall, ...]) -> Done:
        read = sum(len(message.text) for message in request.messages)
        wrote = len(text) + sum(len(call.arguments) for call in calls)
        return Done(
            stop="tool_use" if calls else "end",
            text=text,
            calls=calls,
            usage=Usage(input=read // 4 + 1, output=wrote // 4 + 1, estimated=True),
            state=ProviderState(
                "scripted", "scripted", request.model, "", {"request": len(self.requests)}
            ),
            raw_stop="script",
        )


def _split(answer: str | Call | Iterable[str | Call]) -> tuple[str, tuple[Call, ...]]:
    if isinstance(answer, str):
        return answer, ()
    if isinstance(answer, Call):
        return "", (answer,)
    parts = list(answer)
    text = "".join(part for part in parts if isinstance(part, str))
    return text, tuple(part for part in parts if isinstance(part, Call))


def _error(fail: Fail) -> ProviderError:
    return ProviderError(
        fail.message,
        kind=fail.kind,
        retry_after=fail.retry_after,
        reset_at=fail.reset_at,
        started=bool(fail.after),
    )
