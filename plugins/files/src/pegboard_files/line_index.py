"""Where lines of large files are, remembered, so that the next page costs little."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import OrderedDict
from typing import Final, NamedTuple

from pegboard import FileStat, Sandbox

MOST_FILES: Final = 32
_MOST_MARKS: Final = 4096


class Mark(NamedTuple):
    """A place in a file.

    Args:
        line: Number of the line that the byte at `offset` belongs to, from 1.
        offset: The place.
    """

    line: int
    offset: int


class LineIndex:
    """Places in one version of a file, found while it was read."""

    __slots__ = ("_marks",)

    def __init__(self) -> None:
        self._marks: list[Mark] = []

    def before(self, line: int) -> Mark | None:
        """Return the last known place that lies in an earlier line, or None."""
        found = bisect_left(self._marks, Mark(line, 0))
        return self._marks[found - 1] if found else None

    def add(self, mark: Mark) -> None:
        """Remember a place."""
        at = bisect_left(self._marks, mark)
        known = at < len(self._marks) and self._marks[at] == mark
        if not known and len(self._marks) < _MOST_MARKS:
            insort(self._marks, mark)


class LineIndexes:
    """The indexes of the files that were read last.

    Args:
        most: How many files are remembered.
    """

    def __init__(self, most: int = MOST_FILES) -> None:
        self._most = most
        self._known: OrderedDict[tuple[str, str, str], tuple[tuple[int, int], LineIndex]]
        self._known = OrderedDict()

    def index_of(self, sandbox: Sandbox, absolute: str, found: FileStat) -> LineIndex:
        """Return the index of a file as it is now; of another version nothing is known.

        Args:
            sandbox: Where the file is.
            absolute: Its resolved path.
            found: What it is now.
        """
        key = (sandbox.info.id, str(sandbox.workspace), absolute)
        version = (found.size, found.mtime_ns)
        known = self._known.get(key)
        if known is None or known[0] != version:
            known = self._known[key] = (version, LineIndex())
        self._known.move_to_end(key)
        while len(self._known) > self._most:
            self._known.popitem(last=False)
        return known[1]


LINE_INDEXES: Final = LineIndexes()
"""Of this process. Which lines a file has is no secret of a run: each reads the file itself."""
