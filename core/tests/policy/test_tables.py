"""Who may use which class, and what each attended rule asks for: the two tables, row by row."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pegboard.contracts.caller import Caller
from pegboard.contracts.effects import POLICY_CLASSES
from pegboard.contracts.tool import RegisteredTool, ToolSpec
from pegboard.policy.decide import decide
from pegboard.policy.snapshot import OPEN_POLICY, PolicySnapshot

ANY = PolicySnapshot(guest_tools=frozenset({"t"}))


def tool(name="t", **facts):
    facts.setdefault("effects", frozenset({"read"}))
    return RegisteredTool(ToolSpec(name=name, **facts), "p", first_party=True, name=name)


TRUST = [
    ("operator", set(POLICY_CLASSES), True),
    ("guest", {"read_only"}, False),
    (None, {"read_only"}, False),
    ("owner", {"read_only"}, False),
]


@pytest.mark.parametrize(("trust", "classes", "owners"), TRUST)
def test_the_table_of_trust(trust, classes, owners):
    caller = Caller(trust=trust)
    for name in POLICY_CLASSES:
        assert decide(ANY, caller, tool(policy_class=name)).allowed is (name in classes)
    assert decide(ANY, caller, tool(audience="owner")).allowed is owners


@pytest.mark.parametrize(
    "name",
    [
        "file_read",
        "glob_search",
        "content_search",
        "git_read",
        "list_jobs",
        "list_job_runs",
        "get_job_run",
        "memory_sources_list",
    ],
)
def test_what_returns_the_owners_data_does_not_exist_for_a_guest(name):
    opened = PolicySnapshot(guest_tools=frozenset({name}))
    verdict = decide(opened, Caller(), tool(name, audience="owner"))
    assert (verdict.allowed, verdict.disclosed) == (False, False)
    worker = Caller(trust="operator").narrow()
    job = Caller(trust="operator", origin="job", job="j")
    for caller in (worker, job):
        assert decide(opened, caller, tool(name, audience="owner")).allowed


OWNER = Caller(
    trust="operator",
    origin="person",
    attended=True,
    live_reply=True,
    slash_commands=True,
    surface="chat",
)
JOB = Caller(trust="operator", origin="job", job="j", job_creator="operator")
TURNS = {
    "terminal": replace(OWNER, surface="terminal"),
    "chat": OWNER,
    "voice": replace(OWNER, surface="voice", slash_commands=False),
    "chat without commands": replace(OWNER, slash_commands=False),
    "no live reply": replace(OWNER, live_reply=False),
    "no surface": replace(OWNER, surface=""),
    "http": replace(OWNER, surface="api", origin="http"),
    "unattended": replace(OWNER, attended=False),
    "continuation": replace(OWNER, continuation=True),
    "subagent": OWNER.narrow(),
    "malformed depth": replace(OWNER, depth=-1),
    "guest": replace(OWNER, trust="guest"),
    "no trust": replace(OWNER, trust=None),
    "nothing marked": Caller(trust="operator"),
    "job": JOB,
    "job naming it": replace(JOB, job_tools=frozenset({"t"})),
    "job naming another": replace(JOB, job_tools=frozenset({"other"})),
    "guest's job": replace(JOB, job_creator="guest", job_tools=frozenset({"t"})),
    "nobody's job": replace(JOB, job_creator="", job_tools=frozenset({"t"})),
    "person in a job": replace(OWNER, job="j"),
    "guest in a job": replace(JOB, trust="guest", job_tools=frozenset({"t"})),
    "delegated in a job": replace(JOB, depth=1, job_tools=frozenset({"t"})),
    "agent in a job": replace(JOB, origin="agent", job_tools=frozenset({"t"})),
    "job without id": replace(JOB, job="", job_tools=frozenset({"t"})),
    "continuation of a job": replace(JOB, continuation=True),
    "subagent of a job": replace(JOB, job_tools=frozenset({"t"})).narrow(),
}
PRESENT = {"terminal", "chat", "voice", "chat without commands", "no live reply"}
ATTENDED = {
    "event_changes": PRESENT,
    "event_list": PRESENT | {"job", "job naming it", "job naming another"},
    "coding": {
        "terminal",
        "chat",
        "chat without commands",
        "no surface",
        "continuation",
        "job naming it",
    },
    "directory_access": {"terminal", "chat", "no surface", "continuation"},
    "desktop_control": (PRESENT | {"no surface", "continuation"}),
}


@pytest.mark.parametrize("turn", TURNS)
@pytest.mark.parametrize("rule", ATTENDED)
def test_the_table_of_attended_rules(rule, turn):
    verdict = decide(ANY, TURNS[turn], tool(attended=rule))
    assert verdict.allowed is (turn in ATTENDED[rule])
    if not verdict.allowed and TURNS[turn].trust == "operator":
        assert verdict.rule == f"attended.{rule}"


def test_a_broad_policy_does_not_stand_for_a_job_that_names_the_tool():
    job = replace(JOB, tools=frozenset({"t"}), classes=frozenset(POLICY_CLASSES))
    assert not decide(OPEN_POLICY, job, tool(attended="coding")).allowed
    named = replace(JOB, job_tools=frozenset({"p:t"}))
    assert decide(OPEN_POLICY, named, tool(attended="coding")).allowed


def test_a_short_name_that_a_clash_took_names_no_tool_for_a_job():
    nameless = RegisteredTool(
        ToolSpec(name="t", effects=frozenset({"read"}), attended="coding"), "p", first_party=True
    )
    for names, allowed in ((["t"], False), ([""], False), (["p:t"], True)):
        job = replace(JOB, job_tools=frozenset(names))
        assert decide(OPEN_POLICY, job, nameless).allowed is allowed
