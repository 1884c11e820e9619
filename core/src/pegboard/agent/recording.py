"""A run in one file: what came in, what the models answered, what the calls returned, and when.

It is a bug report that runs, and a fixture for tests. Images and files are named in it and not part
of it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from pegboard.contracts.caller import Caller
from pegboard.contracts.errors import UsageError
from pegboard.contracts.journal import Answered
from pegboard.contracts.message import InboundMessage, Message, OutboundMessage
from pegboard.contracts.news import NewsItem
from pegboard.contracts.result import ToolResult
from pegboard.contracts.wire import CALLER, DONE, INBOUND, MESSAGE, OUTBOUND, TOOL_RESULT, WireError

FORMAT: Final = 1
_MARK: Final = "pegboard_recording"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedCall:
    """A tool call.

    Args:
        id: Its id; that of a call which another one made is `<outer>.<n>`.
        name: The name that was used.
        arguments: The text of its arguments.
        tool: Canonical name of what ran, or "" for what did not run.
        result: What it returned; None = it never came to its end.
        began, ended: When, in seconds since the epoch; 0 = unknown.
    """

    id: str
    name: str
    arguments: str
    tool: str = ""
    result: ToolResult | None = None
    began: float = 0.0
    ended: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedStep:
    """A model call and the tool calls that it asked for.

    Args:
        answer: What the model answered, without the provider's state.
        asked: The messages that it was asked with; None for one that is not known, or in place of
            all when a plugin had changed them.
        tools: Names of the declared tools.
        calls: The calls in order, each followed by those that it made.
        began, ended: When the model was asked and had answered, in seconds since the epoch.
    """

    answer: Answered
    asked: tuple[Message | None, ...] | None = None
    tools: tuple[str, ...] = ()
    calls: tuple[RecordedCall, ...] = ()
    began: float = 0.0
    ended: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """A run as it was.

    Args:
        turn: Id of the turn.
        conversation: Key of its conversation.
        agent: Id of the named agent.
        message: What came in.
        caller: Whom it acted for.
        received_at: When it came in, in seconds since the epoch.
        ended_at: When it ended, or None.
        state: How the turn ended, or how far it is.
        error: How it failed (`{"code", "message", "fix"}`), or None.
        start: The messages before the first step; None for one that is not known.
        steps: The steps that a model answered.
        reply: What was sent.
        max_steps: Model calls that were allowed at most.
        pegboard: Version of the host.
        plugins: Version of each plugin, by id.
    """

    turn: str
    message: InboundMessage
    caller: Caller
    state: str
    conversation: str = ""
    agent: str = "main"
    received_at: float = 0.0
    ended_at: float | None = None
    error: Mapping[str, Any] | None = None
    start: tuple[Message | None, ...] = ()
    steps: tuple[RecordedStep, ...] = ()
    reply: tuple[OutboundMessage, ...] = ()
    max_steps: int = 100
    pegboard: str = ""
    plugins: Mapping[str, str] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the recording as JSON-serialisable data."""
        asked = self.start
        steps = []
        for step in self.steps:
            steps.append(_step_form(step, asked))
            asked = asked if step.asked is None else step.asked
        return {
            _MARK: FORMAT,
            "pegboard": self.pegboard,
            "plugins": dict(self.plugins),
            "turn": self.turn,
            "conversation": self.conversation,
            "agent": self.agent,
            "state": self.state,
            "error": None if self.error is None else dict(self.error),
            "received_at": self.received_at,
            "ended_at": self.ended_at,
            "max_steps": self.max_steps,
            "message": INBOUND.write(self.message),
            "caller": CALLER.write(self.caller),
            "start": _message_forms(self.start),
            "steps": steps,
            "reply": [OUTBOUND.write(message) for message in self.reply],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Recording:
        """Read what `to_dict` returned.

        Raises:
            UsageError: When it is no recording, or one of a newer version.
        """
        version = data.get(_MARK)
        if version is None:
            raise UsageError("This is no recording of a run.", fix="pegboard record TURN -o FILE")
        if version != FORMAT:
            raise UsageError(
                f"This recording has the format {version}; this version reads {FORMAT}.",
                fix="pip install -U pegboard",
            )
        try:
            return cls._read(data)
        except (WireError, KeyError, TypeError, ValueError, AttributeError) as error:
            raise UsageError(f"This recording can't be read: {error}.") from error

    @classmethod
    def _read(cls, data: Mapping[str, Any]) -> Recording:
        steps: list[RecordedStep] = []
        asked = start = _messages(data["start"])
        for form in data["steps"]:
            step = _step(form, asked)
            steps.append(step)
            asked = asked if step.asked is None else step.asked
        return cls(
            turn=data["turn"],
            conversation=data["conversation"],
            agent=data["agent"],
            message=INBOUND.read(data["message"]),
            caller=CALLER.read(data["caller"]),
            received_at=data["received_at"],
            ended_at=data["ended_at"],
            state=data["state"],
            error=data["error"],
            start=start,
            steps=tuple(steps),
            reply=tuple(OUTBOUND.read(item) for item in data["reply"]),
            max_steps=data["max_steps"],
            pegboard=data["pegboard"],
            plugins=data["plugins"],
        )

    def text(self) -> str:
        """Return the recording as the text of a file."""
        return json.dumps(self.to_dict(), indent=1) + "\n"


def read_recording(file: Path) -> Recording:
    """Read a recording from a file.

    Raises:
        UsageError: When there is no such file, or it is no recording.
    """
    try:
        data = json.loads(file.read_bytes())
    except OSError as error:
        raise UsageError(f"{file} can't be read: {error.strerror}.") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{file} is no recording: it is no JSON.") from error
    if not isinstance(data, dict):
        raise UsageError(f"{file} is no recording of a run.", fix="pegboard record TURN -o FILE")
    return Recording.from_dict(data)


def _step_form(step: RecordedStep, before: tuple[Message | None, ...]) -> dict[str, Any]:
    asked = None
    if step.asked is not None:
        kept = 0
        for one, other in zip(before, step.asked, strict=False):
            if one != other:
                break
            kept += 1
        asked = {"kept": kept, "messages": _message_forms(step.asked[kept:])}
    form = {
        "began": step.began,
        "ended": step.ended,
        "hop": step.answer.hop,
        "model": step.answer.model,
        "asked": asked,
        "tools": list(step.tools),
        "answer": DONE.write(step.answer.done),
        "calls": [_call_form(call) for call in step.calls],
    }
    if step.answer.news:
        form["news"] = [{"id": item.id, "text": item.text} for item in step.answer.news]
    return form


def _step(form: Mapping[str, Any], before: tuple[Message | None, ...]) -> RecordedStep:
    asked = form["asked"]
    if asked is not None:
        asked = (*before[: asked["kept"]], *_messages(asked["messages"]))
    done = DONE.read(form["answer"])
    news = tuple(NewsItem(**item) for item in form.get("news", ()))
    return RecordedStep(
        answer=Answered(done=done, hop=form["hop"], model=form["model"], news=news),
        asked=asked,
        tools=tuple(form["tools"]),
        calls=tuple(_call(item) for item in form["calls"]),
        began=form["began"],
        ended=form["ended"],
    )


def _call_form(call: RecordedCall) -> dict[str, Any]:
    return {
        "id": call.id,
        "name": call.name,
        "arguments": call.arguments,
        "tool": call.tool,
        "began": call.began,
        "ended": call.ended,
        "result": None if call.result is None else TOOL_RESULT.write(call.result),
    }


def _call(form: Mapping[str, Any]) -> RecordedCall:
    result = form["result"]
    return RecordedCall(
        id=form["id"],
        name=form["name"],
        arguments=form["arguments"],
        tool=form["tool"],
        began=form["began"],
        ended=form["ended"],
        result=None if result is None else TOOL_RESULT.read(result),
    )


def _message_forms(messages: Sequence[Message | None]) -> list[dict[str, Any] | None]:
    return [None if message is None else MESSAGE.write(message) for message in messages]


def _messages(forms: Sequence[Mapping[str, Any] | None]) -> tuple[Message | None, ...]:
    return tuple(None if form is None else MESSAGE.read(form) for form in forms)
