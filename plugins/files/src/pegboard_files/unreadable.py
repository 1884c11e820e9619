"""Folders that the system does not let this user look into: a search says which it passed over."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from pegboard import Sandbox
from pegboard_files.names import plural, shown
from pegboard_files.open_folders import OpenFolders

MOST_KEPT: Final = 100
_NAMED: Final = 3


class UnreadableFolders:
    """Collects them while a search runs.

    Args:
        sandbox: Where it looks.
        left_out: Match the paths that are left out, as they are given to `add`.
    """

    def __init__(self, sandbox: Sandbox, left_out: Sequence[re.Pattern[str]] = ()) -> None:
        self._sandbox = sandbox
        self._left_out = tuple(left_out)
        self._paths: dict[str, None] = {}

    def add(self, path: str) -> None:
        """Note a folder; of very many the first ones will do."""
        left_out = any(pattern.match(path) for pattern in self._left_out)
        if len(self._paths) < MOST_KEPT and not left_out:
            self._paths[path] = None

    def paths(self) -> tuple[str, ...]:
        """Return them, sorted; one that the sandbox closes is never told."""
        folders = OpenFolders(self._sandbox)
        return tuple(sorted(path for path in self._paths if folders.is_open(path)))


def unreadable_note(paths: Sequence[str]) -> list[str]:
    """Return the note about folders, or nothing when there are none."""
    if not paths:
        return []
    named = ", ".join(shown(path) for path in paths[:_NAMED])
    rest = f" and {len(paths) - _NAMED} more" if len(paths) > _NAMED else ""
    return [f"{plural(len(paths), 'folder')} could not be read (permissions): {named}{rest}"]
