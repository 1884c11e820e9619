"""How a model is asked, and what it streams back.

A provider has one required method, `stream`. It never sleeps, retries or runs a tool: the host
does.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, Protocol, runtime_checkable

from pegboard.contracts.blob import Blobs
from pegboard.contracts.errors import PegboardError
from pegboard.contracts.message import Message, ToolCall
from pegboard.contracts.tool import Intent, JsonSchema

Stop = Literal["end", "tool_use", "max_tokens", "refusal", "pause", "context_overflow", "other"]
ErrorScope = Literal["model", "provider"]
"""What a failure is about: one model, or everything that the provider offers."""
ErrorKind = Literal[
    "network",
    "protocol",
    "empty_stream",
    "timeout",
    "overloaded",
    "server",
    "rate_limit",
    "billing",
    "auth",
    "permission",
    "not_found",
    "context_overflow",
    "bad_request",
    "malformed_tool_call",
    "refusal",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderInfo:
    """Facts about a provider that do not change.

    Args:
        id: Name of the type, e.g. `openai`.
        dialect: Wire format; state of one dialect means nothing to another.
        network: How far its requests go.
        title: Name to show a person.
    """

    id: str
    dialect: str
    network: Literal["none", "loopback", "internet"] = "internet"
    title: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCaps:
    """What a model can take. Sizes are in tokens.

    Args:
        context: Context window.
        max_output: Longest answer.
        tools: True when it can call tools.
        forced: True when it can be held to a call by the schemas of the tools, also where it can't
            call them of its own; only `tool_choice="required"` asks for that.
        parallel: True when it may ask for several calls at once.
        images: True when messages may hold images.
        offered: Names of tools that it is used to: of tools that do the same, the others are left
            out where one of these is there.
        withheld: Names of tools that it is not offered, whatever else is there.
    """

    context: int = 128_000
    max_output: int = 8_192
    tools: bool = True
    forced: bool = False
    parallel: bool = True
    images: bool = False
    offered: tuple[str, ...] = ()
    withheld: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelInfo:
    """One model that a provider offers.

    Args:
        id: What it is asked for by.
        title: Name for people, or "".
        caps: What it can take.
        told: Names of those fields of `caps` that the service, or the file of the model, states;
            what is not named may come from a table.
    """

    id: str
    title: str = ""
    caps: ModelCaps = ModelCaps()
    told: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class ToolDeclaration:
    """A tool as it is declared to a model.

    Args:
        name: Name to call it by.
        description: What it does.
        parameters: JSON Schema of the arguments.
        intents: Phrases that mean this tool; a provider with a real model ignores them.
        freeform: Name of the argument that a call without JSON is taken for, or "".
    """

    name: str
    description: str
    parameters: JsonSchema
    intents: tuple[Intent, ...] = ()
    freeform: str = ""


@dataclass(frozen=True, slots=True)
class ProviderState:
    """Opaque state of a conversation at a provider.

    It is valid only for the same provider, dialect, model and route.

    Args:
        payload: JSON-serialisable; only the provider that made it reads it.
    """

    provider: str
    dialect: str
    model: str
    route: str
    payload: Any = None

    def fits(self, provider: str, dialect: str, model: str, route: str) -> bool:
        """Return True when the state may be sent on this route."""
        return (self.provider, self.dialect, self.model, self.route) == (
            provider,
            dialect,
            model,
            route,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatRequest:
    """One request to a model.

    Args:
        model: Model id at the provider; "" = its default.
        messages: The whole conversation in portable form, system messages first.
        tools: Tools to declare.
        state: State of the last `Done` of this conversation, or None.
        max_output: Longest answer in tokens, or None.
        effort: Reasoning effort (`low`, `medium`, `high`), or None.
        idempotency_key: The same for every attempt of one request, for services that take one.
        blobs: Where the bytes of images and files are, or None.
    """

    model: str = ""
    messages: tuple[Message, ...] = ()
    tools: tuple[ToolDeclaration, ...] = ()
    tool_choice: Literal["auto", "none", "required"] = "auto"
    state: ProviderState | None = None
    max_output: int | None = None
    effort: str | None = None
    idempotency_key: str = ""
    blobs: Blobs | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one request.

    Args:
        input: Tokens read, cached ones included.
        output: Tokens written, reasoning included.
        cache_read, cache_write: Part of `input` served from or written to a cache.
        reasoning: Part of `output`.
        estimated: True when the provider did not count.
    """

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    reasoning: int = 0
    estimated: bool = False

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input + other.input,
            self.output + other.output,
            self.cache_read + other.cache_read,
            self.cache_write + other.cache_write,
            self.reasoning + other.reasoning,
            self.estimated or other.estimated,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the counts as JSON-serialisable data."""
        return {
            "input": self.input,
            "output": self.output,
            "cache_read": self.cache_read,
            "cache_write": self.cache_write,
            "reasoning": self.reasoning,
            "estimated": self.estimated,
        }


NO_USAGE: Final = Usage()


@dataclass(frozen=True, slots=True)
class Start:
    """The provider accepted the request."""

    model: str
    request_id: str = ""


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class ThinkingDelta:
    """A piece of the reasoning that may be shown."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolCallStart:
    """A call begins; it may be run only when `Done` lists it."""

    index: int
    id: str
    name: str


@dataclass(frozen=True, slots=True)
class ToolCallDelta:
    """A piece of a call's arguments."""

    index: int
    text: str


@dataclass(frozen=True, slots=True)
class Notice:
    """Something a person should know (a dropped tool, a fallback)."""

    code: str
    text: str


@dataclass(frozen=True, slots=True)
class Restart:
    """The answer begins again; channels discard the partial text."""

    attempt: int
    provider: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """The last event of a stream.

    Args:
        stop: Why the model stopped.
        text: The whole answer.
        calls: The calls that may be run, in order, with unique ids.
        usage: Tokens of this request.
        state: State for the next request, or None.
        raw_stop: The provider's own word.
    """

    stop: Stop = "end"
    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    usage: Usage = NO_USAGE
    state: ProviderState | None = None
    raw_stop: str = ""


ProviderEvent = (
    Start | TextDelta | ThinkingDelta | ToolCallStart | ToolCallDelta | Notice | Restart | Done
)


class ProviderError(PegboardError):
    """A request failed; `kind` decides what the host does.

    Args:
        kind: Class of the failure.
        status: HTTP status, or None.
        retry_after: Seconds to wait, as the provider said, or None.
        reset_at: When a limit is lifted (seconds since the epoch), or None.
        started: True when part of the answer had already been streamed.
        scope: What it is about; None = what such a failure usually is about.
        failover: True when another provider may answer, False when none may be asked; None = as the
            kind says.
    """

    code = "provider_failed"
    exit_code = 7

    def __init__(
        self,
        message: str,
        *,
        kind: ErrorKind,
        fix: str | None = None,
        status: int | None = None,
        retry_after: float | None = None,
        reset_at: float | None = None,
        started: bool = False,
        scope: ErrorScope | None = None,
        failover: bool | None = None,
        **details: Any,
    ) -> None:
        super().__init__(message, fix=fix, **details)
        self.kind = kind
        self.scope = scope
        self.failover = failover
        self.status = status
        self.retry_after = retry_after
        self.reset_at = reset_at
        self.started = started


@runtime_checkable
class Provider(Protocol):
    """A source of model answers.

    Laws (each a test of `ProviderContract`): exactly one `Done` or one `ProviderError`, and nothing
    after it; calls become executable only in `Done`; ids are unique; text deltas add up to
    `Done.text`; closing the iterator ends the request at once.
    """

    info: ProviderInfo

    def capabilities(self, model: str) -> ModelCaps:
        """Return what `model` can take."""
        ...

    def stream(self, request: ChatRequest) -> AsyncIterator[ProviderEvent]:
        """Ask the model.

        Raises:
            ProviderError: From the iterator, in place of `Done`.
        """
        ...

    async def models(self) -> list[ModelInfo]:
        """Return the models on offer; empty when the provider can't say."""
        ...

    async def aclose(self) -> None:
        """Give back connections. Called once."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAnswer:
    """A collected answer."""

    text: str
    calls: tuple[ToolCall, ...] = ()
    usage: Usage = NO_USAGE
    stop: Stop = "end"
    details: Mapping[str, Any] = field(default_factory=dict)
