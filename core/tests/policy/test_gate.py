"""The gate as call sites hold it: for one caller, about many tools."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pegboard.contracts.caller import NO_FILTER, Caller, ToolFilter
from pegboard.contracts.effects import Access, EffectsBy
from pegboard.contracts.tool import RegisteredTool, ToolSpec
from pegboard.contracts.verdict import Outcome
from pegboard.policy.decide import Gate, decide
from pegboard.policy.snapshot import OPEN_POLICY, PolicySnapshot

OPERATOR = Caller(trust="operator", origin="person", attended=True, live_reply=True)
WORKER = OPERATOR.narrow(classes=["read_only"])


def tool(name="t", effects=("read",), **facts):
    declared = None if effects is None else frozenset(effects)
    return RegisteredTool(ToolSpec(name=name, effects=declared, **facts), "p", first_party=True)


def test_a_gate_fits_what_it_was_made_from_and_nothing_else():
    policy, caller, filter = PolicySnapshot(), replace(OPERATOR), ToolFilter()
    gate = Gate(policy, caller, filter)
    assert gate.fits(policy, caller, filter)
    # by identity: what is equal may still be another, and comparing would cost more than deciding
    assert not gate.fits(PolicySnapshot(), caller, filter)
    assert not gate.fits(policy, replace(caller), filter)
    assert not gate.fits(policy, caller, ToolFilter())


def test_it_shows_what_some_call_could_pass():
    gate = Gate(OPEN_POLICY, WORKER)
    assert gate.shows(tool())
    assert not gate.shows(tool(effects=["exec"]))


def test_what_does_not_depend_on_arguments_is_decided_once():
    gate = Gate(OPEN_POLICY, WORKER)
    refused = tool(effects=["exec"])
    first = gate.judge(refused)
    assert first.outcome is Outcome.DENY
    assert gate.judge(refused) is first
    assert gate.judge(refused, (Access("exec", "/bin/ls"),)) is first
    assert gate.judge(replace(refused)) is not first


def test_what_depends_on_arguments_is_decided_anew_for_each_call():
    table = EffectsBy("do", {"look": frozenset({"read"})})
    both = tool(effects=["read", "exec"], effects_by=table)
    gate = Gate(OPEN_POLICY, WORKER)
    assert gate.judge(both).allowed
    assert not gate.judge(both, (Access("exec", ""),)).allowed
    assert gate.judge(both, (Access("read", ""),)).allowed


@pytest.mark.parametrize("effects", [["read", "exec"], None])
def test_a_tool_whose_effects_depend_on_nothing_is_judged_by_all_that_it_declares(effects):
    plain = tool(effects=effects)
    assert not decide(OPEN_POLICY, WORKER, plain, ()).allowed
    assert not decide(OPEN_POLICY, WORKER, plain, (Access("read", ""),)).allowed


def test_a_gate_without_a_filter_of_its_own_has_the_operators():
    policy = PolicySnapshot(filter=ToolFilter(excluded_names=frozenset({"t"})))
    assert Gate(policy, OPERATOR).filter is NO_FILTER
    assert not Gate(policy, OPERATOR).shows(tool())


RULES = [
    {"action": "deny", "tool": "t"},
    {"action": "deny", "tool": "other", "arguments": {"x": "y"}},
]


def test_a_rule_that_reads_no_arguments_of_a_tool_is_applied_once_too():
    gate = Gate(PolicySnapshot.from_settings(policy={"rules": RULES}), OPERATOR)
    refused = tool()
    access = (Access("read", ""),)
    first = gate.judge(refused, access, {"x": "y"})
    assert first.outcome is Outcome.DENY
    assert gate.judge(refused, access, {"x": "z"}) is first
    assert gate.judge(refused) is first


def test_a_rule_that_reads_arguments_is_applied_to_each_call():
    rules = [{"action": "deny", "tool": "t", "arguments": {"x": "y"}}]
    gate = Gate(PolicySnapshot.from_settings(policy={"rules": rules}), OPERATOR)
    access = (Access("read", ""),)
    assert gate.judge(tool(), access, {"x": "y"}).outcome is Outcome.DENY
    assert gate.judge(tool(), access, {"x": "z"}).allowed


def test_a_rule_about_effects_looks_at_those_of_the_call():
    table = EffectsBy("do", {"look": frozenset({"read"})})
    both = tool(effects=["read", "exec"], effects_by=table)
    rules = [{"action": "deny", "effect": "exec"}]
    gate = Gate(PolicySnapshot.from_settings(policy={"rules": rules}), OPERATOR)
    assert gate.judge(both).allowed
    assert gate.judge(both, (Access("read", ""),)).allowed
    assert not gate.judge(both, (Access("exec", ""), Access("read", ""))).allowed


def test_a_call_has_no_effect_that_its_tool_does_not_declare():
    table = EffectsBy("do", {"look": frozenset({"read", "net_read"})})
    both = tool(effects=["read", "exec"], effects_by=table)
    rules = [{"action": "allow", "effect": "read"}, {"action": "deny"}]
    gate = Gate(PolicySnapshot.from_settings(policy={"rules": rules}), OPERATOR)
    # its call `look` only reads, so that the first rule lets it pass and the tool is shown
    assert gate.shows(both)


def test_what_a_guest_may_use_is_no_secret_to_them():
    policy = PolicySnapshot.from_settings(policy={"guest_tools": ["p:t"]})
    verdict = Gate(policy, Caller(trust="guest", origin="person")).judge(tool())
    assert (verdict.outcome, verdict.disclosed) == (Outcome.ALLOW, True)
    rules = [{"action": "allow", "tool": "p:t"}]
    ruled = PolicySnapshot.from_settings(policy={"guest_tools": ["p:t"], "rules": rules})
    verdict = Gate(ruled, Caller(trust="guest", origin="person")).judge(tool())
    assert (verdict.rule, verdict.disclosed) == ("policy.rules[0]", True)
