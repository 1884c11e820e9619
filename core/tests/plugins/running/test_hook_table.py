from __future__ import annotations

import asyncio
import re
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from pegboard.contracts.caller import Caller
from pegboard.contracts.errors import PluginError
from pegboard.contracts.hook_events import (
    HostStopping,
    MessageInEvent,
    MessageOutEvent,
    ToolArgumentsEvent,
    ToolGuardEvent,
    TurnBegan,
)
from pegboard.contracts.message import InboundMessage, OutboundMessage
from pegboard.contracts.tool import RegisteredTool, ToolSpec
from pegboard.contracts.verdict import Ask, Deny
from pegboard.plugins.decision.state import PluginRecord, State
from pegboard.plugins.discovery.manifest import Manifest
from pegboard.plugins.discovery.scan import FoundPlugin
from pegboard.plugins.running.hook_table import HookTable

pytestmark = pytest.mark.anyio
TOOL = RegisteredTool(ToolSpec(name="look"), "eyes")
CALLER = Caller()
GUARD = ToolGuardEvent(call="1", tool=TOOL, arguments={}, caller=CALLER)


class Table:
    """A hook table over plugins that are given as functions."""

    def __init__(self) -> None:
        self.records: list[PluginRecord] = []
        self.functions: dict[tuple[str, str], Any] = {}
        self.reports: list[tuple[str, str]] = []
        self.resolved: list[str] = []

    def add(
        self,
        plugin_id: str,
        hook: str,
        function: Any = None,
        *,
        events: tuple[str, ...] = (),
        state: State = State.READY,
        reason: str = "",
    ) -> None:
        found = FoundPlugin(plugin_id, "x:y", plugin_id, "1", Path())
        manifest = Manifest(plugin_id, hooks={hook: events})
        self.records.append(PluginRecord(found, manifest, state, reason))
        self.functions[plugin_id, hook] = function

    async def resolve(self, plugin_id: str, hook: str) -> Any:
        self.resolved.append(plugin_id)
        await anyio.sleep(0)
        function = self.functions[plugin_id, hook]
        if isinstance(function, PluginError):
            raise function
        return function

    def make(self, **options: Any) -> HookTable:
        return HookTable(
            self.records,
            self.resolve,
            report=lambda plugin_id, what: self.reports.append((plugin_id, what)),
            **options,
        )


@pytest.fixture
def table() -> Table:
    return Table()


async def test_nobody_wants_anything_and_nothing_happens(table):
    made = table.make()
    assert not made.wants("pegboard_tool_guard")
    assert not made.wants("pegboard_event", "turn_began")
    await made.observe(HostStopping())
    assert await made.guard("pegboard_tool_guard", GUARD) is None
    event = ToolArgumentsEvent(call="1", tool=TOOL, arguments={}, caller=CALLER)
    assert await made.transform("pegboard_tool_arguments", event) is event


async def test_a_table_that_nobody_is_in_costs_one_look_up(table):
    made = table.make()
    # against the same look-up in a plain dict, so that a slow machine does not matter
    plain: dict[str, bool] = {}
    ours = min(timed(lambda: made.wants("pegboard_tool_guard")) for _ in range(7))
    reference = min(timed(lambda: plain.get("pegboard_tool_guard")) for _ in range(7))
    assert ours < reference * 12


def timed(work: Any) -> float:
    began = time.perf_counter()
    for _ in range(20_000):
        work()
    return time.perf_counter() - began


async def test_observers_get_the_events_they_asked_for_in_order(table):
    seen = []
    table.add("a", "pegboard_event", lambda event: seen.append(("a", event.type)))

    async def later(event):
        await anyio.sleep(0)
        seen.append(("b", event.type))

    table.add("b", "pegboard_event", later, events=("turn_began",))
    made = table.make()
    assert made.wants("pegboard_event")
    assert made.wants("pegboard_event", "host_stopping")
    await made.observe(TurnBegan(turn="1", conversation="c", caller=CALLER))
    await made.observe(HostStopping())
    assert seen == [("a", "turn_began"), ("b", "turn_began"), ("a", "host_stopping")]
    assert table.resolved == ["a", "b"]


async def test_a_plugin_is_resolved_at_the_first_event_it_wants(table):
    table.add("a", "pegboard_event", lambda event: None, events=("turn_began",))
    made = table.make()
    await made.observe(HostStopping())
    assert table.resolved == []
    assert not made.wants("pegboard_event", "host_stopping")


@pytest.mark.parametrize(
    "error", [ValueError("no"), SystemExit(1), asyncio.CancelledError(), GeneratorExit()]
)
async def test_a_failing_observer_is_isolated_counted_and_switched_off(table, error):
    calls = []

    def fails(event):
        calls.append(event)
        raise error

    seen = []
    table.add("bad", "pegboard_event", fails)
    table.add("good", "pegboard_event", seen.append)
    made = table.make(observe_failures=2)
    for _ in range(4):
        await made.observe(HostStopping())
    assert (len(calls), len(seen)) == (2, 4)
    assert [who for who, _ in table.reports] == ["bad", "bad"]
    assert "switched off until the host starts again" in table.reports[1][1]


async def test_who_was_switched_off_stays_so_in_the_next_table(table):
    calls = []

    def fails(event):
        calls.append(event)
        raise ValueError

    table.add("bad", "pegboard_event", fails)
    table.add("gone", "pegboard_event", PluginError("it is broken"))
    first = table.make(observe_failures=1)
    await first.observe(HostStopping())
    table.functions["gone", "pegboard_event"] = calls.append
    second = table.make(observe_failures=1, before=first)
    await second.observe(HostStopping())
    assert len(calls) == 2  # one of each: what could not be loaded gets another try
    await table.make(before=second).observe(HostStopping())
    assert len(calls) == 3


async def test_only_failures_in_a_row_switch_an_observer_off(table):
    answers = [1, 0, 1, 0, 1, 0]
    table.add("moody", "pegboard_event", lambda event: 1 / answers.pop())
    made = table.make(observe_failures=2)
    for _ in range(6):
        await made.observe(HostStopping())
    assert answers == []


async def test_the_hosts_own_cancellation_goes_through_a_hook(table):
    async def waits(event):
        await anyio.sleep(60)

    table.add("a", "pegboard_event", waits)
    made = table.make()
    with anyio.move_on_after(0.05) as scope:
        await made.observe(HostStopping())
    assert scope.cancelled_caught
    assert table.reports == []


async def test_a_hook_that_takes_too_long_is_stopped_and_named(table):
    async def waits(event):
        await anyio.sleep(60)

    table.add("slow", "pegboard_event", waits)
    await table.make(timeout_s=0.05).observe(HostStopping())
    assert table.reports == [("slow", "pegboard_event failed: no answer within 0.05 s")]


async def test_a_plain_function_that_holds_up_the_host_is_named(table):
    table.add("slow", "pegboard_event", lambda event: time.sleep(0.06))
    await table.make(timeout_s=0.05).observe(HostStopping())
    ((who, what),) = table.reports
    assert who == "slow"
    assert "must be an `async def`" in what


async def test_code_that_blocks_in_an_async_hook_is_named(table):
    async def blocks(event):
        time.sleep(0.06)

    table.add("slow", "pegboard_event", blocks)
    await table.make(timeout_s=0.05).observe(HostStopping())
    ((who, what),) = table.reports
    assert (who, "held up the host" in what) == ("slow", True)


def arguments(**values):
    return ToolArgumentsEvent(call="1", tool=TOOL, arguments=values, caller=CALLER)


async def test_transforms_see_what_the_one_before_returned(table):
    table.add("a", "pegboard_tool_arguments", lambda event: {**event.arguments, "a": 1})

    async def second(event):
        return {**event.arguments, "b": event.arguments["a"] + 1}

    table.add("b", "pegboard_tool_arguments", second)
    table.add("c", "pegboard_tool_arguments", lambda event: None)
    done = await table.make().transform("pegboard_tool_arguments", arguments(x=0))
    assert done.arguments == {"x": 0, "a": 1, "b": 2}
    assert (done.call, done.tool) == ("1", TOOL)


async def test_a_failing_transform_is_skipped_and_named(table):
    table.add("bad", "pegboard_tool_arguments", lambda event: 1 / 0)
    table.add("odd", "pegboard_tool_arguments", lambda event: 7)
    table.add("good", "pegboard_tool_arguments", lambda event: {"x": 2})
    done = await table.make().transform("pegboard_tool_arguments", arguments(x=1))
    assert done.arguments == {"x": 2}
    (who, what), *others = table.reports
    assert who == "bad"
    skipped = "pegboard_tool_arguments is skipped: ZeroDivisionError: division by zero"
    assert re.fullmatch(rf"{skipped} \(\S*test_hook_table.py:\d+\)", what)
    assert others == [
        ("odd", "pegboard_tool_arguments is skipped: it returned int, not Mapping"),
    ]


async def test_a_transform_of_a_plugin_that_can_not_be_used_is_reported_once(table):
    table.add("gone", "pegboard_tool_arguments", PluginError("it is broken"))
    made = table.make()
    for _ in range(3):
        await made.transform("pegboard_tool_arguments", arguments())
    assert table.reports == [("gone", "pegboard_tool_arguments is skipped: it is broken")]
    assert table.resolved == ["gone"]


async def test_a_hook_can_not_change_whose_message_it_is(table):
    message = InboundMessage(channel="c", chat="1", sender="me", text="hi")

    def forge(event):
        return InboundMessage(channel="c", chat="1", sender="owner", text="hi")

    table.add("bad", "pegboard_message_in", forge)
    event = MessageInEvent(message=message, caller=CALLER)
    assert await table.make().transform("pegboard_message_in", event) == event
    assert "it changed sender, which no hook may" in table.reports[0][1]
    table.add("worse", "pegboard_message_out", lambda event: OutboundMessage(chat="2", text="psst"))
    out = MessageOutEvent(message=OutboundMessage(chat="1", text="psst"), caller=CALLER)
    assert await table.make().transform("pegboard_message_out", out) == out


@pytest.mark.parametrize("broken", [{"text": None}, {"text": "a", "attachments": None}])
async def test_a_message_that_is_none_is_not_handed_on(table, broken):
    message = InboundMessage(channel="c", chat="1", sender="me", text="hi")
    table.add("bad", "pegboard_message_in", lambda event: replace(event.message, **broken))
    event = MessageInEvent(message=message, caller=CALLER)
    assert await table.make().transform("pegboard_message_in", event) is event
    assert "it returned InboundMessage without a text" in table.reports[0][1]


async def test_all_guards_run_and_the_strictest_answer_counts(table):
    ran = []

    def answering(name, answer):
        def judge(event):
            ran.append(name)
            return answer

        return judge

    for name, answer in [
        ("a", None),
        ("b", Ask("Really?")),
        ("c", Deny("no")),
        ("d", Ask("Sure?")),
        ("e", Deny("never")),
    ]:
        table.add(name, "pegboard_tool_guard", answering(name, answer))
    denial = await table.make().guard("pegboard_tool_guard", GUARD)
    assert denial == Deny("no")
    assert denial.plugin == "c"
    assert ran == ["a", "b", "c", "d", "e"]
    table.records = [record for record in table.records if record.id not in "ce"]
    question = await table.make().guard("pegboard_tool_guard", GUARD)
    assert question == Ask("Really?\nSure?")
    assert question.plugin == "b, d"


async def test_a_guard_can_not_answer_in_the_name_of_another_plugin(table):
    table.add("a", "pegboard_tool_guard", lambda event: Ask("Really?", plugin="core"))
    assert (await table.make().guard("pegboard_tool_guard", GUARD)).plugin == "a"


async def waits_for_ever(event):
    await anyio.sleep(60)


@pytest.mark.parametrize(
    "function, words",
    [
        (lambda event: 1 / 0, "could not judge this: ZeroDivisionError"),
        (lambda event: True, "it returned bool, not None, Ask or Deny"),
        (lambda event: Ask, "it returned type, not None, Ask or Deny"),
        (lambda event: Ask(None), "it returned Ask without a text"),
        (lambda event: Deny(5), "it returned Deny without a text"),
        (lambda event: Deny("no", fix=5), "it returned Deny without a text"),
        (waits_for_ever, "no answer within 0.05 s"),
        (PluginError("its import failed"), "could not judge this: its import failed"),
    ],
)
async def test_a_guard_that_can_not_answer_denies_and_says_how_to_go_on(table, function, words):
    table.add("watch", "pegboard_tool_guard", function)
    answer = await table.make(timeout_s=0.05).guard("pegboard_tool_guard", GUARD)
    assert isinstance(answer, Deny)
    assert "plugin watch" in answer.reason
    assert words in answer.reason
    assert answer.fix == "pegboard plugins disable watch"


async def test_a_guard_that_let_a_call_pass_too_late_denies_it(table):
    table.add("watch", "pegboard_tool_guard", lambda event: time.sleep(0.06))
    answer = await table.make(timeout_s=0.05).guard("pegboard_tool_guard", GUARD)
    assert isinstance(answer, Deny)
    assert "no answer within 0.05 s" in answer.reason


@pytest.mark.parametrize("state", [State.FAILED, State.INCOMPATIBLE, State.MISSING_NEED])
async def test_a_guard_that_can_not_be_loaded_denies_what_it_would_judge(table, state):
    table.add("watch", "pegboard_tool_guard", state=state, reason="it broke")
    made = table.make()
    assert made.wants("pegboard_tool_guard")
    answer = await made.guard("pegboard_tool_guard", GUARD)
    assert answer == Deny(
        f"The guard of plugin watch can't be loaded ({state}): it broke",
        fix="pegboard plugins disable watch",
    )
    assert table.resolved == []


@pytest.mark.parametrize("state", [State.DISABLED, State.UNTRUSTED])
async def test_a_guard_that_the_operator_left_out_is_not_missed(table, state):
    table.add("watch", "pegboard_tool_guard", state=state, reason="as asked")
    made = table.make()
    assert not made.wants("pegboard_tool_guard")
    assert await made.guard("pegboard_tool_guard", GUARD) is None


async def test_two_hundred_plugins_are_ordered_quickly(table):
    for number in range(200):
        table.add(f"p{number}", "pegboard_event", lambda event: None)
    began = time.process_time()
    table.make()
    assert time.process_time() - began < 0.5
