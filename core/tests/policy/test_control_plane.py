"""The control plane: by origin, before capabilities, and with nothing forged from outside."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pegboard.contracts.caller import Caller
from pegboard.contracts.capability import CAPABILITIES, CONTROL_AREAS
from pegboard.contracts.tool import RegisteredTool, ToolSpec
from pegboard.policy.control_plane import ADMIN_OPERATIONS, without_internal
from pegboard.policy.decide import decide
from pegboard.policy.explain import explain, facts
from pegboard.policy.snapshot import PolicySnapshot

ADMIN = Caller(trust="operator", admin=True, origin="person", attended=True)
EVERYTHING = PolicySnapshot(
    capabilities=frozenset(CAPABILITIES),
    script_write=True,
    guest_tools=frozenset({"t"}),
)


def controlling(area="config", **facts):
    spec = ToolSpec(name="t", effects=frozenset({"state_write"}), control=area, **facts)
    return RegisteredTool(spec, "p", first_party=True, name="t")


def test_every_area_says_what_its_tools_do():
    assert set(ADMIN_OPERATIONS) == set(CONTROL_AREAS)


@pytest.mark.parametrize("area", CONTROL_AREAS)
@pytest.mark.parametrize("origin", ["person", "agent", "job", "script", "mcp", "http"])
def test_only_a_run_for_an_admin_gets_there_whatever_it_holds(area, origin):
    caller = replace(ADMIN, admin=False, origin=origin)
    assert decide(EVERYTHING, caller, controlling(area)).rule == "control_plane"
    assert decide(EVERYTHING, ADMIN, controlling(area)).allowed


def test_it_is_refused_before_capabilities_leases_and_attendance_are_looked_at():
    tool = controlling(capability="orch:cron", attended="coding")
    caller = replace(ADMIN, admin=False, lease="gone", attended=False)
    assert decide(PolicySnapshot(), caller, tool).rule == "control_plane"


def test_delegated_work_is_never_an_admins():
    assert decide(EVERYTHING, ADMIN.narrow(), controlling()).rule == "control_plane"
    assert decide(EVERYTHING, ADMIN.narrow(as_guest=True), controlling()).disclosed is False


def test_it_is_explained_with_the_line_that_would_change_it():
    text = explain(EVERYTHING, replace(ADMIN, admin=False), controlling("secrets"))
    assert "rule: control_plane" in text
    assert "[policy.senders]" in text
    assert "control plane: reads or changes secrets" in facts(controlling("secrets"))


def test_fields_that_begin_with_an_underscore_are_taken_out_at_every_depth():
    outside = {
        "_agent": "main",
        "text": "a_b",
        "deep": {"_trust": "operator", "list": [{"_x": 1, "y": 2}, ("_kept", {"_z": 1})]},
        1: "number",
    }
    assert without_internal(outside) == {
        "text": "a_b",
        "deep": {"list": [{"y": 2}, ("_kept", {})]},
        1: "number",
    }
    assert outside["_agent"] == "main"


@pytest.mark.parametrize("value", ["_text", 5, None, True, b"_"])
def test_what_has_no_fields_is_left_as_it_is(value):
    assert without_internal(value) == value
