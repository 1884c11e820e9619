"""Frames, and what is written in them."""

from __future__ import annotations

import json

import pytest

from pegboard import Caller, PegboardError, TurnOutcome, Usage
from pegboard.contracts.errors import StoreError, UsageError
from pegboard.contracts.result import Suspend, ToolResult
from pegboard.contracts.stream import (
    Noticed,
    TextStreamed,
    ToolFinished,
    TurnFinished,
    TurnStarted,
    read_event,
)
from pegboard.contracts.wire import TOOL_RESULT
from pegboard.host.control.forms import (
    caller_form,
    caller_of,
    outcome_form,
    outcome_of,
    result_form,
)
from pegboard.host.control.protocol import ProtocolError, decoded, encoded, error_form, error_of
from pegboard.host.ingress import local_caller


@pytest.mark.parametrize("text", ["plain", "\ud800 half", "\0\n\r", "ünï", "x" * 100_000])
def test_any_text_goes_through(text: str) -> None:
    line = encoded({"id": 1, "text": text})
    assert line.count(b"\n") == 1
    assert decoded(line) == {"id": 1, "text": text}


@pytest.mark.parametrize(
    "line", [b"", b"x", b"[]", b"1", b'"x"', b"{", b'{"a": NaN}', b"[" * 200_000, b"\xff"]
)
def test_what_is_no_object_is_refused(line: bytes) -> None:
    with pytest.raises(ProtocolError):
        decoded(line)


def test_an_error_arrives_as_it_was() -> None:
    sent = StoreError("The disk is full.", fix="df -h", path="/x")
    got = error_of(json.loads(json.dumps(error_form(sent))))
    assert isinstance(got, PegboardError)
    assert got.to_dict() == sent.to_dict()
    assert (got.code, got.exit_code) == (sent.code, sent.exit_code)


@pytest.mark.parametrize("form", [{}, {"exit_code": 0}, {"exit_code": "x"}, {"exit_code": 999}])
def test_an_error_that_says_little_is_an_error_all_the_same(form: dict) -> None:
    got = error_of(form)
    assert (got.code, got.exit_code) == ("error", 1)


@pytest.mark.parametrize(
    "caller",
    [
        local_caller(),
        local_caller(as_guest=True, attended=False),
        local_caller(attended=True, slash_commands=True),
        local_caller().narrow(tools=["files:file_read"], delegated=False),
        local_caller().narrow(tools=[], delegated=False),
    ],
)
def test_a_caller_arrives_as_it_was(caller: Caller) -> None:
    assert caller_of(json.loads(json.dumps(caller_form(caller)))) == caller


@pytest.mark.parametrize("form", [None, [], "me", {"agent": 5}, {"tools": "all"}, {"tools": [1]}])
def test_what_is_no_caller_is_refused(form: object) -> None:
    with pytest.raises(UsageError):
        caller_of(form)


def test_nobody_becomes_more_than_the_person_here() -> None:
    form = {"trust": "operator", "admin": True, "as_guest": True, "sender": "tg:1", "depth": -1}
    assert caller_of(form) == local_caller(as_guest=True, attended=False)


def test_an_outcome_arrives_as_it_was() -> None:
    outcome = TurnOutcome(
        text="hello",
        status="failed",
        steps=3,
        usage=Usage(input=5, output=6),
        error={"code": "x", "message": "y", "fix": None},
        tool_calls=2,
        tool_failures=1,
    )
    assert outcome_of(json.loads(json.dumps(outcome_form(outcome)))) == outcome


def test_a_result_arrives_as_it_was() -> None:
    asked = Suspend("Sure?", rule="r", subject="s", tool="a:b", arguments={"x": 1})
    result = ToolResult("text", structured={"a": [1]}, details={"b": 2}, control=asked)
    assert TOOL_RESULT.read(json.loads(json.dumps(result_form(result)))) == result


def test_what_is_no_json_in_a_result_is_shown_as_text() -> None:
    result = ToolResult("text", details={"when": object()})
    got = TOOL_RESULT.read(json.loads(json.dumps(result_form(result))))
    assert "object" in got.details["when"]


@pytest.mark.parametrize(
    "event",
    [
        TurnStarted(turn="t", provider="p", model="m", trust="operator"),
        TextStreamed(text="hello"),
        Noticed(code="c", text="t"),
        ToolFinished(call="1", name="n", output="o", error=None, duration_ms=1.5, details={"a": 1}),
        TurnFinished(turn="t", status="done", text="x", steps=1, usage={"input": 1}),
    ],
)
def test_an_event_arrives_as_it_was(event) -> None:
    assert read_event(json.loads(json.dumps(event.to_dict()))) == event


def test_an_event_of_a_newer_host_is_taken_as_far_as_it_is_known() -> None:
    assert read_event({"type": "hologram", "depth": 3}) is None
    assert read_event({"type": "text", "text": "x", "colour": "red"}) == TextStreamed(text="x")
    with pytest.raises(ValueError, match="text"):
        read_event({"type": "text"})
