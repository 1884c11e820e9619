"""Look for a pattern in text, line by line, within a time that no pattern can exceed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from pegboard import ToolFailure

MAX_PATTERN: Final = 2000
MAX_SIZE: Final = 20_000
_LEAST_S: Final = 0.01
_MOST_S: Final = 5.0  # for one look; what takes longer is a pattern that runs away
_TOKEN: Final = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\{(\d*)(?:,(\d*))?\}|.", re.DOTALL)
_CALLS_ITSELF: Final = re.compile(r"\(\?(?:R|&|P>|[+-]?\d)")
_SPECIAL: Final = re.compile(r"[\\^$.|?*+()\[\]{}]")
_SEES_PAST_THE_LINE: Final = re.compile(
    # what gives another answer inside a longer text than on the line alone
    r"\(\?[=!<>]|\(\?\(|\\[AZzGKX]|[*+?}]\+"
)


class OutOfTime(Exception):
    """The time for a search is over."""


@dataclass(frozen=True, slots=True)
class Hit:
    """One line that matches.

    Args:
        start: Index where the line begins.
        stop: Index where it ends, without its end.
        match: Index where the first match in it begins.
    """

    start: int
    stop: int
    match: int


class Matcher:
    """A compiled pattern.

    Args:
        pattern: A regular expression, or plain text.
        literal: Take it as plain text.
        ignore_case: Let letter case not matter.
        multiline: Let a match go over line ends.
        remaining: Returns the seconds that are left.

    Raises:
        ToolFailure: When the pattern is malformed, or too large.
    """

    def __init__(
        self,
        pattern: str,
        *,
        literal: bool,
        ignore_case: bool,
        remaining: Callable[[], float],
        multiline: bool = False,
    ) -> None:
        self.pattern = pattern
        self.literal = literal
        self.ignore_case = ignore_case
        self.multiline = multiline
        self.remaining = remaining
        # many patterns are plain words, which are found so in a twentieth of the time
        self._plain = not ignore_case and (literal or not _SPECIAL.search(pattern))
        self._expression = _compile(
            pattern, literal=literal, ignore_case=ignore_case, multiline=multiline
        )
        self._whole = literal or not _SEES_PAST_THE_LINE.search(pattern)

    @property
    def expired(self) -> bool:
        """Whether the time is over."""
        return self.remaining() <= 0

    def hits(self, text: str, start: int, stop: int) -> Iterator[Hit]:
        """Yield each matching line (or group of lines) that begins in a part of `text`, in order.

        Args:
            text: Lines with plain ends.
            start: Where the part begins, at the beginning of a line.
            stop: Where it ends.

        Raises:
            OutOfTime: When the time is over.
        """
        if self.multiline:
            yield from self._spans(text, start, stop)
            return
        at = start
        while at < stop:
            place = self._next(text, at, stop)
            if place < 0:
                return
            first = text.rfind("\n", start, place) + 1 or start
            if first >= stop:
                return  # behind the last line end there is no line
            end = text.find("\n", place, stop)
            end = stop if end < 0 else end
            match = self._on_line(text, first, end)
            if match >= 0:
                yield Hit(first, end, match)
            at = end + 1

    def _spans(self, text: str, start: int, stop: int) -> Iterator[Hit]:
        at = start
        while at < stop:
            found = self._found(text, at, stop)
            if found is None:
                return
            place, after = found
            first = text.rfind("\n", start, place) + 1 or start
            if first >= stop:
                return
            # the end of a line belongs to it, so a match up to there does not reach the next one
            end = text.find("\n", max(place, after - 1), stop)
            end = stop if end < 0 else end
            yield Hit(first, end, place)
            at = end + 1

    def _next(self, text: str, at: int, stop: int) -> int:
        """Return where the next match may be; the next line, where a look past it tells nothing."""
        if self._plain:
            return text.find(self.pattern, at, stop)
        if not self._whole:
            return at
        return self._search(text, at, stop)

    def _on_line(self, text: str, first: int, end: int) -> int:
        if self._plain:
            return text.find(self.pattern, first, end)
        place = self._search(text[first:end], 0, end - first)
        return place if place < 0 else first + place

    def _search(self, text: str, at: int, stop: int) -> int:
        found = self._found(text, at, stop)
        return -1 if found is None else found[0]

    def _found(self, text: str, at: int, stop: int) -> tuple[int, int] | None:
        left = self.remaining()
        if left <= 0:
            raise OutOfTime
        try:
            found = self._expression.search(
                text, at, stop, concurrent=True, timeout=min(max(left, _LEAST_S), _MOST_S)
            )
        except TimeoutError:
            raise OutOfTime from None
        return None if found is None else found.span()


def repeated_size(pattern: str) -> int:
    """Return how long a pattern is with its counted repetitions written out, roughly.

    The compiler writes them out: `((a{1000}){1000}){1000}` takes all memory.
    """
    sizes = [0]
    last = 0
    for token in _TOKEN.finditer(pattern):
        text = token[0]
        if text == "(":
            sizes.append(0)
            continue
        if text == ")" and len(sizes) > 1:
            last = sizes.pop() + 1
        elif token[1] is not None and last:
            counts = [int(bound[:9]) for bound in token.groups() if bound]
            sizes[-1] -= last
            last *= max(counts, default=1)
        else:
            last = 1
        sizes[-1] += last
        if sizes[-1] > MAX_SIZE:
            return sizes[-1]
    return sum(sizes)


def _compile(pattern: str, *, literal: bool, ignore_case: bool, multiline: bool) -> Any:
    # imported here: it is large, and only a search needs it
    import regex  # type: ignore[import-untyped]

    if not pattern:
        raise _bad("it is empty", fix="Say what to look for; glob_search finds files by name.")
    if len(pattern) > MAX_PATTERN:
        raise _bad(f"it is longer than {MAX_PATTERN} characters", fix="Look for a part of it.")
    if "\n" in pattern and not multiline:
        raise _bad(
            "it contains a line end, and lines are searched one by one",
            fix="Set multiline=true, or look for one of the lines.",
        )
    if not literal and _CALLS_ITSELF.search(pattern):
        raise _bad("it calls itself")
    if not literal and repeated_size(pattern) > MAX_SIZE:
        raise _bad("its repetitions come to too much")
    # the first version: what `re` understands, and letters are one character in either case
    flags = regex.VERSION0 | regex.MULTILINE | (regex.IGNORECASE if ignore_case else 0)
    try:
        return regex.compile(regex.escape(pattern) if literal else pattern, flags)
    except (regex.error, ValueError, OverflowError, RecursionError, MemoryError) as error:
        raise _bad(str(error)) from None


def _bad(
    why: str, *, fix: str = "Correct it, or set literal=true to search for the text as it is."
) -> ToolFailure:
    return ToolFailure(f"The pattern can't be used: {why}.", fix=fix, code="invalid_pattern")
