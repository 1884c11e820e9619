"""Full texts of results that the model saw cut, for the time of the run."""

from __future__ import annotations

from collections.abc import Iterator
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
    """The cut results of one run, by call id."""

    __slots__ = ("_by_call",)

    def __init__(self) -> None:
        self._by_call: dict[str, KeptResult] = {}

    def add(self, result: KeptResult) -> None:
        """Remember a result."""
        self._by_call[result.call] = result

    def get(self, call: str) -> KeptResult | None:
        """Return the result of a call, or None when it was not cut."""
        return self._by_call.get(call)

    def __iter__(self) -> Iterator[KeptResult]:
        return iter(self._by_call.values())
