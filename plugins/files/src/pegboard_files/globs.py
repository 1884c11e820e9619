"""File name patterns, compiled to expressions that can't run away.

`*` and `?` stay within one name, `[abc]` is one character, `**` as a whole component crosses
folders, `{a,b}` is a choice. Each star is matched in an atomic group, so the time is bounded by the
length of pattern times path whatever the pattern is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from pegboard import ToolFailure

MAX_PATTERN: Final = 1000
MAX_CHOICES: Final = 1000
_ANY: Final = "[^/]"
_FOLDERS: Final = "(?:[^/]+/)*"
_MAGIC: Final = re.compile(r"[*?\[{]")
_SIMPLE: Final = re.compile(r"[\w.*?+=@ -]+", re.ASCII)
_PATTERN: Final = re.compile(r"[*?]|\A!")
_SPECIAL: Final = re.compile(r"[*?\[]")


@dataclass(frozen=True, slots=True)
class Glob:
    """One pattern without choices.

    Args:
        parts: Its components.
        expression: Matches whole paths relative to where the search starts.
        ignore_case: Whether letter case does not matter.
    """

    parts: tuple[str, ...]
    expression: re.Pattern[str]
    ignore_case: bool = False

    @property
    def walks(self) -> bool:
        """Whether all that is below the fixed components has to be looked at."""
        return self.ignore_case or "**" in self.parts

    @property
    def fixed(self) -> tuple[str, ...]:
        """The leading components that are plain names; the last component is never one of them."""
        if self.ignore_case:
            return ()
        for index, part in enumerate(self.parts[:-1]):
            if _SPECIAL.search(part):
                return self.parts[:index]
        return self.parts[:-1]


def is_glob(text: str) -> bool:
    """Return whether a text is a pattern, not a plain path."""
    return _MAGIC.search(text) is not None


def compile_globs(pattern: str, *, ignore_case: bool = False) -> list[Glob]:
    """Return the patterns that `pattern` stands for, its choices written out.

    Args:
        pattern: The pattern.
        ignore_case: Let letter case not matter.

    Raises:
        ToolFailure: When it is empty, absolute, leaves the folder, or is malformed.
    """
    _check(pattern)
    found: dict[tuple[str, ...], Glob] = {}
    for plain in choices(pattern):
        parts = tuple(part for part in plain.split("/") if part not in ("", "."))
        _check_parts(pattern, plain, parts)
        if parts not in found:
            expression = path_expression(pattern, parts)
            expression = f"(?i:{expression})" if ignore_case else expression
            found[parts] = Glob(parts, re.compile(expression), ignore_case)
    return list(found.values())


def compile_filter(pattern: str) -> re.Pattern[str]:
    """Return an expression for a filter: without a slash it is matched against names anywhere.

    Raises:
        ToolFailure: When the pattern is bad.
    """
    whole = pattern if "/" in pattern.strip("/") else f"**/{pattern}"
    return re.compile("|".join(f"(?:{glob.expression.pattern})" for glob in compile_globs(whole)))


def filters(text: str) -> tuple[list[str], list[str]]:
    """Return the patterns of a filter, and those behind a `!`, whose files are left out.

    Several are separated by commas, or by spaces where each of them is clearly a pattern.
    """
    pieces = [piece.strip() for piece in _between_commas(text) if piece.strip()] or [text]
    spaced = [word for piece in pieces for word in piece.split()]
    if all(_PATTERN.search(word) for word in spaced):
        pieces = spaced
    found: tuple[list[str], list[str]] = ([], [])
    for piece in pieces:
        found[piece.startswith("!")].append(piece.removeprefix("!"))
    return found


def compile_left_out(pattern: str) -> re.Pattern[str]:
    """Return an expression for what a filter leaves out: as it matches, and all that is below.

    Raises:
        ToolFailure: When the pattern is bad.
    """
    place = pattern.removesuffix("/**").rstrip("/")
    whole = place if "/" in place else f"**/{place}"
    return re.compile("|".join(compile_filter(one).pattern for one in (whole, f"{whole}/**")))


def plain_names(pattern: str) -> tuple[str, ...]:
    """Return patterns that every name has whose path a filter lets through; none = any name.

    They hold only stars and question marks, which mean the same to everybody.
    """
    names = {plain.rpartition("/")[2] for plain in choices(pattern)}
    known = all(name and name != "**" and _SIMPLE.fullmatch(name) for name in names)
    return tuple(sorted(names)) if known else ()


def choices(pattern: str) -> list[str]:
    """Return what `{a,b}` stands for, nested ones too. Braces without a comma are plain text.

    Raises:
        ToolFailure: When a brace is not closed, or there are too many choices.
    """
    done: list[str] = []
    pending = [pattern]
    while pending:
        text = pending.pop()
        group = _first_group(pattern, text)
        if group is None:
            done.append(text)
        else:
            start, stop, options = group
            pending.extend(f"{text[:start]}{option}{text[stop:]}" for option in reversed(options))
        if len(done) + len(pending) > MAX_CHOICES:
            raise bad(pattern, f"it stands for more than {MAX_CHOICES} patterns")
    return done


def _between_commas(text: str) -> list[str]:
    """Return what commas separate that are in no choice and in no bracket."""
    pieces: list[str] = []
    start = at = depth = 0
    while at < len(text):
        if text[at] == "[":
            at = _after_bracket(text, at)
            continue
        depth += (text[at] == "{") - (text[at] == "}")
        if text[at] == "," and depth <= 0:
            pieces.append(text[start:at])
            start = at + 1
        at += 1
    return [*pieces, text[start:]]


def path_expression(pattern: str, parts: tuple[str, ...], *, escapes: bool = False) -> str:
    r"""Return the expression of a whole path.

    Args:
        pattern: The whole pattern, for messages.
        parts: Its components.
        escapes: Whether `\*` is a plain star.

    Raises:
        ToolFailure: When a component is malformed.
    """
    groups: list[list[str]] = [[]]
    for part in parts:
        if part == "**":
            groups.append([])
        else:
            groups[-1].append(name_expression(pattern, part, escapes=escapes))
    if len(groups) == 1:
        return rf"(?s:{'/'.join(groups[0])})\Z"
    first = "".join(f"{name}/" for name in groups[0])
    middle = "".join(
        f"(?>{_FOLDERS}?{''.join(f'{name}/' for name in group)})" for group in groups[1:-1] if group
    )
    last = f"{_FOLDERS}{'/'.join(groups[-1])}" if groups[-1] else ".+"
    return rf"(?s:{first}{middle}{last})\Z"


def name_expression(pattern: str, part: str, *, escapes: bool = False) -> str:
    r"""Return the expression of one component.

    Args:
        pattern: The whole pattern, for messages.
        part: The component.
        escapes: Whether `\*` is a plain star.

    Raises:
        ToolFailure: When a bracket is not closed, or a range goes backwards.
    """
    chunks: list[str] = [""]
    at = 0
    while at < len(part):
        character = part[at]
        at += 1
        if character == "*":
            if len(chunks) == 1 or chunks[-1]:
                chunks.append("")
        elif character == "?":
            chunks[-1] += _ANY
        elif character == "[":
            piece, at = _bracket(pattern, part, at)
            chunks[-1] += piece
        elif character == "\\" and escapes and at < len(part):
            chunks[-1] += re.escape(part[at])
            at += 1
        else:
            chunks[-1] += re.escape(character)
    if len(chunks) == 1:
        return chunks[0]
    middle = "".join(f"(?>{_ANY}*?{chunk})" for chunk in chunks[1:-1])
    return f"{chunks[0]}{middle}{_ANY}*{chunks[-1]}"


def bad(pattern: str, why: str) -> ToolFailure:
    """Return the failure for a pattern that makes no sense."""
    return ToolFailure(
        f"The pattern {pattern[:80]!r} can't be used: {why}.",
        fix="Patterns are like `src/**/*.py` or `*.{md,txt}`, relative to `path`.",
        code="invalid_pattern",
    )


def _check(pattern: str) -> None:
    if len(pattern) > MAX_PATTERN:
        raise bad(pattern, f"it is longer than {MAX_PATTERN} characters")
    if "\0" in pattern:
        raise bad(pattern, "it contains a NUL byte")
    if "\\" in pattern:
        raise bad(pattern, "it contains a backslash; folders are separated by /, `[*]` is a star")


def _check_parts(pattern: str, plain: str, parts: tuple[str, ...]) -> None:
    if plain.startswith("/"):
        raise bad(pattern, "it is absolute; name the folder in `path`")
    if plain == "~" or plain.startswith("~/"):
        raise bad(pattern, "it starts in the home folder; name the folder in `path`")
    if ".." in parts:
        raise bad(pattern, "it contains `..`; name the folder in `path`")
    if not parts:
        raise bad(pattern, "it is empty")
    if plain.endswith("/"):
        raise bad(pattern, "it ends in /, but only files are found; use list_dir for folders")


def _first_group(pattern: str, text: str) -> tuple[int, int, list[str]] | None:
    """Return start, end and options of the first choice in a text."""
    at = 0
    while (start := _next_brace(text, at)) >= 0:
        depth, commas, stop = 0, [], -1
        inside = start
        while inside < len(text):
            character = text[inside]
            if character == "[":
                inside = _after_bracket(text, inside)
                continue
            if character == "{":
                depth += 1
            elif character == "}":
                depth -= 1
                if not depth:
                    stop = inside
                    break
            elif character == "," and depth == 1:
                commas.append(inside)
            inside += 1
        if stop < 0:
            raise bad(pattern, "a { is not closed")
        if commas:
            edges = [start, *commas, stop]
            options = [text[a + 1 : b] for a, b in pairwise(edges)]
            return start, stop + 1, options
        at = start + 1
    return None


def _next_brace(text: str, at: int) -> int:
    while at < len(text):
        if text[at] == "{":
            return at
        at = _after_bracket(text, at) if text[at] == "[" else at + 1
    return -1


def _after_bracket(text: str, at: int) -> int:
    """Return the index behind the bracket that starts at `at`, or behind `[` when it is open."""
    stop = _closing(text, at + 1)
    return at + 1 if stop < 0 else stop + 1


def _closing(text: str, at: int) -> int:
    """Return the index of the `]` that closes a bracket whose content starts at `at`, or -1."""
    if text[at : at + 1] in ("!", "^"):
        at += 1
    return text.find("]", at + 1)


def _bracket(pattern: str, part: str, at: int) -> tuple[str, int]:
    stop = _closing(part, at)
    if stop < 0:
        raise bad(pattern, "a [ is not closed")
    inside = part[at:stop]
    negated = inside[:1] in ("!", "^")
    members = inside[1:] if negated else inside
    escaped = "".join(f"\\{c}" if c in "\\[]^&~|" else c for c in members)
    expression = f"(?!/)[{'^' if negated else ''}{escaped}]"
    try:
        re.compile(expression)
    except re.error:
        raise bad(pattern, f"[{inside}] is no set of characters") from None
    return expression, stop + 1
