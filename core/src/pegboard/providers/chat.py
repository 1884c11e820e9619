"""The two questions an agent asks, as thin faces over a provider's one method `stream`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Protocol

from pegboard.contracts.message import CallResult, Message
from pegboard.contracts.provider import ChatRequest, Done, ModelAnswer, ProviderEvent
from pegboard.providers.hop import Admit, OnAttempt
from pegboard.providers.pairing import step_messages
from pegboard.providers.route import Route


class Source(Protocol):
    """Anything that streams an answer: a provider, or a run's route."""

    def stream(self, request: ChatRequest) -> AsyncIterator[ProviderEvent]:
        """Ask the model."""
        ...


async def chat(
    route: Route,
    request: ChatRequest,
    *,
    on_attempt: OnAttempt | None = None,
    admit: Admit | None = None,
) -> ModelAnswer:
    """Ask once, as the first request of a run, and return the whole answer.

    Args:
        route: Who is asked.
        request: What.
        on_attempt: Called after every request to a provider, or None.
        admit: Called before every request, or None.

    Raises:
        ProviderError: When no provider of the route answered.
        BudgetError: When a request may not be made.
    """
    session = route.session(on_attempt=on_attempt, admit=admit, retracts=True)
    done = Done()
    async with aclosing(session.stream(request)) as events:
        async for event in events:
            if isinstance(event, Done):
                done = event
    return ModelAnswer(text=done.text, calls=done.calls, usage=done.usage, stop=done.stop)


def continue_(
    source: Source, request: ChatRequest, done: Done, results: Mapping[str, CallResult]
) -> AsyncIterator[ProviderEvent]:
    """Stream the answer to the results of the calls that `done` asked for.

    Args:
        source: Who is asked.
        request: The request that `done` answered.
        done: The last answer; its state goes along untouched.
        results: Result by id of the call; a call without one answers "Cancelled".
    """
    return source.stream(extended(request, done, results))


def extended(request: ChatRequest, done: Done, results: Mapping[str, CallResult]) -> ChatRequest:
    """Return the request that follows `done`, in portable form and with its state."""
    said = step_messages(done.text, done.calls, results)
    return replace(request, messages=(*request.messages, *said), state=done.state)


class RouteModel:
    """A run's model for tools that need one answer; implements `ModelAccess`.

    Args:
        route: Who is asked.
        on_attempt: Called after every request to a provider, or None.
        admit: Called before each, or None.
    """

    def __init__(
        self,
        route: Route,
        *,
        on_attempt: OnAttempt | None = None,
        admit: Admit | None = None,
    ) -> None:
        self._route = route
        self._on_attempt = on_attempt
        self._admit = admit

    async def complete(
        self, prompt: str | Sequence[Message], *, max_output: int | None = None
    ) -> ModelAnswer:
        """Ask the model once, without tools.

        Raises:
            ProviderError: When the provider fails.
            BudgetError: When a budget is used up.
        """
        messages = (Message.of("user", prompt),) if isinstance(prompt, str) else tuple(prompt)
        request = ChatRequest(messages=messages, max_output=max_output)
        return await chat(self._route, request, on_attempt=self._on_attempt, admit=self._admit)
