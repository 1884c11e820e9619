"""Run a recording again: the loop is real, models, tools and time are as they were."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from pegboard.agent.loop import run_loop
from pegboard.agent.recording import RecordedCall, RecordedStep, Recording
from pegboard.agent.setup import LoopResult, LoopSetup, Watch
from pegboard.contracts.channel import Emit
from pegboard.contracts.message import Message, ToolCall, summary
from pegboard.contracts.news import NewsItem
from pegboard.contracts.provider import (
    ChatRequest,
    ModelCaps,
    ModelInfo,
    ProviderError,
    ProviderEvent,
    ProviderInfo,
    Start,
    TextDelta,
    ToolCallDelta,
    ToolCallStart,
    ToolDeclaration,
)
from pegboard.contracts.result import Text, ToolResult
from pegboard.contracts.stream import StreamEvent
from pegboard.providers.route import Hop, Route
from pegboard.tools.fence import fence_of
from pegboard.tools.render import call_result

RunCall = Callable[[RecordedCall], Awaitable[ToolResult | None]]
"""`await run_call(call)` really runs a call; None = it was not run, and is not compared."""
UNKNOWN: Final = Message("user", (Text("[not part of the recording]"),))
"""Stands for a message that the recording does not hold."""
_OF_THE_LOOP: Final = frozenset(
    {
        "context_overflow",
        "empty_completion",
        "provider_failed",
        "refusal",
        "repetition",
        "step_limit",
    }
)
"""Codes of failures that come from the loop; others ended the turn from outside."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Where a replay was not as the recording.

    Args:
        where: The place, as a phrase: `step 2`, `call call-1 (file_read)`.
        asked: What happened now.
        recorded: What is recorded.
    """

    where: str
    asked: str
    recorded: str

    def __str__(self) -> str:
        return f"{self.where}\n  now:      {self.asked}\n  recorded: {self.recorded}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """What a replay came to.

    Args:
        text: The answer, or the sentence that tells a person why there is none.
        status: `done`, `failed`, or `cut` where the recording ends in the middle of the run.
        steps: Model calls made.
        differences: Where it was not as the recording, the first of them first; () = it was.
    """

    text: str
    status: str
    steps: int
    differences: tuple[Difference, ...] = ()


class RecordedClock:
    """Tells the time that it was."""

    def __init__(self, now: float) -> None:
        self._now = now

    def move(self, time: float) -> None:
        """Let it be a later time."""
        self._now = max(self._now, time)

    def now(self) -> float:
        """Return seconds since the epoch (UTC)."""
        return self._now

    def monotonic(self) -> float:
        """Return seconds that never go back."""
        return self._now

    async def sleep(self, seconds: float) -> None:
        """Let the time pass at once."""
        self._now += seconds


async def replay(
    recording: Recording,
    *,
    run_call: RunCall | None = None,
    clock: RecordedClock | None = None,
    emit: Emit | None = None,
) -> Replayed:
    """Run a recording again and compare. No model is asked.

    Args:
        recording: The recording.
        run_call: Really runs the calls, to compare what they return; the run goes on with what is
            recorded. None = no call runs.
        clock: The clock of the replay, for whoever else shall tell that time.
        emit: Takes the events of the run.
    """
    player = _Player(recording, run_call, clock or RecordedClock(recording.received_at))
    setup = LoopSetup(
        route=Route([Hop(name="recorded", provider=player)], clock=player.clock),
        dispatch_step=player.dispatch_step,
        declare=player.declare,
        emit=emit or _ignore,
        clock=player.clock,
        run=recording.turn,
        max_steps=recording.max_steps,
        news=player,
    )
    start = [UNKNOWN if message is None else message for message in recording.start]
    try:
        result = await run_loop(setup, start)
    except _Cut:
        return player.cut_off(setup.progress.steps)
    return player.compared(result)


class _Cut(Exception):
    """The recording ends here, in the middle of the run."""


class _Player:
    """Plays a recording: it is the provider, the dispatch of calls, and the clock of a run."""

    def __init__(
        self, recording: Recording, run_call: RunCall | None, clock: RecordedClock
    ) -> None:
        self.info = ProviderInfo(
            id="recorded", dialect="recorded", network="none", title="The recording"
        )
        self.clock = clock
        self.differences: list[Difference] = []
        self._recording = recording
        self._run_call = run_call
        self._step = 0
        self._cut = False

    def capabilities(self, model: str) -> ModelCaps:
        """Return what any model could take."""
        return ModelCaps(context=10**9, images=True)

    async def models(self) -> list[ModelInfo]:
        """Return none."""
        return []

    async def aclose(self) -> None:
        """Do nothing."""

    async def stream(self, request: ChatRequest) -> AsyncIterator[ProviderEvent]:
        """Answer as it was answered then."""
        step = self._asked(request)
        self.clock.move(step.began)
        done = step.answer.done
        yield Start(step.answer.model)
        if done.text:
            yield TextDelta(done.text)
        for index, call in enumerate(done.calls):
            yield ToolCallStart(index, call.id, call.name)
            yield ToolCallDelta(index, call.arguments)
        self.clock.move(step.ended)
        yield replace(done, state=None)

    async def due(self, step: int) -> Sequence[NewsItem]:
        """Return what the model was told then; the messages before the first step hold theirs."""
        steps = self._recording.steps
        return steps[step - 1].answer.news if 1 < step <= len(steps) else ()

    async def told(self, items: Sequence[NewsItem]) -> None:
        """Do nothing."""

    async def declare(self, added: frozenset[str]) -> Sequence[ToolDeclaration]:
        """Return the tools that were declared at the next step."""
        steps = self._recording.steps
        names = steps[self._step].tools if self._step < len(steps) else ()
        return [ToolDeclaration(name, "", {}) for name in names]

    async def dispatch_step(
        self, calls: Sequence[ToolCall], *, approved: bool, watch: Watch
    ) -> list[ToolResult | None]:
        """Return what the calls returned then."""
        known = {call.id: call for call in self._recording.steps[self._step - 1].calls}
        results: list[ToolResult | None] = []
        for call in calls:
            recorded = known.get(call.id)
            if recorded is None or recorded.result is None:
                raise _Cut
            self.clock.move(recorded.began)
            results.append(await watch(call, partial(self._result, call, recorded)))
        return results

    async def _result(self, call: ToolCall, recorded: RecordedCall) -> ToolResult:
        assert recorded.result is not None
        # what was refused then is not tried now
        if self._run_call is not None and recorded.tool:
            result = await self._run_call(recorded)
            now = None if result is None else _shown(call, result)
            then = _shown(call, recorded.result)
            if now is not None and now != then:
                self._differs(f"call {call.id} ({call.name} {call.arguments})", now, then)
        self.clock.move(recorded.ended)
        return replace(recorded.result)

    def _asked(self, request: ChatRequest) -> RecordedStep:
        """Return the step that a request is for, once it is the one that was recorded.

        Raises:
            ProviderError: When it is another one, or the model failed then.
        """
        number = int(request.idempotency_key.rpartition(":")[2])
        steps = self._recording.steps
        if number > len(steps):
            raise self._failure(number, request)
        self._step = number
        step = steps[number - 1]
        if step.asked is not None:
            self._compare(number, request.messages, step.asked)
        return step

    def _failure(self, number: int, request: ChatRequest) -> ProviderError:
        """Return how a step fails that no model answered then."""
        error = self._recording.error or {}
        if "kind" in error:
            return ProviderError(
                str(error.get("cause", error["message"])),
                kind=error["kind"],
                status=error.get("status"),
            )
        self._cut = not _ended_by_itself(self._recording)
        if not self._cut:
            last = summary(request.messages[-1])
            self._differs(f"step {number}", f"the model is asked: {last}", "the run had ended")
        return _stopped()

    def _compare(self, number: int, now: Sequence[Message], then: Sequence[Message | None]) -> None:
        for place, (message, recorded) in enumerate(zip(now, then, strict=False), 1):
            if recorded is not None and message not in (recorded, UNKNOWN):
                self._differs(
                    f"step {number}, message {place}", str(summary(message)), str(summary(recorded))
                )
                raise _stopped()
        if len(now) != len(then):
            self._differs(f"step {number}", f"{len(now)} messages", f"{len(then)} messages")
            raise _stopped()

    def cut_off(self, steps: int) -> Replayed:
        """Return what a run came to that the recording does not hold to its end."""
        return Replayed(text="", status="cut", steps=steps, differences=tuple(self.differences))

    def compared(self, result: LoopResult) -> Replayed:
        """Return what the run came to, compared with what is recorded."""
        if self._cut:
            return self.cut_off(result.steps)
        recording = self._recording
        text = result.text
        if not self.differences:
            self._compare_end(result)
            error = recording.error or {}
            if result.status == "failed" and "kind" in error:
                text = str(error["message"])  # it names a provider that is not asked here
        return Replayed(
            text=text,
            status=result.status,
            steps=result.steps,
            differences=tuple(self.differences),
        )

    def _compare_end(self, result: LoopResult) -> None:
        recording = self._recording
        if result.steps < len(recording.steps):
            self._differs(
                "the end",
                f"the run ends after step {result.steps}: {result.text}",
                f"it went on to step {len(recording.steps)}",
            )
        elif _ended_by_itself(recording):
            now = (result.error or {}).get("code", "done")
            then = (recording.error or {}).get("code", "done")
            beside = (now, then) == ("empty_completion", "done")  # a tool had sent the reply
            if now != then and not beside:
                self._differs("the end", f"{now}: {result.text}", str(then))

    def _differs(self, where: str, now: str, recorded: str) -> None:
        self.differences.append(Difference(where=where, asked=now, recorded=recorded))


def _ended_by_itself(recording: Recording) -> bool:
    """Tell whether the loop came to its end: nobody stopped it, and nothing beside it failed."""
    if recording.error is None:
        return recording.state == "done"
    return recording.state == "failed" and recording.error.get("code") in _OF_THE_LOOP


def _stopped() -> ProviderError:
    return ProviderError("The replay is not as the recording.", kind="bad_request")


def _shown(call: ToolCall, result: ToolResult) -> str:
    """Return what a model reads of a result, without what is random in it."""
    answer = call_result(call.id, call.name, result)
    text = "\n".join(
        part.text if isinstance(part, Text) else f"[{part.blob.media_type}, {part.blob.id}]"
        for part in answer.parts
    )
    fence = fence_of(text)
    return text if fence is None else text.replace(fence.mark, "0" * len(fence.mark))


async def _ignore(event: StreamEvent) -> None:
    """Take an event that nobody watches."""
