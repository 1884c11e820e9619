"""The part of a file that is searched at a time, with the lines around each match."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal

from pegboard_files.matcher import Hit, Matcher, OutOfTime

Mode = Literal["content", "files_with_matches", "count"]
_LONGEST_LINE: Final = 8 << 20


@dataclass(frozen=True, slots=True)
class FoundLine:
    """A line that matches, or several that one match goes over.

    Args:
        path: The file.
        line: Number of the line, from 1; of the first one when there are several.
        text: The line, clipped around its first match.
        before, after: Lines around it, clipped.
    """

    path: str
    line: int
    text: str
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()

    @property
    def last(self) -> int:
        """Number of the last line of the match."""
        return self.line + self.text.count("\n")


@dataclass(slots=True)
class Search:
    """One search, and what it has come to.

    Args:
        matcher: What is looked for.
        limit: Matches at most; files, unless `mode` is `content`.
        skip: How many of these to pass over first.
        per_file: Matches of one file at most, or None.
        mode: What is wanted of a file that matches: its lines, its name, or their number.
        before, after: Lines around each match.
        line_chars: Characters of a line that are kept.
        hits: The matches, in the order of their files.
        counts: For each file: how many lines match.
        skipped: How many were passed over.
        too_large: Files left out for their size.
        more: True when there is more than `limit`.
        out_of_time: True when the time was over.
        unreadable: Folders that could not be looked into, of a search that went to its end.
    """

    matcher: Matcher
    limit: int
    mode: Mode = "content"
    skip: int = 0
    per_file: int | None = None
    before: int = 0
    after: int = 0
    line_chars: int = 500
    hits: list[FoundLine] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    skipped: int = 0
    too_large: int = 0
    more: bool = False
    out_of_time: bool = False
    unreadable: tuple[str, ...] = ()

    @property
    def over(self) -> bool:
        """Whether nothing more is wanted."""
        return self.more or self.out_of_time

    @property
    def found(self) -> int:
        """How much of what `limit` limits was found."""
        return len(self.hits) if self.mode == "content" else len(self.counts)

    def passes_over(self) -> bool:
        """Note that there is one more match; True when it is one of an earlier page."""
        if self.skipped >= self.skip:
            return False
        self.skipped += 1
        return True

    def full(self, path: str) -> bool:
        """Note that a file has one more match; True when it is more than wanted."""
        counts = self.mode != "content"
        if self.found >= self.limit and not (counts and path in self.counts):
            self.more = True
            return True
        self.counts[path] = self.counts.get(path, 0) + 1
        return False

    def start_again(self) -> None:
        """Forget what was found."""
        self.hits.clear()
        self.counts.clear()
        self.skipped, self.too_large, self.more = 0, 0, False


class Window:
    """A file that is searched while it is read.

    Args:
        search: What is looked for; it takes up what is found.
        path: The file.
    """

    def __init__(self, search: Search, path: str) -> None:
        self.done = False
        self._search = search
        self._path = path
        self._text = ""
        self._number = 1  # of the line that begins at `_at`
        self._at = 0
        self._rest = b""
        self._last_hit = 0
        self._hits = 0

    def feed(self, piece: bytes) -> None:
        """Look at all lines of the next piece whose context is there."""
        data = self._rest + piece
        if self._search.matcher.multiline:
            self._rest = data  # a match may go on in the next piece
            return
        whole = data.rfind(b"\n") + 1
        if not whole and len(data) >= _LONGEST_LINE:
            # a line without an end is looked at in parts
            whole = len(data)
        self._rest = data[whole:]
        self._append(data[:whole])
        self._look(_lines_before(self._text, len(self._text), self._search.after))
        self._forget()

    def end(self, piece: bytes = b"") -> None:
        """Look at what is left, and at the last piece, which may be all of a small file."""
        self._append(self._rest + piece)
        self._rest = b""
        self._look(len(self._text))

    def _append(self, data: bytes) -> None:
        try:
            text = data.decode()
        except UnicodeDecodeError:
            text = data.decode("utf-8", "replace")
        self._text += text.replace("\r\n", "\n") if "\r\n" in text else text

    def _look(self, stop: int) -> None:
        search = self._search
        if stop <= self._at or self.done:
            return
        counted = self._at
        try:
            for hit in search.matcher.hits(self._text, self._at, stop):
                self._number += self._text.count("\n", counted, hit.start)
                counted = hit.start
                repeated, self._last_hit = self._number == self._last_hit, self._number
                if not repeated and self._take(hit):
                    return
        except OutOfTime:
            search.out_of_time = True
            return
        self._number += self._text.count("\n", counted, stop)
        self._at = stop

    def _take(self, hit: Hit) -> bool:
        """Take up a match; True when no more of this file is wanted."""
        search = self._search
        self._hits += 1
        last = self._hits == search.per_file
        if search.passes_over():
            self.done = last or search.mode != "content"
            return self.done
        self.done = search.full(self._path) or last or search.mode == "files_with_matches"
        if search.mode == "content" and not search.more:
            search.hits.append(self._found(hit))
        return self.done

    def _found(self, hit: Hit) -> FoundLine:
        search, text = self._search, self._text
        before: tuple[str, ...] = ()
        after: tuple[str, ...] = ()
        if search.before:
            first = _lines_before(text, hit.start, search.before)
            before = self._clipped(text[first : hit.start])
        if search.after:
            last = _lines_after(text, hit.stop, search.after)
            after = self._clipped(text[hit.stop + 1 : last])
        first_end = text.find("\n", hit.start, hit.stop)
        first_end = hit.stop if first_end < 0 else first_end
        line = clip_around(text[hit.start : first_end], hit.match - hit.start, search.line_chars)
        others = self._clipped(text[first_end + 1 : hit.stop]) if first_end < hit.stop else ()
        return FoundLine(self._path, self._number, "\n".join((line, *others)), before, after)

    def _clipped(self, text: str) -> tuple[str, ...]:
        lines = text.removesuffix("\n").split("\n") if text else []
        return tuple(clip_around(line, 0, self._search.line_chars) for line in lines)

    def _forget(self) -> None:
        keep = _lines_before(self._text, self._at, self._search.before)
        self._text = self._text[keep:]
        self._at -= keep


def clip_around(line: str, match: int, chars: int) -> str:
    """Return at most `chars` characters of a line, with the match among them."""
    if len(line) <= chars:
        return line
    start = 0 if match < chars // 2 else min(match - chars // 4, len(line) - chars)
    stop = start + chars
    head = f"[{start}+]…" if start else ""
    tail = f"…[+{len(line) - stop}]" if stop < len(line) else ""
    return f"{head}{line[start:stop]}{tail}"


def _lines_before(text: str, place: int, count: int) -> int:
    """Return where the `count` lines before a line begin; `place` is the start of that line."""
    for _ in range(count):
        if place <= 0:
            return 0
        place = text.rfind("\n", 0, place - 1) + 1
    return place


def _lines_after(text: str, place: int, count: int) -> int:
    """Return where the `count` lines after a line end; `place` is the end of that line."""
    for _ in range(count):
        if place >= len(text):
            return len(text)
        end = text.find("\n", place + 1)
        place = len(text) if end < 0 else end
    return place
