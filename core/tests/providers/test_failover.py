"""A chain of providers: who is asked, in which order, what is taken back and what is told."""

from __future__ import annotations

import pytest

from pegboard.contracts.errors import PluginError
from pegboard.contracts.message import ToolCall
from pegboard.contracts.provider import (
    ChatRequest,
    Done,
    ModelCaps,
    Notice,
    ProviderError,
    ProviderState,
    Restart,
    TextDelta,
    ThinkingDelta,
)
from pegboard.providers.cooldown import Cooldowns
from pegboard.providers.retry import limit_sentence
from pegboard.providers.route import Hop, LateHop, Route
from pegboard.providers.walk import Walk

pytestmark = pytest.mark.anyio


def fails(kind, **facts):
    return [ProviderError("no", kind=kind, **facts)]


def cut(text="Half"):
    return [TextDelta(text), ProviderError("gone", kind="network")]


def chain(clock, *providers, **facts) -> Route:
    hops = [Hop(name=item.info.id, provider=item) for item in providers]
    return Route(hops, clock=clock, **facts)


async def read(session, request=ChatRequest()):  # noqa: B008 - frozen
    return [event async for event in session.stream(request)]


def told(events, code="failover"):
    return [event.text for event in events if isinstance(event, Notice) and event.code == code]


async def test_after_shown_text_the_next_one_answers_where_it_can_be_taken_back(
    raw, answer, clock
) -> None:
    first, second = raw(fails("rate_limit"), id="one"), raw(cut(), id="two")
    third = raw(answer("Whole"), id="three")
    events = await read(chain(clock, first, second, third).session(retracts=True))
    restarts = [event for event in events if isinstance(event, Restart)]
    assert restarts == [Restart(2, "three")]
    after = events[events.index(restarts[0]) :]
    assert [event.text for event in after if isinstance(event, TextDelta)] == ["Whole"]
    assert told(events) == [
        "One failed (rate_limit); asking Two instead.",
        "Two failed (network); asking Three instead.",
    ]


async def test_who_is_skipped_between_does_not_hide_that_text_has_to_be_taken_back(
    raw, answer, clock
) -> None:
    async def broken():
        raise PluginError("three has no key.", fix="pegboard secret set three_key")

    one, four = raw(cut(), id="one"), raw(answer("Whole"), id="four")
    hops = [Hop(name="one", provider=one), LateHop(name="three", make=broken)]
    route = Route([*hops, Hop(name="four", provider=four)], clock=clock)
    events = await read(route.session(retracts=True))
    assert sum(isinstance(event, Restart) for event in events) == 1
    assert told(events) == [
        "One failed (network); three can't be asked (three has no key); asking Four instead."
    ]


async def test_thinking_that_was_shown_is_taken_back_as_well(raw, answer, clock) -> None:
    first = raw([ThinkingDelta("hm"), ProviderError("gone", kind="network")], id="one")
    events = await read(chain(clock, first, raw(answer("Hi"), id="two")).session(retracts=True))
    assert [type(event) for event in events].count(Restart) == 1


async def test_no_second_text_comes_where_the_first_can_not_be_taken_back(raw, clock) -> None:
    # the provider's own fault: its deltas do not add up to its answer
    provider = raw([TextDelta("Ye"), Done(text="No, really")])
    events = await read(chain(clock, provider).session())
    assert [event.text for event in events if isinstance(event, TextDelta)] == ["Ye"]
    assert not any(isinstance(event, Restart) for event in events)
    assert events[-1].text == "No, really"


async def test_who_failed_is_asked_after_the_others_by_every_run(raw, answer, clock) -> None:
    first = raw(fails("billing"), answer("Back"), id="one")
    second = raw(*[answer("Hi")] * 3, id="two")
    cooldowns = Cooldowns(clock)
    await read(chain(clock, first, second, cooldowns=cooldowns).session())
    # another route of the same host
    session = chain(clock, first, second, cooldowns=cooldowns).session()
    events = await read(session)
    assert (len(first.requests), len(second.requests)) == (1, 2)
    assert told(events, "skipped") == [
        "One failed a short while ago (billing), so others are asked first for about 60 min."
    ]
    assert told(await read(session), "skipped") == []
    await clock.sleep(3_600)
    assert (await read(chain(clock, first, second, cooldowns=cooldowns).session()))[
        -1
    ].text == "Back"


async def test_an_answer_that_was_asked_for_earlier_does_not_hide_a_later_failure(
    raw, answer, clock
) -> None:
    limit = ProviderError("no", kind="rate_limit", retry_after=1_806.0)
    first, second = raw(answer("Long"), [limit], id="one"), raw(answer("Other"), id="two")
    route = chain(clock, first, second)
    slow = route.session().stream(ChatRequest())
    await anext(slow)  # it is being answered while another turn is refused
    clock.auto = True
    await clock.sleep(1)
    assert [
        event.text for event in await read(route.session()) if isinstance(event, TextDelta)
    ] == ["Other"]
    assert [event.text async for event in slow if isinstance(event, TextDelta)] == ["Long"]
    cooling = route.cooldowns.of("one", "")
    assert cooling is not None and cooling.left_s > 1_800


async def test_when_all_failed_a_short_while_ago_all_are_asked_in_order(raw, answer, clock) -> None:
    first = raw(fails("auth"), answer("Mended"), id="one")
    second = raw(fails("auth"), id="two")
    route = chain(clock, first, second)
    with pytest.raises(ProviderError):
        await read(route.session())
    events = await read(route.session())
    assert events[-1].text == "Mended"
    assert told(events, "skipped") == []


async def test_who_is_asked_last_still_answers_when_the_others_fail(raw, answer, clock) -> None:
    first = raw(fails("billing"), answer("Paid"), id="one")
    second = raw(answer("Hi"), fails("auth"), id="two")
    route = chain(clock, first, second)
    await read(route.session())
    assert (await read(route.session()))[-1].text == "Paid"


async def test_the_limit_that_is_lifted_first_stands_for_all(raw, clock) -> None:
    first = raw(fails("rate_limit", retry_after=1_806.0), id="one")
    second = raw(fails("rate_limit", retry_after=600.0), id="two")
    third = raw(fails("auth", status=401), id="three")
    with pytest.raises(ProviderError) as caught:
        await read(chain(clock, first, second, third).session())
    error = caught.value
    assert (error.kind, error.retry_after, error.details["provider"]) == (
        "rate_limit",
        600.0,
        "Two",
    )
    assert "Three: no" in error.message
    sentence = limit_sentence(error, error.details["provider"], clock.now())
    assert sentence == "You have reached the usage limit of Two. Try again in about 10 min."
    assert clock.slept == []


async def test_what_was_too_long_for_somebody_can_be_made_shorter(raw, clock) -> None:
    small = raw(fails("context_overflow"), id="one", caps=ModelCaps(context=8_000))
    large = raw(*[fails("network")] * 3, id="two", caps=ModelCaps(context=100_000))
    with pytest.raises(ProviderError) as caught:
        await read(chain(clock, small, large).session())
    assert caught.value.kind == "context_overflow"


async def test_the_error_itself_can_say_whether_another_may_be_asked(raw, answer, clock) -> None:
    never = chain(
        clock, raw(fails("server", failover=False), id="one"), raw(answer("Hi"), id="two")
    )
    never.retry = type(never.retry)(budget_s=0.0)
    with pytest.raises(ProviderError):
        await read(never.session())
    always = chain(
        clock, raw(fails("bad_request", failover=True), id="one"), raw(answer("Hi"), id="two")
    )
    assert (await read(always.session()))[-1].text == "Hi"


async def test_in_the_middle_of_a_run_the_next_is_asked_only_where_that_is_wanted(
    raw, answer, clock
) -> None:
    call = Done(stop="tool_use", calls=(ToolCall("a", "read", "{}"),), state=state("one"))
    first, second = raw([call], fails("auth"), id="one"), raw(*[answer("Done")] * 2, id="two")
    session = chain(clock, first, second, mid_run=True).session(retracts=True)
    done = (await read(session))[-1]
    events = await read(session, ChatRequest(state=done.state))
    assert events[-1].text == "Done"
    assert (session.hop.name, second.requests[0].state) == ("two", None)
    # from here on the run stays with who answered, and its state goes there
    await read(session, ChatRequest(state=state("two")))
    assert second.requests[1].state == state("two")
    assert len(first.requests) == 2


async def test_a_run_that_is_taken_up_goes_on_with_who_answered_it(raw, answer, clock) -> None:
    one, two = raw(answer("no"), id="one"), raw(answer("Hi"), id="same")
    hops = [
        Hop(name="one", provider=one),
        Hop(name="two", provider=raw(id="same"), model="small"),
        Hop(name="two", provider=two, model="large"),
    ]
    session = Route(hops, clock=clock).session()
    assert await session.resume("two", "large", ["call-1"])
    await read(session, ChatRequest(state=state("same")))
    assert (two.requests[0].model, two.requests[0].state) == ("large", state("same"))
    assert one.requests == []


async def test_a_run_whose_provider_is_gone_begins_anew(raw, answer, clock) -> None:
    async def gone():
        raise PluginError("It is not installed.")

    one = raw(answer("Hi"), id="one")
    route = Route([Hop(name="one", provider=one), LateHop(name="two", make=gone)], clock=clock)
    session = route.session()
    assert not await session.resume("two", "", [])
    assert not await session.resume("three", "", [])
    assert (await read(session, ChatRequest(state=None)))[-1].text == "Hi"


def state(provider: str) -> ProviderState:
    return ProviderState(provider, provider, "", "", {"said": provider})


async def test_who_may_not_be_asked_once_more_takes_no_tries_from_the_next() -> None:
    walk = Walk([1])
    walk.tried_again(2.0)
    walk.unusable("one", PluginError("It costs nobody knows what."))
    assert (walk.again, walk.tries, walk.waited) == (False, 0, 0.0)


async def test_facts_of_a_failure_may_have_any_name(raw, clock) -> None:
    """What stands for all failures has those of one of them, called as its author liked."""
    facts = {"status": 404, "kind": "odd", "message": "no", "scope": "x"}
    own = PluginError("The model is gone.")
    own.details.update(facts)
    route = chain(clock, raw(fails("auth"), id="one"), raw([own], id="two"))
    with pytest.raises(ProviderError) as caught:
        await read(route.session())
    assert caught.value.kind == "not_found"
    assert caught.value.details.items() >= facts.items()
