"""What was said, to be found, exported and erased: beside the verbs by which turns run."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from pegboard.contracts.transcript import Conversation, TurnMessages
from pegboard.contracts.turn import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Whose conversations count.

    Args:
        key: Only this conversation; "" = those of `sender`.
        sender: Normalised sender id (`channel:id`); those count in which they wrote something.
        agent: Only those with this agent, where `key` is "".
    """

    key: str = ""
    sender: str = ""
    agent: str = "main"


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A turn in which searched words occur.

    Args:
        key: Its conversation.
        seq: Its place.
        at: When it was committed.
        excerpt: The words with what stands around them.
    """

    key: str
    seq: int
    at: float
    excerpt: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CallResultRecord:
    """What a call of a tool returned.

    Args:
        tool: Canonical name of the tool.
        result: As it was recorded.
    """

    tool: str
    result: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Erased:
    """What was erased of one person.

    Args:
        conversations: Conversations that were theirs alone.
        turns: Their turns, those of such conversations included.
        spendings: Records of what their turns cost.
        blobs: Blobs that their turns referred to; others may refer to them as well.
    """

    conversations: int = 0
    turns: int = 0
    spendings: int = 0
    blobs: frozenset[str] = frozenset()


ErasureKind = Literal["conversation", "turn", "person", "thinned"]
"""What was erased. `thinned`: a conversation that stays, but lost the turns of an erased person."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Erasure:
    """Something that was erased in the store, and must go wherever else it is kept.

    Args:
        number: Its place; larger than that of any before it.
        kind: What it is.
        name: Key of a conversation, id of a turn, or normalised sender id.
        again: True when it was settled before: a turn that ran at that moment, and may have written
            since.
        left: Files in which it is still to be erased, while it is in all others; () = in all.
    """

    number: int
    kind: ErasureKind
    name: str
    again: bool = False
    left: tuple[str, ...] = ()

    def concerns(self, file: str) -> bool:
        """Tell whether it is still to be erased in a file."""
        return not self.left or file in self.left


class Archive(Protocol):
    """What a store can find, export and erase. Raises `StoreError` as the store does."""

    async def conversations(
        self, scope: Scope, *, limit: int | None = None
    ) -> Sequence[Conversation]:
        """Return the conversations of a scope, the one that last changed first."""
        ...

    async def said(
        self, key: str, *, before: int | None = None, limit: int | None = None
    ) -> Sequence[TurnMessages]:
        """Return the last turns of a conversation before a place, the oldest of them first."""
        ...

    async def call_result(self, key: str, call: str) -> CallResultRecord | None:
        """Return what a tool call of a conversation returned, the latest of that id, or None."""
        ...

    async def search(self, query: str, scope: Scope, *, limit: int) -> Sequence[Found]:
        """Return turns in which all words occur, else those with some, the best first."""
        ...

    def person(self, sender: str) -> AsyncIterator[Json]:
        """Yield all that is kept of one person, one JSON object for each thing."""
        ...

    async def erase_person(self, sender: str) -> Erased:
        """Erase all that is kept of one person.

        Conversations that nobody else wrote in go as a whole; of others their turns go, and the
        summaries that might tell of them. Turns that run now lose their place: nothing more is
        written of them. The audit log keeps its events, which hold nothing that was said.
        """
        ...

    async def expire(self, before: float) -> int:
        """Erase what was said in turns that ended before a time; return how many turns went.

        Conversations of which nothing is left go with them.
        """
        ...

    async def blobs_of(self, key: str) -> set[str]:
        """Return the ids of the blobs that one conversation may refer to."""
        ...

    async def blob_references(self) -> set[str]:
        """Return the ids of all blobs that something in the store may refer to."""
        ...

    async def erasures(self) -> Sequence[Erasure]:
        """Return what was erased here and may still be kept elsewhere, the first erased first.

        Whatever erases a conversation or a turn adds it, in the same transaction.
        """
        ...

    async def settle(
        self, erasures: Sequence[Erasure], *, now: float, left: Sequence[str] = ()
    ) -> None:
        """Forget what is erased everywhere; turns that ran when they were erased stay for a day.

        Args:
            erasures: What `erasures` returned.
            now: Seconds since the epoch.
            left: Files that could not be written: for these alone it stays, so that what has come
                under the same name since is not erased in the others.
        """
        ...
