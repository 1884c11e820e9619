"""The typed event stream of a turn, a persisted wire format: what a UI or a log follows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, ClassVar, Final, get_args


@dataclass(frozen=True, slots=True, kw_only=True)
class _Event:
    """Base: an event knows its `type` and can be written as one JSON object."""

    type: ClassVar[str] = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the event as JSON-serialisable data, `type` first."""
        return {"type": self.type, **asdict(self)}


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnStarted(_Event):
    """A turn began."""

    type: ClassVar[str] = "turn_started"
    turn: str
    provider: str
    model: str
    trust: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StepStarted(_Event):
    """A model is asked; steps count from 1."""

    type: ClassVar[str] = "step_started"
    step: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TextStreamed(_Event):
    """A piece of the answer."""

    type: ClassVar[str] = "text"
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ThinkingStreamed(_Event):
    """A piece of the reasoning."""

    type: ClassVar[str] = "thinking"
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TextRestarted(_Event):
    """Discard the text of this step: the answer begins again."""

    type: ClassVar[str] = "restart"
    provider: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolStarted(_Event):
    """A call begins to run."""

    type: ClassVar[str] = "tool_started"
    call: str
    name: str
    arguments: Mapping[str, Any] | str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolProgress(_Event):
    """A running call reports where it is."""

    type: ClassVar[str] = "tool_progress"
    call: str
    name: str
    message: str
    fraction: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolFinished(_Event):
    """A call ended. `error` is its code, or None."""

    type: ClassVar[str] = "tool_finished"
    call: str
    name: str
    output: str
    error: str | None
    duration_ms: float
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Noticed(_Event):
    """Something a person should know: a warning, a fallback, a broken plugin."""

    type: ClassVar[str] = "notice"
    code: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalAsked(_Event):
    """A call waits for a person's answer."""

    type: ClassVar[str] = "approval_asked"
    call: str
    name: str
    question: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageReported(_Event):
    """Tokens of one model call."""

    type: ClassVar[str] = "usage"
    usage: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnFinished(_Event):
    """The last event of a turn."""

    type: ClassVar[str] = "turn_finished"
    turn: str
    status: str
    text: str
    steps: int
    usage: Mapping[str, Any]
    error: Mapping[str, Any] | None = None


StreamEvent = (
    TurnStarted
    | StepStarted
    | TextStreamed
    | ThinkingStreamed
    | TextRestarted
    | ToolStarted
    | ToolProgress
    | ToolFinished
    | Noticed
    | ApprovalAsked
    | UsageReported
    | TurnFinished
)

_KINDS: Final[Mapping[str, type]] = {kind.type: kind for kind in get_args(StreamEvent)}


def read_event(data: Mapping[str, Any]) -> StreamEvent | None:
    """Return the event that `to_dict` wrote; None when its type is not known here.

    Fields that are not known are left out: a newer host may say more.

    Raises:
        ValueError: When a field is missing.
    """
    kind = _KINDS.get(str(data.get("type")))
    if kind is None:
        return None
    known = {field.name for field in fields(kind)}
    try:
        event: StreamEvent = kind(**{name: data[name] for name in data if name in known})
    except TypeError as error:
        raise ValueError(f"an event {data.get('type')!r} that is incomplete: {error}") from error
    return event
