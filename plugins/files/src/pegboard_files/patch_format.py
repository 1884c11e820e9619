"""A patch in the v4a format as values: what it does to which file, line by line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

BEGIN: Final = "*** Begin Patch"
END: Final = "*** End Patch"
ADD: Final = "*** Add File:"
DELETE: Final = "*** Delete File:"
UPDATE: Final = "*** Update File:"
MOVE: Final = "*** Move to:"
END_OF_FILE: Final = "*** End of File"
ENVIRONMENT: Final = "*** Environment ID:"
PATHS: Final = (
    r"(?m)^[ \t\r]*\*\*\* (?:Add File|Delete File|Update File|Move to):"
    r"[ \t\r]*((?:.*[^ \t\r\n])?)[ \t\r]*$"
)
"""Finds every path that a patch can name, and never one too few; in one pass over each line."""

LineKind = Literal[" ", "+", "-"]


class PatchSyntaxError(Exception):
    """The text is no patch.

    Args:
        message: What is wrong.
        fix: What to write instead.
        line: Number of the line in the patch, from 1; 0 = none.
    """

    def __init__(self, message: str, *, fix: str, line: int = 0) -> None:
        super().__init__(message)
        self.message = message
        self.fix = fix
        self.line = line


@dataclass(frozen=True, slots=True)
class PatchLine:
    """A line of a chunk.

    Args:
        kind: A blank: it is there and stays; `-`: it is there and goes; `+`: it is new.
        text: The line without its end.
    """

    kind: LineKind
    text: str


@dataclass(frozen=True, slots=True)
class Chunk:
    """One place of a file and what happens there.

    Args:
        anchors: Lines to look for one after another before the place is.
        lines: What is there, what goes and what comes.
        at_end: True when the place is the end of the file.
        line: Number of its first line in the patch.
    """

    anchors: tuple[str, ...]
    lines: tuple[PatchLine, ...]
    at_end: bool
    line: int

    @property
    def old(self) -> tuple[str, ...]:
        """The lines that the file must have there."""
        return tuple(line.text for line in self.lines if line.kind != "+")


@dataclass(frozen=True, slots=True)
class AddFile:
    """A new file.

    Args:
        path: Its path.
        lines: Its lines, each of which gets an end.
        line: Number of the header in the patch.
    """

    path: str
    lines: tuple[str, ...]
    line: int


@dataclass(frozen=True, slots=True)
class DeleteFile:
    """A file that goes.

    Args:
        path: Its path.
        line: Number of the header in the patch.
    """

    path: str
    line: int


@dataclass(frozen=True, slots=True)
class UpdateFile:
    """A file that is changed, renamed, or both.

    Args:
        path: Its path.
        move_to: Its new path, or None.
        chunks: The changes, from top to bottom.
        line: Number of the header in the patch.
    """

    path: str
    move_to: str | None
    chunks: tuple[Chunk, ...]
    line: int


Operation = AddFile | DeleteFile | UpdateFile
