"""A list that is decided about in a few decisions is the list of many."""

from __future__ import annotations

from dataclasses import replace

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from pegboard.contracts.caller import Caller, ToolFilter
from pegboard.contracts.effects import EffectsBy
from pegboard.contracts.tool import RegisteredTool, ToolSpec
from pegboard.policy.alike import AlikeTools, likeness
from pegboard.policy.decide import Gate
from pegboard.policy.snapshot import OPEN_POLICY, PolicySnapshot

OPERATOR = Caller(trust="operator", origin="person")


def tool(name="t", plugin="p", *, kind="tool", first_party=True, metadata=None, **facts):
    facts.setdefault("effects", frozenset({"read"}))
    spec = ToolSpec(name=name, **facts)
    return RegisteredTool(
        spec, plugin, kind=kind, first_party=first_party, name=name, metadata=metadata or {}
    )


def test_tools_that_differ_in_their_names_only_are_alike():
    tools = [tool("a"), tool("b", "q", aliases=("c",)), tool("d", category="web")]
    alike = AlikeTools.of(tools)
    assert alike.tools == tuple(tools)
    assert alike.numbers == (0, 0, 1)
    assert alike.samples == (tools[0], tools[2])
    assert AlikeTools.of(()).shown(Gate(OPEN_POLICY, OPERATOR)) == ()


@pytest.mark.parametrize(
    "facts",
    [
        {"kind": "mcp"},
        {"first_party": False},
        {"effects": None},
        {"effects": frozenset({"exec"})},
        {"policy_class": "exec"},
        {"audience": "owner"},
        {"attended": "coding"},
        {"capability": "orch:read"},
        {"control": "config"},
        {"category": "web"},
        {"exposure": "hidden"},
    ],
)
def test_whatever_a_gate_reads_makes_a_tool_another(facts):
    assert likeness(tool(**facts)) != likeness(tool())


def test_a_tool_whose_effects_depend_on_an_argument_is_like_no_other():
    table = EffectsBy("do", {"look": frozenset({"read"})})
    one, other = (tool(name, effects_by=table) for name in "ab")
    assert likeness(one) != likeness(other)


def test_a_gate_is_asked_once_about_all_that_are_alike():
    asked = []

    class Counting(Gate):
        def shows(self, found):
            asked.append(found.spec.name)
            return super().shows(found)

    tools = [tool(name) for name in "abc"] + [tool("x", effects=frozenset({"exec"}))]
    worker = OPERATOR.narrow(classes=["read_only"])
    shown = AlikeTools.of(tools).shown(Counting(OPEN_POLICY, worker))
    assert [found.spec.name for found in shown] == ["a", "b", "c"]
    assert asked == ["a", "x"]


def test_where_names_count_every_tool_is_looked_at_by_itself():
    tools = [tool(name) for name in "abc"]
    two = PolicySnapshot(filter=ToolFilter(allowed_tools=frozenset({"a", "c"})))
    shown = AlikeTools.of(tools).shown(Gate(two, OPERATOR))
    assert [found.spec.name for found in shown] == ["a", "c"]


NAMES = frozenset({"a"})


@pytest.mark.parametrize(
    ("policy", "caller", "reads"),
    [
        (OPEN_POLICY, OPERATOR, False),
        (OPEN_POLICY, replace(OPERATOR, trust="guest"), True),
        (OPEN_POLICY, replace(OPERATOR, tools=NAMES), True),
        (OPEN_POLICY, replace(OPERATOR, origin="script"), True),
        (OPEN_POLICY, replace(OPERATOR, job_tools=NAMES), True),
        (OPEN_POLICY, replace(OPERATOR, job_tools=frozenset()), False),
        (PolicySnapshot(filter=ToolFilter(allowed_tools=NAMES)), OPERATOR, True),
        (PolicySnapshot(filter=ToolFilter(excluded_names=NAMES)), OPERATOR, True),
        (PolicySnapshot(filter=ToolFilter(excluded_categories=NAMES)), OPERATOR, False),
        (PolicySnapshot(filter=ToolFilter(mcp=(NAMES,))), OPERATOR, True),
        (
            PolicySnapshot.from_settings(policy={"rules": [{"action": "ask", "tool": "a"}]}),
            OPERATOR,
            True,
        ),
        (
            PolicySnapshot.from_settings(
                policy={"rules": [{"action": "ask", "tool": "a", "channel": "elsewhere"}]}
            ),
            OPERATOR,
            False,
        ),
    ],
)
def test_a_gate_knows_whether_names_matter_to_it(policy, caller, reads):
    assert Gate(policy, caller).reads_names is reads


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_it_is_the_list_that_one_decision_for_each_would_make(space, data):
    policy, caller = data.draw(space.policies), data.draw(space.callers)
    tools = data.draw(st.lists(space.tools, max_size=6))
    gate = Gate(policy, caller, data.draw(space.filters))
    assert AlikeTools.of(tools).shown(gate) == tuple(item for item in tools if gate.shows(item))
