from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pegboard.contracts import wire
from pegboard.contracts.blob import BlobRef
from pegboard.contracts.caller import Caller
from pegboard.contracts.message import (
    Attachment,
    CallResult,
    InboundMessage,
    Message,
    OutboundMessage,
    ToolCall,
)
from pegboard.contracts.provider import Done, ProviderState, Usage
from pegboard.contracts.result import (
    AddTools,
    File,
    Handoff,
    Image,
    Suspend,
    Terminate,
    Text,
    ToolError,
    ToolResult,
)
from pegboard.contracts.wire import WireError

# half characters, NUL and all else that Python's text may hold
TEXT = st.text(st.characters(), max_size=12)
FLAG = st.booleans()
COUNT = st.integers(0, 2**60)
JSON = st.recursive(
    st.none() | FLAG | st.integers(-(2**70), 2**70) | TEXT
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)  # fmt: skip
BLOB = st.builds(BlobRef, TEXT, TEXT, COUNT, TEXT)
IMAGE, FILE = st.builds(Image, BLOB, TEXT), st.builds(File, BLOB)
PARTS = st.lists(st.builds(Text, TEXT) | IMAGE | FILE, max_size=3).map(tuple)
CALLS = st.lists(st.builds(ToolCall, TEXT, TEXT, TEXT), max_size=3).map(tuple)
ANSWERS = st.lists(st.builds(CallResult, TEXT, TEXT, PARTS, FLAG), max_size=3).map(tuple)
MESSAGES = st.builds(
    Message, st.sampled_from(["system", "user", "assistant", "tool"]), PARTS, CALLS, ANSWERS
)
CONTROLS = (
    st.builds(AddTools, st.lists(TEXT, max_size=3).map(tuple))
    | st.builds(Handoff, TEXT, TEXT)
    | st.builds(Terminate, TEXT)
    | st.builds(Suspend, TEXT, TEXT, TEXT)
)
RESULTS = st.builds(
    ToolResult,
    output=TEXT | PARTS,
    structured=JSON,
    details=st.dictionaries(TEXT, JSON, max_size=3),
    artifacts=st.lists(BLOB, max_size=2).map(tuple),
    error=st.none() | st.builds(ToolError, TEXT, TEXT, st.none() | TEXT, FLAG),
    outside=st.none() | FLAG,
    control=st.none() | CONTROLS,
)
USAGES = st.builds(Usage, COUNT, COUNT, COUNT, COUNT, COUNT, FLAG)
DONES = st.builds(
    Done,
    stop=st.sampled_from(["end", "tool_use", "max_tokens", "refusal", "pause", "other"]),
    text=TEXT,
    calls=CALLS,
    usage=USAGES,
    state=st.none() | st.builds(ProviderState, TEXT, TEXT, TEXT, TEXT, JSON),
    raw_stop=TEXT,
)
NAMES = st.none() | st.frozensets(TEXT, max_size=3)
CALLERS = st.builds(
    Caller,
    trust=st.sampled_from(["operator", "guest"]),
    admin=FLAG,
    agent=TEXT,
    origin=st.sampled_from(["person", "agent", "job", "script", "mcp", "http"]),
    channel=TEXT,
    sender=TEXT,
    attended=FLAG,
    live_reply=FLAG,
    slash_commands=FLAG,
    surface=TEXT,
    continuation=FLAG,
    depth=st.integers(0, 5),
    job=TEXT,
    job_creator=st.sampled_from(["", "operator", "guest"]),
    job_tools=NAMES,
    lease=TEXT,
    tools=NAMES,
    classes=st.none() | st.frozensets(st.sampled_from(["read_only", "exec", "network"])),
)
ATTACHMENTS = st.lists(st.builds(Attachment, part=IMAGE | FILE), max_size=2).map(tuple)
INBOUND = st.builds(
    InboundMessage,
    channel=TEXT,
    chat=TEXT,
    sender=TEXT,
    text=TEXT,
    thread=TEXT,
    external_id=TEXT,
    attachments=ATTACHMENTS,
    metadata=st.dictionaries(TEXT, TEXT, max_size=3),
)
OUTBOUND = st.builds(
    OutboundMessage,
    chat=TEXT,
    text=TEXT,
    thread=TEXT,
    attachments=ATTACHMENTS,
    in_reply_to=TEXT,
)
FORMS: dict[str, tuple[wire.Form[Any], st.SearchStrategy[Any]]] = {
    "message": (wire.MESSAGE, MESSAGES),
    "result": (wire.TOOL_RESULT, RESULTS),
    "done": (wire.DONE, DONES),
    "caller": (wire.CALLER, CALLERS),
    "inbound": (wire.INBOUND, INBOUND),
    "outbound": (wire.OUTBOUND, OUTBOUND),
    "usage": (wire.USAGE, USAGES),
    "call": (wire.TOOL_CALL, st.builds(ToolCall, TEXT, TEXT, TEXT)),
    "answer": (wire.CALL_RESULT, st.builds(CallResult, TEXT, TEXT, PARTS, FLAG)),
    "part": (wire.PART, IMAGE | FILE | st.builds(Text, TEXT)),
}


@pytest.mark.parametrize("name", FORMS)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_a_value_comes_back_from_its_json_text(name: str, data: st.DataObject) -> None:
    form, values = FORMS[name]
    value = data.draw(values)
    text = json.dumps(form.write(value), allow_nan=False)
    text.encode()  # a file can hold it, whatever half characters there are
    assert form.read(json.loads(text)) == value


def test_the_id_of_a_message_is_kept_though_it_does_not_count_for_equality() -> None:
    message = OutboundMessage(chat="1", text="Hi", id="turn:0")
    assert wire.OUTBOUND.read(wire.OUTBOUND.write(message)).id == "turn:0"
    assert message == replace(message, id="")


def test_half_a_character_is_kept_as_it_is() -> None:
    message = Message.of("user", "half \udcff")
    kept = json.dumps(wire.MESSAGE.write(message))
    assert kept.isascii()
    assert wire.MESSAGE.read(json.loads(kept)) == message


def test_what_is_a_default_is_left_out() -> None:
    assert wire.CALLER.write(Caller()) == {"v": 1}
    assert wire.TOOL_RESULT.write(ToolResult("7")) == {"v": 1, "output": "7"}
    assert wire.MESSAGE.write(Message.of("user", "Hi")) == {
        "v": 1,
        "role": "user",
        "parts": [{"type": "text", "text": "Hi"}],
    }


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"v": 2},
        {"v": "1"},
        {"v": 1},
        {"v": 1, "role": "boss"},
        {"v": 1, "role": "user", "mood": "good"},
        {"v": 1, "role": "user", "parts": {}},
        {"v": 1, "role": "user", "parts": [{"type": "smell"}]},
        {"v": 1, "role": "user", "parts": [{"type": "text", "text": 7}]},
        {"v": 1, "role": "user", "parts": ["Hi"]},
        {"v": 1, "role": "user", "calls": [{"id": "1", "name": "x"}]},
        [],
    ],
)
def test_what_is_no_message_is_refused(data: Any) -> None:
    with pytest.raises(WireError, match="no message"):
        wire.MESSAGE.read(data)


def test_a_flag_is_no_number_and_a_number_no_flag() -> None:
    with pytest.raises(WireError, match="a bool in place of a int"):
        wire.USAGE.read({"v": 1, "input": True})
    with pytest.raises(WireError, match="a int in place of a bool"):
        wire.CALLER.read({"v": 1, "admin": 1})
    assert wire.CALLER.read({"v": 1}) == Caller()


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {1: "x"}, {"x": object()}, {"a"}])
def test_what_is_no_json_can_not_be_kept(value: Any) -> None:
    with pytest.raises(WireError, match="can't be kept"):
        wire.TOOL_RESULT.write(ToolResult(structured=value))


def test_what_never_ends_is_refused() -> None:
    value: list[Any] = []
    value.append(value)
    with pytest.raises(WireError):
        wire.TOOL_RESULT.write(ToolResult(structured=value))


def test_another_type_is_refused() -> None:
    with pytest.raises(WireError, match="a Usage in place of a Message"):
        wire.MESSAGE.write(Usage())  # type: ignore[arg-type]
    with pytest.raises(WireError):
        wire.OUTBOUND.write(replace(OutboundMessage(chat="c", text="t"), text=7))  # type: ignore[arg-type]
