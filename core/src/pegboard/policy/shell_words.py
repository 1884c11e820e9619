"""The words of shell source, as far as they are known before it runs.

Written by hand: `shlex` knows no substitutions, `bashlex` may not be used under our licence, and a
tree of tree-sitter would leave quoting and expansion to be done here all the same. What is not
understood raises `UnclearError`, so that being simple can only make the answer stricter.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

BLANK: Final = " \t"
META: Final = " \t\n;&|<>()"
"""Characters that end a word unless they are quoted."""
_PATTERN: Final = "*?["
_SPECIAL_CHARS: Final = frozenset("'\"\\$`<>" + _PATTERN)
_IN_BRACES: Final = frozenset('"\\$`')
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SPECIAL: Final = "@*#?$!-0123456789"
_FIXED: Final = re.compile(r"[0-9\s+*/%()<>=!&|^~?:,-]*")
"""An arithmetic expression without names: evaluating one with a name may run commands."""
_SLICE: Final = re.compile(r"[0-9 :-]*")
_ESCAPES: Final = {
    **{"a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r"},
    **{"t": "\t", "v": "\v", "\\": "\\", "'": "'", '"': '"', "?": "?"},
}
_ESCAPE: Final = re.compile(
    r"\\(?:([abeEfnrtv\\'\"?])|([0-7]{1,3})|x([0-9a-fA-F]{1,2})"
    r"|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|c)"
)


class UnclearError(Exception):
    """What source runs can't be told before it runs; the message says why."""


@dataclass(frozen=True, slots=True)
class Word:
    """One word.

    Args:
        parts: Its text, piece by piece; None = a piece that is known only when it runs.
        single: False when it may become no word, or several.
        bare: The text it begins with before anything is quoted or expanded.
        plain: True when nothing of it is quoted, so that it can be a reserved word.
        braces: Where braces make several words of it, and nothing in it is quoted or expanded
            otherwise: as it is written, else "".
    """

    parts: tuple[str | None, ...]
    single: bool = True
    bare: str = ""
    plain: bool = False
    braces: str = ""

    @property
    def text(self) -> str | None:
        """The whole text, or None when a piece of it is not known."""
        known = [part for part in self.parts if part is not None]
        return "".join(known) if len(known) == len(self.parts) else None

    @classmethod
    def of(cls, text: str) -> Word:
        """Return a word that is known and quoted."""
        return cls((text,))


class Words:
    """Reads words from source.

    Args:
        source: The source.
        nested: Called with each source that a word runs by itself (in backquotes).
        until_paren: Called where `$(` or `<(` begins commands; it reads up to the closing `)`.
    """

    def __init__(
        self, source: str, nested: Callable[[str], None], until_paren: Callable[[], None]
    ) -> None:
        self.source = source
        self.at = 0
        self._nested = nested
        self._until_paren = until_paren
        self._parts: list[str | None] = []
        self._single = True
        self._join()

    @property
    def next(self) -> str:
        """The next character, or "" at the end."""
        return self.source[self.at : self.at + 1]

    def skip(self, count: int = 1) -> None:
        """Pass over characters, and over a line continuation behind each."""
        for _ in range(count):
            self.at += 1
            self._join()

    def takes(self, text: str) -> bool:
        """Pass over `text` if it comes next."""
        before = self.at
        for char in text:
            if self.next != char:
                self.at = before
                return False
            self.skip()
        return True

    def blanks(self) -> None:
        """Pass over blanks and comments between words."""
        while self.next and self.next in BLANK:
            self.skip()
        if self.next == "#":
            self.at += len(self.source[self.at :].partition("\n")[0])

    def is_process(self) -> bool:
        """Tell whether `<(` or `>(` comes next, which is part of a word."""
        return self.source.startswith(("<(", ">("), self.at)

    def line(self) -> str:
        """Pass over the rest of a line, as it is, and return it."""
        line, newline, _ = self.source[self.at :].partition("\n")
        if not newline and not line:
            raise UnclearError("a here-document does not end")
        self.at += len(line) + len(newline)
        return line

    def read(self) -> Word:
        """Read one word."""
        start, outer = self.at, (self._parts, self._single)
        self._parts, self._single = [], True
        bare, open_brace, several, plain, written = "", False, False, True, True
        leading = True
        while self.next not in META or self.is_process():  # nothing, at the end, is in it too
            char = self.next
            begun = self.at
            self._piece(char)
            if char in _SPECIAL_CHARS:
                leading = plain = False
                written = written and char in _PATTERN
                continue
            if leading:
                bare += char
            open_brace = open_brace or char == "{"
            several = several or (open_brace and self._lists(char, begun))
        parts, single = self._parts, self._single
        self._parts, self._single = outer
        if self.source[start : self.at] in ("[", "[["):
            return Word((self.source[start : self.at],), plain=True)  # commands, no patterns
        if several:
            braces = self.source[start : self.at] if written else ""
            return Word((None,), single=False, bare=bare, braces=braces)
        return Word(_merged(parts), single, bare, plain)

    def _lists(self, char: str, begun: int) -> bool:
        """Tell whether a brace before this character may make several words of one."""
        return char == "," or self.source.startswith("..", begun)

    def _join(self) -> None:
        while self.source.startswith("\\\n", self.at):
            self.at += 2

    def _unknown(self, *, single: bool = True) -> None:
        self._parts.append(None)
        self._single = self._single and single

    def _piece(self, char: str) -> None:
        """Read one piece of a word that no quotes surround."""
        if char == "'":
            self._parts.append(self._raw("'"))
        elif char == '"':
            self._quoted()
        elif char == "\\":
            self.at += 1
            if not self.next:
                raise UnclearError("it ends in a backslash")
            self._parts.append(self.next)
            self.skip()
        elif char == "$":
            self._dollar(quoted=False)
        elif char == "`":
            self._backquoted(quoted=False)
        elif char in "<>":
            self.skip(2)
            self._until_paren()
            self._unknown()
        elif char in _PATTERN:
            self.skip()
            self._unknown(single=False)
        else:
            self._parts.append(char)
            self.skip()

    def _raw(self, end: str) -> str:
        """Read up to a character, as it is."""
        closing = self.source.find(end, self.at + 1)
        if closing == -1:
            raise UnclearError("a quote is not closed")
        text, self.at = self.source[self.at + 1 : closing], closing
        self.skip()
        return text

    def _quoted(self) -> None:
        """Read what is in double quotes."""
        self.skip()
        self._parts.append("")
        while self.next != '"':
            char = self.next
            if not char:
                raise UnclearError("a quote is not closed")
            if char == "$":
                self._dollar(quoted=True)
            elif char == "`":
                self._backquoted(quoted=True)
            elif char == "\\" and self.source[self.at + 1 : self.at + 2] in ("$", "`", '"', "\\"):
                self.at += 1
                self._parts.append(self.next)
                self.skip()
            else:
                self._parts.append(char)
                self.skip()
        self.skip()

    def _backquoted(self, *, quoted: bool) -> None:
        end = self.at + 1
        while self.source[end : end + 1] != "`":
            if end >= len(self.source):
                raise UnclearError("a quote is not closed")
            end += 2 if self.source[end] == "\\" else 1
        inner = self.source[self.at + 1 : end]
        self.at = end
        self.skip()
        self._nested(re.sub(r'\\([$`\\"])' if quoted else r"\\([$`\\])", r"\1", inner))
        self._unknown(single=quoted)

    def _dollar(self, *, quoted: bool) -> None:
        """Read what begins with `$`."""
        self.skip()
        char = self.next
        if self.takes("(("):
            self.fixed_arithmetic()
            self._unknown()
        elif char == "(":
            self.skip()
            self._until_paren()
            self._unknown(single=quoted)
        elif char == "{":
            self._unknown(single=self._parameter() and quoted)
        elif char == "[":
            raise UnclearError("an arithmetic expression can run commands")
        elif char == "'" and not quoted:
            self._escaped()
        elif char == '"' and not quoted:
            self._unknown()
            self._quoted()
        elif char and char in _SPECIAL:
            self.skip()
            self._unknown(single=quoted and char != "@")
        elif self._name():
            self._unknown(single=quoted)
        else:
            self._parts.append("$")

    def _name(self) -> str:
        """Read a name, character by character for the sake of line continuations."""
        name = ""
        while self.next and _NAME.fullmatch(name + self.next):
            name += self.next
            self.skip()
        return name

    def fixed_arithmetic(self) -> None:
        """Read an arithmetic expression up to `))`; one that holds a name is not clear."""
        end = self.source.find("))", self.at)
        if not _FIXED.fullmatch(self.source, self.at, end):  # nor when there is no end
            raise UnclearError("an arithmetic expression can run commands")
        self.at = end
        self.skip(2)

    def _parameter(self) -> bool:
        """Read `${...}`; return False when it may become several words even in quotes."""
        self.skip()
        if self.next == "!":
            raise UnclearError("a variable is named by another one")
        if self.next == "#":
            self.skip()
        name = self._name()
        if not name and self.next in _SPECIAL:
            name = self.next
            self.skip()
        single = name != "@"
        if self.next == "[":
            subscript = self._raw("]")
            if not subscript.isdecimal() and subscript not in ("@", "*"):
                raise UnclearError("a subscript can run commands")
            single = subscript != "@"
        if self.takes(":") and self.next not in tuple("-=?+"):
            if not _SLICE.fullmatch(self._raw_until_brace()):
                raise UnclearError("an arithmetic expression can run commands")
        elif self.takes("@") and self.next not in tuple("QEAaUuL"):
            raise UnclearError("a value is read as source")
        self._until_brace()
        return single

    def _raw_until_brace(self) -> str:
        text = self.source[self.at :].partition("}")[0]
        self.at += len(text)
        return text

    def _until_brace(self) -> None:
        """Read the rest of `${...}`: what it holds becomes part of a word that is not known."""
        kept = self._parts, self._single
        while self.next != "}":
            char = self.next
            if not char:
                raise UnclearError("a brace is not closed")
            if char == "'" or self.is_process():  # it depends on where it stands what they mean
                raise UnclearError("a quote stands inside of a variable")
            self._parts, self._single = [], True
            self._piece(char) if char in _IN_BRACES else self.skip()
        self._parts, self._single = kept
        self.skip()

    def _escaped(self) -> None:
        """Read `$'...'`."""
        text = self._raw("'")
        if text.endswith("\\"):  # a quote in the text, or its end: shells do not agree
            raise UnclearError("shells do not read it alike")
        self._parts.append(_ESCAPE.sub(_unescaped, text))


def _merged(parts: list[str | None]) -> tuple[str | None, ...]:
    """Return pieces with those that are known, and stand side by side, made one."""
    found: list[str | None] = []
    for part in parts:
        last = found[-1] if found else None
        if part is not None and last is not None:
            found[-1] = last + part
        else:
            found.append(part)
    return tuple(found)


def _unescaped(match: re.Match[str]) -> str:
    letter, octal, *numbers = match.groups()
    if letter:
        return _ESCAPES[letter]
    value = int(octal, 8) if octal else int(next(filter(None, numbers), "0"), 16)
    # beyond ASCII, bytes and code points differ; a NUL ends the text; a control key is not read
    if not 0 < value < 0x80:
        raise UnclearError("an escape is not known")
    return chr(value)
