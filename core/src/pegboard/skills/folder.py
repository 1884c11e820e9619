"""Skills in a folder: every folder below it that holds a `SKILL.md`."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from anyio import to_thread

from pegboard.contracts.skill import SkillInfo
from pegboard.skills.front_matter import Value, parse_skill
from pegboard.skills.regular_file import read_regular

MAX_DEPTH: Final = 6
MAX_FOLDERS: Final = 2000
MAX_BYTES: Final = 1024 * 1024
_SKIPPED: Final = frozenset({".git", ".hg", ".venv", "node_modules", "__pycache__"})
_FILE: Final = "skill.md"
_TOOL: Final = re.compile(r"[^\s,(]+(?:\([^)]*\))?")
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Scan:
    skills: tuple[SkillInfo, ...]
    problems: tuple[str, ...]


class FolderSkills:
    """A `SkillSource` over a folder.

    Skills may lie several folders deep, also below another skill. Links that lead out of the folder
    are not followed.

    Args:
        folder: The folder; it need not exist yet.

    Attributes:
        problems: After `skills`, a sentence for each file that was left out or read only in part.
    """

    def __init__(self, folder: Path) -> None:
        self.problems: tuple[str, ...] = ()
        self._folder = folder

    async def skills(self) -> list[SkillInfo]:
        """Return the skills, sorted by name."""
        scan = await to_thread.run_sync(_scan, self._folder)
        for problem in scan.problems:
            if problem not in self.problems:
                _log.warning("%s", problem)
        self.problems = scan.problems
        return list(scan.skills)

    async def read(self, name: str, file: str = "SKILL.md") -> str:
        """Return the text of a skill's file.

        Raises:
            KeyError: When there is no such skill or file; a path that leaves the folder is no file.
        """
        found = next((skill for skill in await self.skills() if skill.name == name), None)
        if found is None or found.folder is None:
            raise KeyError(f"there is no skill {name!r}")
        text = await to_thread.run_sync(_read_file, found.folder, file)
        if text is None:
            raise KeyError(f"the skill {name!r} has no file {file!r}")
        return text


def _scan(root: Path) -> _Scan:
    skills: dict[str, SkillInfo] = {}
    problems: list[str] = []
    for file in _skill_files(root, problems):
        skill = _skill(file, problems)
        if skill is None:
            continue
        first = skills.setdefault(skill.name, skill)
        if first is not skill:
            problems.append(
                f"{file}: the name {skill.name!r} is taken by {first.folder}, which counts"
            )
    return _Scan(tuple(sorted(skills.values(), key=lambda skill: skill.name)), tuple(problems))


def _skill_files(root: Path, problems: list[str]) -> Iterator[Path]:
    """Yield the skill files below `root`, a folder's own before those of its folders."""
    real_root = root.resolve()
    waiting, visited = [(real_root, 0)], set[Path]()
    while waiting:
        folder, depth = waiting.pop()
        if folder in visited:
            continue
        visited.add(folder)
        if len(visited) > MAX_FOLDERS:
            problems.append(f"{root}: more than {MAX_FOLDERS} folders; the rest was not looked at")
            return
        try:
            entries = sorted(folder.iterdir())
        except OSError:
            continue
        yield from (entry for entry in entries if entry.name.lower() == _FILE)
        if depth < MAX_DEPTH:
            inner = [entry.resolve() for entry in entries if _is_searched(entry, real_root)]
            waiting.extend((entry, depth + 1) for entry in reversed(inner))


def _is_searched(entry: Path, root: Path) -> bool:
    return entry.name not in _SKIPPED and entry.is_dir() and entry.resolve().is_relative_to(root)


def _skill(file: Path, problems: list[str]) -> SkillInfo | None:
    text = _read_inside(file.parent, file.name)
    if text is None:
        problems.append(f"{file}: it can't be read")
        return None
    parsed = parse_skill(text)
    description = _line(parsed.front.get("description"))
    problems.extend(f"{file}: {problem}" for problem in parsed.problems)
    if not description:
        problems.append(f"{file}: it has no description, so the skill is left out")
        return None
    return SkillInfo(
        name=_line(parsed.front.get("name")) or file.parent.name,
        description=description,
        folder=file.parent,
        allowed_tools=_tools(parsed.front),
    )


def _line(value: Value | None) -> str:
    """Return a value as one line: a line end could forge an entry of the catalogue."""
    return " ".join(value.split()) if isinstance(value, str) else ""


def _tools(front: Mapping[str, Value]) -> tuple[str, ...] | None:
    value = front.get("allowed-tools", front.get("allowed_tools"))
    if value is None:
        return None
    if isinstance(value, str):
        return tuple(_TOOL.findall(value))
    # a table is no list of tools, and what is given but not understood allows nothing
    return tuple(value) if isinstance(value, list) else ()


def _read_file(folder: Path, file: str) -> str | None:
    text = _read_inside(folder, file)
    if text is None and file.lower() == _FILE:
        with suppress(OSError):  # it went since it was found
            own = next((entry for entry in folder.iterdir() if entry.name.lower() == _FILE), None)
            return _read_inside(folder, own.name) if own else None
    return text


def _read_inside(folder: Path, file: str) -> str | None:
    """Return the text of a regular file inside `folder`, or None."""
    root = folder.resolve()
    try:
        real = (root / file).resolve(strict=True)
        if not real.is_relative_to(root):
            return None
        data, size = read_regular(real, MAX_BYTES)
    except (OSError, RuntimeError, ValueError):
        return None
    text = data.decode("utf-8", "replace")
    return text if size <= len(data) else f"{text}\n[cut here: longer than {MAX_BYTES} bytes]"
