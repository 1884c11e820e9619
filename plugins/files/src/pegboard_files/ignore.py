"""`.gitignore` files, read where a search comes by. Works outside a git repository too."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from pegboard import Sandbox, SandboxError, ToolFailure
from pegboard_files.globs import name_expression, path_expression

FILE_NAME: Final = ".gitignore"
_MAX_BYTES: Final = 1 << 20
_MAX_LINE: Final = 500


@dataclass(frozen=True, slots=True)
class IgnoreRule:
    """One line of an ignore file.

    Args:
        expression: Matches a path relative to the file's folder, or a name alone.
        anchored: Whether the whole path is matched.
        folders_only: Whether it speaks of folders alone.
        negated: Whether it takes back what an earlier line said.
    """

    expression: re.Pattern[str]
    anchored: bool
    folders_only: bool
    negated: bool


def parse_rules(text: str) -> tuple[IgnoreRule, ...]:
    """Return the rules of an ignore file; a line that makes no sense matches nothing."""
    rules = (_parse_rule(line) for line in text.replace("\r\n", "\n").split("\n"))
    return tuple(rule for rule in rules if rule is not None)


class IgnoreFiles:
    """The ignore files that hold for a search.

    Args:
        sandbox: Where they are read.
        start: Where the search starts; files above it count as far up as the workspace.
    """

    def __init__(self, sandbox: Sandbox, start: str) -> None:
        self._sandbox = sandbox
        shown = sandbox.display(sandbox.resolve(start))
        # outside the workspace only what lies below the start is the search's business
        self._above = tuple(shown.strip("/").split("/")) if shown.startswith("/") else ()
        self._rules: dict[tuple[str, ...], tuple[IgnoreRule, ...]] = {}
        self._folders: dict[tuple[str, ...], bool] = {}

    async def covers(self, path: str) -> bool:
        """Return whether a file is ignored, by its own name or because a folder above it is."""
        parts = tuple(path.strip("/").split("/"))
        for length in range(len(self._above) + 1, len(parts)):
            if await self._folder_covered(parts[:length]):
                return True
        return await self._matched(parts, folder=False)

    async def _folder_covered(self, parts: tuple[str, ...]) -> bool:
        known = self._folders.get(parts)
        if known is None:
            known = self._folders[parts] = await self._matched(parts, folder=True)
        return known

    async def _matched(self, parts: tuple[str, ...], *, folder: bool) -> bool:
        """Return what the last rule that matches says; files deeper down come later."""
        ignored = False
        for length in range(len(self._above), len(parts)):
            below = "/".join(parts[length:])
            for rule in await self._rules_in(parts[:length]):
                if rule.folders_only and not folder:
                    continue
                if rule.expression.match(below if rule.anchored else parts[-1]):
                    ignored = not rule.negated
        return ignored

    async def _rules_in(self, folder: tuple[str, ...]) -> tuple[IgnoreRule, ...]:
        known = self._rules.get(folder)
        if known is None:
            known = self._rules[folder] = await self._read(folder)
        return known

    async def _read(self, folder: tuple[str, ...]) -> tuple[IgnoreRule, ...]:
        rooted = "/" if self._above else ""
        path = rooted + "/".join((*folder, FILE_NAME))
        try:
            data = await self._sandbox.read(path, limit=_MAX_BYTES)
        except (SandboxError, OSError):
            return ()
        return parse_rules(data.decode("utf-8", "surrogateescape"))


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
            expression = path_expression(line, parts, escapes=True)
        else:
            expression = rf"(?s:{name_expression(line, parts[0], escapes=True)})\Z"
        return IgnoreRule(re.compile(expression), anchored, folders_only, negated)
    except ToolFailure:
        return None


def _without_trailing_space(line: str) -> str:
    stripped = line.rstrip(" ")
    if stripped.endswith("\\") and stripped != line:
        return stripped + " "
    return stripped
