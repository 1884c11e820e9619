"""Find installed plugins by reading the files that pip wrote, without importlib.metadata.

Importing that module costs more than looking through two hundred distributions. What is found here
equals what it finds (a test compares them on generated trees), with two differences: a broken
distribution is reported instead of raising, and of two copies in one folder the choice does not
depend on the order in which the file system lists them.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from pegboard.plugins.discovery.dist_info import GROUP as GROUP
from pegboard.plugins.discovery.dist_info import DistInfo, ForeignDistInfo, read_entry_points
from pegboard.plugins.discovery.dist_info import normalized as normalized

if TYPE_CHECKING:
    from pathlib import Path

OWN_PREFIX: Final = "pegboard-"
_SUFFIXES: Final = (".dist-info", ".egg-info")


class FoundPlugin(NamedTuple):
    """One entry point of the group `pegboard.plugins`.

    Args:
        id: Name of the entry point.
        value: What it points at, `module:object`.
        dist: Name of the distribution, as it spells it.
        version: Version of the distribution.
        folder: Its `.dist-info` (or `.egg-info`) folder, as a string; `location` as a path.
        requires: Its `Requires-Dist` lines.
        problem: What is wrong with the distribution's own files, or "".
    """

    id: str
    value: str
    dist: str
    version: str
    folder: str
    requires: tuple[str, ...] = ()
    problem: str = ""

    @property
    def location(self) -> Path:
        """Its `.dist-info` (or `.egg-info`) folder."""
        from pathlib import Path

        return Path(self.folder)


class PathListing:
    """The names in each folder of a path, each folder listed once.

    Args:
        path: Folders to look in; None = `sys.path`.
    """

    def __init__(self, path: Sequence[str] | None = None) -> None:
        # what is no string (a `Path`, say), the import system leaves out as well
        self.entries = [
            entry for entry in (sys.path if path is None else path) if isinstance(entry, str)
        ]
        self.installed: frozenset[str] = frozenset()  # names of distributions, once scanned
        self._names: dict[str, frozenset[str]] = {}

    def names(self, entry: str) -> frozenset[str]:
        """Return the names in one folder.

        Raises:
            OSError: When it is no folder, or can't be read.
            ValueError: When it can't be the name of one.
        """
        if entry not in self._names:
            names = os.listdir(entry or ".")  # noqa: PTH208 - a Path of each of a thousand is slow
            self._names[entry] = frozenset(names)
        return self._names[entry]

    def package(self, name: str) -> str | None:
        """Return the folder of a regular top-level package; None = ask the import system."""
        module = f"{name}.py"
        for entry in self.entries:
            names = self._names.get(entry, ())
            if name in names:
                folder = os.path.join(entry, name)  # noqa: PTH118
                return folder if os.path.exists(os.path.join(folder, "__init__.py")) else None  # noqa: PTH110, PTH118
            if module in names:
                return None
        return None


def scan(
    path: Sequence[str] | None = None, *, listing: PathListing | None = None
) -> list[FoundPlugin]:
    """Return every plugin that is installed, sorted by id and distribution.

    Args:
        path: Folders to look in; None = `sys.path`. The first distribution of a name wins.
        listing: Shared with whoever looks for modules in the same path.
    """
    listing = listing or PathListing(path)
    found: list[FoundPlugin] = []
    seen: set[str] = set()
    for entry in listing.entries:
        for name, info in _distributions(entry, listing):
            if name not in seen:
                seen.add(name)
                found.extend(_plugins_of(info))
    listing.installed = frozenset(seen)
    return sorted(found, key=lambda plugin: (plugin.id, plugin.dist))


def _distributions(entry: str, listing: PathListing) -> Iterator[tuple[str, DistInfo]]:
    """Yield normalised name and files of each distribution in one entry of the path."""
    if entry.endswith(".egg"):
        yield from _foreign(entry)
        return
    try:
        names = listing.names(entry)
    except NotADirectoryError:
        yield from _foreign(entry)
        return
    except (OSError, ValueError):
        return  # import finds nothing there either
    found = [name for name in names if name.lower().endswith(_SUFFIXES)]
    found.sort(key=lambda name: (name[-9:].lower() == ".egg-info", name))
    for name in found:
        # The folder's name, not METADATA, says which distribution it is: as importlib.metadata.
        yield normalized(name.rpartition(".")[0].partition("-")[0]), DistInfo(entry, name)


def _foreign(entry: str) -> Iterator[tuple[str, DistInfo]]:
    from importlib import metadata

    for dist in metadata.distributions(path=[entry]):
        try:
            yield normalized(dist.name), ForeignDistInfo(entry, dist)
        except (AttributeError, KeyError, TypeError, ValueError):
            continue  # without a name it could be neither installed nor removed


def _plugins_of(info: DistInfo) -> list[FoundPlugin]:
    text, problem = info.read("entry_points.txt")
    if GROUP not in text and not problem:
        return []
    points = read_entry_points(text)
    if not (points.values or points.problem or (problem and _looks_ours(info.name))):
        return []
    meta = info.metadata()
    problem = problem or points.problem or meta.problem
    values = points.values or {_own_id(meta.name): ""}
    return [
        FoundPlugin(plugin_id, value, meta.name, meta.version, info.folder, meta.requires, problem)
        for plugin_id, value in values.items()
    ]


def _own_id(dist: str) -> str:
    return dist.lower().replace("_", "-").removeprefix(OWN_PREFIX)


def _looks_ours(folder_name: str) -> bool:
    return normalized(folder_name).startswith("pegboard_")
