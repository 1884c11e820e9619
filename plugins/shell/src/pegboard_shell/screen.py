"""What a terminal shows, drawn from what the program in it has written."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any, Final

from anyio.lowlevel import checkpoint

if TYPE_CHECKING:
    from pegboard import Process, TerminalSize

_PIECE: Final = 256
"""Bytes that are drawn in one step: what can't be drawn takes no more than these with it."""
_STEP: Final = 1 << 13
"""Bytes that are drawn before others have their turn."""
_SECOND: Final = frozenset(mode << 5 for mode in (47, 1047, 1049))
"""Modes in which a program draws on a second screen; the first comes back when it has left it."""
_MOST: Final = 1 << 18
"""Bytes that are drawn at once; of what is further back nothing would be seen."""


class TerminalScreen:
    """A screen of rows and columns, as `TERM=linux` has it.

    Args:
        size: Rows and columns.
    """

    def __init__(self, size: TerminalSize) -> None:
        import pyte

        self._pyte: Any = pyte
        self._answers: list[str] = []
        self._screen: Any = self._pyte.Screen(size.columns, size.rows)
        self._screen.write_process_input = self._answers.append
        self._first: tuple[Any, Any] | None = None
        self._set_mode, self._reset_mode = self._screen.set_mode, self._screen.reset_mode
        self._screen.set_mode, self._screen.reset_mode = self._entered, self._left
        self._stream: Any = self._pyte.ByteStream(self._screen)
        self._drawn = 0

    async def catch_up(self, process: Process) -> bool:
        """Draw what was written since; True when something was."""
        seen = await process.output(self._drawn, limit=0)
        if seen.total == self._drawn:
            return False
        self._drawn = max(self._drawn, seen.total - _MOST)
        while self._drawn < seen.total:
            piece = await process.output(self._drawn, limit=_STEP)
            self._draw(piece.data)
            self._drawn = piece.end
            await checkpoint()  # drawing takes a while, and others have their turn
        await self._answer(process)
        return True

    def resize(self, size: TerminalSize) -> None:
        """Change rows and columns."""
        self._screen.resize(size.rows, size.columns)

    def text(self) -> str:
        """Return what is to be seen, without the empty rows at the end."""
        return "\n".join(row.rstrip() for row in self._screen.display).rstrip("\n")

    def facts(self) -> dict[str, Any]:
        """Return its size and where the cursor is, counted from 1."""
        cursor = self._screen.cursor
        return {
            "rows": self._screen.lines,
            "columns": self._screen.columns,
            "cursor": [cursor.y + 1, min(cursor.x, self._screen.columns - 1) + 1],
            "title": self._screen.title,
        }

    def _entered(self, *modes: int, private: bool = False) -> None:
        """Take a mode; the library has no second screen."""
        self._set_mode(*modes, private=private)
        shifted = {mode << 5 for mode in modes} if private else set()
        if self._first is None and not _SECOND.isdisjoint(shifted):
            self._first = deepcopy(self._screen.buffer), deepcopy(self._screen.cursor)
            self._screen.erase_in_display(2)

    def _left(self, *modes: int, private: bool = False) -> None:
        """Leave a mode."""
        self._reset_mode(*modes, private=private)
        shifted = {mode << 5 for mode in modes} if private else set()
        if self._first is not None and not _SECOND.isdisjoint(shifted):
            (buffer, cursor), self._first = self._first, None
            self._screen.buffer.clear()
            self._screen.buffer.update(buffer)
            self._screen.cursor = cursor
            self._screen.ensure_hbounds()
            self._screen.ensure_vbounds()
            self._screen.dirty.update(range(self._screen.lines))

    def _draw(self, data: bytes) -> None:
        for start in range(0, len(data), _PIECE):
            try:
                self._stream.feed(data[start : start + _PIECE])
            except Exception:  # a sequence that the library can't take: its reader starts afresh
                self._stream = self._pyte.ByteStream(self._screen)

    async def _answer(self, process: Process) -> None:
        """Say what the program asked its terminal: where the cursor is, and the like."""
        answers, self._answers[:] = "".join(self._answers), []
        if answers and process.ended is None:
            await process.write(answers.encode(), within_s=0.5)
