"""Read a patch in the v4a format. Pure.

Headers may be padded with blanks, as the format's own reader accepts them; a shell's here-document
and a Markdown fence around the whole are taken off. What is not understood is an error with the
number of its line: nothing of such a patch is applied.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from pegboard_files.patch_format import (
    ADD,
    BEGIN,
    DELETE,
    END,
    END_OF_FILE,
    ENVIRONMENT,
    MOVE,
    UPDATE,
    AddFile,
    Chunk,
    DeleteFile,
    LineKind,
    Operation,
    PatchLine,
    PatchSyntaxError,
    UpdateFile,
)

_HEREDOC: Final = re.compile(r"""(?:apply_patch[ \t]+)?<<-?[ \t]*(['"]?)(\w+)\1[ \t]*\r?\n""")
_FENCE: Final = re.compile(r"(`{3,})[\w-]*[ \t]*\r?\n")
_GIT_RANGE: Final = re.compile(r"-\d+(?:,\d+)? \+\d+(?:,\d+)? @@(?: (.*))?")
_BLANK: Final = " \t\r"
_EXAMPLE: Final = f"{BEGIN}\n{UPDATE} path\n@@\n-old line\n+new line\n{END}"
_KINDS: Final[Mapping[str, LineKind]] = {" ": " ", "+": "+", "-": "-"}


def parse_patch(text: str) -> tuple[Operation, ...]:
    """Return what a patch does, in its order.

    Args:
        text: The patch, with or without a here-document around it.

    Raises:
        PatchSyntaxError: When it is no patch.
    """
    return _Reader(_unwrapped(text)).operations()


def _unwrapped(text: str) -> list[str]:
    """Return the lines of the patch itself, without what a model may put around it."""
    text = text.removeprefix("\ufeff").strip(" \t\r\n")
    heredoc = _HEREDOC.match(text)
    if heredoc is not None:
        text = text[heredoc.end() :].rstrip()
        text = text.removesuffix(heredoc[2]) if _last(text) == heredoc[2] else text
    fence = _FENCE.match(text)
    if fence is not None and _last(text) == fence[1]:
        text = text[fence.end() :].rstrip().removesuffix(fence[1])
    lines = text.strip(" \t\r\n").split("\n")
    if lines[0].endswith("\r"):
        # the whole patch was written with CR LF
        lines = [line.removesuffix("\r") for line in lines]
    return lines


def _last(text: str) -> str:
    return text.rpartition("\n")[2].strip(_BLANK)


class _Reader:
    """The lines of a patch, and how far they are read."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        self.at = 0

    def operations(self) -> tuple[Operation, ...]:
        self._check_frame()
        self.lines = self.lines[:-1]
        self.at = 1
        if self._header(ENVIRONMENT) is not None:
            self.at += 1
        found: list[Operation] = []
        while self._more():
            if not self._line.strip(_BLANK):
                self.at += 1
                continue
            found.append(self._operation())
        if not found:
            raise PatchSyntaxError(
                "The patch changes no file.", fix=f"Write it like this:\n{_EXAMPLE}"
            )
        return tuple(found)

    def _check_frame(self) -> None:
        first, last = self.lines[0].strip(_BLANK), self.lines[-1].strip(_BLANK)
        if first != BEGIN:
            raise PatchSyntaxError(
                f"The first line of a patch is `{BEGIN}`, not `{_clip(first)}`.",
                fix=f"Write it like this:\n{_EXAMPLE}",
                line=1,
            )
        if last != END or len(self.lines) < 2:
            raise PatchSyntaxError(
                f"The last line of a patch is `{END}`, not `{_clip(last)}`; it may have been cut "
                "off.",
                fix="Send the whole patch again, in parts when it is long.",
                line=len(self.lines),
            )

    @property
    def _line(self) -> str:
        return self.lines[self.at]

    def _more(self) -> bool:
        return self.at < len(self.lines)

    def _header(self, marker: str) -> str | None:
        """Return what follows a marker on the current line, or None when it is another line."""
        if not self._more():
            return None
        line = self._line.strip(_BLANK)
        return line.removeprefix(marker).strip(_BLANK) if line.startswith(marker) else None

    def _operation(self) -> Operation:
        number = self.at + 1
        for marker in (ADD, DELETE, UPDATE):
            path = self._header(marker)
            if path is None:
                continue
            self.at += 1
            self._check_path(path, marker, number)
            if marker == ADD:
                return self._add(path, number)
            return self._update(path, number) if marker == UPDATE else DeleteFile(path, number)
        raise PatchSyntaxError(
            f"Line {number} of the patch is `{_clip(self._line)}`, where a file should begin.",
            fix=f"Begin it with `{ADD} path`, `{DELETE} path` or `{UPDATE} path`.",
            line=number,
        )

    def _check_path(self, path: str, marker: str, number: int) -> None:
        if not path:
            raise PatchSyntaxError(
                f"Line {number} of the patch names no path.",
                fix=f"Write `{marker} path`.",
                line=number,
            )

    def _add(self, path: str, number: int) -> AddFile:
        lines: list[str] = []
        while self._more() and self._line.startswith("+"):
            lines.append(self._line[1:])
            self.at += 1
        if self._more() and self._line.strip(_BLANK)[:3] not in ("", "***"):
            raise self._no_plus(path)
        while self._more() and not self._line.strip(_BLANK):
            self.at += 1
        if self._more() and self._line.startswith("+"):
            self.at -= 1
            raise self._no_plus(path)
        return AddFile(path, tuple(lines), number)

    def _no_plus(self, path: str) -> PatchSyntaxError:
        return PatchSyntaxError(
            f"Line {self.at + 1} of the patch, `{_clip(self._line)}`, is in the new file {path} "
            "and does not begin with `+`.",
            fix="Begin every line of a new file with `+`, empty ones too.",
            line=self.at + 1,
        )

    def _update(self, path: str, number: int) -> UpdateFile:
        move_to = self._header(MOVE)
        if move_to is not None:
            self.at += 1
            self._check_path(move_to, MOVE, self.at)
        chunks: list[Chunk] = []
        while self._more():
            if not self._line.strip(_BLANK) and not self._line.startswith(" "):
                self.at += 1
            elif self._line.startswith("***"):
                break
            else:
                chunks.append(self._chunk(first=not chunks))
        if not chunks and move_to is None:
            raise PatchSyntaxError(
                f"The update of {path} in line {number} of the patch changes nothing.",
                fix="Write at least one line that begins with `-` or `+`.",
                line=number,
            )
        return UpdateFile(path, move_to, tuple(chunks), number)

    def _chunk(self, *, first: bool) -> Chunk:
        number = self.at + 1
        anchors: list[str] = []
        while self._more() and self._line.startswith("@@"):
            anchor = _anchor(self._line)
            if anchor:
                anchors.append(anchor)
            self.at += 1
        if self.at + 1 == number and not first:
            raise self._no_line(number, "`@@` before the next place of the file")
        lines: list[PatchLine] = []
        at_end = False
        while self._more() and not at_end:
            kind = self._line[:1]
            if self._line.rstrip(_BLANK) == END_OF_FILE:
                at_end = True
            elif not self._line.rstrip("\r"):
                lines.append(PatchLine(" ", ""))
            elif kind in _KINDS:
                lines.append(PatchLine(_KINDS[kind], self._line[1:]))
            elif self._line.startswith(("@@", "***")):
                break
            else:
                raise self._no_line(self.at + 1, "a blank, `+` or `-`")
            self.at += 1
        if not any(line.kind != " " for line in lines):
            raise PatchSyntaxError(
                f"The place in line {number} of the patch changes nothing.",
                fix="Write at least one line that begins with `-` or `+` after it.",
                line=number,
            )
        return Chunk(tuple(anchors), tuple(lines), at_end, number)

    def _no_line(self, number: int, wanted: str) -> PatchSyntaxError:
        line = self.lines[number - 1]
        if line.startswith("\\"):
            return PatchSyntaxError(
                f"Line {number} of the patch, `{_clip(line)}`, is not of this format.",
                fix="Leave it out: the end of a file stays as it is.",
                line=number,
            )
        return PatchSyntaxError(
            f"Line {number} of the patch, `{_clip(line)}`, must begin with {wanted}.",
            fix="Begin each line of a place with a blank (stays), `-` (goes) or `+` (is new).",
            line=number,
        )


def _anchor(line: str) -> str:
    """Return the line that an `@@` line names, or "".

    `@@ -2,3 +2,3 @@ text`, as git writes it, counts lines that models get wrong; only its text is
    taken.
    """
    text = line[2:].removeprefix(" ")
    ranged = _GIT_RANGE.fullmatch(text.strip(_BLANK))
    if ranged is not None:
        text = ranged[1] or ""
    return "" if text.strip(_BLANK) in ("", "@@") else text


def _clip(text: str) -> str:
    return text if len(text) <= 80 else f"{text[:79]}…"
