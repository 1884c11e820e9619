"""What a named agent may use: the operator's narrowing of it, and never more than that."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pegboard.contracts.caller import Caller, ToolFilter
from pegboard.contracts.tool import RegisteredTool, ToolSpec
from pegboard.policy.agents import AgentPolicies, AgentPolicy
from pegboard.policy.capabilities import STANDARD
from pegboard.policy.decide import decide
from pegboard.policy.lease import Lease, Leases
from pegboard.policy.snapshot import OPEN_POLICY, PolicySnapshot

OWNER = Caller(trust="operator", origin="person", attended=True)
HELPER = replace(OWNER, agent="helper")


def tool(name="look", *, kind="tool", metadata=None, **facts):
    spec = ToolSpec(name=name, effects=frozenset({"read"}), **facts)
    return RegisteredTool(
        spec, "p", kind=kind, first_party=True, metadata=metadata or {}, name=name
    )


def policy(**facts):
    given = facts.pop("capabilities", STANDARD)
    agents = AgentPolicies({"helper": AgentPolicy(**facts)})
    return PolicySnapshot(capabilities=STANDARD if given is None else given, agents=agents)


def test_an_agent_has_the_tools_of_its_list_and_the_others_have_theirs():
    narrowed = policy(filter=ToolFilter(allowed_tools=frozenset({"look"})))
    assert decide(narrowed, HELPER, tool("look")).allowed
    refused = decide(narrowed, HELPER, tool("write"))
    assert (refused.allowed, refused.disclosed) == (False, False)
    assert decide(narrowed, OWNER, tool("write")).allowed


@pytest.mark.parametrize("agent", ["gone", "", "Main"])
def test_an_agent_that_nobody_has_defined_may_use_nothing(agent):
    gone = replace(OWNER, agent=agent)
    assert not decide(OPEN_POLICY, gone, tool()).allowed
    assert PolicySnapshot(capabilities=STANDARD).held(gone) == frozenset()


def test_an_agents_profile_takes_capabilities_and_gives_none():
    sends = tool("tell", capability="orch:message")
    none = PolicySnapshot(
        capabilities=STANDARD,
        agents=AgentPolicies({"helper": AgentPolicy(capabilities=frozenset())}),
    )
    assert not decide(none, HELPER, sends).allowed
    assert decide(none, OWNER, sends).allowed
    poor = PolicySnapshot(
        capabilities=frozenset(),
        agents=AgentPolicies({"helper": AgentPolicy(capabilities=STANDARD)}),
    )
    assert poor.held(HELPER) == frozenset()


def test_an_agents_profile_counts_beside_the_lease_of_its_run():
    lease = Lease(id="l", root="l", capabilities=frozenset({"orch:web", "orch:read"}))
    agents = AgentPolicies({"helper": AgentPolicy(capabilities=frozenset({"orch:web"}))})
    both = PolicySnapshot(capabilities=STANDARD, agents=agents, leases=Leases({"l": lease}))
    assert both.held(replace(HELPER, lease="l")) == {"orch:web"}
    assert both.held(replace(OWNER, lease="l")) == {"orch:web", "orch:read"}


def test_mcp_tools_are_opened_to_an_agent_by_server_or_one_by_one():
    found = tool("mcp_docs_search", kind="mcp", metadata={"family": "mcp_", "group": "docs"})
    for listed, allowed in (
        ({"docs"}, True),
        ({"docs:search"}, True),
        ({"docs:mcp_docs_search"}, True),
        ({"docs:other", "web"}, False),
        (set(), False),
    ):
        narrowed = policy(filter=ToolFilter(mcp=(frozenset(listed),)))
        verdict = decide(narrowed, HELPER, found)
        assert verdict.allowed is allowed
        assert allowed or verdict.rule == "filter.mcp"
        assert decide(narrowed, HELPER, tool("look")).allowed  # no MCP tool: not concerned
    two = policy(filter=ToolFilter(mcp=(frozenset({"docs"}), frozenset({"docs:other"}))))
    assert not decide(two, HELPER, found).allowed


def test_who_has_nobody_to_hand_over_to_is_not_offered_to():
    hands_over = tool("handoff", category="handoff")
    alone, rich = policy(), policy(heirs=frozenset({"main"}))
    assert decide(alone, HELPER, hands_over).rule == "filter.no_heir"
    assert decide(alone, OWNER, hands_over).rule == "filter.no_heir"
    assert decide(rich, HELPER, hands_over).allowed
    assert decide(rich, HELPER.narrow(), hands_over).rule == "filter.no_heir"
    assert decide(alone, HELPER, tool("handoff")).allowed  # of another category


def test_delegated_work_delegates_nothing():
    spawns = tool("subagents", capability="orch:spawn")
    standard = PolicySnapshot(capabilities=STANDARD)
    assert decide(standard, OWNER, spawns).allowed
    refused = decide(standard, OWNER.narrow(), spawns)
    assert refused.rule == "capability.spawn"
    assert "depth 1" in refused.reason
    assert standard.held(OWNER.narrow()) == STANDARD - {"orch:spawn"}
