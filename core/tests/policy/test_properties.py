"""What holds for every policy, caller, tool and call, searched for counter-examples."""

from __future__ import annotations

import itertools
from dataclasses import fields, replace

import hypothesis.strategies as st
from hypothesis import given, settings

from pegboard.contracts.caller import Caller, ToolFilter
from pegboard.contracts.capability import CAPABILITIES, CONTROL_AREAS
from pegboard.contracts.effects import EFFECTS, EXPOSURES, POLICY_CLASSES, Access, EffectsBy
from pegboard.contracts.tool import RegisteredTool, ToolSpec
from pegboard.contracts.verdict import Outcome
from pegboard.policy.agents import AgentPolicies, AgentPolicy
from pegboard.policy.attended import ATTENDED_RULES
from pegboard.policy.decide import decide
from pegboard.policy.lease import Lease, Leases, LeaseTable
from pegboard.policy.patterns import Pattern
from pegboard.policy.rules import Rule
from pegboard.policy.snapshot import PolicySnapshot

NAMES = ("a", "b", "p:a", "q:b", "mcp_s_a")
PAIRS = (("s", "a"), ("s", "b"), ("", "a"), ("s", "mcp_s_a"))
LEASES = ("", "l1", "l2", "gone")
ROOTS = ("r1", "r2")


def some(values):
    return st.frozensets(st.sampled_from(sorted(values)))


def optional(strategy):
    return st.none() | strategy


effects = some(EFFECTS)
capabilities = some(CAPABILITIES)
classes = some(POLICY_CLASSES)
names = some(NAMES)
booleans = st.booleans()

specs = st.builds(
    ToolSpec,
    name=st.sampled_from(["a", "b", "mcp_s_a"]),
    effects=optional(effects),
    effects_by=optional(
        st.builds(
            lambda one, two: EffectsBy("x", {"1": one, "2": two}),
            effects,
            effects,
        )
    ),
    audience=st.sampled_from(["any", "owner"]),
    attended=optional(st.sampled_from(["unknown", *ATTENDED_RULES])),
    capability=optional(st.sampled_from(CAPABILITIES)),
    control=optional(st.sampled_from(CONTROL_AREAS)),
    policy_class=optional(st.sampled_from(POLICY_CLASSES)),
    exposure=st.sampled_from(EXPOSURES),
    category=st.sampled_from(["web", "file", "handoff"]),
    shell=st.sampled_from([(), ("command",)]),
)
tools = st.builds(
    lambda spec, plugin, kind, first_party, named, metadata: RegisteredTool(
        spec,
        plugin,
        kind=kind,
        first_party=first_party,
        name=spec.name if named else "",
        metadata=metadata,
    ),
    specs,
    st.sampled_from(["p", "q"]),
    st.sampled_from(["tool", "mcp", "skill"]),
    booleans,
    booleans,
    st.sampled_from([{}, {"family": "mcp_", "group": "s"}]),
)
filters = st.builds(
    ToolFilter,
    kind=st.sampled_from(["all", "tool", "mcp"]),
    policy=optional(classes),
    denied=some(POLICY_CLASSES[3:]) | st.just(frozenset()),
    allowed_tools=optional(names),
    excluded_names=st.just(frozenset()) | names,
    excluded_categories=st.just(frozenset()) | some(["web"]),
    mcp=st.just(()) | st.tuples(some(["s", "s:a", "t"])),
    include_hidden=booleans,
)
agents = st.builds(
    lambda filter, capabilities, heirs: AgentPolicies(
        {"main": AgentPolicy(filter=filter, capabilities=capabilities, heirs=heirs)}
    ),
    filters,
    optional(capabilities),
    st.just(frozenset()) | st.just(frozenset({"other"})),
)
callers = st.builds(
    Caller,
    trust=st.sampled_from(["operator", "operator", "guest"]),
    admin=booleans,
    origin=st.sampled_from(["person", "agent", "job", "script", "mcp", "http"]),
    attended=booleans,
    live_reply=booleans,
    slash_commands=booleans,
    surface=st.sampled_from(["", "terminal", "chat", "voice", "editor", "api"]),
    continuation=booleans,
    depth=st.sampled_from([0, 0, 1]),
    run_profile=st.sampled_from(["", "ultra"]),
    agent=st.sampled_from(["main", "main", "gone"]),
    job=st.sampled_from(["", "j"]),
    job_creator=st.sampled_from(["", "operator", "guest"]),
    job_tools=optional(names),
    lease=st.sampled_from(LEASES),
    tools=optional(names),
    classes=optional(classes),
)
leases = st.builds(
    lambda first, second, roots, stopped: Leases(
        {
            "l1": Lease(id="l1", root=roots[0], capabilities=first, expires=10.0),
            "l2": Lease(id="l2", root=roots[1], capabilities=second, expires=20.0),
        },
        stopped,
    ),
    capabilities,
    capabilities,
    st.permutations(ROOTS),
    st.just(frozenset()) | some(ROOTS),
)
patterns = st.sampled_from(["*", "1", "2", "[12]", "re:1|2", "p:*", "a", "b*"]).map(Pattern)
rules = st.builds(
    Rule,
    name=st.just("policy.rules[0]"),
    outcome=st.sampled_from(Outcome),
    tool=optional(patterns),
    effects=optional(effects),
    arguments=st.just(())
    | patterns.map(lambda found: (("x", (found,)),))
    | patterns.map(lambda found: (("command", (found,)),)),
    exact=optional(st.sampled_from([(), (("x", '"1"'),)])),
    trust=optional(st.sampled_from(["operator", "guest"])),
    agent=optional(st.sampled_from(["main", "go*"]).map(Pattern)),
)
arguments = st.dictionaries(
    st.sampled_from(["x", "command"]), st.sampled_from(["1", "2", "a", "a | b"])
)
policies = st.builds(
    PolicySnapshot,
    filter=filters,
    guest_tools=names,
    capabilities=capabilities,
    script_tools=names,
    script_write=booleans,
    mcp_allow=some(PAIRS),
    asks=booleans,
    rules=st.lists(rules, max_size=4).map(tuple),
    agents=agents,
    leases=leases,
)
accesses = optional(effects.map(lambda found: tuple(Access(effect, "") for effect in found)))


def weight(verdict):
    return (verdict.outcome, not verdict.disclosed)


def meet(mine, other):
    return other if mine is None else mine if other is None else mine & other


@st.composite
def narrowed_filter(draw, whole):
    other = draw(filters)
    kinds = {whole.kind, other.kind} - {"all"}
    return ToolFilter(
        kind=whole.kind if len(kinds) != 1 else kinds.pop(),
        policy=meet(whole.policy, other.policy),
        denied=whole.denied | other.denied,
        allowed_tools=meet(whole.allowed_tools, other.allowed_tools),
        excluded_names=whole.excluded_names | other.excluded_names,
        excluded_categories=whole.excluded_categories | other.excluded_categories,
        mcp=whole.mcp + other.mcp,
        include_hidden=whole.include_hidden and other.include_hidden,
    )


@st.composite
def narrowed_caller(draw, whole):
    """Return a caller who is less in some of its fields, each on its own."""
    less = {
        "trust": "guest",
        "admin": False,
        "attended": False,
        "live_reply": False,
        "slash_commands": False,
        "surface": "",
        "continuation": True,
        "depth": whole.depth + 1,
        "run_profile": "",
        "agent": "gone",
        "job_creator": "",
        "job_tools": (whole.job_tools or frozenset()) & draw(names),
        "lease": whole.lease or draw(st.sampled_from(LEASES)),
        "tools": meet(whole.tools, draw(names)),
        "classes": meet(whole.classes, draw(classes)),
    }
    chosen = draw(st.sets(st.sampled_from(sorted(less)), min_size=1))
    child = replace(whole, **{name: less[name] for name in chosen})
    may_delegate = whole.origin in ("person", "agent")
    return child.narrow() if may_delegate and draw(booleans) else child


@st.composite
def narrowed_agent(draw, whole):
    return AgentPolicy(
        filter=draw(narrowed_filter(whole.filter)),
        capabilities=meet(whole.capabilities, draw(optional(capabilities))),
        heirs=frozenset() if draw(booleans) else whole.heirs,
    )


@st.composite
def narrowed_rules(draw, whole):
    """Return rules with one more denial or question, or with one that is less mild."""
    place = draw(st.integers(0, len(whole)))
    change = draw(st.sampled_from(["deny", "ask", "harden", "drop"]))
    if change == "deny":
        return (*whole[:place], replace(draw(rules), outcome=Outcome.DENY), *whole[place:])
    if change == "ask":
        return (*whole, replace(draw(rules), outcome=Outcome.ASK))
    if change == "harden":
        hard = (replace(rule, outcome=Outcome.DENY) for rule in whole[place:])
        return (*whole[:place], *hard)
    return tuple(rule for rule in whole if not rule.allows)


@st.composite
def narrowed_policy(draw, whole):
    live = {
        name: replace(lease, capabilities=lease.capabilities & draw(capabilities))
        for name, lease in whole.leases.live.items()
        if draw(booleans)
    }
    less = {
        "filter": draw(narrowed_filter(whole.filter)),
        "guest_tools": whole.guest_tools & draw(names),
        "capabilities": whole.capabilities & draw(capabilities),
        "script_tools": whole.script_tools & draw(names),
        "script_write": False,
        "mcp_allow": whole.mcp_allow & draw(some(PAIRS)),
        "asks": False,
        "rules": draw(narrowed_rules(whole.rules)),
        "agents": AgentPolicies({"main": draw(narrowed_agent(whole.agents.of("main")))}),
        "leases": Leases(live, whole.leases.stopped | draw(some(ROOTS))),
    }
    assert set(less) == {item.name for item in fields(whole)}
    chosen = draw(st.sets(st.sampled_from(sorted(less)), min_size=1))
    return replace(whole, **{name: less[name] for name in chosen})


@settings(max_examples=500, deadline=None)
@given(policies, callers, tools, accesses, optional(arguments), filters, st.data())
def test_narrowing_any_input_never_widens_the_outcome(
    policy, caller, tool, access, given_arguments, filter, data
):
    call = (tool, access, given_arguments)
    before = weight(decide(policy, caller, *call, filter=filter))
    who = data.draw(narrowed_caller(caller))
    narrow = data.draw(narrowed_policy(policy))
    site = data.draw(narrowed_filter(filter))
    assert weight(decide(policy, who, *call, filter=filter)) >= before
    assert weight(decide(narrow, caller, *call, filter=filter)) >= before
    assert weight(decide(policy, caller, *call, filter=site)) >= before
    assert weight(decide(narrow, who, *call, filter=site)) >= before
    later = policy.at(data.draw(st.sampled_from([5.0, 15.0, 25.0])))
    assert weight(decide(later, caller, *call, filter=filter)) >= before


@settings(max_examples=300, deadline=None)
@given(policies, callers, tools, filters, st.sampled_from(CONTROL_AREAS))
def test_a_tool_that_says_more_of_its_danger_is_never_judged_more_mildly(
    policy, caller, tool, filter, area
):
    before = weight(decide(policy, caller, tool, filter=filter))
    for facts in ({"audience": "owner"}, {"control": area}, {"attended": "unknown"}):
        more = {**facts}
        if tool.spec.attended is not None:
            more.pop("attended", None)
        worse = replace(tool, spec=replace(tool.spec, **more))
        assert weight(decide(policy, caller, worse, filter=filter)) >= before


@settings(max_examples=300, deadline=None)
@given(policies, callers, tools, filters, arguments)
def test_list_and_dispatch_agree(policy, caller, tool, filter, given_arguments):
    listed = decide(policy, caller, tool, filter=filter)
    declared = frozenset(EFFECTS) if tool.spec.effects is None else tool.spec.effects
    possible = [declared]
    if tool.spec.effects_by is not None:
        possible += [declared & found for found in tool.spec.effects_by.values.values()]
    calls = [tuple(Access(effect, "") for effect in call) for call in possible]
    for some in (None, given_arguments):
        outcomes = [decide(policy, caller, tool, access, some, filter=filter) for access in calls]
        assert all(verdict.outcome >= listed.outcome for verdict in outcomes)
        one_of_a_kind = not any(rule.looks_at_arguments for rule in policy.rules) or some is None
        if tool.spec.effects_by is None and one_of_a_kind:
            assert outcomes == [listed]


@settings(max_examples=200, deadline=None)
@given(policies, callers, tools, filters)
def test_a_guest_is_told_of_nothing_that_it_can_not_use(policy, caller, tool, filter):
    guest = replace(caller, trust="guest")
    verdict = decide(policy, guest, tool, filter=filter)
    assert verdict.disclosed is (verdict.outcome is not Outcome.DENY)


@settings(max_examples=200, deadline=None)
@given(policies, callers, tools)
def test_no_capability_opens_the_control_plane(policy, caller, tool):
    everything = replace(policy, capabilities=frozenset(CAPABILITIES), script_write=True)
    controlling = replace(tool, spec=replace(tool.spec, control="config"))
    assert not decide(everything, replace(caller, admin=False), controlling).allowed


requests = st.lists(
    st.tuples(
        st.integers(0, 5),
        optional(capabilities),
        st.floats(1, 50),
        st.sampled_from(["run", "fire"]),
        st.sampled_from(["issue", "revoke", "evict"]),
    ),
    max_size=12,
)


@settings(max_examples=200, deadline=None)
@given(capabilities, requests)
def test_a_child_never_holds_what_its_parent_lacks_nor_outlives_it(held, steps):
    numbers = itertools.count()
    table = LeaseTable(new_id=lambda: str(next(numbers)), changed=lambda leases: None)
    for now, (which, requested, lifetime, kind, act) in enumerate(steps):
        live = sorted(table.leases.at(now).live)
        parent = live[which % len(live)] if live and which else ""
        if act == "issue":
            table.issue(
                held,
                now=now,
                lifetime_s=lifetime,
                parent=parent,
                requested=requested,
                kind=kind,
            )
        elif act == "revoke":
            table.revoke(parent)
        else:
            table.evict(parent)
        known = table.leases.live
        for lease in known.values():
            assert lease.capabilities <= held
            above = known.get(lease.parent)
            if above is not None:
                assert lease.capabilities <= above.capabilities
                assert lease.expires <= above.expires
            else:
                assert lease.parent == "" or lease.parent not in known
