"""What one call touches: its effects, and the paths that its arguments name."""

from __future__ import annotations

import os.path
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from pegboard.contracts.effects import Access, Effects
from pegboard.contracts.tool import ToolSpec


def call_access(
    spec: ToolSpec, arguments: Mapping[str, Any], effects: Effects, workspace: Path
) -> tuple[Access, ...]:
    """Return what a call touches.

    Args:
        spec: The tool's statement.
        arguments: Validated arguments.
        effects: Effects of this call.
        workspace: The folder that relative paths start in.

    Returns:
        One entry for each path that an argument names, then one with an empty resource for each
        effect that no path stands for.
    """
    if not spec.access:
        return _without_paths(effects)
    named = [
        Access(effect, os.path.normpath(os.path.join(workspace, os.path.expanduser(path))))  # noqa: PTH111, PTH118 - names, not files
        for argument, effect in spec.access.items()
        for path in _paths(arguments.get(argument))
    ]
    covered = frozenset(item.effect for item in named)
    return (*named, *_without_paths(effects - covered))


@lru_cache(maxsize=256)
def _without_paths(effects: Effects) -> tuple[Access, ...]:
    return tuple(Access(effect, "") for effect in sorted(effects))


def _paths(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,)
    if isinstance(value, list):
        return tuple(item for item in value if isinstance(item, str))
    return ()
