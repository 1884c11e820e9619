from __future__ import annotations

from contextlib import aclosing

import pytest

from pegboard.contracts.errors import NoProviderError
from pegboard.contracts.provider import (
    ChatRequest,
    Done,
    ModelCaps,
    Notice,
    ProviderError,
    ProviderState,
    Start,
    TextDelta,
    ToolCallStart,
    ToolDeclaration,
    Usage,
)
from pegboard.providers.route import Hop, Route

pytestmark = pytest.mark.anyio


def fails(kind, **facts):
    return [Start("m"), ProviderError("no", kind=kind, **facts)]


def route(clock, *providers, models=("", "")) -> Route:
    hops = [
        Hop(name=provider.info.id, provider=provider, model=model)
        for provider, model in zip(providers, models, strict=False)
    ]
    return Route(hops, clock=clock)


async def read(session, request=ChatRequest()):  # noqa: B008 - frozen
    return [event async for event in session.stream(request)]


async def test_a_brief_failure_heals_on_the_same_provider(raw, answer, clock) -> None:
    provider = raw(fails("server"), fails("network"), answer("Hi"))
    events = await read(route(clock, provider).session())
    assert events[-1].text == "Hi"
    assert clock.slept == [0.5, 1.0]
    assert not [event for event in events if isinstance(event, Notice)]


async def test_every_attempt_of_a_request_has_the_same_key(raw, answer, clock) -> None:
    provider = raw(fails("server"), answer("Hi"))
    await read(route(clock, provider).session(), ChatRequest(idempotency_key="run:1"))
    assert [r.idempotency_key for r in provider.requests] == ["run:1", "run:1"]


async def test_the_next_provider_answers_and_the_person_is_told(raw, answer, clock) -> None:
    first, second = raw(fails("auth"), id="one"), raw(answer("Hi"), id="two")
    session = route(clock, first, second).session()
    events = await read(session)
    assert events[-1].text == "Hi"
    (notice,) = [event for event in events if isinstance(event, Notice)]
    assert notice.code == "failover"
    assert "One failed (auth)" in notice.text
    assert "Two" in notice.text
    assert session.hop.name == "two"


async def test_failover_comes_after_the_retries(raw, answer, clock) -> None:
    first, second = raw(*[fails("server")] * 3, id="one"), raw(answer("Hi"), id="two")
    await read(route(clock, first, second).session())
    assert (len(first.requests), len(second.requests)) == (3, 1)


async def test_nothing_is_retried_or_failed_over_after_text_was_shown(raw, answer, clock) -> None:
    first = raw([TextDelta("Half"), ProviderError("no", kind="network")], id="one")
    second = raw(answer("Hi"), id="two")
    with pytest.raises(ProviderError) as caught:
        await read(route(clock, first, second).session())
    assert caught.value.started
    assert (len(first.requests), len(second.requests)) == (1, 0)


async def test_a_continuation_never_fails_over(raw, answer, clock) -> None:
    first, second = raw(answer("Hi"), fails("auth"), id="one"), raw(answer("No"), id="two")
    session = route(clock, first, second).session()
    await read(session)
    with pytest.raises(ProviderError) as caught:
        await read(session)
    assert caught.value.details["provider"] == "One"
    assert second.requests == []


async def test_a_continuation_is_retried_after_two_and_four_seconds(raw, answer, clock) -> None:
    provider = raw(answer("Hi"), fails("timeout"), fails("network"), answer("there"))
    session = route(clock, provider).session()
    await read(session)
    assert (await read(session))[-1].text == "there"
    assert clock.slept == [2.0, 4.0]


async def test_a_continuation_is_not_retried_when_data_had_arrived(raw, answer, clock) -> None:
    cut = [ToolCallStart(0, "a", "read"), ProviderError("no", kind="network")]
    provider = raw(answer("Hi"), cut, answer("no"))
    session = route(clock, provider).session()
    await read(session)
    with pytest.raises(ProviderError):
        await read(session)
    assert clock.slept == []


async def test_state_goes_back_to_who_made_it_untouched(raw, answer, clock) -> None:
    provider = raw(answer("Hi"), answer("there"))
    session = route(clock, provider).session()
    state = (await read(session))[-1].state
    await read(session, ChatRequest(state=state))
    assert provider.requests[1].state is state


async def test_state_is_dropped_when_the_route_changes(raw, answer, clock) -> None:
    state = ProviderState("one", "one", "", "", {"secret": 1})
    first, second = raw(fails("auth"), id="one"), raw(answer("Hi"), id="two")
    await read(route(clock, first, second).session(), ChatRequest(state=state))
    assert first.requests[0].state is state
    assert second.requests[0].state is None


async def test_state_is_dropped_between_two_instances_of_one_type(raw, answer, clock) -> None:
    state = ProviderState("same", "same", "", "", {})
    first, second = raw(fails("auth"), id="same"), raw(answer("Hi", provider="same"), id="same")
    await read(route(clock, first, second).session(), ChatRequest(state=state))
    assert second.requests[0].state is None


async def test_each_provider_is_asked_for_its_own_model(raw, answer, clock) -> None:
    first, second = raw(fails("auth"), id="one"), raw(answer("Hi"), id="two")
    session = route(clock, first, second, models=("big", "small")).session()
    await read(session)
    assert first.requests[0].model == "big"
    assert second.requests[0].model == "small"


async def test_an_overflow_moves_only_to_a_larger_window(raw, answer, clock) -> None:
    overflow = fails("context_overflow")
    small = raw(overflow, id="one", caps=ModelCaps(context=8000))
    same = raw(answer("no"), id="two", caps=ModelCaps(context=8000))
    large = raw(answer("Hi"), id="three", caps=ModelCaps(context=100_000))
    events = await read(route(clock, small, same, large, models=("", "", "")).session())
    assert events[-1].text == "Hi"
    assert same.requests == []


async def test_tools_are_not_declared_to_a_model_that_can_call_none(raw, answer, clock) -> None:
    provider = raw(answer("Hi"), answer("Hi"), caps=ModelCaps(tools=False))
    session = route(clock, provider).session()
    request = ChatRequest(tools=(ToolDeclaration("read", "", {}),))
    events = await read(session, request) + await read(session, request)
    assert [r.tools for r in provider.requests] == [(), ()]
    assert [e.code for e in events if isinstance(e, Notice)] == ["no_tools"]


@pytest.mark.parametrize(
    ("forced", "choice", "declared"),
    [(True, "required", 1), (True, "auto", 0), (False, "required", 0)],
)
async def test_a_model_that_can_not_call_may_be_held_to_a_call(
    raw, answer, clock, forced: bool, choice, declared: int
) -> None:
    provider = raw(answer("Hi"), caps=ModelCaps(tools=False, forced=forced))
    route = Route([Hop(name="one", provider=provider)], clock=clock)
    request = ChatRequest(tools=(ToolDeclaration("read", "", {}),), tool_choice=choice)
    async for _ in route.session().stream(request):
        pass
    assert len(provider.requests[0].tools) == declared


async def test_when_all_fail_the_error_names_each(raw, clock) -> None:
    first = raw(fails("auth"), id="one")
    second = raw([ProviderError("gone", kind="billing", reset_at=5.0)], id="two")
    with pytest.raises(ProviderError) as caught:
        await read(route(clock, first, second).session())
    assert "One: no" in caught.value.message
    assert "Two: gone" in caught.value.message
    assert (caught.value.kind, caught.value.reset_at) == ("billing", 5.0)


async def test_every_attempt_is_reported(raw, clock) -> None:
    attempts = []

    async def note(attempt) -> None:
        attempts.append((attempt.hop.name, attempt.error, attempt.usage.input))

    first = raw(fails("auth"), id="one")
    second = raw([Done(text="Hi", usage=Usage(input=9))], id="two")
    await read(route(clock, first, second).session(on_attempt=note))
    assert attempts == [("one", "auth", 0), ("two", None, 9)]


async def test_a_second_run_begins_with_the_primary_again(raw, answer, clock) -> None:
    first, second = raw(fails("auth"), answer("Back"), id="one"), raw(answer("Hi"), id="two")
    both = route(clock, first, second)
    await read(both.session())
    assert (await read(both.session()))[-1].text == "Back"


def test_a_route_without_a_provider_says_what_to_install(clock) -> None:
    with pytest.raises(NoProviderError) as caught:
        Route([], clock=clock)
    assert caught.value.fix == "pip install pegboard-provider-offline"


async def test_a_provider_that_fails_before_its_stream_is_failed_over(raw, answer, clock) -> None:
    class Hasty(raw):
        def stream(self, request):
            raise RuntimeError("no stream at all")

    both = route(clock, Hasty(id="one"), raw(answer("Hi"), id="two"))
    events = await read(both.session())
    assert events[-1].text == "Hi"


async def test_a_provider_that_can_not_tell_its_capabilities_is_asked_all_the_same(
    raw, answer, clock
) -> None:
    class Silent(raw):
        def capabilities(self, model):
            raise ValueError("unknown model")

    provider = Silent(answer("Hi"))
    request = ChatRequest(tools=(ToolDeclaration("t", "", {}),))
    events = await read(route(clock, provider).session(), request)
    assert events[-1].text == "Hi"
    assert provider.requests[0].tools


async def test_a_stream_that_is_left_ends_at_once(raw, answer, clock) -> None:
    provider = raw(answer("Hello there"))
    session = route(clock, provider).session()
    async with aclosing(session.stream(ChatRequest())) as events:
        await anext(events)
    assert provider.closed == 1
