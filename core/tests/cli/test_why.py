"""`pegboard why` and `pegboard policy`, through a real host with a channel that nobody imports."""

from __future__ import annotations

import json

import pytest

TOOLS = [
    {"name": "look", "effects": ["read"], "capability": "orch:read"},
    {"name": "fetch", "effects": ["net_read"], "capability": "orch:web"},
    {"name": "tell", "effects": ["net_write"], "capability": "orch:message"},
    {"name": "diary", "effects": ["read"], "audience": "owner"},
    {"name": "configure", "effects": ["state_write"], "control": "config"},
    {"name": "compose", "effects": ["read"], "exposure": "codemode", "capability": "orch:read"},
    {"name": "ring", "effects": ["state_write"], "attended": "event_changes"},
    {
        "name": "send",
        "effects": ["net_write"],
        "parameters": {
            "type": "object",
            "properties": {"to": {"type": "string"}, "copies": {"type": "integer"}},
            "required": ["to"],
        },
    },
]
CHAT = {"surface": "chat", "slash_commands": True}


@pytest.fixture
def world(here):
    for tool in TOOLS:
        tool.setdefault("description", "Do something.")
        tool.setdefault("parameters", {"type": "object", "properties": {}})
    channel = {"kind": "channel", "name": "chatter", "facts": CHAT, "summary": "", "config": None}
    here.plugin("kit", manifest={"tools": TOOLS, "contributions": [channel]})
    here.write_config(
        """
        [policy]
        guest_tools = ["kit:look", "kit:fetch"]

        [[policy.rules]]
        tool = "send"
        arguments = { to = "*@example.org" }
        action = "deny"

        [[policy.rules]]
        tool = "send"
        arguments = { to = "boss@*" }
        action = "ask"

        [policy.senders]
        "work:1" = "operator"
        "work:2" = "admin"
        "3" = "blocked"

        [channels.work]
        type = "chatter"
        """
    )
    return here


def why(world, *words):
    ended = world.run("why", *words, "--json")
    assert ended.code == 0, ended.err
    return ended.json


@pytest.mark.parametrize(
    ("words", "outcome", "rule"),
    [
        (["look"], "allow", "allowed"),
        (["look", "--as", "guest"], "allow", "allowed"),
        (["fetch", "--as", "guest"], "hidden", "trust.class"),
        (["diary", "--as", "guest"], "hidden", "owner_only"),
        (["look", "--from", "script"], "deny", "script.allow"),
        (["configure"], "allow", "allowed"),
        (["configure", "--from", "subagent"], "hidden", "policy.class"),
        (["configure", "--from", "job"], "deny", "control_plane"),
        (["configure", "--from", "mcp"], "deny", "control_plane"),
        (["ring"], "allow", "allowed"),
        (["ring", "--from", "job"], "deny", "attended.event_changes"),
        (["tell", "--profile", "assistant"], "deny", "capability.message"),
        (["tell", "--profile", "max"], "allow", "allowed"),
        (["compose"], "hidden", "exposure"),
        (["configure", "--channel", "work"], "deny", "control_plane"),
        (["configure", "--channel", "work", "--as", "admin"], "allow", "allowed"),
        (["configure", "--channel", "work", "--sender", "1"], "deny", "control_plane"),
        (["configure", "--sender", "work:2"], "allow", "allowed"),
        (["look", "--channel", "work", "--sender", "9"], "hidden", "sender.unknown"),
        (["look", "--channel", "work", "--sender", "3"], "hidden", "sender.blocked"),
        (["look", "--agent", "main"], "allow", "allowed"),
    ],
)
def test_the_decision_and_its_rule(world, words, outcome, rule):
    found = why(world, *words)
    assert (found["outcome"], found["verdict"]["rule"]) == (outcome, rule)


def test_a_stranger_is_a_guest_where_the_channel_takes_guests(world):
    opened = why(world, "look", "--sender", "work:9")
    assert opened["outcome"] == "hidden"
    taken = world.run(
        "--set", "channels.work.guests=true", "why", "look", "--sender", "work:9", "--json"
    ).json
    assert (taken["outcome"], taken["caller"]["trust"]) == ("allow", "guest")


def test_the_caller_is_what_the_channel_says_of_itself_and_nothing_is_imported(world):
    caller = why(world, "look", "--channel", "work")["caller"]  # importing it would raise
    assert caller == {
        "admin": False,
        "agent": "main",
        "attended": True,
        "channel": "work",
        "depth": 0,
        "live_reply": True,
        "origin": "person",
        "sender": "",
        "slash_commands": True,
        "surface": "chat",
        "trust": "operator",
    }


def test_a_channel_that_states_nothing_is_made_and_asked(here):
    code = """
from pegboard import ChannelInfo, Plugin

plugin = Plugin()


class Chatter:
    info = ChannelInfo(surface="voice", local=True, attended=False)


@plugin.channel("chatter")
def make(context, settings):
    return Chatter()


@plugin.tool(effects={"read"})
def look() -> str:
    "Look."
    return ""
"""
    here.plugin("kit", code=code, manifest=None)
    assert here.run("plugins", "build", "kit").code == 0
    caller = why(here, "look", "--channel", "chatter")["caller"]
    assert (caller["surface"], caller["attended"], caller["admin"]) == ("voice", False, True)


def test_the_json_is_the_same_every_time_and_sorted(world):
    first = world.run("why", "fetch", "--as", "guest", "--json").out
    assert first == world.run("why", "fetch", "--as", "guest", "--json").out
    data = json.loads(first)
    assert first == json.dumps(data, indent=2, sort_keys=True) + "\n"
    assert data == {
        "version": 1,
        "agent": None,
        "arguments": None,
        "as": "guest",
        "from": "person",
        "channel": None,
        "sender": None,
        "profile": "standard",
        "outcome": "hidden",
        "depends_on_arguments": False,
        "caller": {
            "admin": False,
            "agent": "main",
            "attended": True,
            "channel": "local",
            "depth": 0,
            "live_reply": True,
            "origin": "person",
            "sender": "local:person",
            "slash_commands": True,
            "surface": "terminal",
            "trust": "guest",
        },
        "tool": {
            "attended": None,
            "audience": "any",
            "canonical": "kit:fetch",
            "capability": "orch:web",
            "category": "general",
            "classes": ["network"],
            "control": None,
            "effects": ["net_read"],
            "exposure": "direct",
            "first_party": False,
            "kind": "tool",
            "name": "fetch",
            "plugin": "kit",
        },
        "verdict": {
            "ask": None,
            "disclosed": False,
            "fix": None,
            "outcome": "deny",
            "reason": "kit:fetch is of class network, which a guest does not have.",
            "rule": "trust.class",
        },
        "looked_at": [
            {"rule": "kind", "decided": False},
            {"rule": "policy", "decided": True},
        ],
    }


@pytest.mark.parametrize(
    ("words", "outcome", "rule"),
    [
        ([], "allow", "allowed"),
        (["to=ann@example.com"], "allow", "allowed"),
        (["to=ann@example.org"], "deny", "policy.rules[0]"),
        (['{"to": "boss@example.com"}'], "ask", "policy.rules[1]"),
        (["to=ann@example.com", "--as", "guest"], "hidden", "trust.class"),
    ],
)
def test_with_arguments_it_is_about_that_one_call(world, words, outcome, rule):
    data = why(world, "send", *words)
    assert (data["outcome"], data["verdict"]["rule"]) == (outcome, rule)
    assert data["depends_on_arguments"] == (not words)
    assert data["looked_at"][-1]["decided"] == (outcome != "allow")


def test_the_call_is_shown_as_the_tool_would_get_it(world):
    words = ["send", "to=ann@example.com", "copies=2"]
    assert why(world, *words)["arguments"] == {"copies": 2, "to": "ann@example.com"}
    said = world.run("why", *words).out
    assert '"to": "ann@example.com"' in said and "judged by its arguments too" not in said
    assert "judged by its arguments too" in world.run("why", "send").out


def test_a_call_that_the_tool_would_refuse_is_not_judged(world):
    ended = world.run("why", "send", "copies=2")
    assert ended.code == 2
    assert "send would refuse this call" in ended.err and "to" in ended.err


@pytest.mark.parametrize(
    ("words", "begins"),
    [
        (["look"], "The operator may call look."),
        (["fetch", "--as", "guest"], "A guest may not call fetch, and does not learn that"),
        (["configure", "--as", "admin", "--channel", "work"], "An admin in work may call"),
        (["look", "--from", "script"], "A script that works for the operator may not call"),
        (["ring", "--from", "job"], "A job of the operator may not call ring."),
        (["look", "--from", "mcp"], "An MCP client that acts for the operator may call"),
        (["look", "--sender", "work:1"], "The sender work:1 (operator) may call look."),
        (["look", "--sender", "work:9"], "The sender work:9 (nobody) may not call look, and does"),
        (["look", "--agent", "main"], "The operator, answered by main, may call look."),
    ],
)
def test_the_first_line_says_it_in_a_sentence(world, words, begins):
    ended = world.run("why", *words)
    assert ended.code == 0, ended.err
    assert ended.out.startswith(begins), ended.out


def test_the_text_names_the_rules_that_were_looked_at_and_what_the_tool_states(world):
    out = world.run("why", "configure", "--from", "job", "--profile", "max").out
    said = " ".join(out.split())
    for words in (
        "control_plane decided: tools that change Pegboard itself",
        "hidden passed: tools that nobody is shown",
        "max, as you asked",
        "control plane: changes the configuration",
        "fix Map the sender",
    ):
        assert words in said, out
    refused = world.run("why", "look", "--sender", "work:9").out
    assert "They get no turn at all" in refused
    assert "Looked at" not in refused


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["look", "--sender", "9"], "names none"),
        (["look", "--sender", "work:1", "--as", "guest"], "says who they are"),
        (["look", "--channel", "wrok"], "There is no channel named 'wrok'"),
        (["look", "--agent", "mian"], "did you mean 'main'"),
        (["look", "--profile", "standart"], "standart"),
        (["loock"], "look"),
    ],
)
def test_a_question_that_makes_no_sense_is_one_message(world, words, said):
    ended = world.run("why", *words)
    assert ended.code != 0
    assert said in ended.err and "Traceback" not in ended.err
    assert "Fix:" in ended.err


def test_the_matrix_shows_every_tool_for_every_caller(world):
    found = world.run("policy", "matrix", "--json").json
    assert found["profile"] == "standard"
    rows = {name: {c: f["outcome"] for c, f in row.items()} for name, row in found["tools"].items()}
    assert rows["kit:configure"] == {
        "chat": "allow",
        "pipe": "allow",
        "guest": "hidden",
        "script": "deny",
        "job": "deny",
        "subagent": "hidden",
        "mcp": "deny",
    }
    assert rows["kit:look"]["guest"] == "allow"
    assert rows["kit:ring"]["pipe"] == "deny"
    assert found["tools"]["kit:look"]["script"]["rule"] == "script.allow"
    assert found["callers"]["subagent"]["depth"] == 1
    assert "core:tool_search" in rows


def test_the_matrix_is_a_table_with_a_legend(world):
    ended = world.run("policy", "matrix", "look", "diary")
    assert ended.code == 0, ended.err
    lines = ended.out.splitlines()
    assert " ".join(lines[0].split()) == "TOOL CHAT PIPE GUEST SCRIPT JOB SUBAGENT MCP"
    assert lines[1].split() == ["kit:diary", "yes", "yes", "-", "no", "yes", "yes", "yes"]
    assert lines[2].split() == ["kit:look", "yes", "yes", "yes", "no", "yes", "yes", "yes"]
    assert "does not learn that it exists" in ended.out
    assert lines[-1] == "Profile: standard."


def test_the_matrix_of_another_profile(world):
    found = world.run("policy", "matrix", "tell", "--profile", "assistant", "--json").json
    assert found["profile"] == "assistant"
    assert found["tools"]["kit:tell"]["chat"] == {"outcome": "deny", "rule": "capability.message"}


EXPECTED = """
[[expect]]
tool = "look"
outcome = "allow"

[[expect]]
tool = "fetch"
as = "guest"
outcome = "deny"

[[expect]]
tool = "kit:configure"
from = "job"
outcome = "deny"
rule = "control_plane"

[[expect]]
tool = "configure"
sender = "work:2"
outcome = "allow"

[[expect]]
tool = "tell"
profile = "assistant"
channel = "work"
agent = "main"
outcome = "deny"
"""


def checked(world, text, *words):
    (world.work / "policy.toml").write_text(text, encoding="utf-8")
    return world.run("policy", "check", "policy.toml", *words)


def test_expectations_that_are_met_end_with_0(world):
    ended = checked(world, EXPECTED)
    assert (ended.code, ended.out) == (0, "5 of 5 expectations are met.\n"), ended.err


def test_each_expectation_that_is_missed_is_shown_with_what_was_found(world):
    missed = """
[[expect]]
tool = "configure"
from = "job"
outcome = "allow"

[[expect]]
tool = "fetch"
as = "guest"
outcome = "deny"
rule = "owner_only"

[[expect]]
tool = "configure"
from = "mcp"
outcome = "hidden"

[[expect]]
tool = "gone"
outcome = "deny"
"""
    ended = checked(world, EXPECTED + missed)
    assert ended.code == 1
    assert ended.out.splitlines() == [
        "configure from job",
        "- allow",
        "+ deny (control_plane)",
        "fetch as guest",
        "- deny (owner_only)",
        "+ hidden (trust.class)",
        "configure from mcp",
        "- hidden",
        "+ deny (control_plane)",
        "gone",
        "- deny",
        "+ There is no tool 'gone'",
        "5 of 9 expectations are met.",
    ]
    data = checked(world, EXPECTED + missed, "--json")
    assert data.code == 1
    assert not data.json["ok"]
    assert [item["met"] for item in data.json["checks"]] == [True] * 5 + [False] * 4
    assert data.json["checks"][-1]["found"] is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "expect"),
        ("expect = []", "expects nothing"),
        ("[[expect]]\ntool = 'look'", "outcome"),
        ("[[expect]]\ntool = 'look'\noutcome = 'alow'", "did you mean 'allow'"),
        ("[[expect]]\ntool = 'look'\noutcome = 'allow'\nfor = 'guest'", "unknown key"),
        ("[[expect", "can't be read"),
    ],
)
def test_a_file_that_says_something_else_is_refused(world, text, said):
    ended = checked(world, text)
    assert ended.code == 2
    assert said in ended.err
    assert "policy.toml" in ended.err


def test_an_expectation_may_be_about_one_call(world):
    text = """
[[expect]]
tool = "send"
call = { to = "ann@example.org" }
outcome = "deny"

[[expect]]
tool = "send"
call = { to = "boss@example.com" }
outcome = "allow"

[[expect]]
tool = "send"
call = { copies = 2 }
outcome = "deny"
"""
    ended = checked(world, text)
    assert ended.code == 1
    said = ended.out.splitlines()
    assert said[:3] == [
        'send with {"to": "boss@example.com"}',
        "- allow",
        "+ ask (policy.rules[1])",
    ]
    assert said[5].startswith("+ send would refuse this call")
    assert said[-1] == "1 of 3 expectations are met."


def test_a_file_that_is_not_there_is_refused(world):
    ended = world.run("policy", "check", "nothing.toml")
    assert ended.code == 2
    assert "nothing.toml can't be read" in ended.err
