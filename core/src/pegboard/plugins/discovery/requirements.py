"""What a distribution requires here: the lines of its METADATA that apply, and what is missing."""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Iterable, Iterator
from typing import Final

from pegboard.plugins.discovery.dist_info import normalized
from pegboard.plugins.discovery.versions import Requirement, read_requirement, satisfies

_PYTHON_MARKER: Final = r"python_version\s*(<=|>=|==|!=|<|>)\s*[\"']([\d.]+)[\"']\Z"


def applies(marker: str) -> bool:
    """Say whether a condition holds; one that can't be judged here does not."""
    match = re.match(_PYTHON_MARKER, marker)
    if match is None:
        return not marker
    version = ".".join(str(part) for part in sys.version_info[:2])
    return satisfies(version, f"{match[1]}{match[2]}")


def applying(requires: Iterable[str]) -> Iterator[Requirement]:
    """Yield the `Requires-Dist` lines that can be read and apply here."""
    for line in requires:
        try:
            requirement = read_requirement(line)
        except ValueError:
            continue
        if applies(requirement.marker):
            yield requirement


def missing(requires: Iterable[str], installed: Collection[str]) -> tuple[Requirement, ...]:
    """Return the requirements of which no distribution is installed, of whatever version.

    Args:
        requires: `Requires-Dist` lines.
        installed: Normalised names of what is installed.
    """
    return tuple(item for item in applying(requires) if normalized(item.name) not in installed)
