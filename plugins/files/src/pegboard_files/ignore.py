"""`.gitignore` files, read where a search comes by. Works outside a git repository too."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pegboard import Sandbox, SandboxError, ToolFailure
from pegboard_files.globs import name_expression, path_expression

FILE_NAME: Final = ".gitignore"
MAX_BYTES: Final = 1 << 20
_MAX_LINE: Final = 500
_SPECIAL: Final = frozenset("*?[\\")


@dataclass(frozen=True, slots=True)
class IgnoreRule:
    """One line of an ignore file.

    Args:
        expression: Matches a path relative to the file's folder, or a name alone.
        anchored: Whether the whole path is matched.
        folders_only: Whether it speaks of folders alone.
        negated: Whether it takes back what an earlier line said.
        name: The one name that it means, or "".
        ending: What names end in that it means, from their last dot on, or "".
    """

    expression: re.Pattern[str]
    anchored: bool
    folders_only: bool
    negated: bool
    name: str = ""
    ending: str = ""


def _any_of(rules: Sequence[IgnoreRule]) -> re.Pattern[str] | None:
    if not rules:
        return None
    return re.compile("|".join(f"(?:{rule.expression.pattern})" for rule in rules))


class RuleSet:
    """The lines of one ignore file, arranged so that a name that none of them means costs little.

    Args:
        rules: The lines, in order.
    """

    __slots__ = ("_endings", "_names", "_rest", "_rules", "_whole")

    def __init__(self, rules: tuple[IgnoreRule, ...]) -> None:
        self._rules = rules
        self._names = frozenset(rule.name for rule in rules if rule.name)
        self._endings = frozenset(rule.ending for rule in rules if rule.ending)
        named = [rule for rule in rules if not (rule.anchored or rule.name or rule.ending)]
        self._rest = _any_of(named)
        self._whole = _any_of([rule for rule in rules if rule.anchored])

    def __bool__(self) -> bool:
        return bool(self._rules)

    def decide(self, name: str, below: str, *, folder: bool) -> bool | None:
        """Return whether a path is ignored, or None when no line speaks of it.

        Args:
            name: Its last component.
            below: The path, relative to the folder of the ignore file.
            folder: Whether it is a folder.
        """
        if not self._may_mean(name, below):
            return None
        for rule in reversed(self._rules):
            if rule.folders_only and not folder:
                continue
            if rule.expression.match(below if rule.anchored else name):
                return not rule.negated
        return None

    def _may_mean(self, name: str, below: str) -> bool:
        return (
            name in self._names
            or (bool(self._endings) and name[name.rfind(".") :] in self._endings)
            or (self._rest is not None and self._rest.match(name) is not None)
            or (self._whole is not None and self._whole.match(below) is not None)
        )


NO_RULES: Final = RuleSet(())


@dataclass(frozen=True, slots=True)
class RuleLevel:
    """An ignore file above what a walk looks at.

    Args:
        rules: Its lines.
        prefix: Where the walk starts, relative to the file's folder; "" or ends in `/`.
        cut: Characters of a path of the walk that lie above the file's folder.
    """

    rules: RuleSet
    prefix: str = ""
    cut: int = 0


def is_ignored(levels: Sequence[RuleLevel], path: str, name: str, *, folder: bool) -> bool:
    """Return what the ignore files say of a path; the deepest that speaks of it counts.

    Args:
        levels: The ignore files, outermost first.
        path: The path, relative to where the walk starts.
        name: Its last component.
        folder: Whether it is a folder.
    """
    for level in reversed(levels):
        answer = level.rules.decide(name, level.prefix + path[level.cut :], folder=folder)
        if answer is not None:
            return answer
    return False


def parse_rules(text: str) -> RuleSet:
    """Return the rules of an ignore file; a line that makes no sense matches nothing."""
    rules = (_parse_rule(line) for line in text.replace("\r\n", "\n").split("\n"))
    return RuleSet(tuple(rule for rule in rules if rule is not None))


def read_rules(data: bytes) -> RuleSet:
    """Return the rules of an ignore file given as bytes, at most `MAX_BYTES` of them."""
    return parse_rules(data.decode("utf-8", "surrogateescape"))


class IgnoreFiles:
    """The ignore files that hold for a search.

    Args:
        sandbox: Where they are read.
        start: Where the search starts. It is never ignored itself; files above it count as far up
            as the workspace.
    """

    def __init__(self, sandbox: Sandbox, start: str) -> None:
        self._sandbox = sandbox
        shown = sandbox.display(sandbox.resolve(start))
        self._start = () if shown == "." else tuple(shown.strip("/").split("/"))
        self._rooted = "/" if shown.startswith("/") else ""
        # outside the workspace only what lies below the start is the search's business
        self._first = len(self._start) if self._rooted else 0
        self._rules: dict[tuple[str, ...], RuleSet] = {}
        self._folders: dict[tuple[str, ...], bool] = {}

    async def above(self) -> tuple[RuleLevel, ...]:
        """Return the files above the start, outermost first."""
        levels: list[RuleLevel] = []
        for length in range(self._first, len(self._start)):
            rules = await self._rules_in(self._start[:length])
            if rules:
                levels.append(RuleLevel(rules, "/".join(self._start[length:]) + "/"))
        return tuple(levels)

    async def covers(self, path: str) -> bool:
        """Return whether a file is ignored, by its own name or because a folder above it is."""
        parts = tuple(path.strip("/").split("/"))
        for length in range(len(self._start) + 1, len(parts)):
            if await self._folder_covered(parts[:length]):
                return True
        return await self._matched(parts, folder=False)

    async def _folder_covered(self, parts: tuple[str, ...]) -> bool:
        known = self._folders.get(parts)
        if known is None:
            known = self._folders[parts] = await self._matched(parts, folder=True)
        return known

    async def _matched(self, parts: tuple[str, ...], *, folder: bool) -> bool:
        for length in range(len(parts) - 1, self._first - 1, -1):
            rules = await self._rules_in(parts[:length])
            if rules:
                answer = rules.decide(parts[-1], "/".join(parts[length:]), folder=folder)
                if answer is not None:
                    return answer
        return False

    async def _rules_in(self, folder: tuple[str, ...]) -> RuleSet:
        known = self._rules.get(folder)
        if known is None:
            known = self._rules[folder] = await self._read(folder)
        return known

    async def _read(self, folder: tuple[str, ...]) -> RuleSet:
        path = self._rooted + "/".join((*folder, FILE_NAME))
        try:
            return read_rules(await self._sandbox.read(path, limit=MAX_BYTES))
        except (SandboxError, OSError):
            return NO_RULES


def _parse_rule(line: str) -> IgnoreRule | None:
    line = _without_trailing_space(line)
    if not line or line.startswith("#") or len(line) > _MAX_LINE:
        return None
    negated = line.startswith("!")
    pattern = line[1:] if negated else line
    folders_only = pattern.endswith("/")
    pattern = pattern.rstrip("/") if folders_only else pattern
    anchored = "/" in pattern
    parts = tuple(part for part in pattern.split("/") if part)
    if not parts:
        return None
    try:
        if anchored:
            expression = re.compile(path_expression(line, parts, escapes=True))
            return IgnoreRule(expression, anchored, folders_only, negated)
        part = parts[0]
        expression = re.compile(rf"(?s:{name_expression(line, part, escapes=True)})\Z")
        name = part if _SPECIAL.isdisjoint(part) else ""
        ending = _ending(part)
        return IgnoreRule(expression, anchored, folders_only, negated, name, ending)
    except ToolFailure:
        return None


def _ending(part: str) -> str:
    """Return `.ext` for `*.ext`, else ""."""
    ending = part[1:]
    plain = part[:1] == "*" and ending[:1] == "." and "." not in ending[1:]
    return ending if plain and _SPECIAL.isdisjoint(ending) else ""


def _without_trailing_space(line: str) -> str:
    stripped = line.rstrip(" ")
    if stripped.endswith("\\") and stripped != line:
        return stripped + " "
    return stripped
