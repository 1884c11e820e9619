"""What the names of a wheel's files say about where they go, and what they do there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath
from typing import Final

STARTUP_MODULES: Final = ("sitecustomize.py", "usercustomize.py")
_SITES: Final = frozenset({"site-packages", "dist-packages"})


def place(name: str) -> str:
    """Return where a file of a wheel is installed among the packages, or "" when it is not."""
    parts = PurePosixPath(name).parts
    if name.endswith("/") or not parts:
        return ""
    if not parts[0].endswith(".data"):
        return name
    return "/".join(parts[2:]) if parts[1] in ("purelib", "platlib") else ""


def overwriting(names: Iterable[str]) -> Iterator[str]:
    """Yield what is wrong with files that replace others as they are installed."""
    seen: set[str] = set()
    for name in names:
        installed = place(name)
        if installed and installed in seen:
            yield f"{installed} is there twice, and the last one counts"
        seen.add(installed)
        parts = PurePosixPath(name).parts
        if parts and parts[0].endswith(".data") and _SITES.intersection(parts):
            yield f"{name} is written among the packages, past the rest of the wheel"


def runs_at_start(name: str) -> bool:
    """Say whether the code of an installed file runs whenever Python starts."""
    file = PurePosixPath(name)
    return file.suffix == ".pth" or (file.name in STARTUP_MODULES and len(file.parts) <= 3)


def is_script(name: str) -> bool:
    """Say whether a file of a wheel becomes a command."""
    parts = PurePosixPath(name).parts
    return len(parts) == 3 and parts[0].endswith(".data") and parts[1] == "scripts"


def packages(names: Iterable[str]) -> Iterator[str]:
    """Yield the top-level modules that files belong to, each as often as it has files."""
    for name in names:
        parts = PurePosixPath(name).parts
        if parts[0].endswith(".data"):
            parts = parts[2:] if len(parts) > 2 and parts[1] in ("purelib", "platlib") else ()
        if parts and not parts[0].endswith((".dist-info", ".egg-info")) and parts[0] != "..":
            top = parts[0]
            if len(parts) > 1 or top.endswith(".py"):
                yield top.removesuffix(".py")
