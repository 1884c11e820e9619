"""Ask a provider, and keep all that it streams."""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

from pegboard import (
    BlobRef,
    CallResult,
    ChatRequest,
    Done,
    Message,
    Notice,
    Provider,
    ProviderError,
    ProviderEvent,
    Text,
    TextDelta,
    ThinkingDelta,
    ToolCall,
    ToolDeclaration,
)

ECHO = ToolDeclaration(
    "echo",
    "Return a text unchanged.",
    {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
)


class Kept:
    """Blobs of a run: `Kept(id=b"...")`."""

    def __init__(self, **blobs: bytes) -> None:
        self._blobs = blobs

    async def put(self, data: bytes, *, media_type: str, name: str = "") -> BlobRef:
        raise AssertionError("nothing is stored here")

    async def get(self, blob_id: str) -> bytes:
        return self._blobs[blob_id]


@dataclass
class Heard:
    """What one request brought: events, then a `Done` or an error."""

    events: list[ProviderEvent] = field(default_factory=list)
    error: ProviderError | None = None

    @property
    def done(self) -> Done:
        """Its last event; whatever went wrong is raised here."""
        if self.error is not None:
            raise self.error
        (found,) = [event for event in self.events if isinstance(event, Done)]
        return found

    @property
    def failed(self) -> ProviderError:
        """Its error; a request that went well fails the test."""
        assert self.error is not None, f"it answered: {self.events[-1:]}"
        return self.error

    @property
    def text(self) -> str:
        """The text that was streamed."""
        return "".join(event.text for event in self.events if isinstance(event, TextDelta))

    @property
    def thought(self) -> str:
        """The reasoning that was streamed."""
        return "".join(event.text for event in self.events if isinstance(event, ThinkingDelta))

    @property
    def notices(self) -> list[str]:
        """The codes of its notices."""
        return [event.code for event in self.events if isinstance(event, Notice)]


def asking(*said: str | Message, **fields: Any) -> ChatRequest:
    """Return a request; a plain text is what the user says."""
    messages = tuple(
        Message.of("user", item) if isinstance(item, str) else item for item in said or ("Hello",)
    )
    return ChatRequest(messages=messages, **fields)


async def ask(provider: Provider, request: ChatRequest | None = None) -> Heard:
    """Ask, and return what was heard."""
    heard = Heard()
    try:
        async with aclosing(provider.stream(request or asking())) as events:  # type: ignore[type-var]
            async for event in events:
                heard.events.append(event)
    except ProviderError as error:
        heard.error = error
    return heard


def called(*calls: ToolCall, text: str = "") -> Message:
    """Return an assistant message that asks for calls."""
    return Message("assistant", (Text(text),) if text else (), calls=calls)


def answered(*results: tuple[ToolCall, str]) -> Message:
    """Return the tool message that answers calls."""
    return Message(
        "tool",
        results=tuple(CallResult(call.id, call.name, (Text(said),)) for call, said in results),
    )


def shown_twice() -> tuple[Message, ...]:
    """Return two calls of `echo` with their results: then a small model makes the third."""
    made: list[Message] = []
    for number, word in enumerate(("apple", "river")):
        call = ToolCall(f"shown_{number}", "echo", f'{{"text": "{word}"}}')
        made += [
            Message.of("user", f"Echo {word}"),
            called(call),
            answered((call, word)),
            Message.of("assistant", word),
        ]
    return tuple(made)
