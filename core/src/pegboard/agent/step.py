"""The tool calls of one step: run, watched, approved by a person where need be, answered."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import anyio

from pegboard.agent.setup import CallSetup, Successor
from pegboard.contracts import json_text
from pegboard.contracts.approval import Answer, Suspended
from pegboard.contracts.errors import PegboardError
from pegboard.contracts.message import CallResult, ToolCall
from pegboard.contracts.result import (
    DENIAL_BREAKER,
    AddTools,
    Handoff,
    Suspend,
    Terminate,
    Text,
    ToolResult,
)
from pegboard.contracts.stream import ApprovalAsked, ToolFinished, ToolStarted
from pegboard.providers.pairing import cancelled
from pegboard.tools.render import call_result

LAST_WORD_S: Final = 1.0
"""How long a cancelled step may take to tell that its calls ended."""
MAX_QUESTIONS: Final = 3
"""How often a person is asked about one call that changes while they think."""
NOTHING: Final = "The call succeeded and returned nothing."
"""Some providers refuse an empty result, and a model may take one for a failure."""


class StepCalls:
    """Runs the calls of one step.

    Attributes:
        results: Result by id of the call; what is missing after a cancellation was not finished.
        successor: The agent that goes on after the step, or None.
    """

    def __init__(self, setup: CallSetup, calls: Sequence[ToolCall]) -> None:
        self.results: dict[str, ToolResult] = {}
        self.successor: Successor | None = None
        self._hands_over = False
        self._setup = setup
        self._calls = calls
        self._started: set[str] = set()

    async def run(self) -> None:
        """Run all calls, then those that a person must agree to, one after the other.

        Raises:
            Suspended: When the person takes longer than this run can wait. Every call that need not
                wait has its result then, and every question was put.
        """
        try:
            outcomes = await self._dispatch(self._calls)
            await self._settle(outcomes)
        except anyio.get_cancelled_exc_class():
            with anyio.move_on_after(LAST_WORD_S, shield=True):
                for call in self._calls:
                    if call.id in self._started and call.id not in self.results:
                        await self._finished(call, _CANCELLED, 0.0)
            raise

    @property
    def added(self) -> frozenset[str]:
        """Names of tools to declare from the next step on."""
        controls = [result.control for result in self.results.values()]
        return frozenset(
            name for control in controls if isinstance(control, AddTools) for name in control.names
        )

    @property
    def terminated(self) -> bool:
        """True when a call ended the turn."""
        return any(
            isinstance(result.control, Terminate) and result.error is None
            for result in self.results.values()
        )

    @property
    def aborted(self) -> bool:
        """True when the host lets the run call nothing more, because it was refused too often."""
        return any(
            result.error is not None and result.control == Terminate(DENIAL_BREAKER)
            for result in self.results.values()
        )

    def answers(self, notes: Mapping[str, str]) -> dict[str, CallResult]:
        """Return what the model reads, by id of the call; a call that was not finished is missing.

        Args:
            notes: Sentences of the host to add, by id of the call.
        """
        return {
            call.id: _answer(call, self.results[call.id], notes.get(call.id, ""))
            for call in self._calls
            if call.id in self.results
        }

    async def _settle(self, outcomes: Sequence[ToolResult | None]) -> None:
        """Ask about the calls that wait for a person, and run those that wait for these."""
        waiting: list[Suspended] = []
        for call, outcome in zip(self._calls, outcomes, strict=True):
            if outcome is None and waiting:
                continue  # it may have to come after the one that still waits
            result = outcome or await self._run_one(call)
            if isinstance(result.control, Suspend):
                try:
                    await self._ask(call, result.control)
                except Suspended as suspended:
                    waiting.append(suspended)
        if waiting:
            raise min(waiting, key=lambda suspended: suspended.until)

    async def _dispatch(
        self, calls: Sequence[ToolCall], *, approved: bool = False
    ) -> list[ToolResult | None]:
        return await self._setup.dispatch_step(calls, approved=approved, watch=self._watch)

    async def _run_one(self, call: ToolCall, *, approved: bool = False) -> ToolResult:
        (result,) = await self._dispatch([call], approved=approved)
        assert result is not None, "there is no earlier call to wait for"
        return result

    async def _watch(self, call: ToolCall, run: Callable[[], Awaitable[ToolResult]]) -> ToolResult:
        if call.id not in self._started:
            self._started.add(call.id)
            self._setup.progress.tool_calls += 1
            await self._setup.emit(
                ToolStarted(call=call.id, name=call.name, arguments=_arguments(call))
            )
        clock = self._setup.clock
        begun = clock.monotonic()
        result = await run()
        # a suspended call has not ended: it is run again once the person has agreed
        if not isinstance(result.control, Suspend):
            await self._end(call, result, (clock.monotonic() - begun) * 1000)
        return result

    async def _ask(self, call: ToolCall, asked: Suspend) -> None:
        setup = self._setup
        denied = _UNASKED
        for _ in range(MAX_QUESTIONS):
            if setup.approve is None:
                break
            await setup.emit(ApprovalAsked(call=call.id, name=call.name, question=asked.question))
            answer = await setup.approve(call, asked)
            if not answer.agreed:
                denied = _refusal(answer)
                break
            result = await self._run_one(call, approved=True)
            if not isinstance(result.control, Suspend):
                return
            denied, before = _CHANGED, asked
            asked = result.control  # what would run is not what was agreed to
            if asked == before:
                break
        await self._end(call, denied, 0.0)

    async def _end(self, call: ToolCall, result: ToolResult, duration_ms: float) -> None:
        if isinstance(result.control, Handoff) and result.error is None:
            result = await self._handed_over(result, result.control)
        self.results[call.id] = result
        if result.error is not None:
            self._setup.progress.tool_failures += 1
        await self._finished(call, result, duration_ms)

    async def _handed_over(self, result: ToolResult, control: Handoff) -> ToolResult:
        """Return what a call that hands over comes to; of several in a step the first counts."""
        if self._hands_over:
            return ToolResult.failed(
                "not_available", "Another call hands over already.", fix="Say nothing more."
            )
        if self._setup.hand_over is None:
            return _no_agent(control)
        self._hands_over = True
        try:
            self.successor = await self._setup.hand_over(control)
        except PegboardError as error:
            self._hands_over = False
            return ToolResult.failed("not_available", error.message, fix=error.fix)
        return replace(result, output=self.successor.note)

    async def _finished(self, call: ToolCall, result: ToolResult, duration_ms: float) -> None:
        told = [result.error.text()] if result.error else []
        await self._setup.emit(
            ToolFinished(
                call=call.id,
                name=call.name,
                output="\n".join([*told, result.text] if result.text else told),
                error=result.error.code if result.error else None,
                duration_ms=duration_ms,
                details=result.details,
            )
        )


def refused(calls: Sequence[ToolCall], reason: str) -> dict[str, CallResult]:
    """Return the results of calls that the host did not run."""
    return {call.id: cancelled(call, reason) for call in calls}


_CANCELLED: Final = ToolResult.failed("cancelled", "Cancelled.")
_UNASKED: Final = ToolResult.failed(
    "denied",
    "This call needs a person's word and nobody is there to give it, so it was not run.",
    fix="Say what you wanted to do, so that the person can decide later.",
)
_REFUSED: Final = ToolResult.failed(
    "denied",
    "The person did not agree to this call, so it was not run.",
    fix="Do not try it again in another form; say what you wanted to do.",
)
_CHANGED: Final = ToolResult.failed(
    "denied",
    "The person agreed, but then the call asked for more than that, so it was not run.",
    fix="Say what you wanted to do.",
)


def _refusal(answer: Answer) -> ToolResult:
    if not answer.reason:
        return _REFUSED
    return ToolResult.failed("denied", answer.reason, fix=answer.fix)


def _answer(call: ToolCall, result: ToolResult, note: str) -> CallResult:
    answer = call_result(call.id, call.name, result)
    parts = answer.parts or (Text(NOTHING),)
    return replace(answer, parts=(*parts, Text(note)) if note else parts)


def _no_agent(control: Handoff) -> ToolResult:
    return ToolResult.failed(
        "not_available",
        f"There is no agent named {control.agent!r} to hand over to.",
        fix="Go on yourself.",
    )


def _arguments(call: ToolCall) -> Mapping[str, Any] | str:
    value = json_text.read_object(call.arguments)
    return call.arguments if value is None else value
