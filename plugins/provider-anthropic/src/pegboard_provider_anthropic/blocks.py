"""The blocks of an answer, put together from the pieces that a stream sends."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from pegboard_provider_http.calls import arguments_object
from pegboard_provider_http.json_shapes import string

from pegboard.providers import repaired

_FIELDS: Final[Mapping[str, str]] = {"text": "text", "thinking": "thinking"}
"""Kind of block -> the field that its pieces of text add up to."""


@dataclass(slots=True)
class Block:
    """One block.

    Args:
        index: Its place in the answer, as the service counts.
        wire: The block as it began; {} while only pieces of it have come.
        call: Number of the call that it is, or None.
        pieces: Pieces of its text, or of a call's arguments.

    Attributes:
        kind: Its type, or "" while that is not known.
    """

    index: int
    wire: dict[str, Any] = field(default_factory=dict)
    call: int | None = None
    pieces: list[str] = field(default_factory=list)
    kind: str = field(init=False)

    def __post_init__(self) -> None:
        self.become(self.wire)

    def become(self, wire: dict[str, Any]) -> None:
        """Take the block as it began."""
        self.wire, self.kind = wire, string(wire.get("type"))

    @property
    def takes_arguments(self) -> bool:
        """True for a call, also one that the service runs itself, and while that is not known."""
        return not self.kind or self.kind.endswith("tool_use")

    @property
    def is_bare(self) -> bool:
        """True for a call of whose arguments nothing has come."""
        return not self.pieces and not self.wire.get("input")

    def arguments(self) -> str:
        """Return the arguments of a call as text: as streamed, else as the block began."""
        streamed = "".join(self.pieces)
        if streamed:
            return streamed
        given = self.wire.get("input")
        return json.dumps(given, ensure_ascii=False) if isinstance(given, Mapping) else "{}"

    def whole(self) -> dict[str, Any] | None:
        """Return the block as it must come back: unchanged, or not at all when it says nothing."""
        if not self.kind:
            return None
        made = dict(self.wire)
        name = _FIELDS.get(self.kind)
        if name is not None:
            made[name] = repaired(string(made.get(name)) + "".join(self.pieces))
            # the service refuses a text of nothing but space, its own too
            return None if name == "text" and not made[name].strip() else made
        if self.takes_arguments:
            made["input"] = arguments_object(self.arguments())
        return made


class Blocks:
    """The blocks of one answer.

    Servers disagree about `index`: one that comes again with another block is another block, and
    pieces may come before the block that they belong to, or after the next one began.
    """

    def __init__(self) -> None:
        self._all: list[Block] = []
        self._last: dict[int, Block] = {}
        self._calls = 0

    def __bool__(self) -> bool:
        return bool(self._all)

    def begin(self, index: Any, wire: Mapping[str, Any]) -> Block:
        """Begin a block, or give its type to one of which only pieces have come."""
        place = self._place(index)
        begun, block = self._last.get(place), Block(place, dict(wire))
        if begun is not None and not begun.kind and block.takes_arguments:
            begun.become(block.wire)
            block = begun
        else:
            self._add(block)
        if block.kind == "tool_use":
            block.call, self._calls = self._calls, self._calls + 1
        return block

    def find(self, index: Any, kind: str) -> Block:
        """Return the block that a piece belongs to; a piece of no known block begins one.

        Args:
            index: Its index.
            kind: Type of block that such a piece is of; "" = any that has arguments.
        """
        place = self._place(index)
        block = self._last.get(place)
        if block is None or not (block.kind == kind if kind else block.takes_arguments):
            block = self._add(Block(place, {"type": kind} if kind else {}))
        return block

    def ends_with(self, block: Block) -> bool:
        """Tell whether a block is the last that began."""
        return bool(self._all) and self._all[-1] is block

    def calls(self) -> list[Block]:
        """Return the calls in the order in which they began."""
        found = [block for block in self._all if block.call is not None]
        return sorted(found, key=lambda block: block.call or 0)

    def content(self) -> list[dict[str, Any]]:
        """Return the answer as it was on the wire: what must come back unchanged."""
        ordered = sorted(self._all, key=lambda block: block.index)
        return [made for block in ordered if (made := block.whole()) is not None]

    def _add(self, block: Block) -> Block:
        self._all.append(block)
        self._last[block.index] = block
        return block

    def _place(self, index: Any) -> int:
        if isinstance(index, int):
            return index
        return self._all[-1].index if self._all else 0
