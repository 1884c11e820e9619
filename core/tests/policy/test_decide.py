from __future__ import annotations

from dataclasses import replace

import pytest

from pegboard.contracts.caller import Caller, ToolFilter
from pegboard.contracts.effects import Access, EffectsBy
from pegboard.contracts.tool import RegisteredTool, ToolSpec
from pegboard.contracts.verdict import Outcome
from pegboard.policy.attended import ATTENDED_RULES
from pegboard.policy.decide import GUEST_TOOLS, decide
from pegboard.policy.explain import explain, facts
from pegboard.policy.filters import CHAIN
from pegboard.policy.snapshot import OPEN_POLICY, PolicySnapshot

OPERATOR = Caller(
    trust="operator",
    origin="person",
    attended=True,
    live_reply=True,
    slash_commands=True,
    surface="terminal",
    run_profile="ultra",
)
GUEST = Caller(trust="guest", origin="person", attended=True, live_reply=True)


def registered(name="t", effects=frozenset({"read"}), *, plugin="p", **facts):
    declared = None if effects is None else frozenset(effects)
    outer = {key: facts.pop(key) for key in ("kind", "first_party", "metadata") if key in facts}
    spec = ToolSpec(name=name, effects=declared, **facts)
    return RegisteredTool(spec, plugin, name=name, **{"first_party": True, **outer})


def rule(tool, caller=OPERATOR, policy=OPEN_POLICY, filter=ToolFilter(), access=None):  # noqa: B008
    return decide(policy, caller, tool, access, filter=filter).rule


def test_an_operator_may_use_every_class():
    for effect in ("read", "fs_write", "state_write", "exec", "net_read", "net_write", "gui"):
        assert decide(OPEN_POLICY, OPERATOR, registered(effects={effect})).allowed
    assert decide(OPEN_POLICY, OPERATOR, registered(effects=None)).allowed


def test_a_caller_without_trust_is_a_guest():
    assert decide(OPEN_POLICY, Caller(), registered()).rule == "guest.allow_list"
    odd = Caller(trust="owner")  # type: ignore[arg-type]
    assert not decide(OPEN_POLICY, odd, registered()).allowed


def test_guests_see_the_allow_list_and_nothing_else():
    names = ("tool_search", "tool_describe", "tool_call", "tool_help", "tool_result_recall")
    core = [registered(name, plugin="core") for name in names]
    others = [registered("file_read", plugin="files"), registered("tool_search", plugin="evil")]
    others[1] = RegisteredTool(others[1].spec, "evil", name="")
    seen = {t.canonical for t in [*core, *others] if decide(OPEN_POLICY, GUEST, t).allowed}
    assert seen == GUEST_TOOLS
    assert seen == {"core:tool_search", "core:tool_describe", "core:tool_call", "core:tool_help"}


def test_the_operator_may_open_a_tool_to_guests_but_not_lift_its_class():
    policy = PolicySnapshot(guest_tools=frozenset({"clock", "net:fetch"}))
    assert decide(policy, GUEST, registered("clock")).allowed
    assert rule(registered("fetch", {"net_read"}, plugin="net"), GUEST, policy) == "trust.class"
    assert rule(registered("other"), GUEST, policy) == "guest.allow_list"


def test_owner_only_tools_do_not_exist_for_guests():
    policy = PolicySnapshot(guest_tools=frozenset({"diary"}))
    diary = registered("diary", audience="owner")
    verdict = decide(policy, GUEST, diary)
    assert (verdict.rule, verdict.disclosed) == ("owner_only", False)
    assert decide(policy, OPERATOR, diary).allowed
    assert decide(policy, OPERATOR.narrow(), diary).allowed


def test_mcp_tools_are_never_seen_by_guests():
    policy = PolicySnapshot(guest_tools=frozenset({"t"}))
    assert rule(registered(kind="mcp"), GUEST, policy) == "trust.class"


def test_nothing_above_the_ceiling_is_disclosed():
    tool = registered(effects={"exec"}, category="system")
    narrowings = [
        (OPERATOR, ToolFilter(kind="mcp"), "filter.kind"),
        (GUEST, ToolFilter(), "trust.class"),
        (OPERATOR.narrow(classes=["read_only"]), ToolFilter(), "policy.class"),
        (OPERATOR, ToolFilter(policy=frozenset({"network"})), "policy.class"),
        (OPERATOR, ToolFilter(denied=frozenset({"exec"})), "policy.class"),
        (OPERATOR.narrow(tools=["other"]), ToolFilter(), "caller.tools"),
        (OPERATOR, ToolFilter(allowed_tools=frozenset()), "filter.allowed_tools"),
        (OPERATOR, ToolFilter(excluded_names=frozenset({"t"})), "filter.excluded_names"),
        (
            OPERATOR,
            ToolFilter(excluded_categories=frozenset({"system"})),
            "filter.excluded_categories",
        ),
    ]
    for caller, filter, expected in narrowings:
        verdict = decide(OPEN_POLICY, caller, tool, filter=filter)
        assert (verdict.outcome, verdict.rule) == (Outcome.DENY, expected)
        assert not verdict.disclosed


def test_filters_compose_in_one_order():
    assert [check.__name__ for check in CHAIN] == [
        "kind",
        "policy",
        "owner_only",
        "allow_list",
        "excluded_name",
        "excluded_category",
        "hidden",
    ]
    worst = registered(
        effects={"exec"}, audience="owner", category="system", exposure="hidden", kind="tool"
    )
    everything = {
        "kind": "mcp",
        "policy": frozenset({"read_only"}),
        "allowed_tools": frozenset({"x"}),
        "excluded_names": frozenset({"t"}),
        "excluded_categories": frozenset({"system"}),
    }
    expected = [
        "filter.kind",
        "policy.class",
        "filter.allowed_tools",
        "filter.excluded_names",
        "filter.excluded_categories",
        "filter.hidden",
    ]
    seen = []
    for dropped in [None, *everything]:
        if dropped is not None:
            del everything[dropped]
        seen.append(rule(worst, filter=ToolFilter(**everything)))
    assert seen == expected
    assert rule(worst, filter=ToolFilter(include_hidden=True)) == "allowed"


def test_no_list_does_not_narrow_and_an_empty_list_allows_nothing():
    tool = registered()
    assert decide(OPEN_POLICY, OPERATOR, tool, filter=ToolFilter(allowed_tools=None)).allowed
    assert not decide(
        OPEN_POLICY, OPERATOR, tool, filter=ToolFilter(allowed_tools=frozenset())
    ).allowed
    assert not decide(OPEN_POLICY, OPERATOR.narrow(tools=[]), tool).allowed


@pytest.mark.parametrize("name", ["t", "p:t", "p__t"])
def test_an_allow_list_may_use_short_canonical_and_wire_names(name):
    unnamed = RegisteredTool(ToolSpec(name="t", effects=frozenset({"read"})), "p")
    tool = unnamed if name == "p__t" else registered()
    policy = PolicySnapshot(filter=ToolFilter(allowed_tools=frozenset({name})))
    assert decide(policy, OPERATOR, tool).allowed


def test_a_short_name_that_nobody_has_allows_nobody():
    tool = RegisteredTool(ToolSpec(name="t", effects=frozenset({"read"})), "p", name="")
    assert not decide(
        OPEN_POLICY, OPERATOR, tool, filter=ToolFilter(allowed_tools=frozenset({"t"}))
    ).allowed
    assert not decide(
        OPEN_POLICY, OPERATOR, tool, filter=ToolFilter(excluded_names=frozenset({"t"}))
    ).allowed


def test_the_operators_filter_and_the_call_sites_both_narrow():
    policy = PolicySnapshot(filter=ToolFilter(allowed_tools=frozenset({"a", "b"})))
    site = ToolFilter(allowed_tools=frozenset({"b", "c"}))
    allowed = {n for n in "abc" if decide(policy, OPERATOR, registered(n), filter=site).allowed}
    assert allowed == {"b"}


def test_settings_become_a_snapshot():
    policy = PolicySnapshot.from_settings(
        {"allowed": ["a"], "excluded": ["b"], "excluded_categories": ["web"]},
        {"guest_tools": ["clock"]},
    )
    assert policy.filter.allowed_tools == {"a"}
    assert policy.filter.excluded_names == {"b"}
    assert policy.filter.excluded_categories == {"web"}
    assert policy.guest_tools == {"clock"}
    assert PolicySnapshot.from_settings().filter.allowed_tools is None
    assert PolicySnapshot.from_settings({"allowed": []}).filter.allowed_tools == frozenset()


def test_the_list_shows_a_tool_of_which_some_call_could_pass_and_the_call_is_decided_by_itself():
    table = EffectsBy("do", {"look": frozenset({"read"})})
    tool = registered(effects={"read", "exec"}, effects_by=table)
    worker = OPERATOR.narrow(classes=["read_only"])
    assert decide(OPEN_POLICY, worker, tool).allowed
    assert decide(OPEN_POLICY, worker, tool, (Access("read", ""),)).allowed
    assert not decide(OPEN_POLICY, worker, tool, (Access("exec", ""), Access("read", ""))).allowed


def test_an_attended_rule_needs_its_own_condition():
    tool = registered(attended="event_changes")
    assert decide(OPEN_POLICY, OPERATOR, tool).allowed
    for caller in (OPERATOR.narrow(), Caller(trust="operator", origin="job", job="j1")):
        verdict = decide(OPEN_POLICY, caller, tool)
        assert verdict.rule == "attended.event_changes"
        assert verdict.disclosed


def test_a_turn_is_ultra_only_where_the_owner_said_so():
    tool = registered(attended="ultra")
    assert decide(OPEN_POLICY, OPERATOR, tool).allowed
    for caller in (
        replace(OPERATOR, run_profile=""),
        replace(OPERATOR, trust="guest"),
        replace(OPERATOR, depth=1),
        OPERATOR.narrow(),
    ):
        assert not decide(OPEN_POLICY, caller, tool).allowed
    assert OPERATOR.narrow().run_profile == ""


def test_an_attended_rule_that_nobody_knows_denies():
    assert rule(registered(attended="full_moon")) == "attended.full_moon"


@pytest.mark.parametrize("name", ATTENDED_RULES)
def test_no_attended_rule_holds_for_delegated_work_guests_or_jobs(name):
    tool = registered(attended=name)
    policy = PolicySnapshot(guest_tools=frozenset({"t"}))
    assert decide(policy, OPERATOR, tool).allowed
    job = Caller(trust="operator", origin="job", job="j", attended=True, live_reply=True)
    for caller in (OPERATOR.narrow(), GUEST, job, Caller(trust="operator")):
        assert not decide(policy, caller, tool).allowed


def test_scripts_need_a_capability_and_a_trusted_plugin():
    script = Caller(trust="operator", origin="script")
    holds = PolicySnapshot(capabilities=frozenset({"orch:read"}))
    tool = registered(capability="orch:read")
    assert rule(registered(), script, holds) == "capability.none"
    assert rule(tool, script) == "capability.read"
    assert decide(holds, script, tool).allowed
    third = registered(capability="orch:read", first_party=False)
    assert rule(third, script, holds) == "script.allow"
    named = PolicySnapshot(capabilities=frozenset({"orch:read"}), script_tools=frozenset({"p:t"}))
    assert decide(named, script, third).allowed


def test_a_verdict_is_explained_with_its_rule_reason_and_fix():
    policy = PolicySnapshot(filter=ToolFilter(excluded_names=frozenset({"t"})))
    text = explain(policy, OPERATOR, registered(effects={"net_read"}))
    assert "t: denied for an operator (and not told that it exists)" in text
    assert "rule: filter.excluded_names" in text
    assert "fix: Remove its name" in text
    assert "class: network" in text


def test_the_facts_say_when_a_class_depends_on_an_argument():
    table = EffectsBy("do", {"look": frozenset({"read"})})
    lines = facts(registered(effects={"read", "exec"}, effects_by=table, attended="coding"))
    assert "class: exec (read_only for some arguments)" in lines
    assert "attended rule: coding" in lines
    assert "effects: unknown" in facts(registered(effects=None))
