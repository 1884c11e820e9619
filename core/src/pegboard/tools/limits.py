"""How much of an output the model reads: cut on character boundaries, and said so."""

from __future__ import annotations

from typing import Final, NamedTuple

from pegboard.contracts.tool import OutputLimits
from pegboard.tools.text_repair import boundary, boundary_after

_NOTE_ROOM: Final = 200


class Cut(NamedTuple):
    """What is left of a text.

    Args:
        head: The start that is kept.
        tail: The end that is kept.
        chars: Characters left out.
        lines: Lines left out, whole or in part.
    """

    head: str
    tail: str
    chars: int
    lines: int

    def text(self, how_to_read: str) -> str:
        """Return head and tail with a line between that says what is missing.

        Args:
            how_to_read: How to get at the rest, one sentence, or "".
        """
        note = (
            f"[... {self.chars} characters in {self.lines} lines left out. {how_to_read}".rstrip()
        )
        parts = [self.head.rstrip("\n"), f"{note} ...]", self.tail.lstrip("\n")]
        return "\n".join(part for part in parts if part)


def line_count(text: str) -> int:
    """Return the number of lines; a line feed at the end begins no other."""
    return text.count("\n") + (not text.endswith("\n"))


def cut(text: str, limits: OutputLimits) -> Cut | None:
    """Shorten a text to its limits; None when it is within them.

    Args:
        text: The whole text.
        limits: Characters and lines at most, the line that says what is missing included, and which
            end is kept.
    """
    lines, too_long = line_count(text), len(text) > limits.chars
    if not too_long and (limits.lines is None or lines <= limits.lines):
        return None
    # a cut within a line makes two of it, and the line that says what is missing is one more
    within_lines = limits.lines is None or lines + 2 * too_long <= limits.lines
    head_end, tail_start = _by_lines(text, limits, within_lines)
    head_end, tail_start = _by_chars(text, limits, head_end, tail_start)
    head, tail = text[:head_end], text[tail_start:]
    between = text[head_end:tail_start]
    return Cut(head, tail, len(between), max(1, len(between.strip("\n").split("\n"))))


def _by_lines(text: str, limits: OutputLimits, within: bool) -> tuple[int, int]:
    """Return where the head ends and the tail starts by the number of lines."""
    if within or limits.lines is None:
        return _shared(len(text), limits)
    room = max(1, limits.lines - 1)
    first, last = _portions(room, limits)
    head_end = _after_first(text, first)
    return head_end, max(head_end, _before_last(text, last))


def _after_first(text: str, lines: int) -> int:
    place = 0
    for _ in range(lines):
        end = text.find("\n", place)
        if end < 0:
            return len(text)
        place = end + 1
    return place


def _before_last(text: str, lines: int) -> int:
    if not lines:
        return len(text)
    place = len(text) - text.endswith("\n")  # the end of the last line is no line of its own
    for _ in range(lines):
        place = text.rfind("\n", 0, place)
        if place < 0:
            return 0
    return place + 1


def _shared(length: int, limits: OutputLimits) -> tuple[int, int]:
    if limits.keep == "head":
        return length, length
    if limits.keep == "tail":
        return 0, 0
    return length // 2, length // 2


def _by_chars(text: str, limits: OutputLimits, head_end: int, tail_start: int) -> tuple[int, int]:
    """Move both ends apart until they leave room for the characters allowed."""
    room = max(1, limits.chars - min(_NOTE_ROOM, limits.chars // 2))
    head_size, tail_size = head_end, len(text) - tail_start
    if head_size + tail_size > room:
        first, last = _portions(room, limits)
        # what one end does not use is the other's
        first = max(first, room - tail_size) if limits.keep == "both" else first
        last = max(last, room - head_size) if limits.keep == "both" else last
        head_end = _whole_line_before(text, min(head_end, first))
        tail_start = _whole_line_after(text, max(tail_start, len(text) - last))
    return head_end, tail_start


def _portions(room: int, limits: OutputLimits) -> tuple[int, int]:
    if limits.keep == "head":
        return room, 0
    if limits.keep == "tail":
        return 0, room
    return room - room // 2, room // 2


def _whole_line_before(text: str, place: int) -> int:
    """Prefer the end of a line when one is near, else the end of a character."""
    line_end = text.rfind("\n", max(0, place - _NOTE_ROOM), place) + 1
    return line_end or boundary(text, place)


def _whole_line_after(text: str, place: int) -> int:
    if place >= len(text):
        return len(text)
    line_end = text.find("\n", place, place + _NOTE_ROOM) + 1
    return line_end if line_end and line_end < len(text) else boundary_after(text, place)
