"""Full texts of results that the model saw cut: of the run, and of turns before it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass

from pegboard.contracts.blob import BlobRef


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptResult:
    """A result that was cut.

    Args:
        call: Id of the call.
        tool: Name of the tool.
        blob: The full text, UTF-8.
        chars: Its characters.
        lines: Its lines.
        outside: True when it came from outside and must be fenced again.
    """

    call: str
    tool: str
    blob: BlobRef
    chars: int
    lines: int
    outside: bool


class KeptResults:
    """The cut results of one run, by call id.

    Attributes:
        before: Finds those of earlier turns of the conversation, or None.
    """

    __slots__ = ("_by_call", "before")

    def __init__(self) -> None:
        self._by_call: dict[str, KeptResult] = {}
        self.before: Callable[[str], Awaitable[KeptResult | None]] | None = None

    def add(self, result: KeptResult) -> None:
        """Remember a result."""
        self._by_call[result.call] = result

    def get(self, call: str) -> KeptResult | None:
        """Return the result of a call, or None when it was not cut."""
        return self._by_call.get(call)

    async def find(self, call: str) -> KeptResult | None:
        """Return the result of a call of this run, else of an earlier turn, else None."""
        found = self._by_call.get(call)
        if found is None and self.before is not None:
            found = await self.before(call)
        return found

    def __iter__(self) -> Iterator[KeptResult]:
        return iter(self._by_call.values())
