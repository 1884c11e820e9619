"""What a run of the loop needs, what it leaves behind, and what it comes to."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, Protocol

from pegboard.contracts.channel import Emit
from pegboard.contracts.clock import Clock
from pegboard.contracts.message import Message, ToolCall
from pegboard.contracts.provider import NO_USAGE, ChatRequest, ToolDeclaration, Usage
from pegboard.contracts.result import ToolResult
from pegboard.providers.route import OnAttempt, Route

DEFAULT_MAX_STEPS: Final = 100

Declare = Callable[[frozenset[str]], Awaitable[Sequence[ToolDeclaration]]]
"""`await declare(names)` returns the tools of the next step; `names` were added by `AddTools`."""
Approve = Callable[[ToolCall, str], Awaitable[bool]]
"""`await approve(call, question)` asks the person who is present."""
PrepareRequest = Callable[[ChatRequest, int], Awaitable[ChatRequest]]
"""`await prepare(request, step)` lets hooks change a request."""


Watch = Callable[[ToolCall, Callable[[], Awaitable[ToolResult]]], Awaitable[ToolResult]]
"""`await watch(call, run)` runs a call and reports that it began and ended."""


class DispatchStep(Protocol):
    """Runs the calls of one step, at the same time where their effects allow.

    Every call is run as `await watch(call, run)`, so that its events carry its own times and a
    finished result survives a cancellation of the others.
    """

    async def __call__(
        self, calls: Sequence[ToolCall], *, approved: bool, watch: Watch
    ) -> list[ToolResult | None]:
        """Return the results in the order of the calls; None for one that was not run.

        That is a call whose order to an earlier one matters, when the earlier one waits for a
        person.

        Args:
            calls: The calls.
            approved: True when the person has agreed to them.
            watch: Runs each call.
        """
        ...


@dataclass(slots=True)
class Progress:
    """How far a run has come; readable at any time, also after it was cancelled.

    Args:
        messages: What the run added to the conversation; every call in it has its result.
        steps: Model calls made.
        usage: Tokens of all of them.
        tool_calls: Calls that were begun.
        tool_failures: Those that reported an error.
    """

    messages: list[Message] = field(default_factory=list)
    steps: int = 0
    usage: Usage = NO_USAGE
    tool_calls: int = 0
    tool_failures: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopSetup:
    """One run of the loop.

    Args:
        route: Who is asked.
        dispatch_step: Runs the calls of a step.
        declare: Returns the tools to declare.
        emit: Takes the events of the run; must not raise.
        clock: Time.
        run: Id of the run, part of each request's idempotency key.
        max_steps: Model calls at most.
        approve: Asks a person, or None when nobody is there; then what needs a word is denied.
        prepare: Lets hooks change a request, or None.
        on_attempt: Called after every request to a provider, or None.
        effort: Reasoning effort, or None.
        progress: Where the run writes how far it came.
    """

    route: Route
    dispatch_step: DispatchStep
    declare: Declare
    emit: Emit
    clock: Clock
    run: str = ""
    max_steps: int = DEFAULT_MAX_STEPS
    approve: Approve | None = None
    prepare: PrepareRequest | None = None
    on_attempt: OnAttempt | None = None
    effort: str | None = None
    progress: Progress = field(default_factory=Progress)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopResult:
    """What a run came to.

    Args:
        text: The answer, or the sentence that tells a person why there is none.
        status: `done` or `failed`.
        steps: Model calls made.
        usage: Tokens of all of them.
        messages: What the run added to the conversation, the answer included; every call has its
            result. The sentence of a failure is not among them.
        error: What went wrong (`{"code", "message", "fix"}`), or None.
        tool_calls: Number of calls.
        tool_failures: Number of those that reported an error.
        terminated: True when a tool ended the turn: its side effect was the reply.
    """

    text: str
    status: Literal["done", "failed"]
    steps: int
    usage: Usage
    messages: tuple[Message, ...]
    error: dict[str, Any] | None = None
    tool_calls: int = 0
    tool_failures: int = 0
    terminated: bool = False
