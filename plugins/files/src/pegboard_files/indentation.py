"""Indent new lines as the file is indented, where a patch is indented in another way. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pegboard_files.patch_format import PatchLine


class Unmapped(Exception):
    """It can't be told how far a new line shall be indented.

    Args:
        line: The line.
    """

    def __init__(self, line: str) -> None:
        super().__init__(line)
        self.line = line


def mapped_lines(lines: Sequence[PatchLine], old: Sequence[str]) -> list[str]:
    """Return the new lines of a chunk, indented for the file.

    They stay as they are where the file has the old lines just so. Elsewhere a line gets the
    indentation that the file has where the patch has this one's: of the lines that it replaces,
    else of all lines of the chunk; else it is moved as far as all the others are.

    Args:
        lines: The lines of the chunk.
        old: The lines that the file has there, one for each old line of the chunk; fewer, where
            empty lines at its end were left out.

    Raises:
        Unmapped: When a new line has an indentation that no old line has, and those are not all
            moved equally far.
    """
    whole = _pairs(lines, old)
    if all(written == there for written, there in whole):
        return [line.text for line in lines if line.kind == "+"]
    everywhere = _table(whole)
    shift = _shift(whole)
    new: list[str] = []
    for nearby, line in _new_lines(lines, old):
        new.append(_mapped(line, (_table(nearby), everywhere), shift))
    return new


def _pairs(lines: Sequence[PatchLine], old: Sequence[str]) -> list[tuple[str, str]]:
    """Return the indentation of each old line, in the patch and in the file."""
    written = [line.text for line in lines if line.kind != "+"]
    return [
        (_indent(one), _indent(other))
        for one, other in zip(written, old, strict=False)
        if one.strip() and other.strip()
    ]


def _new_lines(
    lines: Sequence[PatchLine], old: Sequence[str]
) -> Iterator[tuple[list[tuple[str, str]], str]]:
    """Yield each new line with the indentations of the lines that it replaces."""
    at = 0
    gone: list[tuple[str, str]] = []
    for line in lines:
        if line.kind == "+":
            yield gone, line.text
            continue
        if line.kind == " ":
            gone = []
        elif at < len(old) and line.text.strip():
            gone = [*gone, (_indent(line.text), _indent(old[at]))]
        at += 1


def _table(pairs: Sequence[tuple[str, str]]) -> dict[str, str | None]:
    """Return what each indentation of the patch is in the file; None = several things."""
    found: dict[str, str | None] = {}
    for written, there in pairs:
        found[written] = there if found.get(written, there) == there else None
    return found


def _shift(pairs: Sequence[tuple[str, str]]) -> tuple[str, str] | None:
    """Return what to take off and what to put before an indentation, where all agree on it."""
    shifts = set[tuple[str, str]]()
    for written, there in pairs:
        if there.endswith(written):
            shifts.add(("", there[: len(there) - len(written)]))
        elif written.endswith(there):
            shifts.add((written[: len(written) - len(there)], ""))
        else:
            return None
    return shifts.pop() if len(shifts) == 1 else None


def _mapped(
    line: str, tables: Sequence[dict[str, str | None]], shift: tuple[str, str] | None
) -> str:
    if not line.strip():
        return line
    indent = _indent(line)
    for table in tables:
        there = table.get(indent)
        if there is not None:
            return there + line[len(indent) :]
    if shift is not None and indent.startswith(shift[0]):
        return shift[1] + line[len(shift[0]) :]
    raise Unmapped(line)


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]
