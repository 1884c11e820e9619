"""Verdicts and facts in words, and the rules that were looked at."""

from __future__ import annotations

from dataclasses import replace

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from pegboard.contracts.caller import Caller, ToolFilter
from pegboard.contracts.effects import Access, EffectsBy
from pegboard.contracts.tool import RegisteredTool, ToolSpec
from pegboard.contracts.verdict import Outcome
from pegboard.policy.authority import RULES
from pegboard.policy.decide import decide
from pegboard.policy.explain import (
    ATTENDED,
    LOOKED_AT,
    OWN_RULES,
    caller_data,
    depends_on_arguments,
    explain,
    facts,
    facts_data,
    looked_at,
    profile_facts,
)
from pegboard.policy.filters import CHAIN
from pegboard.policy.profiles import resolve
from pegboard.policy.rule_match import Call
from pegboard.policy.rules import read_rules
from pegboard.policy.snapshot import OPEN_POLICY, PolicySnapshot

OPERATOR = Caller(trust="operator", origin="person", attended=True)
GUEST = Caller(trust="guest", origin="person")


def tool(effects=("read",), *, first_party=True, **statement):
    declared = None if effects is None else frozenset(effects)
    spec = ToolSpec(name="t", effects=declared, **statement)
    return RegisteredTool(spec, "p", first_party=first_party, name="t")


def test_every_rule_has_words_that_say_what_it_looks_at():
    names = [check.__name__ for check in CHAIN] + [rule.__name__ for rule in RULES]
    assert list(LOOKED_AT) == [*names, ATTENDED, OWN_RULES]


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_the_rules_that_are_told_are_those_that_decide(space, data):
    policy, caller = data.draw(space.policies), data.draw(space.callers)
    tool, filter = data.draw(space.tools), data.draw(space.filters)
    verdict = decide(policy, caller, tool, filter=filter)
    steps = looked_at(policy, caller, tool, filter=filter)
    assert [step.rule for step in steps] == list(LOOKED_AT)[: len(steps)]
    assert all(step.verdict is None for step in steps[:-1])
    last = steps[-1].verdict
    if last is None:
        assert verdict.allowed
        assert len(steps) == len(LOOKED_AT)
    else:
        assert (last.outcome, last.rule, last.reason) == (
            verdict.outcome,
            verdict.rule,
            verdict.reason,
        )


RULES_OF_THE_OPERATOR = [
    ({"action": "ask", "tool": "t"}, "policy.rules"),
    ({"action": "deny", "tool": "t"}, "policy.rules"),
]


@pytest.mark.parametrize(("rule", "name"), RULES_OF_THE_OPERATOR)
def test_the_operators_own_rules_are_looked_at_last(rule, name):
    policy = PolicySnapshot.from_settings(policy={"rules": [rule]})
    present = replace(OPERATOR, live_reply=True)
    steps = looked_at(policy, present, tool())
    assert [step.rule for step in steps] == list(LOOKED_AT)
    assert [step.verdict is None for step in steps] == [True] * (len(steps) - 1) + [False]
    assert steps[-1].verdict.rule.startswith(name)


@pytest.mark.parametrize(
    ("rules", "depends"),
    [
        ([], False),
        ([{"action": "ask", "tool": "t"}], False),
        ([{"action": "ask", "tool": "t", "arguments": {"x": "y"}}], True),
        ([{"action": "ask", "tool": "other", "arguments": {"x": "y"}}], False),
        ([{"action": "ask", "channel": "tg", "arguments": {"x": "y"}}], False),
    ],
)
def test_it_is_told_when_arguments_count(rules, depends):
    policy = PolicySnapshot.from_settings(policy={"rules": rules})
    assert depends_on_arguments(policy, OPERATOR, tool()) is depends
    table = EffectsBy("do", {"look": frozenset({"read"})})
    assert depends_on_arguments(policy, OPERATOR, tool(effects_by=table))


def test_a_rule_about_presence_decides_before_them():
    policy = PolicySnapshot.from_settings(policy={"rules": [{"action": "deny", "tool": "t"}]})
    absent = replace(OPERATOR, attended=False)
    steps = looked_at(policy, absent, tool(attended="coding"))
    assert (steps[-1].rule, steps[-1].verdict.rule) == (ATTENDED, "attended.coding")


def test_all_rules_pass_what_none_refuses():
    steps = looked_at(OPEN_POLICY, OPERATOR, tool())
    assert [step.rule for step in steps] == list(LOOKED_AT)
    assert all(step.verdict is None for step in steps)


def test_the_facts_of_a_tool_are_a_line_each():
    assert facts(tool()) == [
        "tool: p:t (tool, first-party)",
        "effects: read",
        "class: read_only",
        "audience: any",
        "exposure: direct",
    ]
    assert "tool: p:t (tool, third-party)" in facts(tool(first_party=False))
    assert "effects: exec, read" in facts(tool(["read", "exec"]))
    assert "effects: none" in facts(tool([]))
    assert "effects: unknown" in facts(tool(None))
    assert "attended rule: coding" in facts(tool(attended="coding"))


@pytest.mark.parametrize(
    ("capability", "binds"), [("orch:spawn", "for every call"), ("orch:read", "for scripts")]
)
def test_a_capability_is_told_with_what_it_binds(capability, binds):
    assert f"capability: {capability} ({binds})" in facts(tool(capability=capability))


def test_the_facts_as_data_say_also_what_is_not_there():
    assert facts_data(tool()) == {
        "name": "t",
        "canonical": "p:t",
        "plugin": "p",
        "kind": "tool",
        "first_party": True,
        "category": "general",
        "effects": ["read"],
        "classes": ["read_only"],
        "audience": "any",
        "exposure": "direct",
        "attended": None,
        "capability": None,
        "control": None,
    }
    assert facts_data(tool(None))["effects"] is None


def test_a_caller_as_data_has_no_id_that_a_host_makes_up():
    data = caller_data(replace(OPERATOR, lease="l1", job="j1"))
    assert data["trust"] == "operator"
    assert not {"lease", "job"} & set(data)
    assert caller_data(Caller(trust=None))["trust"] == "guest"


def test_a_decision_is_told_with_its_rule_and_only_what_there_is():
    allowed = explain(OPEN_POLICY, OPERATOR, tool()).splitlines()
    assert allowed[:3] == [
        "t: allowed for an operator",
        "rule: allowed",
        "reason: No rule forbids it.",
    ]
    assert not [line for line in allowed if line.startswith("fix:")]
    hidden = explain(OPEN_POLICY, GUEST, tool())
    assert hidden.startswith("t: denied for a guest (and not told that it exists)")
    assert "fix: Add its name to guest_tools" in hidden
    told = explain(OPEN_POLICY, OPERATOR, tool(control="config"))
    assert told.startswith("t: denied for an operator\nrule: control_plane\n")


def test_the_filter_of_a_call_site_is_explained_too():
    site = ToolFilter(excluded_names=frozenset({"t"}))
    assert "rule: filter.excluded_names" in explain(OPEN_POLICY, OPERATOR, tool(), filter=site)
    steps = looked_at(OPEN_POLICY, OPERATOR, tool(), filter=site)
    assert steps[-1].rule == "excluded_name"
    assert steps[-1].verdict is not None
    assert steps[-1].verdict.outcome is Outcome.DENY


def test_a_script_is_told_what_is_not_opened_to_it():
    script = Caller(trust="operator", origin="script")
    policy = PolicySnapshot(capabilities=frozenset({"orch:read"}))
    steps = looked_at(policy, script, tool(capability="orch:read", first_party=False))
    assert steps[-1].rule == "script_surface"


@pytest.mark.parametrize(
    ("autonomy", "wanted", "unwanted"),
    [
        ({}, ["orch:spawn"], ["question", "browse", "Scripts", "max", "refused"]),
        ({"profile": "assistant"}, ["starts nothing by itself"], ["orch:"]),
        (
            {"profile": "unattended", "denial_breaker": 3},
            ["a question is a no", "refused 3 times in a row"],
            ["max"],
        ),
        ({"profile": "max"}, ["the same as standard"], ["question"]),
        (
            {"write": True, "browse": True, "mcp": {"allow": {"docs": ["b", "a"]}}},
            ["orch:browse", "call tools that write", "docs: a, docs: b"],
            ["question"],
        ),
    ],
)
def test_a_profile_is_told_with_what_follows_from_it(autonomy, wanted, unwanted):
    text = "\n".join(profile_facts(resolve(autonomy)))
    assert all(words in text for words in wanted), text
    assert not any(words in text for words in unwanted), text


EITHER = EffectsBy("action", {"read": frozenset({"read"}), "write": frozenset({"fs_write"})})


def call_of(asked, effect, **arguments):
    return Call(tool=asked, access=(Access(effect, ""),), arguments=arguments)


def test_one_call_is_looked_at_by_its_own_effects():
    asked = tool(["read", "fs_write"], effects_by=EITHER)
    worker = OPERATOR.narrow(classes=["read_only"])
    reads = looked_at(OPEN_POLICY, worker, asked, call=call_of(asked, "read", action="read"))
    writes = looked_at(OPEN_POLICY, worker, asked, call=call_of(asked, "fs_write", action="write"))
    assert reads[-1].verdict is None and len(reads) == len(LOOKED_AT)
    assert writes[-1].rule == "policy" and writes[-1].verdict is not None


def test_one_call_is_looked_at_by_rules_about_its_arguments():
    rules = read_rules([{"action": "deny", "arguments": {"to": "*.example.org"}}])
    policy, asked = PolicySnapshot(rules=rules), tool()
    for to, decided in (("a.example.org", True), ("a.example.com", False)):
        last = looked_at(policy, OPERATOR, asked, call=call_of(asked, "read", to=to))[-1]
        assert (last.rule, last.verdict is not None) == (OWN_RULES, decided)
    assert looked_at(policy, OPERATOR, asked)[-1].verdict is None
