"""Narrowing any input never makes a verdict milder, nor discloses what was undisclosed."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from pegboard.contracts.caller import Caller, ToolFilter
from pegboard.contracts.effects import EFFECTS, EXPOSURES, POLICY_CLASSES, Access, EffectsBy
from pegboard.contracts.tool import RegisteredTool, ToolSpec
from pegboard.policy.attended import ATTENDED_RULES
from pegboard.policy.decide import decide
from pegboard.policy.snapshot import PolicySnapshot

NAMES = ("a", "b", "p:a", "q:b", "core:tool_help")
SURFACES = ("", "terminal", "chat", "voice", "editor", "api")


def some(rng, values):
    return frozenset(value for value in values if rng.random() < 0.6)


def maybe(rng, value):
    return value if rng.random() < 0.5 else None


def a_tool(rng):
    effects = maybe(rng, some(rng, EFFECTS))
    table = EffectsBy("x", {"1": some(rng, EFFECTS), "2": some(rng, EFFECTS)})
    spec = ToolSpec(
        name=rng.choice("ab"),
        effects=effects,
        effects_by=maybe(rng, table),
        audience=rng.choice(("any", "owner")),
        attended=rng.choice((None, None, "unknown", *ATTENDED_RULES)),
        capability=maybe(rng, "orch:read"),
        policy_class=maybe(rng, rng.choice(POLICY_CLASSES)),
        exposure=rng.choice(EXPOSURES),
        category=rng.choice(("web", "file")),
    )
    return RegisteredTool(
        spec,
        rng.choice("pq"),
        kind=rng.choice(("tool", "mcp", "skill")),
        first_party=rng.random() < 0.5,
        name=rng.choice((spec.name, "")),
    )


def a_filter(rng):
    return ToolFilter(
        kind=rng.choice(("all", "all", "tool", "mcp")),
        policy=maybe(rng, some(rng, POLICY_CLASSES)),
        denied=some(rng, POLICY_CLASSES[3:]) if rng.random() < 0.3 else frozenset(),
        allowed_tools=maybe(rng, some(rng, NAMES)),
        excluded_names=some(rng, NAMES) if rng.random() < 0.2 else frozenset(),
        excluded_categories=some(rng, ("web",)) if rng.random() < 0.2 else frozenset(),
        include_hidden=rng.random() < 0.5,
    )


def a_caller(rng):
    return Caller(
        trust=rng.choice(("operator", "operator", "guest")),
        admin=rng.random() < 0.5,
        origin=rng.choice(("person", "agent", "job", "script")),
        attended=rng.random() < 0.7,
        live_reply=rng.random() < 0.7,
        slash_commands=rng.random() < 0.7,
        surface=rng.choice(SURFACES),
        depth=rng.choice((0, 0, 1)),
        job=rng.choice(("", "", "j")),
        tools=maybe(rng, some(rng, NAMES)),
        classes=maybe(rng, some(rng, POLICY_CLASSES)),
    )


def a_policy(rng):
    return PolicySnapshot(
        filter=a_filter(rng),
        guest_tools=some(rng, NAMES),
        capabilities=some(rng, ("orch:read", "orch:web")),
        script_tools=some(rng, NAMES),
    )


def narrower_caller(rng, caller):
    return rng.choice(
        [
            lambda: caller.narrow(tools=some(rng, NAMES), delegated=False),
            lambda: caller.narrow(classes=some(rng, POLICY_CLASSES), delegated=False),
            lambda: caller.narrow(as_guest=True, delegated=False),
            lambda: caller.narrow() if caller.origin in ("person", "agent") else caller,
            lambda: replace(caller, attended=False),
            lambda: replace(caller, live_reply=False),
            lambda: replace(caller, slash_commands=False),
            lambda: replace(caller, surface=""),
            lambda: replace(caller, continuation=True),
            lambda: replace(caller, depth=caller.depth + 1),
            lambda: replace(caller, admin=False),
            lambda: caller if caller.trust == "guest" else replace(caller, trust="guest"),
        ]
    )()


def narrower_filter(rng, filter):
    classes = frozenset(POLICY_CLASSES) if filter.policy is None else filter.policy
    names = frozenset(NAMES) if filter.allowed_tools is None else filter.allowed_tools
    return rng.choice(
        [
            lambda: replace(filter, policy=classes & some(rng, POLICY_CLASSES)),
            lambda: replace(filter, denied=filter.denied | some(rng, POLICY_CLASSES)),
            lambda: replace(filter, allowed_tools=names & some(rng, NAMES)),
            lambda: replace(filter, excluded_names=filter.excluded_names | some(rng, NAMES)),
            lambda: replace(
                filter, excluded_categories=filter.excluded_categories | some(rng, ("web", "file"))
            ),
            lambda: replace(filter, include_hidden=False),
            lambda: replace(filter, kind="mcp") if filter.kind == "all" else filter,
        ]
    )()


def narrower_policy(rng, policy):
    return rng.choice(
        [
            lambda: replace(policy, filter=narrower_filter(rng, policy.filter)),
            lambda: replace(policy, guest_tools=policy.guest_tools & some(rng, NAMES)),
            lambda: replace(policy, capabilities=policy.capabilities & some(rng, ("orch:read",))),
            lambda: replace(policy, script_tools=policy.script_tools & some(rng, NAMES)),
        ]
    )()


def weight(verdict):
    return (verdict.outcome, not verdict.disclosed)


@pytest.mark.parametrize("seed", range(20))
def test_narrowing_never_raises_a_verdict(seed):
    rng = random.Random(seed)
    for _ in range(400):
        tool, caller, policy, filter = a_tool(rng), a_caller(rng), a_policy(rng), a_filter(rng)
        access = maybe(rng, tuple(Access(effect, "") for effect in some(rng, EFFECTS)))
        before = decide(policy, caller, tool, access, filter=filter)
        after = [
            decide(policy, narrower_caller(rng, caller), tool, access, filter=filter),
            decide(narrower_policy(rng, policy), caller, tool, access, filter=filter),
            decide(policy, caller, tool, access, filter=narrower_filter(rng, filter)),
            decide(
                policy,
                caller,
                replace(tool, spec=replace(tool.spec, audience="owner")),
                access,
                filter=filter,
            ),
        ]
        for verdict in after:
            assert weight(verdict) >= weight(before), (tool, caller, policy, filter)


@pytest.mark.parametrize("seed", range(5))
def test_what_the_list_hides_no_call_of_it_may_run(seed):
    rng = random.Random(seed)
    for _ in range(500):
        tool, caller, policy = a_tool(rng), a_caller(rng), a_policy(rng)
        listed = decide(policy, caller, tool)
        if listed.allowed:
            continue
        effects = frozenset(EFFECTS) if tool.spec.effects is None else tool.spec.effects
        tables = [effects]
        if tool.spec.effects_by is not None:
            tables += [effects & found for found in tool.spec.effects_by.values.values()]
        for call in tables:
            access = tuple(Access(effect, "") for effect in call)
            assert not decide(policy, caller, tool, access).allowed
