"""One request to a service, written in its dialect, and what takes the answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from pegboard import (
    Blobs,
    ChatRequest,
    Done,
    Message,
    ModelCaps,
    ProviderEvent,
    ProviderState,
    ToolDeclaration,
)
from pegboard.providers import ToolNames, repaired
from pegboard_provider_http.echoes import Echoes

EMPTY: Final = "(empty)"
"""Stands where nothing was said: services refuse a message without content."""
GO_ON: Final = "Go on."
"""Said by nobody: some refuse a conversation that ends with the model's own words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A portable request, with what a dialect needs to write it down.

    Args:
        request: The request.
        model: The model that is asked.
        caps: What it can take.
        tools: The tools, as the dialect takes them.
        names: The way between names and aliases.
        dropped: Tools that can't be declared, each with the reason.
        echoes: What the provider said before in this run.
    """

    request: ChatRequest
    model: str
    caps: ModelCaps
    tools: Sequence[ToolDeclaration]
    names: ToolNames
    dropped: Sequence[tuple[str, str]]
    echoes: Echoes

    @property
    def blobs(self) -> Blobs | None:
        """Where images and files are, or None when they must be told in words."""
        return self.request.blobs if self.caps.images else None

    @property
    def system(self) -> list[str]:
        """The system texts that say something; most dialects have a place of their own for them."""
        texts = (repaired(item.text) for item in self.request.messages if item.role == "system")
        return [text for text in texts if text.strip()]

    @property
    def spoken(self) -> list[Message]:
        """The messages that are no system texts."""
        return [message for message in self.request.messages if message.role != "system"]


class Fold(Protocol):
    """Takes the events of one stream; `add` and `done` raise `ProviderError` where it failed."""

    @property
    def ended(self) -> bool:
        """True once the answer is whole: what follows is not waited for long."""
        ...

    def add(self, event: Any) -> Sequence[ProviderEvent]:
        """Take one event and return what it says."""
        ...

    def done(self) -> Done:
        """Return the end of the stream, without its state."""
        ...

    def state(self, echoes: Echoes, done: Done) -> ProviderState:
        """Return the state of the run after this stream, whose end is `done`."""
        ...


@dataclass(frozen=True, slots=True)
class Exchange:
    """A question as it is sent, and what takes the answer.

    Args:
        question: What is asked.
        path: Where it goes.
        payload: Its body, in the service's dialect.
        fold: Takes the answer.
    """

    question: Question
    path: str
    payload: Mapping[str, Any]
    fold: Fold
