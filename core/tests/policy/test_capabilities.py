"""The closed set of capabilities, who holds them, and what they open to scripts."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest

from pegboard.contracts.caller import Caller
from pegboard.contracts.capability import (
    CAPABILITIES,
    CONTROL_AREAS,
    GATEWAY_SCOPES,
    NEVER_DELEGATE,
    Capability,
    capability_fault,
    is_delegable,
)
from pegboard.contracts.errors import CapabilityDeniedError
from pegboard.contracts.tool import RegisteredTool, ToolSpec
from pegboard.policy.capabilities import (
    BINDING,
    STANDARD,
    check_capability,
    require_capability,
)
from pegboard.policy.decide import decide
from pegboard.policy.profiles import PROFILES, resolve
from pegboard.policy.snapshot import OPEN_POLICY, PolicySnapshot

PLUGINS = Path(__file__).resolve().parents[3] / "plugins"
OPERATOR = Caller(trust="operator", origin="person")
SCRIPT = Caller(trust="operator", origin="script")


def registered(name="t", *, first_party=True, kind="tool", metadata=None, **facts):
    spec = ToolSpec(name=name, effects=frozenset({"read"}), **facts)
    return RegisteredTool(
        spec, "p", kind=kind, first_party=first_party, name=name, metadata=metadata or {}
    )


def policy(**autonomy):
    return PolicySnapshot.from_settings(autonomy=resolve(autonomy))


def test_the_set_is_closed_and_the_type_is_the_list():
    names = "read web write analyze spawn graph cron skill message browse mcp"
    assert sorted(CAPABILITIES) == sorted(f"orch:{name}" for name in names.split())
    assert get_args(Capability) == CAPABILITIES


def test_capabilities_scopes_and_names_that_are_never_lent_have_nothing_in_common():
    assert set(GATEWAY_SCOPES) == {"rpc", "admin", "mcp-client"}
    groups = [set(CAPABILITIES), set(GATEWAY_SCOPES), set(NEVER_DELEGATE)]
    assert len(set().union(*groups)) == sum(map(len, groups))


@pytest.mark.parametrize("wild", ["*", "orch:*", "orch:", "", "admin", "rpc", "orch:admin"])
def test_nothing_in_a_set_implies_anything_else(wild):
    for capability in CAPABILITIES:
        assert not check_capability({wild}, capability)
        assert not check_capability(set(CAPABILITIES) - {capability}, capability)
    assert not check_capability(CAPABILITIES, wild)


def test_what_is_absent_holds_nothing():
    assert not check_capability(None, "orch:read")
    with pytest.raises(CapabilityDeniedError):
        require_capability(None, "orch:read")


def test_a_missing_capability_is_an_error_of_its_own_kind_with_the_line_that_mends_it():
    with pytest.raises(CapabilityDeniedError, match="Browsing needs the capability") as caught:
        require_capability(STANDARD, "orch:browse", what="Browsing")
    assert caught.value.to_dict()["code"] == "capability_denied"
    assert "browse = true" in caught.value.fix
    require_capability(STANDARD, "orch:spawn")
    with pytest.raises(CapabilityDeniedError) as caught:
        require_capability((), "orch:spawn")
    assert 'profile = "standard"' in caught.value.fix


def test_only_some_capabilities_bind_the_calls_of_a_model():
    assert {name.partition(":")[2] for name in BINDING} == {
        "spawn",
        "graph",
        "cron",
        "message",
        "browse",
    }
    for capability in CAPABILITIES:
        verdict = decide(OPEN_POLICY, OPERATOR, registered(capability=capability))
        assert verdict.allowed is (capability not in BINDING)
        if not verdict.allowed:
            assert verdict.rule == f"capability.{capability.partition(':')[2]}"
            assert verdict.disclosed


@pytest.mark.parametrize("profile", PROFILES)
def test_every_call_of_a_bound_tool_needs_what_the_profile_holds(profile):
    held = resolve({"profile": profile}).capabilities
    for capability in BINDING:
        verdict = decide(policy(profile=profile), OPERATOR, registered(capability=capability))
        assert verdict.allowed is (capability in held)


def test_scripts_may_call_nothing_by_default():
    assert decide(policy(), SCRIPT, registered()).rule == "capability.none"
    assert decide(OPEN_POLICY, SCRIPT, registered(capability="orch:read")).rule == "capability.read"
    assert decide(policy(), SCRIPT, registered(capability="orch:read")).allowed


def test_what_writes_is_opened_to_scripts_by_a_switch_of_its_own():
    tool = registered(capability="orch:write")
    assert decide(policy(), SCRIPT, tool).rule == "script.write"
    assert decide(policy(write=True), SCRIPT, tool).allowed
    assert decide(policy(), OPERATOR, tool).allowed


def test_no_tool_of_a_server_is_open_to_scripts_until_it_is_listed():
    tool = registered(
        "mcp_docs_search",
        kind="mcp",
        capability="orch:mcp",
        metadata={"family": "mcp_", "group": "docs"},
    )
    for allow in ({}, {"docs": []}, {"docs": ["read"]}, {"other": ["search"]}, {"docs": ["*"]}):
        verdict = decide(policy(mcp={"allow": allow}), SCRIPT, tool)
        assert (verdict.rule, verdict.allowed) == ("script.mcp", False)
    for name in ("search", "mcp_docs_search"):
        assert decide(policy(mcp={"allow": {"docs": [name]}}), SCRIPT, tool).allowed
    assert decide(policy(), OPERATOR, tool).allowed


def test_what_is_a_servers_tool_by_kind_or_by_capability_alone_is_closed_too():
    for facts in ({"kind": "mcp", "capability": "orch:read"}, {"capability": "orch:mcp"}):
        tool = registered("x", metadata={"group": "docs"}, **facts)
        assert decide(policy(), SCRIPT, tool).rule == "script.mcp"
        assert decide(policy(mcp={"allow": {"docs": ["x"]}}), SCRIPT, tool).allowed


def test_the_name_of_a_server_decides_and_not_the_name_of_its_tool():
    tool = registered(
        "mcp_a_b_c", kind="mcp", capability="orch:mcp", metadata={"family": "mcp_", "group": "a_b"}
    )
    assert not decide(policy(mcp={"allow": {"a": ["b_c"]}}), SCRIPT, tool).allowed
    assert decide(policy(mcp={"allow": {"a_b": ["c"]}}), SCRIPT, tool).allowed


def test_a_third_partys_tool_is_opened_to_scripts_by_name():
    tool = registered(capability="orch:read", first_party=False)
    assert decide(policy(), SCRIPT, tool).rule == "script.allow"
    named = PolicySnapshot.from_settings(scripts={"allow": ["p:t"]})
    assert decide(named, SCRIPT, tool).allowed


def test_a_guest_is_not_told_why_a_tool_that_was_opened_to_guests_is_refused():
    opened = replace(OPEN_POLICY, guest_tools=frozenset({"t"}))
    guest = replace(OPERATOR, trust="guest")
    for facts in ({"capability": "orch:cron"}, {"control": "config"}, {"attended": "coding"}):
        assert decide(opened, OPERATOR, registered(**facts)).disclosed
        assert not decide(opened, guest, registered(**facts)).disclosed


@pytest.mark.parametrize("name", [*sorted(NEVER_DELEGATE), "mcp_manage", "anything_manage"])
def test_no_tool_of_these_names_can_declare_a_capability(name):
    assert not is_delegable(name)
    assert "never delegated" in capability_fault((name,), "orch:read")
    assert "never delegated" in capability_fault(("harmless", name), "orch:read")
    assert capability_fault((name,), None) is None


def test_a_tool_of_the_control_plane_can_not_declare_a_capability_nor_one_that_does_not_exist():
    for area in CONTROL_AREAS:
        assert "control plane" in capability_fault(("t",), "orch:read", area)
    assert "there is no capability 'orch:all'" in capability_fault(("t",), "orch:all")
    assert capability_fault(("t",), "orch:read") is None


def test_what_pegboard_ships_lends_nothing_that_is_never_delegated():
    files = sorted(PLUGINS.glob("*/src/*/plugin.json"))
    assert files
    for file in files:
        for tool in json.loads(file.read_text("utf-8"))["tools"]:
            names = (tool["name"], *tool.get("aliases", ()))
            assert capability_fault(names, tool.get("capability"), tool.get("control")) is None
