"""Rewrite a regular expression for ripgrep, so that it finds every line that ours matches.

The two dialects agree on less than they seem to: on which characters are letters, on bytes that are
no text, on escapes. What is returned may match more than the original, never less; the lines are
then judged by the original.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_STRAY: Final = r"(?-u:[\x80-\xFF]){1,3}"
"""Bytes that are no UTF-8; for the original they are one character that can't be shown."""
_TOKEN: Final = re.compile(
    r"""
    (?P<class>\[\^?\]?(?:\\.|[^\]\\])*\])
    | (?P<escape>\\.)
    | (?P<group>\((?:\?:)?(?!\?))
    | (?P<repeat>(?:[*+?]|\{\d+(?:,\d*)?\})\??)
    | (?P<plain>[)|^$])
    | (?P<any>\.)
    | (?P<text>[^\\\[\](){}*+?|^$.])
    """,
    re.VERBOSE | re.DOTALL,
)
_KINDS: Final = {
    # ASCII is the same everywhere; what else counts is left to the original
    "d": r"[\d[^\x00-\x7F]]",
    "w": r"[\w[^\x00-\x7F]]",
    "s": r"[\s[^\x00-\x7F]]",
    "D": rf"(?:[\D[^\x00-\x7F]]|{_STRAY})",
    "W": rf"(?:[\W[^\x00-\x7F]]|{_STRAY})",
    "S": rf"(?:[\S[^\x00-\x7F]]|{_STRAY})",
    "t": r"\t",
}
_ANY: Final = rf"(?:.|{_STRAY})"
_WORD: Final = re.compile(r"\w(?![*?{])", re.ASCII)
_WORD_IN_ANY_CASE: Final = re.compile(r"(?![iks])\w(?![*?{])", re.ASCII | re.IGNORECASE)
"""Without the letters that have another case beyond ASCII: \u0130, \u0131, \u212a, \u017f."""


class _NotPortable(Exception):
    """The expression says something that the other dialect says otherwise, or not at all."""


def for_ripgrep(pattern: str, *, literal: bool, ignore_case: bool) -> str | None:
    """Return an expression that matches every line that `pattern` matches, or None.

    Args:
        pattern: A regular expression, or a text.
        literal: Take it as a text.
        ignore_case: Whether letter case does not matter.
    """
    try:
        if literal:
            return "".join(_text(character, ignore_case) for character in pattern)
        return _rewritten(pattern, ignore_case)
    except _NotPortable:
        return None


def _rewritten(pattern: str, ignore_case: bool) -> str:
    done: list[str] = []
    ends = _Ends()
    at, repeatable, last = 0, False, ""
    while at < len(pattern):
        token = _TOKEN.match(pattern, at)
        if token is None:
            raise _NotPortable
        kind, text = token.lastgroup, token[0]
        ends.pass_by(kind, text)
        if kind == "repeat" and not repeatable:
            raise _NotPortable  # twice repeated, or nothing to repeat
        if text == r"\b":
            done.append(_boundary(last, pattern[token.end() :], ignore_case))
        else:
            done.append(_token(str(kind), text, ignore_case))
        last = text if kind == "text" else ""
        repeatable = kind in ("class", "any", "text") or text == ")" or _is_character(kind, text)
        at = token.end()
    return "".join(done)


@dataclass(slots=True)
class _Group:
    """A group that is open: whether a `$` may have gone before, in it or before it."""

    at_start: bool = False
    now: bool = False
    in_others: bool = False


class _Ends:
    """Refuses what may stand behind a `$` without a character of its own.

    The other dialect is behind the CR there, and we are before it.
    """

    def __init__(self) -> None:
        self._open = [_Group()]
        self._closed = False  # whether the last token closed a group with a `$` in it

    def pass_by(self, kind: str | None, text: str) -> None:
        """Take up the next token."""
        group = self._open[-1]
        if (group.now and text in ("^", r"\b")) or (self._closed and kind == "repeat"):
            raise _NotPortable
        self._closed = False
        if text == "$":
            group.now = True
        elif text == "|":
            group.in_others |= group.now
            group.now = group.at_start
        elif kind == "group":
            self._open.append(_Group(group.now, group.now))
        elif text == ")" and len(self._open) > 1:
            self._open.pop()
            ended = group.now or group.in_others
            self._closed = ended and not group.at_start
            self._open[-1].now |= ended


def _is_character(kind: str | None, text: str) -> bool:
    return kind == "escape" and text != r"\b"


def _token(kind: str, text: str, ignore_case: bool) -> str:
    if kind == "text":
        return _text(text, ignore_case)
    if kind == "any":
        return _ANY
    if kind == "escape":
        return _escape(text[1], ignore_case)
    if kind == "class":
        return _class(text, ignore_case)
    # the CR before a line end is no part of the line
    return r"\r?$" if text == "$" else text


def _text(character: str, ignore_case: bool) -> str:
    if ignore_case and not character.isascii():
        raise _NotPortable
    if ignore_case and character in "iI":
        return r"(?:i|\x{130})"
    if "\ud800" <= character <= "\udfff" or character in "\r\n\ufffd":
        raise _NotPortable
    if character.isascii() and not character.isalnum():
        return rf"\x{{{ord(character):x}}}"
    return character


def _boundary(before: str, behind: str, ignore_case: bool) -> str:
    """Return the edge of a word, which is the same in ASCII where an ASCII letter is beside it."""
    word = _WORD_IN_ANY_CASE if ignore_case else _WORD
    return r"(?-u:\b)" if word.match(before) or word.match(behind) else ""


def _escape(character: str, ignore_case: bool) -> str:
    if character in _KINDS:
        return _KINDS[character]
    if character.isascii() and not character.isalnum():
        return _text(character, ignore_case)
    raise _NotPortable


def _class(text: str, ignore_case: bool) -> str:
    inside = text[1:-1]
    negated = inside.startswith("^")
    members = inside[1:] if negated else inside
    # sets within sets and classes by name are read differently, so are ranges beyond ASCII
    if not members.isascii() or any(mark in members for mark in ("[", "&&", "--", "||", "~~")):
        raise _NotPortable
    written: list[str] = []
    at = 0
    while at < len(members):
        piece, at = _member(members, at)
        written.append(piece)
    body = "".join(written)
    if negated:
        return rf"(?:[^{body}]|[^\x00-\x7F]|{_STRAY})"
    # a letter can mean one beyond ASCII when case does not matter
    beyond = r"[^\x00-\x7F]" if ignore_case or "\\" in members else ""
    return f"[{body}{beyond}]"


def _member(members: str, at: int) -> tuple[str, int]:
    character = members[at]
    if character == "\\":
        escaped = members[at + 1]
        if escaped in "dws":
            return f"\\{escaped}", at + 2
        if escaped == "t":
            return r"\t", at + 2
        if escaped.isalnum():
            raise _NotPortable
        return rf"\x{{{ord(escaped):x}}}", at + 2
    if character == "-" and 0 < at < len(members) - 1:
        return "-", at + 1
    if character in "\r\n":
        raise _NotPortable
    return rf"\x{{{ord(character):x}}}", at + 1
