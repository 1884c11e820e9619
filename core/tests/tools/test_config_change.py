"""A tool asks for a change of the configuration; the host makes it with the owner's word."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pegboard.contracts.errors import ConfigError
from pegboard.contracts.result import ChangeConfig, Suspend, ToolResult
from pegboard.tools.dispatch import Dispatcher

pytestmark = pytest.mark.anyio


class Changes:
    """Makes changes in a dict; one key can't be set, one can't be written."""

    def __init__(self):
        self.made = {}

    async def check(self, change):
        if change.key == "wrong":
            raise ConfigError("wrong must not be set")
        return f"  {change.key} = {change.value!r}"

    async def make(self, change, caller):
        if change.key == "full":
            raise ConfigError("the disk is full", fix="make room")
        self.made[change.key] = change.value


@pytest.fixture
def changes(world):
    world.dispatcher.changes = Changes()
    return world.dispatcher.changes


@pytest.fixture
def events(world, changes):
    found = []

    async def audit(event):
        found.append((event.kind, event.rule, event.outcome))

    world.dispatcher = Dispatcher(world.registry, changes=changes, audit=audit)
    return found


def setting(world, **facts):
    runs = []

    async def set_it(value: int, key: str = "a.b") -> ToolResult:
        """Set it."""
        runs.append(value)
        return ToolResult("It is set.", control=ChangeConfig(f"Set it to {value}?", key, value))

    world.add(set_it, **{"effects": {"state_write"}, "control": "config", **facts})
    return runs


async def test_the_owner_is_asked_with_the_change_itself_and_then_it_is_made(
    world, changes, events
):
    runs = setting(world)
    asked = await world.call("set_it", '{"value": 1}', id="c")
    assert asked.error.code == "needs_approval"
    assert asked.control.question == ("Set it to 1?\nThis changes the configuration:\n  a.b = 1")
    assert (asked.control.rule, asked.control.lasting) == ("control_plane", False)
    assert changes.made == {}
    done = await world.call("set_it", '{"value": 1}', id="c", approved=True)
    assert (done.output, done.error, done.control) == ("It is set.", None, None)
    assert changes.made == {"a.b": 1}
    assert runs == [1, 1]
    assert events == [
        ("ask", "control_plane", "ask"),
        ("approval", "control_plane", "allow"),
        ("control_plane", "control_plane", "allow"),
    ]


async def test_a_word_is_about_exactly_this_change(world, changes):
    setting(world)
    asked = await world.call("set_it", '{"value": 1}')
    agreed = frozenset({asked.control.subject})
    for other in ('{"value": 2}', '{"value": 1, "key": "a.c"}'):
        again = await world.call("set_it", other, agreed=agreed)
        assert isinstance(again.control, Suspend)
    assert changes.made == {}
    assert (await world.call("set_it", '{"value": 1}', agreed=agreed)).error is None


async def test_a_change_that_differs_from_what_was_asked_is_asked_about_again(world, changes):
    values = iter([1, 2, 2])

    async def drift() -> ToolResult:
        """Change its mind."""
        return ToolResult(control=ChangeConfig("May I?", "a", next(values)))

    world.add(drift, effects={"state_write"}, control="config")
    first = await world.call("drift", id="c")
    second = await world.call("drift", id="c", approved=True)
    assert first.control.subject != second.control.subject
    assert changes.made == {}
    assert (await world.call("drift", id="c", approved=True)).error is None
    assert changes.made == {"a": 2}


async def test_a_rule_that_asks_and_the_change_are_two_questions(world, changes):
    from pegboard.policy.rules import read_rules

    world.dispatcher.policy = replace(
        world.dispatcher.policy, rules=read_rules([{"action": "ask", "question": "Run it?"}])
    )
    runs = setting(world)
    first = await world.call("set_it", '{"value": 1}', id="c")
    assert first.control.rule == "policy.rules[0]"
    assert first.control.lasting
    assert runs == []
    second = await world.call("set_it", '{"value": 1}', id="c", approved=True)
    assert second.control.rule == "control_plane"
    third = await world.call("set_it", '{"value": 1}', id="c", approved=True)
    assert third.error is None
    assert changes.made == {"a.b": 1}


async def test_what_can_not_be_made_is_refused_before_anybody_is_asked(world, changes):
    setting(world)
    wrong = await world.call("set_it", '{"value": 1, "key": "wrong"}')
    assert (wrong.error.code, wrong.control) == ("config_invalid", None)
    full = await world.call("set_it", '{"value": 1, "key": "full"}')
    agreed = frozenset({full.control.subject})
    failed = await world.call("set_it", '{"value": 1, "key": "full"}', agreed=agreed)
    assert failed.error.text() == "Error: the disk is full. make room"


async def test_a_tool_that_does_not_declare_it_changes_nothing(world, changes):
    for facts in ({"control": None}, {"control": "secrets"}):
        setting(world, plugin=f"demo{facts['control']}", **facts)
        name = f"demo{facts['control']}:set_it"
        result = await world.call(name, '{"value": 1}', approved=True)
        assert result.error.code == "tool_crashed"
        assert "without declaring" in result.error.message
    assert changes.made == {}


async def test_where_nobody_makes_changes_none_is_made(world):
    setting(world)
    assert (await world.call("set_it", '{"value": 1}')).error.code == "tool_crashed"


async def test_who_can_not_be_asked_changes_nothing(world, changes):
    setting(world)
    caller = replace(world.caller, attended=False)
    result = await world.call("set_it", '{"value": 1}', caller=caller)
    assert (result.error.code, result.control) == ("denied", None)

    async def outer(ctx, value: int) -> ToolResult:
        """Call it from inside of another call."""
        return await ctx.invoke("set_it", {"value": value})

    world.add(outer, effects={"state_write"})
    assert (await world.call("outer", '{"value": 1}')).error.code == "denied"
    assert changes.made == {}


async def test_a_call_that_failed_changes_nothing(world, changes):
    async def broken() -> ToolResult:
        """Fail."""
        failed = ToolResult.failed("no", "It did not work.")
        failed.control = ChangeConfig("May I?", "a", 1)
        return failed

    world.add(broken, effects={"state_write"}, control="config")
    result = await world.call("broken")
    assert (result.error.code, result.control) == ("no", None)


async def test_a_change_of_a_third_party_says_whose_question_it_is(world, changes):
    setting(world, plugin="acme", first_party=False)
    result = await world.call("acme:set_it", '{"value": 1}')
    assert result.control.question.startswith("Set it to 1? (asked by the plugin acme)\n")


async def test_a_change_that_is_not_what_its_type_says_is_a_fault_of_the_tool(world, changes):
    async def odd() -> ToolResult:
        """Return nonsense."""
        return ToolResult(control=ChangeConfig("May I?", None, 1))

    async def check(change):
        return change.key.upper()

    changes.check = check
    world.add(odd, effects={"state_write"}, control="config")
    assert (await world.call("odd")).error.code == "tool_crashed"


async def test_a_tool_can_not_suspend_its_own_call_nor_a_hook_anothers(world, changes, taking):
    async def forging() -> ToolResult:
        """Say what a yes means."""
        return ToolResult(control=Suspend("Hello?", "policy.rules[0]", "s", "a:b", {}, True))

    async def plain() -> str:
        """Return a text."""
        return "text"

    world.add(forging)
    world.add(plain)
    assert (await world.call("forging")).error.code == "tool_crashed"
    for control in (Suspend("Hello?"), ChangeConfig("May I?", "a", 1)):
        world.dispatcher.hooks = taking(
            pegboard_tool_result=lambda event, control=control: replace(
                event, result=ToolResult("changed", control=control)
            )
        )
        result = await world.call("plain")
        assert (result.output, result.control) == ("changed", None)


async def test_the_run_goes_on_in_the_sandbox_as_it_is_then(world, changes):
    sandboxes = []

    async def sandbox_now():
        sandboxes.append(object())
        return sandboxes[-1]

    setting(world)
    world.run.sandbox_now = sandbox_now
    before = world.run.sandbox
    asked = await world.call("set_it", '{"value": 1}')
    assert world.run.sandbox is before
    await world.call("set_it", '{"value": 1}', agreed=frozenset({asked.control.subject}))
    assert world.run.sandbox is sandboxes[0]
