from __future__ import annotations

import pytest

from pegboard.contracts.verdict import Ask, Deny
from pegboard.policy.redaction import Redactor
from pegboard.tools.dispatch import Dispatcher

pytestmark = pytest.mark.anyio


@pytest.fixture
def audited(world):
    """A world whose dispatcher records decisions; the events."""
    events = []

    async def audit(event):
        events.append(event)

    world.dispatcher = Dispatcher(world.registry, audit=audit, redact=_redactor())
    return events


def _redactor():
    redactor = Redactor()
    redactor.learn("hunter2hunter2")
    return redactor


def facts(events):
    return [
        (event.kind, event.rule, event.outcome, event.tool, event.disclosed) for event in events
    ]


async def test_a_call_that_may_run_is_not_recorded(world, audited):
    world.add(free)
    assert (await world.call("free")).output == "free"
    assert audited == []


async def test_a_name_that_nobody_has_is_no_decision(world, audited):
    assert (await world.call("nothing")).error.code == "not_found"
    assert audited == []


async def test_what_is_hidden_from_a_guest_is_recorded_though_the_answer_hides_it(
    world, audited, guest
):
    world.add(free)
    hidden = await world.call("free", caller=guest)
    absent = await world.call("fre_", caller=guest)
    assert hidden.error.message.replace("free", "fre_") == absent.error.message
    assert facts(audited) == [("deny", "guest.allow_list", "deny", "demo:free", False)]
    (event,) = audited
    assert (event.trust, event.origin, event.run, event.call) == ("guest", "person", "r1", "call1")


async def test_a_tool_out_of_reach_is_recorded_with_what_keeps_it_away(world, audited):
    world.add(free, exposure="codemode")
    await world.call("free")
    assert facts(audited) == [("deny", "exposure", "deny", "demo:free", False)]


async def test_what_is_called_through_tool_call_is_recorded_by_its_own_name(world, audited, guest):
    world.add_core()
    world.add(free)
    await world.call("tool_call", '{"name": "free", "arguments": {}}', caller=guest)
    assert facts(audited) == [("deny", "guest.allow_list", "deny", "demo:free", False)]


async def test_a_disclosed_refusal_is_recorded(world, audited):
    world.add(free, attended="event_changes")
    world.caller = world.caller.narrow()
    result = await world.call("free")
    assert result.error.code == "denied"
    assert facts(audited) == [("deny", "attended.event_changes", "deny", "demo:free", True)]
    assert audited[0].depth == 1


async def test_a_guards_refusal_is_recorded_without_its_words(world, audited, taking):
    world.add(free)
    world.dispatcher.hooks = taking(pegboard_tool_guard=lambda event: Deny("secret reason"))
    await world.call("free")
    assert facts(audited) == [("deny", "guard", "deny", "demo:free", True)]
    assert "secret reason" not in str(audited)


async def test_a_question_and_the_call_that_was_approved_are_recorded(world, audited, taking):
    world.add(free)
    world.dispatcher.hooks = taking(pegboard_tool_guard=lambda event: Ask("Really?"))
    assert (await world.call("free", id="c")).error.code == "needs_approval"
    assert (await world.call("free", id="c", approved=True)).output == "free"
    world.caller = world.caller.narrow()
    assert (await world.call("free")).error.code == "denied"
    assert facts(audited) == [
        ("ask", "guard", "ask", "demo:free", True),
        ("approval", "guard", "allow", "demo:free", True),
        ("ask", "guard", "deny", "demo:free", True),
    ]
    assert "Really?" not in str(audited)


async def test_planning_a_step_records_nothing(world, audited, guest):
    world.add(free)
    world.dispatcher.find(world.request("free"))
    world.caller = guest
    world.dispatcher.find(world.request("free"))
    assert audited == []


async def test_an_error_text_holds_no_known_secret_and_arguments_stay_as_they_are(world, audited):
    seen = []

    @world.add
    def failing(key: str) -> str:
        """Fail."""
        seen.append(key)
        raise ValueError(f"401 for key {key}")

    result = await world.call("failing", '{"key": "hunter2hunter2"}')
    assert seen == ["hunter2hunter2"]
    assert "[redacted]" in result.error.message
    assert "hunter2" not in str(result)


def free() -> str:
    """Do nothing."""
    return "free"
