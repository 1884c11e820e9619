"""The agent loop: ask the model, run the calls it asks for, ask again, within bounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from pegboard.agent import sentences
from pegboard.agent.repetition import RepetitionGuard
from pegboard.agent.setup import LoopResult, LoopSetup
from pegboard.agent.step import StepCalls, refused
from pegboard.contracts.message import CallResult, Message
from pegboard.contracts.provider import (
    ChatRequest,
    Done,
    Notice,
    ProviderError,
    ProviderEvent,
    ProviderState,
    Restart,
    TextDelta,
    ThinkingDelta,
)
from pegboard.contracts.stream import (
    Noticed,
    StepStarted,
    TextRestarted,
    TextStreamed,
    ThinkingStreamed,
    UsageReported,
)
from pegboard.providers.pairing import paired, step_messages


async def run_loop(setup: LoopSetup, messages: Sequence[Message]) -> LoopResult:
    """Run an agent until it answers, a tool ends the turn, or a limit is reached.

    Failures of the provider and limits are results, not exceptions. A cancelled run leaves
    `setup.progress` with every call answered.

    Args:
        setup: The run.
        messages: The conversation so far, system messages first, the new message last.
    """
    return await _Loop(setup, messages).run()


class _Loop:
    def __init__(self, setup: LoopSetup, messages: Sequence[Message]) -> None:
        self._setup = setup
        self._progress = setup.progress
        self._base = paired(messages)
        self._added: frozenset[str] = frozenset()
        self._state: ProviderState | None = None
        self._guard = RepetitionGuard()
        seen = {call.id for message in self._base for call in message.calls}
        self._session = setup.route.session(on_attempt=setup.on_attempt, seen=seen)

    async def run(self) -> LoopResult:
        try:
            for step in range(1, self._setup.max_steps + 1):
                done = await self._ask(step)
                result = await self._act(done, last=step == self._setup.max_steps)
                if result is not None:
                    return result
        except ProviderError as error:
            text = sentences.provider_failure(error, self._setup.clock.now())
            return self._result(text, error=sentences.provider_facts(error, text))
        return self._failed("step_limit", sentences.step_limit(self._setup.max_steps))

    async def _ask(self, step: int) -> Done:
        self._progress.steps = step
        await self._setup.emit(StepStarted(step=step))
        request = await self._request(step)
        done = Done()
        # closed here whatever happens: a stream that is only dropped ends when it is collected
        async with aclosing(self._session.stream(request)) as events:
            async for event in events:
                if isinstance(event, Done):
                    done = event
                else:
                    await self._show(event)
        self._state = done.state
        self._progress.usage += done.usage
        await self._setup.emit(UsageReported(usage=done.usage.to_dict()))
        return done

    async def _request(self, step: int) -> ChatRequest:
        setup = self._setup
        request = ChatRequest(
            messages=(*self._base, *self._progress.messages),
            tools=tuple(await setup.declare(self._added)),
            state=self._state,
            effort=setup.effort,
            idempotency_key=f"{setup.run}:{step}",
        )
        if setup.prepare is None:
            return request
        changed = await setup.prepare(request, step)
        if changed.messages != request.messages:
            # the provider's own record says what the messages said before they were changed
            changed = replace(changed, state=None)
        return changed

    async def _show(self, event: ProviderEvent) -> None:
        emit = self._setup.emit
        if isinstance(event, TextDelta):
            await emit(TextStreamed(text=event.text))
        elif isinstance(event, ThinkingDelta):
            await emit(ThinkingStreamed(text=event.text))
        elif isinstance(event, Restart):
            await emit(TextRestarted(provider=event.provider))
        elif isinstance(event, Notice):
            await emit(Noticed(code=event.code, text=event.text))

    async def _act(self, done: Done, *, last: bool) -> LoopResult | None:
        if not done.calls:
            return await self._finish(done)
        if last:
            self._record(done, refused(done.calls, "Not run: the step limit was reached."))
            return None
        repetition = self._guard.check(done.calls)
        if repetition.stop is not None:
            self._record(done, refused(done.calls, "Not run: repeated too often."))
            return self._failed("repetition", sentences.repetition(repetition.stop))
        return await self._run_calls(done, repetition.warnings)

    async def _run_calls(self, done: Done, warnings: Mapping[str, str]) -> LoopResult | None:
        step = StepCalls(self._setup, done.calls)
        try:
            await step.run()
        finally:
            # also when cancelled: what has run is kept, what has not answers "Cancelled"
            self._record(done, step.answers(warnings))
        self._added |= step.added
        return self._result(done.text, terminated=True) if step.terminated else None

    def _record(self, done: Done, results: Mapping[str, CallResult]) -> None:
        self._progress.messages.extend(step_messages(done.text, done.calls, results))

    async def _finish(self, done: Done) -> LoopResult | None:
        if done.stop == "context_overflow":
            return self._failed("context_overflow", sentences.TOO_LONG, fix=sentences.BEGIN_ANEW)
        if not done.text.strip():
            return self._without_text(done)
        self._progress.messages.append(Message.of("assistant", done.text))
        if done.stop == "pause":
            return None
        if done.stop == "max_tokens":
            notice = "The answer was cut at the longest that the model may write."
            await self._setup.emit(Noticed(code="max_tokens", text=notice))
        return self._result(done.text)

    def _without_text(self, done: Done) -> LoopResult | None:
        if done.stop == "pause":
            return None
        if done.stop == "refusal":
            return self._failed("refusal", sentences.REFUSED)
        return self._failed("empty_completion", sentences.NO_ANSWER)

    def _failed(self, code: str, text: str, fix: str | None = None) -> LoopResult:
        return self._result(text, error={"code": code, "message": text, "fix": fix})

    def _result(
        self, text: str, *, error: dict[str, Any] | None = None, terminated: bool = False
    ) -> LoopResult:
        progress = self._progress
        return LoopResult(
            text=text,
            status="done" if error is None else "failed",
            steps=progress.steps,
            usage=progress.usage,
            messages=tuple(progress.messages),
            error=error,
            tool_calls=progress.tool_calls,
            tool_failures=progress.tool_failures,
            terminated=terminated,
        )
