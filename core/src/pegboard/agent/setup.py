"""What a run of the loop needs, what it leaves behind, and what it comes to."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, Protocol

from pegboard.agent.digests import RunDigests
from pegboard.contracts.approval import Answer
from pegboard.contracts.blob import Blobs
from pegboard.contracts.channel import Emit
from pegboard.contracts.clock import Clock
from pegboard.contracts.journal import ModelJournal
from pegboard.contracts.message import Message, ToolCall
from pegboard.contracts.news import NewsItem
from pegboard.contracts.provider import NO_USAGE, ChatRequest, ToolDeclaration, Usage
from pegboard.contracts.result import Handoff, Suspend, ToolResult
from pegboard.providers.hop import Admit, OnAttempt
from pegboard.providers.route import Route

DEFAULT_MAX_STEPS: Final = 100

Declare = Callable[[frozenset[str]], Awaitable[Sequence[ToolDeclaration]]]
"""`await declare(names)` returns the tools of the next step; `names` were added by `AddTools`."""
Approve = Callable[[ToolCall, Suspend], Awaitable[Answer]]
"""`await approve(call, asked)` asks a person. It raises `Suspended` when the answer will take
longer than the run can wait: the run then ends, and another one takes it up from the journal."""
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


class StepNews(Protocol):
    """What happened beside a run, for its model."""

    async def due(self, step: int) -> Sequence[NewsItem]:
        """Return what the model is to be told before a step, oldest first; never raises."""
        ...

    async def told(self, items: Sequence[NewsItem]) -> None:
        """Forget what it was told; also what was forgotten before. Never raises."""
        ...


@dataclass(slots=True)
class Progress:
    """How far a run has come; readable at any time, also after it was cancelled.

    Args:
        messages: What the run added to the conversation; every call in it has its result.
        steps: Model calls made.
        usage: Tokens of all of them.
        context_tokens: Tokens of the last request and its answer; 0 = not known.
        tool_calls: Calls that were begun.
        tool_failures: Those that reported an error.
        opening: What the model was told beside the message that the run answers.
    """

    messages: list[Message] = field(default_factory=list)
    steps: int = 0
    usage: Usage = NO_USAGE
    context_tokens: int = 0
    tool_calls: int = 0
    tool_failures: int = 0
    opening: tuple[NewsItem, ...] = ()

    def add(self, usage: Usage) -> None:
        """Count the tokens of a request and its answer."""
        self.usage += usage
        self.context_tokens = usage.input + usage.output


@dataclass(frozen=True, slots=True, kw_only=True)
class Successor:
    """The agent that goes on with a run, as another one has handed it over.

    Args:
        messages: The conversation as it reads it: its own system messages, then what was said up to
            and with the message that the run answers.
        note: What it is told in place of the result of the call that handed over.
        route: Who is asked.
        dispatch_step: Runs the calls of a step.
        declare: Returns the tools to declare.
        effort: Reasoning effort, or None.
        digests: Shortens older results, or None.
    """

    messages: Sequence[Message]
    note: str
    route: Route
    dispatch_step: DispatchStep
    declare: Declare
    effort: str | None = None
    digests: RunDigests | None = None


HandOver = Callable[[Handoff], Awaitable[Successor]]
"""`await hand_over(handoff)` returns who goes on. Raises `PegboardError` when nobody may."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallSetup:
    """What the calls of a step need.

    Args:
        dispatch_step: Runs them.
        emit: Takes the events of the run; must not raise.
        clock: Time.
        approve: Asks a person, or None when nobody is there; then what needs a word is denied.
        hand_over: Lets another agent go on with the run; None = nobody else may.
        progress: Where the run writes how far it came.
    """

    dispatch_step: DispatchStep
    emit: Emit
    clock: Clock
    approve: Approve | None = None
    hand_over: HandOver | None = None
    progress: Progress = field(default_factory=Progress)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopSetup(CallSetup):
    """One run of the loop: what its calls need, and the rest.

    Args:
        route: Who is asked.
        declare: Returns the tools to declare.
        run: Id of the run, part of each request's idempotency key.
        max_steps: Model calls at most.
        prepare: Lets hooks change a request, or None.
        on_attempt: Called after every request to a provider, or None.
        admit: Called before every request to a provider, or None; raises `BudgetError`.
        effort: Reasoning effort, or None.
        journal: Record of model calls, or None. What it holds of an earlier attempt is not asked
            again.
        digests: Shortens older results when the run comes near the window, or None.
        blobs: Where images and files of messages are, for providers that take them, or None.
        retracts: True when nobody sees the text as it comes, or it can be taken back.
        news: What happened beside the run, or None when nobody tells.
    """

    route: Route
    declare: Declare
    run: str = ""
    max_steps: int = DEFAULT_MAX_STEPS
    prepare: PrepareRequest | None = None
    on_attempt: OnAttempt | None = None
    admit: Admit | None = None
    effort: str | None = None
    journal: ModelJournal | None = None
    digests: RunDigests | None = None
    blobs: Blobs | None = None
    retracts: bool = False
    news: StepNews | None = None


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
