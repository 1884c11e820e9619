"""The laws of a model provider."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, get_args

import anyio

from pegboard.contracts.message import Message
from pegboard.contracts.provider import (
    ChatRequest,
    Done,
    ErrorKind,
    Provider,
    ProviderError,
    ProviderEvent,
    ProviderState,
    Start,
    Stop,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
    ToolCallStart,
    ToolDeclaration,
)
from pegboard.testing.contracts.suite import (
    LIMIT_S,
    PROMPT_S,
    Suite,
    logged,
    missing,
    no_tasks_left,
)

ECHO = ToolDeclaration(
    name="echo",
    description="Return a text unchanged.",
    parameters={
        "type": "object",
        "properties": {"text": {"type": "string", "description": "What to return."}},
        "required": ["text"],
        "additionalProperties": False,
    },
)


@dataclass(slots=True)
class Streamed:
    """A stream read to its end.

    Args:
        events: What it yielded.
        error: What it raised, or None.
    """

    events: list[ProviderEvent] = field(default_factory=list)
    error: ProviderError | None = None

    @property
    def done(self) -> Done:
        """The one `Done`."""
        assert self.error is None, f"the request failed: {self.error}"
        found = [event for event in self.events if isinstance(event, Done)]
        assert len(found) == 1, f"a stream ends with exactly one Done, this had {len(found)}"
        return found[0]


class ProviderContract(Suite):
    """Laws that the host relies on when it asks a provider.

    Subclass it and define `make_provider`; override the requests when the model needs other words
    to answer with text or with a call of the tool `echo`.

    Attributes:
        model: Model id to ask for; "" = the provider's default.
        secrets: Values that must never be logged, streamed or raised.
    """

    model: str = ""
    secrets: tuple[str, ...] = ()

    def make_provider(self) -> Provider:
        """Return a fresh provider."""
        missing(self, "make_provider", "a Provider")

    def make_failing(self) -> Provider | None:
        """Return a provider whose requests fail; None only for one that uses no network."""
        return None

    def text_request(self) -> ChatRequest:
        """Return a request that is answered with text."""
        return ChatRequest(model=self.model, messages=(Message.of("user", "Hello"),))

    def tool_request(self) -> ChatRequest:
        """Return a request that is answered with a call of `echo`."""
        return ChatRequest(
            model=self.model,
            messages=(Message.of("user", "/echo text=hello"),),
            tools=(ECHO,),
        )

    async def test_its_facts_are_complete(self) -> None:
        """`info` names the type and the dialect, and says how far requests go."""
        async with self._provider() as provider:
            assert provider.info.id, "info.id is empty"
            assert provider.info.dialect, "info.dialect is empty"
            assert provider.info.network in ("none", "loopback", "internet")

    async def test_capabilities_are_possible(self) -> None:
        """A context window is positive, and an answer fits in it."""
        async with self._provider() as provider:
            caps = provider.capabilities(self.model)
            assert caps.context > 0
            assert 0 < caps.max_output <= caps.context
            assert caps.tools or not caps.parallel, "parallel calls without calls"

    async def test_a_stream_ends_with_one_done(self) -> None:
        """Exactly one `Done`, as the last event."""
        for streamed in await self._both():
            assert isinstance(streamed.done, Done)
            assert isinstance(streamed.events[-1], Done), "something came after Done"

    async def test_it_starts_before_it_answers(self) -> None:
        """`Start` comes before the first delta, once."""
        for streamed in await self._both():
            kinds = [
                type(event)
                for event in streamed.events
                if isinstance(event, Start | TextDelta | ThinkingDelta | ToolCallStart | Done)
            ]
            assert kinds[0] is Start, f"the stream begins with {kinds[0].__name__}"
            assert kinds.count(Start) == 1, "more than one Start"

    async def test_the_deltas_add_up_to_the_text(self) -> None:
        """What was streamed is what `Done` says."""
        for streamed in await self._both():
            shown = "".join(event.text for event in streamed.events if isinstance(event, TextDelta))
            assert shown == streamed.done.text

    async def test_it_answers_with_text(self) -> None:
        """The text request gets words and a reason to stop."""
        done = (await self._read(self.text_request())).done
        assert done.text.strip(), "an answer of nothing"
        assert done.stop in get_args(Stop)
        assert not done.calls, "the text request was answered with calls"

    async def test_a_call_is_complete_in_done(self) -> None:
        """A call that was asked for is in `Done.calls`, whole, and its arguments are JSON text."""
        if not await self._calls_tools():
            return
        done = (await self._read(self.tool_request())).done
        assert [call.name for call in done.calls] == ["echo"]
        assert done.stop == "tool_use", f"stop is {done.stop!r} beside calls"
        assert _is_object(done.calls[0].arguments), "the arguments are no JSON object"

    async def test_streamed_calls_are_those_of_done(self) -> None:
        """Ids, names and arguments of the stream are those of `Done`, in order."""
        for streamed in await self._both():
            begun = [event for event in streamed.events if isinstance(event, ToolCallStart)]
            if begun:
                calls = streamed.done.calls
                assert [(event.id, event.name) for event in begun] == [
                    (call.id, call.name) for call in calls
                ]
                assert _arguments(streamed.events) == [call.arguments for call in calls]

    async def test_call_ids_are_unique(self) -> None:
        """No id is used twice, in one answer or in the next one of the same conversation."""
        if not await self._calls_tools():
            return
        async with self._provider() as provider:
            first = (await _read(provider, self.tool_request())).done
            second = (await _read(provider, self.tool_request())).done
        ids = [call.id for call in (*first.calls, *second.calls)]
        assert all(ids), "a call without an id"
        assert len(ids) == len(set(ids)), f"ids repeat: {ids}"

    async def test_usage_is_possible(self) -> None:
        """Counts are not negative, and a part is not more than the whole."""
        for streamed in await self._both():
            usage = streamed.done.usage
            assert min(usage.input, usage.output, usage.cache_read, usage.cache_write) >= 0
            assert usage.cache_read <= usage.input
            assert usage.reasoning <= usage.output

    async def test_state_is_json_and_its_own(self) -> None:
        """The state survives being written down, and names who can read it."""
        async with self._provider() as provider:
            state = (await _read(provider, self.text_request())).done.state
            if state is not None:
                assert json.loads(json.dumps(state.payload)) == state.payload
                assert (state.provider, state.dialect) == (provider.info.id, provider.info.dialect)

    async def test_its_state_continues_the_conversation(self) -> None:
        """A request with the state of the last answer is answered."""
        async with self._provider() as provider:
            first = (await _read(provider, self.text_request())).done
            request = self.text_request()
            grown = (
                *request.messages,
                Message.of("assistant", first.text),
                Message.of("user", "And again"),
            )
            again = replace(request, messages=grown, state=first.state)
            assert (await _read(provider, again)).done.text

    async def test_foreign_state_is_dropped(self) -> None:
        """State of another provider changes nothing: the messages say it all."""
        foreign = ProviderState("someone", "else", "model", "route", {"secret": "of another"})
        request = replace(self.text_request(), state=foreign)
        assert (await self._read(request)).done.text

    async def test_state_of_another_route_is_dropped(self) -> None:
        """State that it made for another model, or at another address, changes nothing."""
        async with self._provider() as provider:
            info = provider.info
            first = (await _read(provider, self.text_request())).done.state
            own = first or ProviderState(info.id, info.dialect, self.model, "")
            for other in ({"model": "of another"}, {"route": "of another"}):
                # its payload means nothing: who reads it all the same fails, or sends it
                state = replace(own, payload={"of": ["another"]}, **other)
                request = replace(self.text_request(), state=state)
                assert (await _read(provider, request)).done.text

    async def test_closing_ends_the_request(self) -> None:
        """`aclose` on a running stream returns at once and leaves nothing behind."""
        async with self._provider() as provider:
            with no_tasks_left():
                stream = provider.stream(self.text_request())
                await anext(stream)
                with anyio.fail_after(PROMPT_S):
                    await _close(stream)
                assert [event async for event in stream] == [], "it goes on after aclose"

    async def test_two_requests_do_not_disturb_each_other(self) -> None:
        """Two streams read in turns each end as alone."""
        async with self._provider() as provider:
            results = [Streamed(), Streamed()]
            with anyio.fail_after(LIMIT_S):
                async with anyio.create_task_group() as group:
                    for result in results:
                        group.start_soon(_fill, result, provider, self.text_request())
            for result in results:
                assert result.error is None, f"one of two failed: {result.error}"
                assert result.done.text

    async def test_it_never_waits_by_itself(self) -> None:
        """Waiting and retrying are the host's; a provider sleeps neither before nor within."""
        with _no_sleep() as slept:
            await self._read(self.text_request())
        assert slept == [], f"it slept {slept[0]} s"

    async def test_a_failure_is_one_provider_error(self) -> None:
        """A failed request raises `ProviderError` with a known kind, in place of `Done`."""
        provider = self.make_failing()
        if provider is None:
            network = self.make_provider().info.network
            assert network == "none", "define make_failing: what uses a network can fail"
            return
        streamed = await _read(provider, self.text_request())
        await provider.aclose()
        assert streamed.error is not None, "the failing provider answered"
        assert streamed.error.kind in get_args(ErrorKind)
        assert str(streamed.error), "an error without a message"
        assert not any(isinstance(event, Done) for event in streamed.events)

    async def test_it_tells_no_secret(self) -> None:
        """No key is in an event, an error or a log line."""
        with logged() as lines:
            told = [repr(streamed.events) for streamed in await self._both()]
            failing = self.make_failing()
            if failing is not None:
                failed = await _read(failing, self.text_request())
                told.append(f"{failed.error} {vars(failed.error) if failed.error else ''}")
        for secret in self.secrets:
            assert not any(secret in text for text in (*told, *lines)), "a secret was told"

    async def test_models_are_listed_once(self) -> None:
        """Every model has an id of its own; no model is fine when the provider can't say."""
        async with self._provider() as provider:
            ids = [model.id for model in await provider.models()]
            assert all(ids)
            assert len(ids) == len(set(ids))

    def _provider(self) -> _Open:
        provider = self.make_provider()
        assert isinstance(provider, Provider), f"{type(provider).__name__} is no Provider"
        return _Open(provider)

    async def _calls_tools(self) -> bool:
        async with self._provider() as provider:
            return provider.capabilities(self.model).tools

    async def _read(self, request: ChatRequest) -> Streamed:
        async with self._provider() as provider:
            return await _read(provider, request)

    async def _both(self) -> list[Streamed]:
        requests = [self.text_request()]
        if await self._calls_tools():
            requests.append(self.tool_request())
        found = []
        for request in requests:
            streamed = await self._read(request)
            assert streamed.error is None, f"the request failed: {streamed.error}"
            found.append(streamed)
        return found


class _Open:
    """Gives a provider back at the end."""

    def __init__(self, provider: Provider) -> None:
        self._provider = provider

    async def __aenter__(self) -> Provider:
        return self._provider

    async def __aexit__(self, *_: object) -> None:
        with anyio.fail_after(PROMPT_S):
            await self._provider.aclose()


async def _read(provider: Provider, request: ChatRequest) -> Streamed:
    streamed = Streamed()
    with anyio.fail_after(LIMIT_S):
        await _fill(streamed, provider, request)
    return streamed


async def _fill(streamed: Streamed, provider: Provider, request: ChatRequest) -> None:
    try:
        async for event in provider.stream(request):
            streamed.events.append(event)
    except ProviderError as error:
        streamed.error = error


async def _close(stream: AsyncIterator[ProviderEvent]) -> None:
    close = getattr(stream, "aclose", None)
    assert close is not None, "the stream can't be closed: make `stream` an async generator"
    await close()


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False


def _arguments(events: list[ProviderEvent]) -> list[str]:
    texts: dict[int, str] = {}
    for event in events:
        if isinstance(event, ToolCallStart):
            texts[event.index] = ""
        elif isinstance(event, ToolCallDelta):
            assert event.index in texts, f"arguments for call {event.index}, which did not start"
            texts[event.index] += event.text
    return list(texts.values())


@contextmanager
def _no_sleep() -> Iterator[list[float]]:
    """Record sleeps of more than no time, wherever they are looked up when called."""
    slept: list[float] = []
    places: list[tuple[Any, Any]] = [
        (asyncio, asyncio.sleep),
        (anyio, anyio.sleep),
        (time, time.sleep),
    ]

    def watched(original: Any) -> Any:
        def sleep(delay: float, *rest: Any) -> Any:
            if delay > 0:
                slept.append(delay)
            return original(delay, *rest)

        return sleep

    for module, original in places:
        module.sleep = watched(original)
    try:
        yield slept
    finally:
        for module, original in places:
            module.sleep = original
