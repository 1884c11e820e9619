"""Which rule decides about a call, and about a tool before it is called."""

from __future__ import annotations

import pytest

from pegboard.contracts.effects import Access
from pegboard.contracts.tool import RegisteredTool, ToolSpec
from pegboard.policy.rule_match import Call, first_match, mildest
from pegboard.policy.rules import read_rules

EXEC = frozenset({"exec"})
READ = frozenset({"read"})


def rules(*tables):
    return read_rules(tables)


def tool(name="act", *, properties=("a", "b"), closed=True, defaults=None, **facts):
    schema = {
        "type": "object",
        "properties": {
            key: {"default": defaults[key]} if defaults and key in defaults else {}
            for key in properties
        },
    }
    if closed:
        schema["additionalProperties"] = False
    spec = ToolSpec(name=name, effects=frozenset({"read"}), parameters=schema, **facts)
    return RegisteredTool(spec, "demo", name=name)


def decides(found, arguments, *, access=None, workspace="/ws", **facts):
    """Return the place of the rule that decides about a call, or None."""
    given = (Access("read", ""),) if access is None else access
    call = Call(tool=tool(**facts), access=given, arguments=arguments, workspace=workspace)
    rule = first_match(found, call)
    return None if rule is None else found.index(rule)


def test_the_first_rule_that_matches_decides():
    found = rules(
        {"action": "ask", "arguments": {"a": "1"}},
        {"action": "deny", "arguments": {"a": "*"}},
        {"action": "allow"},
    )
    assert decides(found, {"a": "1"}) == 0
    assert decides(found, {"a": "2"}) == 1
    assert decides(found, {}) == 2
    assert decides(found[:2], {}) is None


def test_tool_and_effects_must_match_as_well():
    found = rules({"action": "ask", "tool": "other"}, {"action": "ask", "effect": "exec"})
    assert decides(found, {}) is None
    assert decides(found, {}, access=(Access("exec", ""),)) == 1


def test_every_named_argument_must_match():
    found = rules({"action": "ask", "arguments": {"a": "1", "b": ["2", "3"]}})
    assert decides(found, {"a": "1", "b": "3"}) == 0
    assert decides(found, {"a": "1", "b": "4"}) is None
    assert decides(found, {"a": "1"}) is None
    assert decides(found, {"a": "1", "b": None}) is None


@pytest.mark.parametrize(
    ("pattern", "value", "asks", "allows"),
    [
        ("x*", "xy", True, True),
        ("x*", "y", False, False),
        (3, 3, True, True),
        (3, "3", True, True),
        (True, True, True, True),
        (True, 1, False, False),
        ("3.5", 3.5, True, True),
        ("x", ["y", "x"], True, False),
        ("x", ["x", "x"], True, True),
        ("x", [["x"], ["x"]], True, True),
        ("x", ("x",), True, True),
        ("x", [], False, False),
        ("*", [], False, False),
        ('*"x"*', {"k": "x"}, True, True),
        ('{"k":"x"}', [{"k": "x"}], True, True),
        ("x", ["x", None], True, True),
        ("docs/*", "docs/../x", True, False),
        ("x", "docs/../x", True, False),
        ("*object*", object(), True, True),
    ],
)
def test_values_are_matched_part_by_part(pattern, value, asks, allows):
    for action, expected in (("ask", asks), ("deny", asks), ("allow", allows)):
        found = rules({"action": action, "arguments": {"a": pattern}})
        assert (decides(found, {"a": value}) == 0) is expected


def test_what_is_left_out_counts_as_its_default():
    found = rules({"action": "ask", "arguments": {"a": "."}})
    assert decides(found, {}, defaults={"a": "."}) == 0
    assert decides(found, {"a": None}, defaults={"a": "."}) == 0
    assert decides(found, {"a": "x"}, defaults={"a": "."}) is None
    assert decides(found, {}, defaults={"a": None}) is None


def test_a_schema_of_an_argument_may_say_nothing():
    spec = ToolSpec(name="act", effects=READ, parameters={"properties": {"a": True}})
    act = RegisteredTool(spec, "demo", name="act")
    found = rules({"action": "ask", "arguments": {"a": "x"}})
    for arguments, rule in (({"a": "x"}, found[0]), ({}, None)):
        call = Call(tool=act, access=(Access("read", ""),), arguments=arguments)
        assert first_match(found, call) is rule


@pytest.mark.parametrize(
    ("pattern", "written", "place", "asks", "allows"),
    [
        ("/etc/*", "../../etc/x", "/etc/x", True, True),
        ("docs/*", "docs/x", "/ws/docs/x", True, True),
        ("docs/*", "./docs/../docs/x", "/ws/docs/x", True, True),
        ("docs/*", "docs/../../etc/x", "/etc/x", True, False),
        ("/ws/docs/*", "docs/x", "/ws/docs/x", True, True),
        (".", "x/..", "/ws", True, True),
        ("x", "/wsx/x", "/wsx/x", False, False),
        ("docs/*", "/other/docs/x", "/other/docs/x", False, False),
        ("~/x", "~/x", "/home/me/x", True, False),
    ],
)
def test_a_path_is_matched_as_the_place_that_it_names(pattern, written, place, asks, allows):
    access = (Access("read", place, "a"), Access("read", "/elsewhere", "b"))
    for action, expected in (("ask", asks), ("allow", allows)):
        found = rules({"action": action, "arguments": {"a": pattern}})
        assert (decides(found, {"a": written}, access=access) == 0) is expected


def test_a_path_behind_a_link_is_matched_as_both_places():
    access = (Access("read", "/ws/public/x", "a", leads_to="/ws/private/x"),)
    written = {"a": "public/x"}
    for pattern in ("public/*", "private/*", "/ws/private/*"):
        deny = rules({"action": "deny", "arguments": {"a": pattern}})
        assert decides(deny, written, access=access) == 0, pattern
        allow = rules({"action": "allow", "arguments": {"a": pattern}})
        assert decides(allow, written, access=access) is None, pattern
    both = rules({"action": "allow", "arguments": {"a": ["public/*", "private/*"]}})
    assert decides(both, written, access=access) == 0


def test_a_path_that_is_not_looked_up_is_a_text():
    found = rules({"action": "allow", "arguments": {"a": "docs/*"}})
    assert decides(found, {"a": "docs/x"}, access=(Access("read", "", "a"),)) == 0
    access = (Access("read", "/ws/docs/x", "a"),)
    assert decides(found, {"a": "docs/x"}, access=access, workspace="") is None
    assert decides(found, {"a": "docs/x"}, access=access, workspace="/") is None
    found = rules({"action": "allow", "arguments": {"a": "ws/*"}})
    assert decides(found, {"a": "x"}, access=access, workspace="/") == 0
    assert decides(found, {"a": "x"}, access=access, workspace="") is None


def test_every_path_of_a_list_must_be_allowed():
    access = (Access("read", "/ws/a/1", "a"), Access("read", "/ws/b/1", "a"))
    written = {"a": ["a/1", "b/1"]}
    one = rules({"action": "allow", "arguments": {"a": "a/*"}})
    assert decides(one, written, access=access) is None
    both = rules({"action": "allow", "arguments": {"a": ["a/*", "b/*"]}})
    assert decides(both, written, access=access) == 0


def test_shell_source_is_matched_command_by_command():
    facts = {"properties": ("command",), "shell": ("command",)}
    deny = rules({"action": "deny", "arguments": {"command": "rm *"}})
    allow = rules({"action": "allow", "arguments": {"command": ["cd *", "./scripts/*"]}})
    wrapped = {"command": 'sh -lc "cd x && ./scripts/x"'}
    assert decides(allow, wrapped, **facts) == 0
    assert decides(allow, wrapped, properties=("command",)) is None
    assert decides(allow, {"command": ["sh", "-lc", "cd x && ./scripts/x"]}, **facts) == 0
    assert decides(deny, {"command": "sh -c 'ls; rm x'"}, **facts) == 0
    assert decides(deny, {"command": "ls"}, **facts) is None
    assert decides(deny, {"command": ["sh", "-c", "rm x"]}, **facts) == 0
    assert decides(deny, {"command": ["rm", 1]}, **facts) is None
    assert decides(deny, {"command": 1}, **facts) is None
    assert decides(deny, {}, **facts) is None
    assert decides(deny, {}, defaults={"command": "rm x"}, **facts) == 0


def test_an_exact_rule_names_every_argument():
    found = rules({"action": "allow", "exact": {"a": "x", "b": [1, {"c": True}]}})
    call = {"a": "x", "b": [1, {"c": True}]}
    assert decides(found, call) == 0
    assert decides(found, {**call, "c": None}) == 0
    for other in ({"a": "y"}, {"b": [1]}, {"c": 1}, {"a": None}):
        assert decides(found, {**call, **other}) is None
    assert decides(found, {"a": "x", "b": [True, {"c": True}]}) is None
    assert decides(found, {"a": "x", "b": [1.0, {"c": True}]}) is None


def test_an_exact_rule_does_not_look_at_what_a_model_says_of_its_call():
    for exact in ({"a": "x"}, {"a": "x", "b": "an earlier word"}):
        found = rules({"action": "allow", "exact": exact})
        assert decides(found, {"a": "x", "b": "harmless"}, remarks=("b",)) == 0
        assert decides(found, {"a": "x"}, remarks=("b",)) == 0
        assert decides(found, {"a": "y", "b": "harmless"}, remarks=("b",)) is None
        assert decides(found, {"a": "x", "b": "harmless"}) is None


def test_an_exact_rule_may_leave_defaults_out_or_name_them():
    defaults = {"b": 5}
    short, full = ({"a": "x"}, {"a": "x", "b": 5})
    for exact in (short, full):
        found = rules({"action": "allow", "exact": exact})
        for call in (short, full, {"a": "x", "b": None}):
            assert decides(found, call, defaults=defaults) == 0
        assert decides(found, {"a": "x", "b": 6}, defaults=defaults) is None
    other = rules({"action": "allow", "exact": {"a": "x", "b": 6}})
    assert decides(other, short, defaults=defaults) is None


def test_what_is_no_json_is_exactly_nothing():
    found = rules({"action": "allow", "exact": {}})
    assert decides(found, {"a": {1}}) is None
    assert decides(found, {}) == 0


def milder(found, *possible, **facts):
    """Return the place of the rule by which the mildest calls of a tool are judged, or None."""
    rule = mildest(found, tool(**facts), possible or (READ,))
    return None if rule is None else found.index(rule)


def test_a_tool_is_judged_by_the_mildest_of_its_calls():
    some = {"arguments": {"a": "1"}}
    assert milder(rules({"action": "deny"}, {"action": "allow"})) == 0
    assert milder(rules({"action": "deny", **some}, {"action": "ask"})) == 1
    assert milder(rules({"action": "ask", **some}, {"action": "deny"})) == 0
    assert milder(rules({"action": "allow", **some}, {"action": "deny"})) == 0
    assert milder(rules({"action": "ask", **some}, {"action": "ask"})) == 0
    assert milder(rules({"action": "ask", **some})) is None
    assert milder(rules({"action": "deny", **some}, {"action": "ask", **some})) is None
    assert milder(rules({"action": "allow", **some})) == 0
    assert milder(rules({"action": "ask", **some}, {"action": "allow", **some})) == 1
    assert milder(rules({"action": "ask", "exact": {}}, {"action": "deny"})) == 0
    assert milder(rules({"action": "deny", "tool": "other"}, {"action": "ask"})) == 1
    assert milder(()) is None


def test_a_tool_is_judged_by_the_effects_that_its_calls_can_have():
    found = rules({"action": "deny", "effect": "exec"})
    assert milder(found, EXEC) == 0
    assert milder(found, READ, EXEC) is None
    assert milder(found, READ) is None
    allowed = rules({"action": "allow", "effect": "read"}, {"action": "deny"})
    assert milder(allowed, READ | EXEC) == 1
    assert milder(allowed, READ, EXEC) == 0


def test_a_rule_about_an_argument_that_a_tool_can_not_have_is_not_about_it():
    for keys in ({"arguments": {"c": "*"}}, {"exact": {"c": 1}}):
        found = rules({"action": "ask", **keys}, {"action": "deny"})
        assert milder(found) == 1
        assert milder(found, closed=False) == 0
        assert milder(found, properties=("a", "c")) == 0
