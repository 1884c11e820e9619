"""Past and present conversations of a caller, as tools may look at them.

A host offers them as the service `sessions` to plugins that declare the need. Whose conversations
they are is the host's to say: it knows the call that is being answered, and nothing that a tool
hands in widens it. A guest sees the conversation that they are in; an operator those in which they
took part themselves, with the same agent. Work that was delegated sees none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionInfo:
    """A conversation of the caller.

    Args:
        id: Short name of it; the beginning is enough where it is clear.
        key: Its key.
        channel: Instance name of the channel.
        agent: Id of the named agent.
        title: Beginning of its first message.
        turns: Number of its turns.
        open: Number of those that have not ended.
        current: True for the one that the call is part of.
        tokens: Tokens of its last request as the provider reported them; None = not known.
        created_at: When it began, in seconds since the epoch.
        updated_at: When something last came in or went out.
    """

    id: str
    key: str
    channel: str
    agent: str = "main"
    title: str = ""
    turns: int = 0
    open: int = 0
    current: bool = False
    tokens: int | None = None
    created_at: float = 0.0
    updated_at: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SaidMessage:
    """What one side said.

    Args:
        role: `user` or `assistant`.
        text: What was said.
        calls: Names of the tools that were called with it.
    """

    role: str
    text: str
    calls: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionTurn:
    """One turn of a conversation.

    Args:
        seq: Its place in the conversation, from 1.
        at: When it ended, in seconds since the epoch.
        messages: What was said in it, in order.
    """

    seq: int
    at: float
    messages: tuple[SaidMessage, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionHit:
    """A turn in which searched words occur.

    Args:
        session: The conversation.
        seq: Place of the turn.
        at: When it ended.
        excerpt: The words with what stands around them.
    """

    session: SessionInfo
    seq: int
    at: float
    excerpt: str


class Sessions(Protocol):
    """The service `sessions`. Every method raises `PluginError` outside of a call of a tool."""

    async def list(self, *, limit: int = 20) -> Sequence[SessionInfo]:
        """Return the caller's conversations, the one that last changed first."""
        ...

    async def status(self, session: str = "") -> SessionInfo:
        """Return one conversation.

        Args:
            session: Its id or key, or the beginning of one; "" = the one that the call is part of.

        Raises:
            UsageError: When the caller has no such conversation, or several; names what is near.
        """
        ...

    async def history(
        self, session: str = "", *, before: int | None = None, limit: int = 20
    ) -> Sequence[SessionTurn]:
        """Return turns of a conversation that have ended, the oldest of them first.

        Args:
            session: As for `status`.
            before: Only turns before this place; None = up to the last.
            limit: How many at most.

        Raises:
            UsageError: As `status`.
        """
        ...

    async def search(
        self, query: str, *, session: str = "*", limit: int = 20
    ) -> Sequence[SessionHit]:
        """Return turns in which all words occur, else those with some, the best first.

        Args:
            query: Words; nothing in them is syntax.
            session: As for `status`; "*" = all of the caller's conversations.
            limit: How many at most.

        Raises:
            UsageError: As `status`.
        """
        ...
