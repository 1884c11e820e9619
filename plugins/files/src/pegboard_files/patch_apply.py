"""Apply the chunks of a patch to the text of a file. Pure.

Context only locates: lines that stay keep their bytes. New lines end as the lines beside them do,
and the end of the file, with or without a line end, stays as it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from pegboard_files.indentation import Unmapped, mapped_lines
from pegboard_files.nearest import nearest
from pegboard_files.patch_format import Chunk
from pegboard_files.patch_matching import Nowhere, Place, SeveralPlaces, find_lines

_LINES_NAMED: Final = 10


class ChunkError(Exception):
    """A chunk does not fit its file.

    Args:
        message: What is wrong, without the name of the file.
        fix: What to do.
        chunk: Number of the chunk in its file, from 1.
        line: Number of its first line in the patch.
        code: Identifier of the failure.
    """

    def __init__(self, message: str, *, fix: str, chunk: int, line: int, code: str) -> None:
        super().__init__(message)
        self.message = message
        self.fix = fix
        self.chunk = chunk
        self.line = line
        self.code = code


@dataclass(frozen=True, slots=True)
class Applied:
    """What became of a text.

    Args:
        text: The new text.
        inserted: The new lines.
        removed: How many lines went.
        notes: What was overlooked to find a place, and what was found more than once.
    """

    text: str
    inserted: tuple[str, ...]
    removed: int
    notes: tuple[str, ...]


@dataclass(slots=True)
class _Work:
    lines: list[str]
    ends: list[str]
    out: list[str] = field(default_factory=list)
    out_ends: list[str] = field(default_factory=list)
    copied: int = 0  # lines of the file that are in `out`, or went
    cursor: int = 0
    trailing: int = 0  # context at the end of the chunk before
    tail: list[str] = field(default_factory=list)  # new lines at the end of the file
    inserted: list[str] = field(default_factory=list)
    removed: int = 0
    notes: list[str] = field(default_factory=list)


def apply_chunks(text: str, chunks: Sequence[Chunk]) -> Applied:
    """Return a text with chunks applied, each behind the one before.

    Args:
        text: The text of a file, without a byte order mark.
        chunks: The changes, from top to bottom.

    Raises:
        ChunkError: When one does not fit.
    """
    lines, ends = split_lines(text)
    work = _Work(lines, ends)
    for number, chunk in enumerate(chunks, 1):
        _apply(work, chunk, number)
    _copy(work, len(lines))
    work.out.extend(work.tail)
    work.out_ends.extend([_style(work, len(lines))] * len(work.tail))
    return Applied(_joined(work, text), tuple(work.inserted), work.removed, tuple(work.notes))


def split_lines(text: str) -> tuple[list[str], list[str]]:
    """Return the lines of a text and, beside each, how it ends: LF, CR LF, or "" for the last."""
    pieces = text.split("\n")
    last = pieces.pop()
    lines = [piece.removesuffix("\r") for piece in pieces]
    ends = ["\r\n" if piece.endswith("\r") else "\n" for piece in pieces]
    if last:
        lines.append(last)
        ends.append("")
    return lines, ends


def _apply(work: _Work, chunk: Chunk, number: int) -> None:
    start = _behind_anchors(work, chunk, number)
    if not chunk.old:
        _insert(work, chunk, start)
        return
    place, length = _find(work, chunk, start, number)
    index = place.index
    if place.tier:
        work.notes.append(f"chunk {number}: {place.tier}")
    elif place.others and not chunk.at_end:
        more = ", ".join(str(other + 1) for other in place.others[:_LINES_NAMED])
        work.notes.append(
            f"chunk {number}: applied at line {index + 1}, the first place; also fits line {more}"
        )
    old = work.lines[index : index + length]
    try:
        new = mapped_lines(chunk.lines, old)
    except Unmapped as error:
        raise ChunkError(
            f"the place (line {index + 1}) is indented in another way than the patch, and how "
            f"far the new line {error.line!r} shall be indented can't be told.",
            fix="Copy the lines with the blanks that the file has.",
            chunk=number,
            line=chunk.line,
            code="indentation",
        ) from error
    _go_to(work, index)
    _replace(work, chunk, length, new)


def _behind_anchors(work: _Work, chunk: Chunk, number: int) -> int:
    start = work.cursor
    for anchor in chunk.anchors:
        try:
            place = find_lines(work.lines, (anchor,), start)
        except Nowhere:
            again = _around(work, anchor, start)
            if again is None:
                raise _not_found(
                    work, chunk, number, (anchor,), f"`@@ {anchor}` is", start
                ) from None
            place = again
        except SeveralPlaces as error:
            raise _several(chunk, number, error.indexes, f"`@@ {anchor}` is") from error
        if place.tier:
            work.notes.append(f"chunk {number}, `@@ {anchor}`: {place.tier}")
        start = place.index + 1
    return start


def _around(work: _Work, anchor: str, start: int) -> Place | None:
    """Look for an anchor in the context that ended the chunk before: it was not changed."""
    if start != work.cursor or not work.trailing:
        return None
    try:
        return find_lines(work.lines[: work.cursor], (anchor,), work.cursor - work.trailing)
    except (Nowhere, SeveralPlaces):
        return None


def _find(work: _Work, chunk: Chunk, start: int, number: int) -> tuple[Place, int]:
    """Return where the old lines of a chunk are, and how many they are there."""
    old = chunk.old
    # empty lines may stand between a chunk and the next one and be no part of it
    trimmed = old[: len(old) - _blank_tail(chunk)]
    begins = [start]
    if chunk.anchors:
        begins.append(start - 1)  # the anchor is repeated as the first line
    if work.trailing and start == work.cursor:
        begins.append(work.cursor - work.trailing)  # the context of two chunks overlaps
    for begin in begins:
        for wanted in dict.fromkeys((old, trimmed or old)):
            try:
                return find_lines(work.lines, wanted, begin, at_end=chunk.at_end), len(wanted)
            except Nowhere:
                continue
            except SeveralPlaces as error:
                raise _several(chunk, number, error.indexes, "its lines are") from error
    raise _not_found(work, chunk, number, old, "its lines are", start)


def _blank_tail(chunk: Chunk) -> int:
    """Return how many empty lines a chunk ends with: they may stand between it and the next."""
    count = 0
    for line in reversed(chunk.lines):
        if line.kind != " " or line.text:
            break
        count += 1
    return count


def _insert(work: _Work, chunk: Chunk, index: int) -> None:
    """Put in lines where nothing old is named: behind the anchor, else at the end of the file."""
    new = [line.text for line in chunk.lines]
    work.inserted.extend(new)
    if chunk.at_end or not chunk.anchors:
        work.tail.extend(new)  # what follows in the patch may still be about lines before
        return
    _go_to(work, index)
    work.out.extend(new)
    work.out_ends.extend([_style(work, index)] * len(new))
    work.cursor, work.trailing = index, 0


def _replace(work: _Work, chunk: Chunk, length: int, new: Sequence[str]) -> None:
    """Take over the lines of a place: what stays as the file has it, what is new beside it."""
    fresh = iter(new)
    gone: list[str] = []
    for line in chunk.lines:
        if line.kind == "+":
            text = next(fresh)
            work.out.append(text)
            work.out_ends.append(gone.pop(0) if gone else _style(work, work.copied))
            work.inserted.append(text)
        elif line.kind == "-":
            gone.append(work.ends[work.copied] or _style(work, work.copied))
            work.copied += 1
            work.removed += 1
        elif length > 0 and work.copied < len(work.lines):
            gone = []
            _copy(work, work.copied + 1)
        length -= line.kind != "+"
    work.cursor = work.copied
    work.trailing = _context_tail(chunk)


def _context_tail(chunk: Chunk) -> int:
    count = 0
    for line in reversed(chunk.lines):
        if line.kind != " ":
            break
        count += 1
    return count


def _go_to(work: _Work, index: int) -> None:
    """Copy the lines up to an index; or take back context that was copied for the chunk before."""
    back = work.copied - index
    if back > 0:
        del work.out[-back:], work.out_ends[-back:]
        work.copied = index
    else:
        _copy(work, index)


def _copy(work: _Work, stop: int) -> None:
    work.out.extend(work.lines[work.copied : stop])
    work.out_ends.extend(work.ends[work.copied : stop])
    work.copied = stop


def _style(work: _Work, index: int) -> str:
    """Return how a new line at an index ends: as the line before it, else the one behind it."""
    before = reversed(work.ends[max(0, index - 2) : index])
    for end in (*before, *work.ends[index : index + 1]):
        if end:
            return end
    return "\n"


def _joined(work: _Work, before: str) -> str:
    """Put the lines together; the last one ends as the last one did."""
    if not work.out:
        return ""
    ends = [end or _style(work, len(work.ends) - 1) for end in work.out_ends]
    if before and not before.endswith("\n"):
        ends[-1] = ""
    return "".join(line + end for line, end in zip(work.out, ends, strict=True))


def _several(chunk: Chunk, number: int, indexes: tuple[int, ...], what: str) -> ChunkError:
    named = ", ".join(str(index + 1) for index in indexes[:_LINES_NAMED])
    rest = f" and {len(indexes) - _LINES_NAMED} more" if len(indexes) > _LINES_NAMED else ""
    return ChunkError(
        f"{what} not there as written, and {len(indexes)} places come near (lines {named}{rest}).",
        fix="Copy the lines exactly, or add an `@@ line` that stands before the place.",
        chunk=number,
        line=chunk.line,
        code="several_matches",
    )


def _not_found(
    work: _Work, chunk: Chunk, number: int, wanted: Sequence[str], what: str, start: int
) -> ChunkError:
    earlier = _earlier(work, wanted, start)
    if earlier is not None:
        return ChunkError(
            f"{what} only before line {start + 1} (at line {earlier + 1}); chunks go from top "
            "to bottom.",
            fix="Put the chunks of a file in the order of their lines, none over another.",
            chunk=number,
            line=chunk.line,
            code="out_of_order",
        )
    if chunk.at_end and _anywhere(work, wanted, start):
        return ChunkError(
            f"{what} not at the end of the file.",
            fix="Leave out `*** End of File`, or give the last lines.",
            chunk=number,
            line=chunk.line,
            code="no_match",
        )
    near = nearest("\n".join(work.lines), "\n".join(wanted), called="the patch")
    if near is None:
        message = f"{what} not there, and nothing like it is."
    else:
        differences = "".join(f"\n- {difference}" for difference in near.differences)
        message = (
            f"{what} not there. The nearest text begins at line {near.line}:\n"
            f"{near.text}{differences}\n"
        )
    return ChunkError(
        message,
        fix="Read the file, then copy the lines from it.",
        chunk=number,
        line=chunk.line,
        code="no_match",
    )


def _earlier(work: _Work, wanted: Sequence[str], start: int) -> int | None:
    try:
        found = find_lines(work.lines, wanted, 0)
    except (Nowhere, SeveralPlaces):
        return None
    return found.index if found.index < start else None


def _anywhere(work: _Work, wanted: Sequence[str], start: int) -> bool:
    try:
        find_lines(work.lines, wanted, start)
    except (Nowhere, SeveralPlaces):
        return False
    return True
