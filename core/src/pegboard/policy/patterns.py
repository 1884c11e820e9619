"""Patterns of rules: globs, and regular expressions that can't run away.

`re:` patterns are matched by the engine of `jsonschema-rs`, which core has anyway: its time grows
with the length of the text and nothing else. It knows no look-around and no back-references.
"""

from __future__ import annotations

import fnmatch
import posixpath
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from pegboard.contracts.errors import ConfigError

if TYPE_CHECKING:
    from jsonschema_rs import Draft202012Validator

REGEX: Final = "re:"
LONGEST_TEXT: Final = 1_000_000
"""Characters beyond which a text is not looked at: it counts as matched by whatever asks."""
_MOST_UNSURE: Final = 4_000
_LARGEST_REGEX: Final = 1_000_000
"""Bytes that a compiled expression may take."""

Reading = Sequence[str | None]
"""A text in pieces; None = a piece that may be anything."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A glob, or with `re:` a regular expression.

    `could` is for rules that ask or deny: it is True when in doubt. `must` is for rules that allow:
    it is False when in doubt.

    Args:
        text: The pattern as it is written.
    """

    text: str

    def could(self, reading: Reading) -> bool:
        """Tell whether some text that reads like this matches: a regular expression anywhere."""
        known = "".join(piece for piece in reading if piece is not None)
        sure = None not in reading
        if len(known) > (LONGEST_TEXT if sure else _MOST_UNSURE):
            return True
        if self.text.startswith(REGEX):
            return not sure or _searches(self.text, known, whole=False, in_doubt=True)
        if sure:
            return _glob(self.text).match(known) is not None
        return _meets(self.text, reading)

    def must(self, text: str) -> bool:
        """Tell whether a text matches as a whole, also when it names another place by `..`."""
        if len(text) > LONGEST_TEXT:
            return False
        return all(self._whole(spelling) for spelling in spellings(text))

    def _whole(self, text: str) -> bool:
        if self.text.startswith(REGEX):
            return _searches(self.text, text, whole=True, in_doubt=False)
        return _glob(self.text).match(text) is not None


def spellings(text: str) -> Iterable[str]:
    """Return a text, and the place it names when it goes upwards on the way there."""
    if ".." in text.split("/"):
        return (text, posixpath.normpath(text))
    return (text,)


def escaped(text: str) -> str:
    """Return the glob that only this text matches."""
    glob = re.sub(r"([*?[])", r"[\1]", text)
    return f"[{glob[0]}]{glob[1:]}" if glob.startswith(REGEX) else glob


def check_pattern(text: str, where: str) -> None:
    """Refuse what is no pattern.

    Args:
        text: The pattern.
        where: Dotted key of it, for the message.

    Raises:
        ConfigError: When the regular expression is none that this engine knows.
    """
    if not text.startswith(REGEX):
        return
    try:
        _regex(text, whole=False)
        _regex(text, whole=True)
    except ValueError as error:
        raise ConfigError(
            f"{where}: {text!r} is no regular expression of the kind that is known here, which "
            "has no look-around and no back-references, and no very large repetitions",
            fix=f"mend {where} in config.toml, or write a glob (`git push*`)",
            path=where,
        ) from error


@lru_cache(maxsize=512)
def _glob(text: str) -> re.Pattern[str]:
    return re.compile(fnmatch.translate(text))


@lru_cache(maxsize=512)
def _regex(text: str, *, whole: bool) -> Draft202012Validator:
    import jsonschema_rs

    source = text.removeprefix(REGEX)
    options = jsonschema_rs.RegexOptions(size_limit=_LARGEST_REGEX, dfa_size_limit=_LARGEST_REGEX)
    schema: dict[str, Any] = {"pattern": f"^(?:{source})$" if whole else source}
    return jsonschema_rs.Draft202012Validator(schema, pattern_options=options)


def _searches(text: str, value: str, *, whole: bool, in_doubt: bool) -> bool:
    try:
        return _regex(text, whole=whole).is_valid(value)
    except ValueError:  # half of a surrogate pair, which is no text to this engine
        return in_doubt


_ANY: Final = "*"
_ONE: Final = "?"


@lru_cache(maxsize=512)
def _tokens(glob: str) -> tuple[str, ...]:
    """Return a glob character by character; a set counts as any character."""
    found = []
    at = 0
    while at < len(glob):
        closing = glob.find("]", at + 2 + glob.startswith("!", at + 1)) if glob[at] == "[" else -1
        if closing != -1:
            found.append(_ONE)
            at = closing + 1
            continue
        char = glob[at]
        found.append(char if char in (_ANY, _ONE) else f"={char}")
        at += 1
    return tuple(found)


def _meets(glob: str, reading: Reading) -> bool:
    """Tell whether a glob matches some text that reads like this."""
    tokens = _tokens(glob)
    states = _reach(tokens, {0})
    for piece in reading:
        if piece is None:
            states = set(range(min(states), len(tokens) + 1)) if states else states
            continue
        for char in piece:
            after = {at for at in states if at < len(tokens) and tokens[at] == _ANY}
            after |= {
                at + 1 for at in states if at < len(tokens) and tokens[at] in (_ONE, f"={char}")
            }
            states = _reach(tokens, after)
    return len(tokens) in states


def _reach(tokens: tuple[str, ...], states: set[int]) -> set[int]:
    """Return states, and those behind a `*`, which may stand for nothing."""
    found = set(states)
    for at in states:
        while at < len(tokens) and tokens[at] == _ANY:
            at += 1
            found.add(at)
    return found
