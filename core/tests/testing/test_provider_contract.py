"""Each law of `ProviderContract` fails for a provider that breaks it, and for no other reason."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Any

import pytest

from pegboard import (
    ChatRequest,
    Done,
    ModelCaps,
    ModelInfo,
    Notice,
    Provider,
    ProviderError,
    ProviderEvent,
    ProviderInfo,
    ProviderState,
    Start,
    TextDelta,
    ToolCall,
    Usage,
)
from pegboard.testing import Call, Fail, ProviderContract, ScriptedModel

pytestmark = pytest.mark.anyio


def answering(request: ChatRequest) -> str | Call:
    return Call("echo", text="hello") if request.tools else "Hello to you"


class TestTheScriptedModel(ProviderContract):
    secrets = ("key-in-no-message",)

    def make_provider(self) -> Provider:
        return ScriptedModel([answering], repeat=True)

    def make_failing(self) -> Provider:
        return ScriptedModel([Fail("overloaded", after="so far")], repeat=True)


class Bent(ScriptedModel):
    """A scripted model whose events are changed on the way."""

    def __init__(self, bend: Callable[[ProviderEvent], list[ProviderEvent]]) -> None:
        super().__init__([answering], repeat=True)
        self._bend = bend

    async def stream(self, request: ChatRequest) -> AsyncIterator[ProviderEvent]:
        async for event in super().stream(request):
            for bent in self._bend(event):
                yield bent


def done(**changes: Any) -> Callable[[], Provider]:
    return lambda: Bent(lambda e: [replace(e, **changes)] if isinstance(e, Done) else [e])


def events(bend: Callable[[ProviderEvent], list[ProviderEvent]]) -> Callable[[], Provider]:
    return lambda: Bent(bend)


class Facts(ScriptedModel):
    def __init__(self, info: ProviderInfo | None = None, caps: ModelCaps | None = None) -> None:
        super().__init__([answering], repeat=True)
        self.info = info or self.info
        self._caps = caps or self._caps


class Sleeping(Bent):
    def __init__(self) -> None:
        super().__init__(lambda e: [e])

    async def stream(self, request: ChatRequest) -> AsyncIterator[ProviderEvent]:
        await asyncio.sleep(0.001)
        async for event in super().stream(request):
            yield event


class Unclosable(ScriptedModel):
    def stream(self, request: ChatRequest) -> AsyncIterator[ProviderEvent]:
        inner = super().stream(request)

        class Plain:
            def __aiter__(self) -> AsyncIterator[ProviderEvent]:
                return self

            async def __anext__(self) -> ProviderEvent:
                return await anext(inner)

        return Plain()


class Leaving(ScriptedModel):
    """Starts a task for each request and forgets it."""

    tasks: list[asyncio.Task[None]]

    async def stream(self, request: ChatRequest) -> AsyncIterator[ProviderEvent]:
        LEFT.append(asyncio.create_task(asyncio.sleep(60)))
        async for event in super().stream(request):
            yield event


LEFT: list[asyncio.Task[None]] = []


class OneAtATime(ScriptedModel):
    """Keeps the request in the provider: a second one ends the first."""

    current: ChatRequest | None = None

    async def stream(self, request: ChatRequest) -> AsyncIterator[ProviderEvent]:
        self.current = request
        async for event in super().stream(request):
            if self.current is not request:
                raise ProviderError("another request came", kind="protocol")
            yield event


class Stateful(ScriptedModel):
    """Believes any state that it is given."""

    async def stream(self, request: ChatRequest) -> AsyncIterator[ProviderEvent]:
        if request.state is not None and "request" not in request.state.payload:
            raise ProviderError("bad state", kind="bad_request")
        async for event in super().stream(request):
            yield event


class Forgetful(ScriptedModel):
    """Fails when it gets its own state back."""

    async def stream(self, request: ChatRequest) -> AsyncIterator[ProviderEvent]:
        if request.state is not None:
            raise ProviderError("no state, please", kind="bad_request")
        async for event in super().stream(request):
            yield event


class Repeating(ScriptedModel):
    """Numbers its calls anew in each request."""

    async def stream(self, request: ChatRequest) -> AsyncIterator[ProviderEvent]:
        self._calls = 0
        async for event in super().stream(request):
            yield event


class Telling(ScriptedModel):
    async def stream(self, request: ChatRequest) -> AsyncIterator[ProviderEvent]:
        logging.getLogger("telling").debug("asking with %s", SECRET)
        async for event in super().stream(request):
            yield event


class TwoModels(ScriptedModel):
    async def models(self) -> list[ModelInfo]:
        return [ModelInfo(id="same"), ModelInfo(id="same")]


class Raising(ScriptedModel):
    async def stream(self, request: ChatRequest) -> AsyncIterator[ProviderEvent]:
        yield Start("m")
        raise ProviderError("no such kind", kind="odd")  # type: ignore[arg-type]


SECRET = "sk-very-secret"
repeating = {"script": [answering], "repeat": True}
FOREIGN = ProviderState("other", "scripted", "", "", {})
TWICE = (ToolCall("1", "echo", "{}"), ToolCall("1", "echo", "{}"))


def drop(kind: type) -> Callable[[ProviderEvent], list[ProviderEvent]]:
    return lambda e: [] if isinstance(e, kind) else [e]


BREAKS: list[tuple[str, Callable[[], Any]]] = [
    ("its_facts_are_complete", lambda: Facts(info=ProviderInfo(id="", dialect="x"))),
    ("its_facts_are_complete", lambda: Facts(info=ProviderInfo(id="x", dialect=""))),
    ("its_facts_are_complete", object),
    ("capabilities_are_possible", lambda: Facts(caps=ModelCaps(context=10, max_output=11))),
    ("capabilities_are_possible", lambda: Facts(caps=ModelCaps(tools=False, parallel=True))),
    ("a_stream_ends_with_one_done", events(drop(Done))),
    ("a_stream_ends_with_one_done", events(lambda e: [e, e] if isinstance(e, Done) else [e])),
    (
        "a_stream_ends_with_one_done",
        events(lambda e: [e, Notice("late", "")] if isinstance(e, Done) else [e]),
    ),
    ("it_starts_before_it_answers", events(drop(Start))),
    ("it_starts_before_it_answers", events(lambda e: [e, e] if isinstance(e, Start) else [e])),
    ("the_deltas_add_up_to_the_text", done(text="something else")),
    ("the_deltas_add_up_to_the_text", events(drop(TextDelta))),
    ("it_answers_with_text", lambda: ScriptedModel([" "], repeat=True)),
    ("it_answers_with_text", done(stop="finished")),
    ("it_answers_with_text", lambda: ScriptedModel([["text", Call("echo")]], repeat=True)),
    ("a_call_is_complete_in_done", done(calls=())),
    ("a_call_is_complete_in_done", done(stop="end")),
    ("a_call_is_complete_in_done", lambda: ScriptedModel([Call("echo", "{")], repeat=True)),
    ("streamed_calls_are_those_of_done", done(calls=(ToolCall("9", "echo", "{}"),))),
    ("call_ids_are_unique", done(calls=TWICE)),
    ("call_ids_are_unique", done(calls=(ToolCall("", "echo", "{}"),))),
    ("call_ids_are_unique", lambda: Repeating(**repeating)),
    ("usage_is_possible", done(usage=Usage(input=-1))),
    ("usage_is_possible", done(usage=Usage(input=1, cache_read=2))),
    ("state_is_json_and_its_own", done(state=FOREIGN)),
    (
        "state_is_json_and_its_own",
        done(state=ProviderState("scripted", "scripted", "", "", {"a": (1, 2)})),
    ),
    ("its_state_continues_the_conversation", lambda: Forgetful(**repeating)),
    ("foreign_state_is_dropped", lambda: Stateful(**repeating)),
    ("state_of_another_route_is_dropped", lambda: Stateful(**repeating)),
    ("closing_ends_the_request", lambda: Unclosable(**repeating)),
    ("closing_ends_the_request", lambda: Leaving(**repeating)),
    ("two_requests_do_not_disturb_each_other", lambda: OneAtATime(**repeating)),
    ("it_never_waits_by_itself", Sleeping),
    ("a_failure_is_one_provider_error", lambda: ScriptedModel(["an answer"])),
    ("a_failure_is_one_provider_error", lambda: Raising()),
    ("a_failure_is_one_provider_error", lambda: ScriptedModel([Fail(message="")])),
    ("it_tells_no_secret", lambda: Telling(**repeating)),
    ("it_tells_no_secret", done(raw_stop=SECRET)),
    ("models_are_listed_once", lambda: TwoModels(**repeating)),
]


@pytest.mark.parametrize(("law", "make"), BREAKS)
async def test_a_broken_provider_fails_the_law(law: str, make: Callable[[], Provider]) -> None:
    class Suite(ProviderContract):
        secrets = (SECRET,)

        def make_provider(self) -> Provider:
            return make()

        def make_failing(self) -> Provider:
            return make()

    with pytest.raises((AssertionError, ProviderError)):
        await getattr(Suite(), f"test_{law}")()
    for task in LEFT:
        task.cancel()
    LEFT.clear()


async def test_a_provider_with_a_network_must_show_how_it_fails() -> None:
    class Suite(ProviderContract):
        def make_provider(self) -> Provider:
            return Facts(info=ProviderInfo(id="x", dialect="x", network="internet"))

    with pytest.raises(AssertionError, match="make_failing"):
        await Suite().test_a_failure_is_one_provider_error()


def test_every_law_is_seen_to_fail() -> None:
    laws = {
        name.removeprefix("test_")
        for name, _ in inspect.getmembers(ProviderContract, inspect.isfunction)
        if name.startswith("test_")
    }
    assert laws == {law for law, _ in BREAKS}


async def test_a_suite_without_a_provider_says_what_to_define() -> None:
    with pytest.raises(pytest.fail.Exception, match="make_provider"):
        await ProviderContract().test_its_facts_are_complete()
