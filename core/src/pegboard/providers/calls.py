"""Put the streamed pieces of tool calls together."""

from __future__ import annotations

from dataclasses import dataclass, field

from pegboard.contracts.message import ToolCall


@dataclass(slots=True)
class _Partial:
    place: int
    id: str
    name: str
    pieces: list[str] = field(default_factory=list)


class CallAssembler:
    """Collects calls in the order in which they began.

    Servers disagree about `index`: some send 0 for every parallel call, some send none. So a new id
    is a new call, a known id wins over the index, and a piece with neither belongs to the current
    call. What a call lacks yet, its id or its name, may come later.
    """

    def __init__(self) -> None:
        self._calls: list[_Partial] = []
        self._by_id: dict[str, _Partial] = {}
        self._by_index: dict[int, _Partial] = {}
        self._current: _Partial | None = None

    def start(self, *, index: int | None = None, id: str = "", name: str = "") -> int:
        """Begin a call, or give its id or name to one that has none yet.

        Returns:
            Its place among the calls, counted from 0.
        """
        known = self._by_id.get(id) if id else None
        if known is None:
            same = self._current if index is None else self._by_index.get(index)
            if same is not None and not (id and same.id) and not (name and same.name):
                known = same
        if known is None:
            known = _Partial(len(self._calls), "", "")
            self._calls.append(known)
        known.id, known.name = known.id or id, known.name or name
        if id:
            self._by_id[id] = known
        if index is not None:
            self._by_index[index] = known
        self._current = known
        return known.place

    def add(self, text: str, *, index: int | None = None, id: str = "") -> int:
        """Add a piece of a call's arguments; a piece of no known call begins one.

        Returns:
            The call's place among the calls, counted from 0.
        """
        call = self._find(index, id)
        if call is None:
            call = self._calls[self.start(index=index, id=id)]
        call.pieces.append(text)
        return call.place

    def calls(self) -> tuple[ToolCall, ...]:
        """Return what arrived so far; a call may be cut, so none of these may be run."""
        return tuple(map(_call, self._calls))

    def find(self, *, index: int | None = None, id: str = "") -> tuple[int, ToolCall] | None:
        """Return the call that a piece belongs to, as far as it arrived, and its place."""
        call = self._find(index, id)
        return None if call is None else (call.place, _call(call))

    def __len__(self) -> int:
        return len(self._calls)

    def _find(self, index: int | None, id: str) -> _Partial | None:
        if id:
            return self._by_id.get(id)
        if index is not None:
            return self._by_index.get(index)
        return self._current


def _call(item: _Partial) -> ToolCall:
    return ToolCall(item.id, item.name, "".join(item.pieces))
