"""What a tool call returns, channel by channel: to the model, to programs, to a UI, to the loop."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

from pegboard.contracts.blob import BlobRef


@dataclass(frozen=True, slots=True)
class Text:
    """A piece of text."""

    text: str


@dataclass(frozen=True, slots=True)
class Image:
    """An image, kept as a blob."""

    blob: BlobRef
    alt: str = ""


@dataclass(frozen=True, slots=True)
class File:
    """A file, kept as a blob."""

    blob: BlobRef


Part = Text | Image | File


@dataclass(frozen=True, slots=True)
class ToolError:
    """Why a call did not do its job.

    Args:
        code: Stable identifier, e.g. `not_found`, `invalid_arguments`, `timeout`, `denied`.
        message: What happened.
        fix: What to do next, or None.
        retryable: True when the same call may succeed later.
    """

    code: str
    message: str
    fix: str | None = None
    retryable: bool = False

    def text(self) -> str:
        """Return what the model reads: what happened, then what to do."""
        if not self.fix:
            return f"Error: {self.message}"
        if "\n" in self.message:
            return f"Error: {self.message}\n{self.fix}"
        stop = "" if self.message.endswith((".", "!", "?", ":")) else "."
        return f"Error: {self.message}{stop} {self.fix}"

    def redacted(self, redact: Callable[[str], str]) -> ToolError:
        """Return the error with its texts as `redact` returns them."""
        fix = None if self.fix is None else redact(self.fix)
        return replace(self, message=redact(self.message), fix=fix)


@dataclass(frozen=True, slots=True)
class AddTools:
    """Declare these tools to the model from the next step on."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Handoff:
    """Continue the conversation with another named agent."""

    agent: str
    message: str = ""


DENIAL_BREAKER: Final = "denial_breaker"
"""Reason for which the host aborts a run: it was refused too often in a row."""


@dataclass(frozen=True, slots=True)
class Terminate:
    """End the turn without another model call; the side effect was the reply.

    With an error it counts only for the reason `DENIAL_BREAKER`: the host aborts the run.
    """

    reason: str = ""


@dataclass(frozen=True, slots=True)
class Suspend:
    """The call waits for a person's answer; it has not run.

    Args:
        question: What the person is asked, complete in itself.
        rule: The rule that asked.
        subject: Hash of tool, arguments and question: what is agreed to is what runs.
        tool: Canonical name of the tool.
        arguments: The arguments that would run.
        lasting: True when a yes may be kept for good: then a rule of the configuration asked, and
            nothing else.
    """

    question: str
    rule: str = ""
    subject: str = ""
    tool: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict, hash=False)
    lasting: bool = False


@dataclass(frozen=True, slots=True)
class ChangeConfig:
    """Change the configuration, once the owner has agreed to exactly this change.

    Only a tool that declares `control = "config"` can ask for it. It runs up to here, the owner is
    asked, and when they agree it runs again: it must do nothing by itself that must not be done
    twice, and declare `on_interrupt = "rerun"`.

    Args:
        question: What the owner is asked; the host adds the change itself, as it will be written.
        key: Dotted key of the setting.
        value: Its new value, or the item to add; None = the setting is removed.
        add: True to add `value` to the list at `key`.
        replaces: With `add`, for a list of tables: the item that has the same value under this name
            is replaced; "" = none is.
        also: Further settings that change with it, by dotted key: all of them, or none.
    """

    question: str
    key: str
    value: Any = field(hash=False)
    add: bool = False
    replaces: str = ""
    also: Mapping[str, Any] = field(default_factory=dict, hash=False)


Control = AddTools | Handoff | Terminate | Suspend | ChangeConfig


@dataclass(slots=True)
class ToolResult:
    """The result of one call.

    Args:
        output: What the model reads.
        structured: A JSON-serialisable value for programs and scripts, or None.
        details: Facts for a UI (`diff`, `line_count`, `duration_ms`, `spilled`); never sent to the
            model.
        artifacts: Blobs that the call made and that shall outlive it.
        error: Set when the call did not do its job; `output` may then hold what it had so far.
        outside: True when the text comes from outside and must be fenced; None = as declared.
        control: What the loop shall do next, or None.
    """

    output: str | Sequence[Part] = ""
    structured: Any = None
    details: dict[str, Any] = field(default_factory=dict)
    artifacts: tuple[BlobRef, ...] = ()
    error: ToolError | None = None
    outside: bool | None = None
    control: Control | None = None

    @property
    def text(self) -> str:
        """The text of the output, with a line in place of each image or file."""
        if isinstance(self.output, str):
            return self.output
        return "\n".join(_part_text(part) for part in self.output)

    @classmethod
    def failed(
        cls,
        code: str,
        message: str,
        *,
        fix: str | None = None,
        retryable: bool = False,
        output: str = "",
        details: Mapping[str, Any] | None = None,
        outside: bool | None = None,
    ) -> ToolResult:
        """Return the result of a call that did not do its job."""
        error = ToolError(code, message, fix, retryable)
        return cls(output=output, error=error, details=dict(details or {}), outside=outside)

    def to_dict(self) -> dict[str, Any]:
        """Return the result as JSON-serialisable data."""
        data: dict[str, Any] = {"output": self.text}
        if self.structured is not None:
            data["structured"] = self.structured
        if self.details:
            data["details"] = self.details
        if self.artifacts:
            data["artifacts"] = [blob.to_dict() for blob in self.artifacts]
        if self.error is not None:
            data["error"] = {
                "code": self.error.code,
                "message": self.error.message,
                "fix": self.error.fix,
                "retryable": self.error.retryable,
            }
        return data


Truncation = Literal["head", "tail", "both"]

_MAX_LABEL: Final = 200


def _part_text(part: Part) -> str:
    if isinstance(part, Text):
        return part.text
    kind = "image" if isinstance(part, Image) else "file"
    label = " ".join((part.blob.name or part.blob.id).split())[:_MAX_LABEL]
    return f"[{kind} {label}, {part.blob.media_type}, {part.blob.size} bytes]"
