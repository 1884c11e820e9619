from __future__ import annotations

import pytest

from pegboard.contracts.effects import ALL_EFFECTS, POLICY_CLASSES, EffectsBy
from pegboard.contracts.tool import RegisteredTool, ToolSpec
from pegboard.policy.derive import (
    allowed_effects,
    call_effects,
    effects_to_class,
    possible_classes,
    resolve_policy,
    tool_class,
)


def registered(effects=frozenset({"read"}), *, first_party=True, kind="tool", **facts):
    declared = None if effects is None else frozenset(effects)
    spec = ToolSpec(name="t", effects=declared, **facts)
    return RegisteredTool(spec, "p", kind=kind, first_party=first_party)


@pytest.mark.parametrize(
    ("effects", "expected"),
    [
        (set(), "read_only"),
        ({"read"}, "read_only"),
        ({"fs_write"}, "read_write"),
        ({"state_write"}, "read_write"),
        ({"exec"}, "exec"),
        ({"net_read"}, "network"),
        ({"net_write"}, "external_api"),
        ({"gui"}, "gui_control"),
        ({"read", "exec", "net_read"}, "network"),
        ({"gui", "read"}, "gui_control"),
    ],
)
def test_the_class_is_that_of_the_most_dangerous_effect(effects, expected):
    assert effects_to_class(frozenset(effects)) == expected


def test_unknown_effects_are_the_most_dangerous():
    assert effects_to_class(None) == POLICY_CLASSES[-1]
    assert tool_class(registered(None)) == POLICY_CLASSES[-1]


def test_a_first_party_tool_may_declare_any_class():
    assert tool_class(registered({"exec"}, policy_class="read_only")) == "read_only"


def test_a_third_party_may_only_declare_a_stricter_class():
    milder = registered({"exec"}, policy_class="read_only", first_party=False)
    stricter = registered({"exec"}, policy_class="external_api", first_party=False)
    assert tool_class(milder) == "exec"
    assert tool_class(stricter) == "external_api"


def test_mcp_tools_call_an_external_service_unless_a_first_party_says_otherwise():
    assert tool_class(registered({"read"}, kind="mcp")) == "external_api"
    assert tool_class(registered({"read"}, kind="mcp", policy_class="network")) == "network"
    third = registered({"read"}, kind="mcp", policy_class="network", first_party=False)
    assert tool_class(third) == "external_api"


def test_effects_that_depend_on_an_argument_are_looked_up_there():
    table = EffectsBy("action", {"look": frozenset({"net_read"}), "post": frozenset({"net_write"})})
    spec = ToolSpec(name="t", effects=frozenset({"net_read", "net_write"}), effects_by=table)
    assert call_effects(spec, {"action": "look"}) == {"net_read"}
    assert call_effects(spec, {"action": "post"}) == {"net_write"}
    assert call_effects(spec, {"action": "other"}) == {"net_read", "net_write"}
    assert call_effects(spec, {}) == {"net_read", "net_write"}
    assert call_effects(spec, {"action": ["look"]}) == {"net_read", "net_write"}
    assert call_effects(spec) == {"net_read", "net_write"}


def test_an_argument_can_not_give_a_call_more_than_the_tool_declares():
    table = EffectsBy("action", {"look": frozenset({"exec", "read"})})
    spec = ToolSpec(name="t", effects=frozenset({"read"}), effects_by=table)
    assert call_effects(spec, {"action": "look"}) == {"read"}


def test_unknown_effects_are_all_effects_of_a_call():
    assert call_effects(ToolSpec(name="t", effects=None), {}) == ALL_EFFECTS


def test_a_tool_has_as_many_classes_as_its_calls_can_have():
    table = EffectsBy("action", {"look": frozenset({"read"}), "go": frozenset({"net_read"})})
    assert possible_classes(registered({"read", "exec", "net_read"}, effects_by=table)) == (
        "read_only",
        "network",
    )
    assert possible_classes(registered({"read", "exec"})) == ("exec",)
    assert possible_classes(registered(None, effects_by=table)) == ("gui_control",)


def test_effects_follow_from_classes():
    assert allowed_effects(POLICY_CLASSES) == ALL_EFFECTS
    assert allowed_effects(["read_only", "exec"]) == {"read", "exec"}
    assert allowed_effects([]) == frozenset()


def test_trust_resolves_to_classes_and_absence_is_a_guest():
    assert resolve_policy("operator") == set(POLICY_CLASSES)
    assert resolve_policy("guest") == {"read_only"}
    assert resolve_policy(None) == {"read_only"}
    assert resolve_policy("operator", ["read_only", "exec"]) == {"read_only", "exec"}
    assert resolve_policy("operator", None, ["exec"]) == set(POLICY_CLASSES) - {"exec"}
    assert resolve_policy("operator", [], []) == frozenset()
    assert resolve_policy("guest", ["exec"]) == frozenset()
