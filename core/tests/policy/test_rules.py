"""The operator's rules: how they are read, and whose and which calls they are about."""

from __future__ import annotations

import pytest

from pegboard.config.rules_schema import EFFECTS as SCHEMA_EFFECTS
from pegboard.config.schema import CORE_SCHEMA, check
from pegboard.contracts.caller import Caller
from pegboard.contracts.effects import EFFECTS
from pegboard.contracts.errors import ConfigError
from pegboard.contracts.tool import RegisteredTool, ToolSpec
from pegboard.contracts.verdict import Outcome
from pegboard.policy.patterns import Pattern
from pegboard.policy.rules import Rule, plain_json, read_rules

OPERATOR = Caller(trust="operator", channel="tg", agent="main")
GUEST = Caller(trust="guest", channel="tg", agent="main")


def rule(action="ask", **facts):
    (made,) = read_rules([{"action": action, **facts}])
    return made


def tool(name="push", plugin="git", *, short=None, aliases=()):
    spec = ToolSpec(name=name, effects=frozenset({"exec"}), aliases=aliases)
    return RegisteredTool(spec, plugin, name=name if short is None else short)


def test_a_rule_is_read_from_its_table():
    (first, second) = read_rules(
        [
            {
                "action": "deny",
                "tool": "git:*",
                "effect": ["exec", "net_write"],
                "arguments": {"command": ["a*", "re:b"], "count": 3, "all": True},
                "trust": "guest",
                "channel": "tg*",
                "agent": "main",
                "reason": "No.",
            },
            {
                "action": "ask",
                "effect": "gui",
                "question": "Really?",
                "exact": {"b": [1], "a": "x"},
            },
        ]
    )
    assert first == Rule(
        name="policy.rules[0]",
        outcome=Outcome.DENY,
        tool=Pattern("git:*"),
        effects=frozenset({"exec", "net_write"}),
        arguments=(
            ("command", (Pattern("a*"), Pattern("re:b"))),
            ("count", (Pattern("3"),)),
            ("all", (Pattern("true"),)),
        ),
        trust="guest",
        channel=Pattern("tg*"),
        agent=Pattern("main"),
        words="No.",
    )
    assert second.name == "policy.rules[1]"
    assert second.exact == (("a", '"x"'), ("b", "[1]"))
    assert second.words == "Really?"
    assert second.effects == {"gui"}
    assert rule("allow").outcome is Outcome.ALLOW
    assert hash(first) != hash(second)


@pytest.mark.parametrize(
    "table",
    [
        {"arguments": {"command": "re:("}},
        {"arguments": {"command": ["a", "re:("]}},
        {"arguments": {"a": "b"}, "exact": {"a": "b"}},
        {"exact": {"a": {1, 2}}},
    ],
)
def test_what_makes_no_sense_is_refused_with_its_place(table):
    with pytest.raises(ConfigError) as caught:
        read_rules([{"action": "ask"}, {"action": "ask", **table}])
    assert caught.value.message.startswith("policy.rules[1]")
    assert caught.value.details["path"].startswith("policy.rules[1]")


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"action": "ask", "tol": "x"}, "did you mean 'tool'?"),
        ({"action": "forbid"}, "must be one of 'ask', 'deny', 'allow'"),
        ({"tool": "x"}, "action is missing"),
        ({"action": "ask", "effect": "exek"}, "did you mean 'exec'?"),
        ({"action": "ask", "effect": []}, "at least 1"),
        ({"action": "ask", "trust": "admin"}, "must be one of 'operator', 'guest'"),
        ({"action": "ask", "arguments": {"a": {}}}, "must be"),
        ({"action": "ask", "tool": ""}, "must not be empty"),
    ],
)
def test_an_unknown_key_or_value_is_refused_with_another_one(table, words):
    found = check({"policy": {"rules": [table]}}, CORE_SCHEMA)
    assert any(words in problem.message for problem in found), found


def test_what_the_schema_allows_is_right():
    table = {
        "action": "ask",
        "tool": "x",
        "effect": "exec",
        "arguments": {"a": "b", "c": ["d", "re:e"], "n": 3, "f": True},
        "trust": "guest",
        "channel": "c",
        "agent": "a",
        "question": "q",
        "reason": "r",
    }
    assert (
        check({"policy": {"rules": [table, {"action": "allow", "exact": {}}]}}, CORE_SCHEMA) == []
    )


def test_the_schema_knows_every_effect():
    assert SCHEMA_EFFECTS == EFFECTS


@pytest.mark.parametrize(
    ("action", "trust", "operator", "guest"),
    [
        ("ask", None, True, True),
        ("ask", "guest", False, True),
        ("ask", "operator", True, True),
        ("deny", "guest", False, True),
        ("deny", "operator", True, True),
        ("allow", None, True, True),
        ("allow", "guest", True, True),
        ("allow", "operator", True, False),
    ],
)
def test_less_trust_never_means_more(action, trust, operator, guest):
    made = rule(action, **({"trust": trust} if trust else {}))
    assert made.is_about_caller(OPERATOR) is operator
    assert made.is_about_caller(GUEST) is guest


def test_a_rule_may_be_about_a_channel_or_an_agent():
    assert rule(channel="t*").is_about_caller(OPERATOR)
    assert not rule(channel="slack").is_about_caller(OPERATOR)
    assert rule(agent="main").is_about_caller(OPERATOR)
    assert not rule(agent="research").is_about_caller(OPERATOR)
    assert not rule(channel="t*", agent="research").is_about_caller(OPERATOR)


def test_a_rule_goes_by_the_names_of_a_tool():
    for name in ("push", "git:push", "git:*", "p*", "*"):
        assert rule(tool=name).is_about_tool(tool())
        assert rule("allow", tool=name).is_about_tool(tool())
    for name in ("git", "pull", "other:push"):
        assert not rule(tool=name).is_about_tool(tool())
    assert rule().is_about_tool(tool())


def test_a_rule_that_allows_does_not_go_by_a_name_that_is_nobodys():
    clashed = tool(short="", aliases=("upload",))
    for name in ("push", "upload", "git__push"):
        assert rule(tool=name).is_about_tool(clashed)
        assert not rule("allow", tool=name).is_about_tool(clashed)
    assert rule("allow", tool="git:push").is_about_tool(clashed)
    assert not rule("allow", tool="").is_about_tool(clashed)


def test_a_rule_is_about_any_of_its_effects_and_one_that_allows_about_no_others():
    both = frozenset({"read", "exec"})
    assert rule(effect=["exec", "gui"]).is_about_effects(both)
    assert not rule(effect="gui").is_about_effects(both)
    assert rule("allow", effect=["read", "exec", "gui"]).is_about_effects(both)
    assert not rule("allow", effect="read").is_about_effects(both)
    assert rule("allow", effect="read").is_about_effects(frozenset())
    assert not rule(effect="read").is_about_effects(frozenset())
    assert rule().is_about_effects(both)


def test_whether_a_rule_looks_at_arguments_is_known():
    assert not rule().looks_at_arguments
    assert rule(arguments={"a": "b"}).looks_at_arguments
    assert rule(exact={}).looks_at_arguments


def test_values_are_compared_in_one_form():
    assert plain_json({"b": 1, "a": [True, None]}) == '{"a":[true,null],"b":1}'
