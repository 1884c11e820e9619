"""Put the streamed pieces of tool calls together."""

from __future__ import annotations

from dataclasses import dataclass, field

from pegboard.contracts.message import ToolCall


@dataclass(slots=True)
class _Partial:
    index: int | None
    id: str
    name: str
    pieces: list[str] = field(default_factory=list)


class CallAssembler:
    """Collects calls in the order in which they began.

    Servers disagree about `index`: some send 0 for every parallel call, some send none. So a new id
    is a new call, a known id wins over the index, and a piece with neither belongs to the current
    call.
    """

    def __init__(self) -> None:
        self._calls: list[_Partial] = []
        self._by_id: dict[str, _Partial] = {}
        self._by_index: dict[int, _Partial] = {}
        self._current: _Partial | None = None

    def start(self, *, index: int | None = None, id: str = "", name: str = "") -> None:
        """Begin a call, or give a name to one whose id is known."""
        known = self._by_id.get(id) if id else None
        if known is None:
            known = _Partial(index, id, name)
            self._calls.append(known)
            if id:
                self._by_id[id] = known
        elif not known.name:
            known.name = name
        if index is not None:
            self._by_index[index] = known
        self._current = known

    def add(self, text: str, *, index: int | None = None, id: str = "") -> None:
        """Add a piece of a call's arguments; a piece of no known call begins one."""
        call = self._find(index, id)
        if call is None:
            self.start(index=index, id=id)
            call = self._current
        if call is not None:
            call.pieces.append(text)

    def calls(self) -> tuple[ToolCall, ...]:
        """Return what arrived so far; a call may be cut, so none of these may be run."""
        return tuple(ToolCall(item.id, item.name, "".join(item.pieces)) for item in self._calls)

    def __len__(self) -> int:
        return len(self._calls)

    def _find(self, index: int | None, id: str) -> _Partial | None:
        if id:
            return self._by_id.get(id)
        if index is not None:
            return self._by_index.get(index)
        return self._current
