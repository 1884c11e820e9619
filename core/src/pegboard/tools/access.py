"""What one call touches: its effects, and the paths that its arguments name."""

from __future__ import annotations

import os.path
import re
from collections.abc import Mapping
from dataclasses import replace
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
        One entry for each path that an argument names with an effect that this call has, then one
        with an empty resource for each effect that no path stands for.
    """
    if not spec.access:
        return _without_paths(effects)
    named = [
        Access(effect, _absolute(path, workspace), argument)
        for argument, effect in spec.access.items()
        if effect in effects
        for path in _paths(arguments.get(argument), spec.path_patterns.get(argument))
    ]
    covered = frozenset(item.effect for item in named)
    return (*named, *_without_paths(effects - covered))


def followed(access: tuple[Access, ...], workspace: Path) -> tuple[Access, ...]:
    """Return what a call touches with where links lead, so that rules hold for that as well.

    Reads the disk. A link that is changed after this is the sandbox's to judge: it opens nothing
    outside the grants.

    Args:
        access: What the call touches, by name.
        workspace: The folder that relative paths start in.
    """
    if not any(item.resource for item in access):
        return access
    top, real_top = str(workspace), _real(str(workspace))
    return tuple(
        replace(item, leads_to=_leads_to(item.resource, top, real_top)) if item.resource else item
        for item in access
    )


def _leads_to(path: str, top: str, real_top: str) -> str:
    """Return where a path really is; a workspace that is itself behind a link keeps its name."""
    real = _real(path)
    if real_top != top and (real == real_top or real.startswith(f"{real_top}/")):
        real = top + real[len(real_top) :]
    return "" if real == path else real


def _real(path: str) -> str:
    try:
        return os.path.realpath(path)
    except (OSError, ValueError):  # no file can have this name
        return path


@lru_cache(maxsize=256)
def _without_paths(effects: Effects) -> tuple[Access, ...]:
    return tuple(Access(effect, "") for effect in sorted(effects))


def _absolute(path: str, workspace: Path) -> str:
    """Return a path as sandboxes read it: by name alone; `~` is the home folder."""
    if path == "~" or path.startswith("~/"):
        path = os.path.expanduser("~") + path[1:]  # noqa: PTH111 - a name, not a file
    joined = os.path.normpath(os.path.join(workspace, path))  # noqa: PTH118 - as above
    return f"/{joined.lstrip('/')}" if joined.startswith("//") else joined


def _paths(value: Any, pattern: str | None) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,) if pattern is None else tuple(re.findall(pattern, value))
    if isinstance(value, list):
        return tuple(item for item in value if isinstance(item, str))
    return ()
