"""The provider: plays a script, and remembers nothing but how often it has failed."""

from __future__ import annotations

import hashlib
import itertools
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final, cast

import anyio
import anyio.to_thread

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
    Stop,
    TextDelta,
    ThinkingDelta,
    ToolCall,
    ToolCallDelta,
    ToolCallStart,
    Usage,
)
from pegboard_provider_scripted.script import Fault, Script, Step, read_script

MODEL: Final = "scripted"
_PIECE: Final = 24
_CAPS: Final = ModelCaps(context=1_000_000, max_output=64_000)
_RESULT: Final = "{result}"
_MESSAGE: Final = "{message}"


class ScriptedProvider:
    """Answers as a file says.

    Which step comes next follows from the conversation alone, so that a turn which goes on after a
    restart of the host goes on in the right place.

    Args:
        file: The script; read anew with every request, so that it can be edited meanwhile.
    """

    info = ProviderInfo(id="scripted", dialect="scripted", network="none", title="Script")

    def __init__(self, file: Path) -> None:
        self._file = file
        self._failed: Counter[tuple[str, int]] = Counter()
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
        """Say what the script says next.

        Raises:
            ProviderError: When the script says so, or has nothing to say.
        """
        script = await anyio.to_thread.run_sync(read_script, self._file)
        message, answers = _place(request.messages)
        step = self._step(script, message, answers)
        result = _last_result(request.messages)
        text = step.text.replace(_MESSAGE, message).replace(_RESULT, result)
        fault = self._fault(step, message, answers)
        yield Start(MODEL)
        if step.thinking:
            yield ThinkingDelta(step.thinking)
        shown = text if fault is None else text[: fault.after_chars]
        for start in range(0, len(shown), _PIECE):
            await anyio.sleep(step.delay_s)
            yield TextDelta(shown[start : start + _PIECE])
        if fault is not None:
            raise ProviderError(
                fault.message,
                kind=fault.kind,  # type: ignore[arg-type]
                retry_after=fault.retry_after,
            )
        calls = self._calls(step, request.messages)
        for index, call in enumerate(calls):
            await anyio.sleep(step.delay_s)
            yield ToolCallStart(index, call.id, call.name)
            yield ToolCallDelta(index, call.arguments)
        usage = Usage(
            input=sum(len(item.text) for item in request.messages) // 4,
            output=len(text) // 4,
            estimated=True,
        )
        stop = cast("Stop", step.stop or ("tool_use" if calls else "end"))
        yield Done(stop=stop, text=text, calls=calls, usage=usage, raw_stop=stop)

    def _step(self, script: Script, message: str, answers: int) -> Step:
        step = script.answer(message, answers)
        if step is None:
            raise ProviderError(
                f"The script {self._file} has no answer to this message.",
                kind="bad_request",
                fix="add a [[turn]] without `when` at its end",
            )
        return step

    def _calls(self, step: Step, messages: tuple[Message, ...]) -> tuple[ToolCall, ...]:
        """Return the calls of a step, each with an id that no other call of the run has."""
        digest = hashlib.sha256()
        for message in messages:
            digest.update(f"{message.role}\0{message.text}\0".encode("utf-8", "surrogatepass"))
            digest.update("".join(call.id for call in message.calls).encode())
        stem = digest.hexdigest()[:8]
        return tuple(
            ToolCall(f"call_{stem}_{next(self._numbers)}", call.name, call.text)
            for call in step.calls
        )

    def _fault(self, step: Step, message: str, answers: int) -> Fault | None:
        if step.fault is None:
            return None
        place = (message, answers)
        self._failed[place] += 1
        return step.fault if self._failed[place] <= step.fault.times else None


def _place(messages: tuple[Message, ...]) -> tuple[str, int]:
    """Return the message that is answered, and how many answers it has had."""
    asked = max((n for n, item in enumerate(messages) if item.role == "user"), default=-1)
    said = sum(item.role == "assistant" for item in messages[asked + 1 :])
    return (messages[asked].text if asked >= 0 else ""), said


def _last_result(messages: tuple[Message, ...]) -> str:
    results = [result.text for message in messages[-1:] for result in message.results]
    return "\n".join(results)
