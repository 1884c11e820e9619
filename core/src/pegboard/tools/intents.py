"""Phrases of plain language that mean one call, for providers without a model.

A pattern is words with `(a|b)` for a choice, `[x]` for what may be left out, and `{argument:type}`
for a capture.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple

from pegboard.contracts.errors import BuildError
from pegboard.contracts.tool import Intent

MAX_TEXT: Final = 2_000
_PAIRS: Final = ('""', "''", "``", "\u201c\u201d", "\u2018\u2019", "\xab\xbb")
_MARKS: Final = "".join(_PAIRS)
_QUOTED: Final = "|".join(rf"{left}[^{left}{right}]+{right}" for left, right in _PAIRS)
_BARE: Final = rf"[^\s{_MARKS}]*[^\s{_MARKS}.,;:!?]"
_CAPTURES: Final[Mapping[str, str]] = {
    "path": rf"(?:{_QUOTED}|\.{{1,2}}(?=\s|$)|{_BARE})",
    "glob": rf"(?:{_QUOTED}|(?=\S*[*?\[]){_BARE}|\S*[*?\]])",
    "quoted": rf"(?:{_QUOTED})",
    "url": r"https?://[^\s\"'`<>]*[^\s\"'`<>.,;:!?)]",
    "command": r"`[^`]+`",
    "word": r"\w[\w-]*",
    "number": r"-?\d+(?:\.\d+)?",
    "rest": r"(?s:\S.*)",
}
_COURTESY: Final = r"(?:(?:please|kindly|can you|could you|would you|will you|now)[\s,]+)*"
_TAIL: Final = r"(?:[\s,]+(?:please|for me|now|thanks|thank you))*\s*[.!?]*"
# fmt: off
_NOT_PATHS: Final = frozenset({
    "me", "us", "it", "this", "that", "them", "these", "those", "the", "a", "an", "all",
    "any", "some", "everything", "something", "anything", "what", "which", "who", "how",
    "why", "when", "where", "there", "here", "file", "files", "folder", "folders", "directory",
})
# fmt: on
_TOKEN: Final = re.compile(r"\{([a-z_][a-z0-9_]*):([a-z]+)\}|[()\[\]|]|\s+|[^\s()\[\]{}|]+|.", re.I)


class CompiledIntent(NamedTuple):
    """A pattern ready to be matched; `types` names the type of each captured argument."""

    expression: re.Pattern[str]
    types: Mapping[str, str]


def match_intent(intent: Intent, text: str) -> dict[str, Any] | None:
    """Return the arguments that `text` gives when it is the intent's phrase, or None.

    The whole text must be the phrase; case, spacing, courtesy ("please") and the final mark do not
    matter.

    Args:
        intent: Pattern and fixed arguments, as a manifest holds them.
        text: One request in plain language.
    """
    if len(text) > MAX_TEXT:
        return None
    compiled = compile_intent(intent.pattern)
    found = compiled.expression.fullmatch(text.strip())
    if found is None:
        return None
    arguments: dict[str, Any] = {}
    for name, value in found.groupdict().items():
        if value is None:
            continue
        kind = compiled.types[name]
        if kind == "path" and value.lower() in _NOT_PATHS:
            return None
        arguments[name] = _CONVERT.get(kind, str.strip)(value)
    return {**arguments, **intent.arguments}


@lru_cache(maxsize=2_048)
def compile_intent(pattern: str) -> CompiledIntent:
    """Return a pattern ready to be matched.

    Raises:
        BuildError: When the pattern is not well formed; the message shows where.
    """
    return _Parser(pattern).compiled()


def _unquoted(value: str) -> str:
    value = value.strip()
    if len(value) > 1 and value[0] in _MARKS and value[-1] in _MARKS:
        return value[1:-1]
    return value


def _number(value: str) -> int | float:
    return float(value) if "." in value else int(value)


_CONVERT: Final[Mapping[str, Callable[[str], Any]]] = {
    "path": _unquoted,
    "glob": _unquoted,
    "quoted": _unquoted,
    "command": _unquoted,
    "number": _number,
}


class _Item(NamedTuple):
    """One part of a sequence, as a regular expression."""

    expression: str
    optional: bool
    spaced: bool


class _Parser:
    """Turns a pattern into a regular expression, one token after the other."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._tokens = list(_TOKEN.finditer(pattern.strip()))
        self._place = 0
        self._types: dict[str, str] = {}

    def compiled(self) -> CompiledIntent:
        body, mandatory = self._choices("")
        if not mandatory:
            raise self._wrong("it needs at least one word that can't be left out")
        expression = re.compile(rf"{_COURTESY}(?:{body}){_TAIL}", re.IGNORECASE)
        return CompiledIntent(expression, self._types)

    def _choices(self, closing: str) -> tuple[str, bool]:
        """Read alternatives up to `closing`; tell also whether each has something mandatory."""
        choices: list[list[_Item]] = [[]]
        spaced = False
        while (text := self._next()) != closing:
            if not text:
                raise self._wrong(f"{closing!r} is missing")
            if text == "|" and closing:
                choices.append([])
            elif text.isspace():
                spaced = True
                continue
            else:
                choices[-1].append(self._item(text, spaced))
            spaced = False
        mandatory = all(any(not item.optional for item in items) for items in choices)
        return "|".join(map(_sequence, choices)), mandatory

    def _item(self, text: str, spaced: bool) -> _Item:
        if text == "(":
            return _Item(f"(?:{self._choices(')')[0]})", False, spaced)
        if text == "[":
            return _Item(f"(?:{self._choices(']')[0]})", True, spaced)
        if text[0] == "{":
            return _Item(self._capture(), False, spaced)
        if text in (")", "]", "|", "}"):
            raise self._wrong(f"{text!r} has no counterpart")
        return _Item(re.escape(text).replace("'", "['\u2019]"), False, spaced)

    def _capture(self) -> str:
        name, kind = self._tokens[self._place - 1].groups()
        if name is None:
            raise self._wrong("a capture is written {argument:type}")
        if kind not in _CAPTURES:
            raise self._wrong(f"{kind!r} is no type; types are: {', '.join(_CAPTURES)}")
        if name in self._types:
            raise self._wrong(f"{name!r} is captured twice")
        self._types[name] = kind
        return f"(?P<{name}>{_CAPTURES[kind]})"

    def _next(self) -> str:
        self._place += 1
        found = self._tokens[self._place - 1 : self._place]
        return found[0].group() if found else ""

    def _wrong(self, what: str) -> BuildError:
        return BuildError(f"the intent pattern {self._pattern!r} is not well formed: {what}")


def _sequence(items: list[_Item]) -> str:
    """Join items so that exactly those which are present are divided by spaces."""
    first = next((place for place, item in enumerate(items) if not item.optional), len(items))
    parts = []
    for place, item in enumerate(items):
        if place < first:  # optional and in front: it brings the space that follows it
            gap = r"\s+" if place + 1 < len(items) and items[place + 1].spaced else ""
            parts.append(f"(?:{item.expression}{gap})?")
            continue
        gap = r"\s+" if item.spaced and place > first else ""
        parts.append(f"(?:{gap}{item.expression})?" if item.optional else gap + item.expression)
    return "".join(parts)
