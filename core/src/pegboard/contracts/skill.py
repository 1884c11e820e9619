"""Instructions that an agent can load, kept in folders."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillInfo:
    """What the catalogue shows of a skill.

    Args:
        name: Unique within its source.
        description: When to use it, in one line.
        folder: The folder that holds `SKILL.md`, or None when it is not on this disk.
        allowed_tools: Tools it may use; None = no narrowing, empty = none.
    """

    name: str
    description: str
    folder: Path | None = None
    allowed_tools: tuple[str, ...] | None = None


@runtime_checkable
class SkillSource(Protocol):
    """A place where skills are found."""

    async def skills(self) -> list[SkillInfo]:
        """Return the skills of this source, sorted by name."""
        ...

    async def read(self, name: str, file: str = "SKILL.md") -> str:
        """Return the text of a skill's file.

        Raises:
            KeyError: When there is no such skill or file; a path that leaves the folder is no file.
        """
        ...
