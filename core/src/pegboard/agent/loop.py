"""The agent loop: ask the model, run the calls it asks for, ask again, within bounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from pegboard.agent import sentences
from pegboard.agent.additions import only_added
from pegboard.agent.news import can_carry, with_news
from pegboard.agent.repetition import RepetitionGuard
from pegboard.agent.setup import LoopResult, LoopSetup, Successor
from pegboard.agent.step import StepCalls, refused
from pegboard.contracts.approval import Suspended
from pegboard.contracts.errors import BudgetError
from pegboard.contracts.journal import Answered
from pegboard.contracts.message import CallResult, Message
from pegboard.contracts.news import NewsItem
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
from pegboard.contracts.result import DENIAL_BREAKER, ToolResult
from pegboard.contracts.stream import (
    Noticed,
    StepStarted,
    TextRestarted,
    TextStreamed,
    ThinkingStreamed,
    UsageReported,
)
from pegboard.providers.pairing import paired, step_messages
from pegboard.providers.route import RouteSession


async def run_loop(setup: LoopSetup, messages: Sequence[Message]) -> LoopResult:
    """Run an agent until it answers, a tool ends the turn, or a limit is reached.

    Failures of the provider and limits are results, not exceptions. A cancelled run leaves
    `setup.progress` with every call answered.

    With a journal a run that was cut off is taken up by running it again from its start: what the
    model answered then is not asked again, and the calls find what they came to.

    Args:
        setup: The run.
        messages: The conversation so far, system messages first, the new message last.

    Raises:
        Suspended: When a call waits for a person; what its step did so far is in the journal only.
        StoreError: When the journal can't be written, `FencedError` when it is another's now.
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
        self._results: Mapping[str, ToolResult] = {}
        self._changed: tuple[Message, Message] | None = None  # by news: before and after
        self._paused = ""  # what an answer said before it paused: the same answer goes on
        self._session = self._opened()

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
        except BudgetError as error:
            return self._result(error.message, error=error.to_dict())
        return self._failed("step_limit", sentences.step_limit(self._setup.max_steps))

    async def _ask(self, step: int) -> Done:
        self._progress.steps = step
        await self._setup.emit(StepStarted(step=step))
        await self._fit()
        journal = self._setup.journal
        if journal is not None:
            answer = await journal.answered(step)
            if answer is not None:
                return await self._again(answer)
        news = await self._due(step)
        request, done = await self._told(step, news)
        self._state = done.state
        self._progress.add(done.usage)
        if journal is not None:
            hop, model = self._session.hop.name, self._session.model
            answer = Answered(done=done, hop=hop, model=model, news=news)
            await journal.done(step, answer, request=request, results=self._results)
            self._results = {}
        await self._forget(news)
        await self._setup.emit(UsageReported(usage=done.usage.to_dict()))
        return done

    async def _due(self, step: int) -> tuple[NewsItem, ...]:
        """Return what the model is told now; nothing in the middle of what it says."""
        last = (self._progress.messages or self._base)[-1]
        if self._setup.news is None or not can_carry(last):
            return ()
        return tuple(await self._setup.news.due(step))

    async def _forget(self, news: Sequence[NewsItem]) -> None:
        if self._setup.news is not None and news:
            await self._setup.news.told(news)

    async def _told(self, step: int, news: tuple[NewsItem, ...]) -> tuple[ChatRequest, Done]:
        """Ask with the news; where there is no answer they were not told."""
        self._changed = self._tell(news)
        try:
            return await self._answered(step, news)
        except BaseException:
            self._untell(self._changed)
            raise

    def _tell(self, news: tuple[NewsItem, ...]) -> tuple[Message, Message] | None:
        """Add news to what the model reads next; return that message as it was and as it is."""
        if not news:
            return None
        messages = self._progress.messages
        if messages:
            before, messages[-1] = messages[-1], with_news(messages[-1], news)
            return before, messages[-1]
        *others, before = self._base
        self._base = (*others, with_news(before, news))
        self._progress.opening = news
        return before, self._base[-1]

    def _untell(self, changed: tuple[Message, Message] | None) -> None:
        if changed is None:
            return
        before, after = changed
        messages = self._progress.messages
        if messages and messages[-1] is after:
            messages[-1] = before
        elif not messages:
            self._base = (*self._base[:-1], before)
            self._progress.opening = ()

    async def _answered(self, step: int, news: tuple[NewsItem, ...]) -> tuple[ChatRequest, Done]:
        """Ask, and where a provider refuses for the length ask again with less."""
        refusals = 0
        while True:
            request = await self._request(step)
            refusals += 1
            try:
                done = await self._stream(request)
            except ProviderError as error:
                too_long = error.kind == "context_overflow" and not error.started
                if not (too_long and await self._squeeze(refusals, news)):
                    raise
                continue
            said = done.stop != "context_overflow" or done.text or done.calls
            if said or not await self._squeeze(refusals, news):
                return request, done

    async def _stream(self, request: ChatRequest) -> Done:
        done = Done()
        # closed here whatever happens: a stream that is only dropped ends when it is collected
        async with aclosing(self._session.stream(request)) as events:
            async for event in events:
                if isinstance(event, Done):
                    done = event
                else:
                    await self._show(event)
        return done

    async def _fit(self) -> None:
        """Shorten older results of the run when the next request would come near the window."""
        digests, progress = self._setup.digests, self._progress
        if digests is not None:
            hop = self._session.hop
            window = hop.capabilities(self._session.model).context
            fitted = await digests.fitted(
                progress.messages, tokens=progress.context_tokens, window=window
            )
            self._replace(fitted)

    async def _squeeze(self, refusals: int, news: tuple[NewsItem, ...]) -> bool:
        """Shorten all results that may be; False when there is none left."""
        digests = self._setup.digests
        if digests is None:
            return False
        self._untell(self._changed)  # what nobody has read yet is no part of what is shortened
        try:
            return self._replace(await digests.squeezed(self._progress.messages, refusals))
        finally:
            self._changed = self._tell(news)

    def _replace(self, messages: Sequence[Message] | None) -> bool:
        if messages is None:
            return False
        self._progress.messages[:] = messages
        self._state = None  # the provider's own record says what they said before
        return True

    async def _again(self, answer: Answered) -> Done:
        """Take what the model answered in an earlier attempt.

        Its tokens belong to the run, so they are in `progress` and in the result. They were
        reported when they were spent, so no `UsageReported` tells of them again.
        """
        done = answer.done
        self._tell(answer.news)
        await self._forget(answer.news)
        calls = [call.id for call in done.calls]
        same = await self._session.resume(answer.hop, answer.model, calls)
        self._state = done.state if same else None
        self._results = {}
        self._progress.add(done.usage)
        if done.text:
            await self._setup.emit(TextStreamed(text=done.text))
        return done

    async def _request(self, step: int) -> ChatRequest:
        setup = self._setup
        request = ChatRequest(
            messages=(*self._base, *self._progress.messages),
            tools=tuple(await setup.declare(self._added)),
            state=self._state,
            effort=setup.effort,
            idempotency_key=f"{setup.run}:{step}",
            blobs=setup.blobs,
        )
        if setup.prepare is None:
            return request
        changed = await setup.prepare(request, step)
        if not only_added(request.messages, changed.messages):
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
        self._paused = ""
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
        except Suspended:
            raise  # the step has not ended
        except BaseException:
            # also when cancelled: what has run is kept, what has not answers "Cancelled"
            self._record(done, step.answers(warnings))
            raise
        self._record(done, step.answers(warnings))
        self._results = step.results
        self._added |= step.added
        if step.aborted:
            return self._failed(DENIAL_BREAKER, sentences.REFUSED_TOO_OFTEN, fix=sentences.ALLOW)
        if step.terminated:
            return self._result(done.text, terminated=True)
        if step.successor is not None:
            self._go_on_as(step.successor)
        return None

    def _go_on_as(self, successor: Successor) -> None:
        """Let another agent go on: its prompt, its model, its tools, and what was said so far."""
        self._setup = replace(
            self._setup,
            route=successor.route,
            dispatch_step=successor.dispatch_step,
            declare=successor.declare,
            effort=successor.effort,
            digests=successor.digests,
        )
        *others, answered = paired(successor.messages)
        self._base = (*others, with_news(answered, self._progress.opening))
        self._added, self._state = frozenset(), None
        self._session = self._opened()

    def _opened(self) -> RouteSession:
        """Return what the run asks through, at the route as it is now."""
        messages = (*self._base, *self._progress.messages)
        seen = {call.id for message in messages for call in message.calls}
        setup = self._setup
        return setup.route.session(
            on_attempt=setup.on_attempt, admit=setup.admit, seen=seen, retracts=setup.retracts
        )

    def _record(self, done: Done, results: Mapping[str, CallResult]) -> None:
        self._progress.messages.extend(step_messages(done.text, done.calls, results))

    async def _finish(self, done: Done) -> LoopResult | None:
        if done.stop == "context_overflow":
            return self._failed("context_overflow", sentences.TOO_LONG, fix=sentences.MAKE_ROOM)
        if not done.text.strip():
            return self._without_text(done)
        self._progress.messages.append(Message.of("assistant", done.text))
        if done.stop == "pause":
            self._paused += done.text
            return None
        if done.stop == "max_tokens":
            notice = "The answer was cut at the longest that the model may write."
            await self._setup.emit(Noticed(code="max_tokens", text=notice))
        return self._result(self._paused + done.text)

    def _without_text(self, done: Done) -> LoopResult | None:
        if done.stop == "pause":
            return None
        if done.stop == "refusal":
            return self._failed("refusal", sentences.REFUSED)
        if self._paused:
            return self._result(self._paused)
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
