"""Values as the store keeps them: JSON forms, strict in both directions.

`MESSAGE.write(message)` returns JSON-serialisable data and `MESSAGE.read(data)` the same message
again. Each form names its version under the key `v`; what is equal to its default is left out.
Text may hold anything that Python's text holds, half characters included.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields
from typing import Any, Final, Generic, TypeVar, cast, get_args

from pegboard.contracts.blob import BlobRef
from pegboard.contracts.caller import Caller, Origin, RunProfile
from pegboard.contracts.effects import POLICY_CLASSES, Trust
from pegboard.contracts.errors import StoreError
from pegboard.contracts.message import (
    Attachment,
    CallResult,
    InboundMessage,
    Message,
    OutboundMessage,
    Role,
    ToolCall,
)
from pegboard.contracts.provider import Done, ProviderState, Stop, Usage
from pegboard.contracts.result import (
    AddTools,
    ChangeConfig,
    File,
    Handoff,
    Image,
    Part,
    Suspend,
    Terminate,
    Text,
    ToolError,
    ToolResult,
)

VERSION: Final = 1
T = TypeVar("T")
_Write = Callable[[Any], Any]
_Read = Callable[[Any], Any]


class WireError(StoreError):
    """A value can't be kept, or what was kept can't be read as such a value."""

    code = "wire_invalid"


@dataclass(frozen=True, slots=True)
class _Codec:
    """How one kind of value is written and read; both raise `ValueError` or `TypeError`."""

    write: _Write
    read: _Read


class Form(Generic[T]):
    """The JSON form of one type.

    Args:
        name: What it is, for errors.
        codec: How it is written and read.
    """

    def __init__(self, name: str, codec: _Codec) -> None:
        self._name = name
        self._codec = codec

    def write(self, value: T) -> dict[str, Any]:
        """Return the value as JSON-serialisable data.

        Raises:
            WireError: When something in it has no JSON form.
        """
        try:
            return {"v": VERSION, **self._codec.write(value)}
        except (ValueError, TypeError, RecursionError) as error:
            raise WireError(f"A {self._name} can't be kept: {error}.") from error

    def read(self, data: Mapping[str, Any]) -> T:
        """Return the value that `write` has written.

        Raises:
            WireError: When it is anything else, also something of a newer version.
        """
        try:
            if data.get("v") != VERSION:
                raise ValueError(f"its version is {data.get('v')!r}, not {VERSION}")
            rest = {key: value for key, value in data.items() if key != "v"}
            return cast("T", self._codec.read(rest))
        except (ValueError, TypeError, AttributeError, RecursionError) as error:
            raise WireError(f"What was kept is no {self._name}: {error}.") from error


def _exactly(kind: type) -> _Codec:
    def same(value: Any) -> Any:
        if type(value) is not kind:
            raise TypeError(f"a {type(value).__name__} in place of a {kind.__name__}")
        return value

    return _Codec(same, same)


def _one_of(*values: str) -> _Codec:
    def same(value: Any) -> Any:
        if value not in values:
            raise ValueError(f"{value!r} is none of {', '.join(values)}")
        return value

    return _Codec(same, same)


def _optional(codec: _Codec) -> _Codec:
    return _Codec(
        lambda value: None if value is None else codec.write(value),
        lambda data: None if data is None else codec.read(data),
    )


def _list(data: Any) -> list[Any]:
    if not isinstance(data, list):
        raise TypeError(f"a {type(data).__name__} in place of a list")
    return data


def _tuple(codec: _Codec) -> _Codec:
    return _Codec(
        lambda value: [codec.write(item) for item in value],
        lambda data: tuple(codec.read(item) for item in _list(data)),
    )


def _set(codec: _Codec) -> _Codec:
    return _Codec(
        lambda value: sorted(codec.write(item) for item in value),
        lambda data: frozenset(codec.read(item) for item in _list(data)),
    )


def _texts(value: Any) -> dict[str, str]:
    return {_TEXT.write(key): _TEXT.write(item) for key, item in value.items()}


def _json(value: Any) -> Any:
    """Return a copy that holds nothing but JSON values."""
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float):
        if value - value != 0:
            raise ValueError("a number that is not finite")
        return value
    if isinstance(value, Mapping):
        return {_TEXT.write(key): _json(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_json(item) for item in value]
    raise TypeError(f"a {type(value).__name__} is no JSON value")


def _object(value: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise TypeError(f"a {type(value).__name__} in place of an object")
    return cast("dict[str, Any]", _json(value))


def _defaults(kind: type) -> dict[str, Any]:
    """Return the defaults of a dataclass, by field; a field without one has `MISSING`."""
    return {
        item.name: item.default if item.default_factory is MISSING else item.default_factory()
        for item in fields(kind)
    }


def _record(kind: type, **codecs: _Codec) -> _Codec:
    """Return the codec of a dataclass, by field; a default is left out and put in again."""
    defaults = _defaults(kind)
    others = ", ".join(sorted(codecs.keys() ^ defaults.keys()))
    if others:
        raise TypeError(f"contracts/wire.py does not say how {kind.__name__}.{others} is kept")

    def write(value: Any) -> dict[str, Any]:
        if type(value) is not kind:
            raise TypeError(f"a {type(value).__name__} in place of a {kind.__name__}")
        items = {name: getattr(value, name) for name in codecs}
        return {
            name: codecs[name].write(item)
            for name, item in items.items()
            if defaults[name] is MISSING or item != defaults[name]
        }

    def read(data: Any) -> Any:
        if not isinstance(data, Mapping):
            raise TypeError(f"a {type(data).__name__} in place of an object")
        unknown = data.keys() - codecs.keys()
        if unknown:
            raise ValueError(f"unknown: {', '.join(sorted(unknown))}")
        return kind(**{name: codecs[name].read(item) for name, item in data.items()})

    return _Codec(write, read)


def _union(**records: tuple[type, _Codec]) -> _Codec:
    """Return the codec of one of several types, told apart by the key `type`."""
    names = {kind: name for name, (kind, _) in records.items()}

    def write(value: Any) -> dict[str, Any]:
        name = names.get(type(value))
        if name is None:
            raise TypeError(f"a {type(value).__name__} is none of {', '.join(records)}")
        return {"type": name, **records[name][1].write(value)}

    def read(data: Any) -> Any:
        name = data.get("type")
        if name not in records:
            raise ValueError(f"{name!r} is none of {', '.join(records)}")
        return records[name][1].read({k: v for k, v in data.items() if k != "type"})

    return _Codec(write, read)


_TEXT: Final = _exactly(str)
_FLAG: Final = _exactly(bool)
_NUMBER: Final = _exactly(int)
_JSON: Final = _Codec(_json, _json)
_OBJECT: Final = _Codec(_object, _object)
_MAPPING: Final = _Codec(_texts, _texts)
_TRUST: Final = _one_of(*get_args(Trust))

_BLOB: Final = _record(BlobRef, id=_TEXT, media_type=_TEXT, size=_NUMBER, name=_TEXT)
_PART: Final = _union(
    text=(Text, _record(Text, text=_TEXT)),
    image=(Image, _record(Image, blob=_BLOB, alt=_TEXT)),
    file=(File, _record(File, blob=_BLOB)),
)
_CALL: Final = _record(ToolCall, id=_TEXT, name=_TEXT, arguments=_TEXT)
_ANSWER: Final = _record(CallResult, call_id=_TEXT, name=_TEXT, parts=_tuple(_PART), error=_FLAG)
_MESSAGE: Final = _record(
    Message,
    role=_one_of(*get_args(Role)),
    parts=_tuple(_PART),
    calls=_tuple(_CALL),
    results=_tuple(_ANSWER),
)
_ATTACHMENTS: Final = _tuple(_record(Attachment, part=_PART))
_CONTROL: Final = _union(
    add_tools=(AddTools, _record(AddTools, names=_tuple(_TEXT))),
    handoff=(Handoff, _record(Handoff, agent=_TEXT, message=_TEXT)),
    terminate=(Terminate, _record(Terminate, reason=_TEXT)),
    suspend=(
        Suspend,
        _record(
            Suspend,
            question=_TEXT,
            rule=_TEXT,
            subject=_TEXT,
            tool=_TEXT,
            arguments=_OBJECT,
            lasting=_FLAG,
        ),
    ),
    change_config=(
        ChangeConfig,
        _record(
            ChangeConfig,
            question=_TEXT,
            key=_TEXT,
            value=_JSON,
            add=_FLAG,
            replaces=_TEXT,
            also=_OBJECT,
        ),
    ),
)
_OUTPUT: Final = _Codec(
    lambda value: value if type(value) is str else _tuple(_PART).write(value),
    lambda data: data if type(data) is str else _tuple(_PART).read(data),
)
_RESULT: Final = _record(
    ToolResult,
    output=_OUTPUT,
    structured=_JSON,
    details=_OBJECT,
    artifacts=_tuple(_BLOB),
    error=_optional(
        _record(ToolError, code=_TEXT, message=_TEXT, fix=_optional(_TEXT), retryable=_FLAG)
    ),
    outside=_optional(_FLAG),
    control=_optional(_CONTROL),
)
_USAGE: Final = _record(
    Usage,
    input=_NUMBER,
    output=_NUMBER,
    cache_read=_NUMBER,
    cache_write=_NUMBER,
    reasoning=_NUMBER,
    estimated=_FLAG,
)
_STATE: Final = _record(
    ProviderState, provider=_TEXT, dialect=_TEXT, model=_TEXT, route=_TEXT, payload=_JSON
)
_DONE: Final = _record(
    Done,
    stop=_one_of(*get_args(Stop)),
    text=_TEXT,
    calls=_tuple(_CALL),
    usage=_USAGE,
    state=_optional(_STATE),
    raw_stop=_TEXT,
)
_CALLER: Final = _record(
    Caller,
    trust=_TRUST,
    admin=_FLAG,
    agent=_TEXT,
    origin=_one_of(*get_args(Origin)),
    channel=_TEXT,
    sender=_TEXT,
    attended=_FLAG,
    live_reply=_FLAG,
    slash_commands=_FLAG,
    surface=_TEXT,
    continuation=_FLAG,
    depth=_NUMBER,
    run_profile=_one_of(*get_args(RunProfile)),
    job=_TEXT,
    job_creator=_one_of("", *get_args(Trust)),
    job_tools=_optional(_set(_TEXT)),
    lease=_TEXT,
    tools=_optional(_set(_TEXT)),
    classes=_optional(_set(_one_of(*POLICY_CLASSES))),
)
_INBOUND: Final = _record(
    InboundMessage,
    channel=_TEXT,
    chat=_TEXT,
    sender=_TEXT,
    text=_TEXT,
    thread=_TEXT,
    external_id=_TEXT,
    attachments=_ATTACHMENTS,
    metadata=_MAPPING,
)
_OUTBOUND: Final = _record(
    OutboundMessage,
    chat=_TEXT,
    text=_TEXT,
    thread=_TEXT,
    attachments=_ATTACHMENTS,
    in_reply_to=_TEXT,
    id=_TEXT,
)

PART: Final[Form[Part]] = Form("part", _PART)
TOOL_CALL: Final[Form[ToolCall]] = Form("tool call", _CALL)
CALL_RESULT: Final[Form[CallResult]] = Form("result of a call", _ANSWER)
MESSAGE: Final[Form[Message]] = Form("message", _MESSAGE)
TOOL_RESULT: Final[Form[ToolResult]] = Form("tool result", _RESULT)
USAGE: Final[Form[Usage]] = Form("usage", _USAGE)
DONE: Final[Form[Done]] = Form("model's answer", _DONE)
CALLER: Final[Form[Caller]] = Form("caller", _CALLER)
INBOUND: Final[Form[InboundMessage]] = Form("inbound message", _INBOUND)
OUTBOUND: Final[Form[OutboundMessage]] = Form("outbound message", _OUTBOUND)
