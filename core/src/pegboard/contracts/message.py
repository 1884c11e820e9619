"""Messages in the portable form that every provider adapter translates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from pegboard.contracts.result import File, Image, Part, Text

Role = Literal["system", "user", "assistant", "tool"]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that a model asked for.

    Args:
        id: Unique within the run.
        name: The name the model used.
        arguments: The raw text of the arguments, as the model wrote it (normally a JSON object).
    """

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class CallResult:
    """The answer to one call, as the model reads it.

    Args:
        call_id: The call it answers.
        name: Name of the tool.
        parts: Content.
        error: True when the call did not do its job.
    """

    call_id: str
    name: str
    parts: tuple[Part, ...]
    error: bool = False

    @property
    def text(self) -> str:
        """The text parts, joined."""
        return "\n".join(part.text for part in self.parts if isinstance(part, Text))


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation.

    Args:
        role: Who speaks.
        parts: Content of a system, user or assistant message.
        calls: Calls that an assistant message asks for.
        results: Answers that a tool message carries, in the order of the calls.
    """

    role: Role
    parts: tuple[Part, ...] = ()
    calls: tuple[ToolCall, ...] = ()
    results: tuple[CallResult, ...] = ()

    @property
    def text(self) -> str:
        """The text parts, joined."""
        return "\n".join(part.text for part in self.parts if isinstance(part, Text))

    @classmethod
    def of(cls, role: Role, text: str) -> Message:
        """Return a message of one text."""
        return cls(role, (Text(text),))


@dataclass(frozen=True, slots=True, kw_only=True)
class Attachment:
    """A file that came with a message, or goes out with one."""

    part: Image | File


@dataclass(frozen=True, slots=True, kw_only=True)
class InboundMessage:
    """What a channel received.

    Args:
        channel: Instance name of the channel.
        chat: The channel's own id of the conversation.
        sender: The channel's own id of the person.
        text: What they wrote.
        thread: Thread within the chat, or "".
        external_id: The channel's id of this message, for deduplication, or "".
        attachments: Images and files.
        metadata: Facts of the channel, for hooks; never read by policy.
    """

    channel: str
    chat: str
    sender: str
    text: str
    thread: str = ""
    external_id: str = ""
    attachments: tuple[Attachment, ...] = ()
    metadata: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class OutboundMessage:
    """What a channel shall deliver.

    Args:
        chat: The channel's own id of the conversation.
        text: Markdown text.
        thread: Thread within the chat, or "".
        attachments: Images and files.
        in_reply_to: The channel's id of the message answered, or "".
        id: The host's id of this message, the same when it is sent again, or "" when it never is.
            What two messages say is equal whatever their ids.
    """

    chat: str
    text: str
    thread: str = ""
    attachments: tuple[Attachment, ...] = ()
    in_reply_to: str = ""
    id: str = field(default="", compare=False)


def tool_message(results: list[CallResult]) -> Message:
    """Return the one message that answers all calls of a step, in call order."""
    return Message("tool", results=tuple(results))


def summary(message: Message) -> dict[str, Any]:
    """Return a message as JSON-serialisable data, for transcripts and tests."""
    data: dict[str, Any] = {"role": message.role}
    if message.parts:
        data["text"] = message.text
    if message.calls:
        data["calls"] = [
            {"id": c.id, "name": c.name, "arguments": c.arguments} for c in message.calls
        ]
    if message.results:
        data["results"] = [
            {"call_id": r.call_id, "name": r.name, "text": r.text, "error": r.error}
            for r in message.results
        ]
    return data
