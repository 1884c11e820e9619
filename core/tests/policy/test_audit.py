from __future__ import annotations

from dataclasses import fields, replace

from pegboard.contracts.audit import AuditEvent
from pegboard.contracts.caller import Caller
from pegboard.policy.audit import Folding, audited, fit_to_keep

CALLER = Caller(
    trust="guest", origin="person", channel="tg", sender="tg:7", agent="main", depth=1, job="j"
)


def event(at=0.0, **facts):
    made = audited("deny", "owner_only", "deny", CALLER, at=at, tool="a:b", run="r", call="c")
    return replace(made, **facts)


def test_an_event_holds_facts_of_the_caller_and_no_content():
    made = event(at=5.0)
    assert made.to_dict() == {
        "at": 5.0,
        "kind": "deny",
        "rule": "owner_only",
        "outcome": "deny",
        "tool": "a:b",
        "disclosed": True,
        "how": "",
        "trust": "guest",
        "origin": "person",
        "channel": "tg",
        "sender": "tg:7",
        "agent": "main",
        "depth": 1,
        "job": "j",
        "run": "r",
        "call": "c",
        "count": 1,
        "since": None,
        "subject": "",
    }
    content = {"arguments", "result", "message", "reason", "question", "text"}
    assert content.isdisjoint(item.name for item in fields(AuditEvent))


def test_what_a_later_version_added_does_not_stop_reading():
    assert AuditEvent.from_dict({**event().to_dict(), "new": 1}) == event()


def test_an_absent_trust_is_recorded_as_guest():
    assert audited("deny", "r", "deny", Caller(trust=None), at=0).trust == "guest"  # type: ignore[arg-type]


def test_secrets_and_endless_ids_do_not_reach_the_log():
    kept = fit_to_keep(
        event(call="x" * 999, sender="tg:hunter2"), lambda t: t.replace("hunter2", "*")
    )
    assert (len(kept.call), kept.sender) == (200, "tg:*")
    same = event()
    assert fit_to_keep(same, str) is same


def test_the_first_event_passes_and_repetitions_are_counted():
    folding = Folding()
    assert folding.add(event(0, call="1")) == [event(0, call="1")]
    assert not folding.counting
    assert folding.add(event(10, call="2")) == []
    assert folding.add(event(59, call="3")) == []
    assert folding.counting
    assert folding.due(59.9) == []
    assert folding.due(60) == [event(59, call="3", count=2, since=0)]
    assert folding.due(60) == []


def test_the_next_window_begins_with_an_event_that_passes():
    folding = Folding()
    folding.add(event(0))
    folding.add(event(1))
    assert folding.add(event(61)) == [event(1, count=1, since=0), event(61)]


def test_events_that_differ_are_not_folded():
    folding = Folding()
    variants = [
        event(),
        event(rule="other"),
        event(tool="c:d"),
        event(sender="tg:8"),
        event(kind="ask"),
        event(disclosed=False),
        event(depth=0),
        event(job=""),
        event(agent="other"),
    ]
    assert [folding.add(item) for item in variants] == [[item] for item in variants]


def test_the_end_of_the_host_tells_what_was_counted():
    folding = Folding()
    for at in range(5):
        folding.add(event(at))
    folding.add(event(5, rule="other"))
    assert folding.flush() == [event(4, count=4, since=0)]
    assert folding.flush() == []


def test_a_flood_of_different_events_keeps_memory_bounded():
    folding = Folding(most=3)
    folding.add(event(0, sender="0"))
    folding.add(event(0, sender="0"))
    written = [folding.add(event(0, sender=str(number))) for number in range(1, 10)]
    assert written[2] == [event(0, sender="0", count=1, since=0), event(0, sender="3")]
    assert len(folding._windows) == 3


def test_a_clock_set_back_loses_no_count():
    folding = Folding()
    folding.add(event(1000))
    folding.add(event(1001))
    assert folding.add(event(5)) == [event(1001, count=1, since=1000), event(5)]


def test_only_an_operator_is_recorded_as_one():
    for trust, kept in (("operator", "operator"), ("guest", "guest"), (None, "guest")):
        found = audited("deny", "r", "deny", replace(CALLER, trust=trust), at=0.0)
        assert found.trust == kept
