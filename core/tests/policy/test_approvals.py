"""Who can be asked about a call, what they are shown, and what a rule comes to."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pegboard.contracts.caller import Caller
from pegboard.contracts.effects import Access, EffectsBy
from pegboard.contracts.tool import RegisteredTool, ToolSpec
from pegboard.contracts.verdict import Ask, Outcome
from pegboard.policy.approvals import can_be_asked, decisive, is_lasting, ruled, shown_call
from pegboard.policy.decide import ALLOWED, Gate, decide
from pegboard.policy.rules import read_rules
from pegboard.policy.snapshot import OPEN_POLICY, PolicySnapshot

OWNER = Caller(
    trust="operator",
    admin=True,
    origin="person",
    attended=True,
    live_reply=True,
    slash_commands=True,
    surface="chat",
)


def tool(name="push", **facts):
    facts.setdefault("effects", frozenset({"net_write"}))
    return RegisteredTool(ToolSpec(name=name, **facts), "git", first_party=True, name=name)


def policy(*tables, **facts):
    return PolicySnapshot(rules=read_rules(tables), **facts)


def call(tables, arguments, *, caller=OWNER, of=None, **facts):
    of = of or tool(parameters={"type": "object", "properties": {"to": {}}})
    access = tuple(Access(effect, "") for effect in of.spec.effects)
    return decide(policy(*tables, **facts), caller, of, access, arguments)


@pytest.mark.parametrize(
    "less",
    [{"trust": "guest"}, {"attended": False}, {"live_reply": False}, {"depth": 1}, {"depth": -1}],
)
def test_only_a_present_owner_can_be_asked(less):
    assert can_be_asked(OPEN_POLICY, OWNER)
    assert not can_be_asked(OPEN_POLICY, replace(OWNER, **less))
    assert not can_be_asked(PolicySnapshot(asks=False), OWNER)


def test_a_rule_asks_refuses_or_lets_pass():
    asked = decide(policy({"action": "ask", "question": "Really push?"}), OWNER, tool())
    assert (asked.outcome, asked.rule) == (Outcome.ASK, "policy.rules[0]")
    assert asked.ask == Ask("Really push?")
    assert "Really push?" in asked.reason
    plain = decide(policy({"action": "ask"}), OWNER, tool())
    assert plain.ask == Ask("May push run?")
    denied = decide(policy({"action": "deny", "reason": "Never."}), OWNER, tool())
    assert (denied.outcome, denied.reason, denied.disclosed) == (Outcome.DENY, "Never.", True)
    assert denied.ask is None
    unsaid = decide(policy({"action": "deny"}), OWNER, tool())
    assert unsaid.reason == "A rule of the operator refuses this call of push."
    passed = decide(policy({"action": "allow"}, {"action": "ask"}), OWNER, tool())
    assert (passed.outcome, passed.rule) == (Outcome.ALLOW, "policy.rules[0]")
    assert decide(OPEN_POLICY, OWNER, tool()) is ALLOWED
    assert decide(policy({"action": "deny", "tool": "pull"}), OWNER, tool()) is ALLOWED


def test_where_nobody_can_be_asked_a_question_is_a_no():
    for caller in (replace(OWNER, attended=False), OWNER.narrow()):
        verdict = decide(policy({"action": "ask"}), caller, tool())
        assert (verdict.outcome, verdict.rule) == (Outcome.DENY, "policy.rules[0]")
        assert "nobody is there" in verdict.reason
        assert verdict.fix == "Say what you wanted to do, so that the person can decide later."
        assert verdict.disclosed
    alone = decide(policy({"action": "ask"}, asks=False), OWNER, tool())
    assert alone.outcome is Outcome.DENY


def test_a_guest_is_not_asked_and_not_told():
    guest = replace(OWNER, trust="guest", admin=False)
    reads = tool(effects=frozenset({"read"}))
    for action in ("ask", "deny"):
        verdict = decide(policy({"action": action}, guest_tools=frozenset({"push"})), guest, reads)
        assert (verdict.outcome, verdict.disclosed) == (Outcome.DENY, False)
    allowed = decide(policy({"action": "allow"}, guest_tools=frozenset({"push"})), guest, reads)
    assert allowed.outcome is Outcome.ALLOW


def test_no_rule_lifts_what_is_refused_for_another_reason():
    tables = {"action": "allow"}
    controls = tool(control="config")
    assert decide(policy(tables), OWNER, controls).allowed
    assert not decide(policy(tables), replace(OWNER, admin=False), controls).allowed
    assert not decide(policy(tables), OWNER, tool(attended="unknown")).allowed
    assert not decide(policy(tables), replace(OWNER, tools=frozenset()), tool()).allowed


def test_calls_of_one_tool_are_judged_by_their_arguments():
    tables = [{"action": "ask", "tool": "push", "arguments": {"to": "bob"}}]
    assert call(tables, {"to": "bob"}).outcome is Outcome.ASK
    assert call(tables, {"to": "ann"}) is ALLOWED
    assert decide(policy(*tables), OWNER, tool()) is ALLOWED
    gate = Gate(policy(*tables), OWNER)
    push = tool(parameters={"type": "object", "properties": {"to": {}}})
    access = (Access("net_write", ""),)
    for to, outcome in (("bob", Outcome.ASK), ("ann", Outcome.ALLOW), ("bob", Outcome.ASK)):
        assert gate.judge(push, access, {"to": to}).outcome is outcome
        assert gate.judge(push, None, {"to": to}).outcome is Outcome.ALLOW
        assert gate.judge(push, access).outcome is Outcome.ALLOW
    other = tool("pull")
    assert gate.judge(other, access, {"to": "bob"}) is gate.judge(other, access, {"to": "ann"})


def test_a_path_is_judged_from_its_workspace():
    reads = tool(
        effects=frozenset({"read"}), parameters={"type": "object", "properties": {"path": {}}}
    )
    rules = policy({"action": "deny", "arguments": {"path": "secret/*"}})
    access = (Access("read", "/ws/secret/x", "path"),)
    given = {"path": "a/../../ws/secret/x"}
    assert not decide(rules, OWNER, reads, access, given, workspace="/ws").allowed
    assert decide(rules, OWNER, reads, access, given, workspace="/other").allowed


def test_a_list_shows_a_tool_of_which_some_call_the_ceiling_lets_pass_is_not_refused():
    table = EffectsBy("do", {"look": frozenset({"read"}), "run": frozenset({"exec"})})
    mixed = tool(effects=frozenset({"read", "exec"}), effects_by=table)
    deny = {"action": "deny", "effect": "read"}
    assert decide(policy(deny), OWNER, mixed).allowed
    reader = replace(OWNER, classes=frozenset({"read_only"}))
    assert not decide(policy(deny), reader, mixed).allowed
    assert decide(policy({"action": "deny", "effect": "exec"}), reader, mixed).allowed
    unknown = tool(effects=None, effects_by=table)
    assert not decide(policy(deny), OWNER, unknown).allowed


def test_only_one_rule_alone_makes_a_yes_that_can_last():
    assert is_lasting("policy.rules[12]")
    for rule in ("guard:a", "policy.rules[0], guard:a", "control_plane", "", "policy.rules[x]"):
        assert not is_lasting(rule)


def test_a_verdict_of_a_rule_does_not_depend_on_where_it_is_asked():
    (rule,) = read_rules([{"action": "ask"}])
    assert ruled(rule, tool(), can_be_asked=True).outcome is Outcome.ASK
    assert ruled(rule, tool(), can_be_asked=False).outcome is Outcome.DENY


def test_a_yes_depends_on_all_arguments_but_remarks():
    given = {"to": "ann", "why": "she asked", "label": "x"}
    assert decisive(tool(), given) == given
    assert decisive(tool(remarks=("why", "label")), given) == {"to": "ann"}
    assert decisive(tool(remarks=("why",)), {"to": "ann"}) == {"to": "ann"}


def test_a_person_is_shown_the_whole_call():
    arguments = {"to": "ann", "count": 3, "tags": ["a", "b"], "text": "one\ntwo", "odd": {1}}
    assert shown_call(tool(), arguments) == (
        'push\n  to: ann\n  count: 3\n  tags: ["a","b"]\n  text: one\n    two\n  odd: {1}'
    )
    assert shown_call(tool(), {}) == "push"


def test_what_hides_is_shown_and_what_is_long_is_cut_in_the_middle():
    shown = shown_call(tool(), {"a\u202e": "x\u202ey\x1b[2K\u200b\ud800é", "b": "x" * 1500})
    assert "a\\u202e: x\\u202ey\\x1b[2K\\u200b\\ud800é" in shown
    assert "not shown" not in shown
    long = shown_call(tool(), {"a": "b" * 1000 + "c" * 1000})
    assert "b" * 750 + "\n    [500 characters are not shown here]\n    " + "c" * 750 in long
