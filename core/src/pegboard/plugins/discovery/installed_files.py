"""Which files each installed plugin owns, by the RECORD that pip wrote.

pip lets two distributions install one file, and removing either takes it from both; nobody notices
until an import fails. `pegboard plugins doctor` asks here.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from pegboard.plugins.discovery.scan import FoundPlugin, PathListing, scan


class Overlap(NamedTuple):
    """Files that several distributions own, sorted; `dists` is sorted too."""

    dists: tuple[str, ...]
    files: tuple[str, ...]


def installed_files(location: Path) -> tuple[str, ...]:
    """Return the files of a distribution, relative to the folder that holds its metadata.

    Args:
        location: Its `.dist-info` folder.

    Returns:
        What RECORD lists, without compiled files and the metadata folder itself; nothing when there
        is no RECORD that can be read.
    """
    import csv

    try:
        with (location / "RECORD").open(encoding="utf-8", newline="") as stream:
            names = [row[0] for row in csv.reader(stream) if row and row[0]]
    except (OSError, UnicodeDecodeError, csv.Error):
        return ()
    own = f"{location.name}/"
    return tuple(name for name in names if not name.startswith(own) and "__pycache__/" not in name)


def overlaps(path: Sequence[str] | None = None) -> tuple[Overlap, ...]:
    """Return the files that a plugin's distribution shares with any other distribution.

    Args:
        path: Folders to look in; None = `sys.path`.
    """
    plugins = {found.location for found in scan(path)}
    owners: dict[Path, set[Path]] = {}
    for location in _metadata_folders(path):
        for name in installed_files(location):
            owners.setdefault((location.parent / name).resolve(), set()).add(location)
    groups: dict[tuple[str, ...], list[str]] = {}
    for file, locations in owners.items():
        if len(locations) > 1 and not plugins.isdisjoint(locations):
            dists = tuple(sorted({_dist_of(location) for location in locations}))
            groups.setdefault(dists, []).append(str(file))
    return tuple(Overlap(dists, tuple(sorted(files))) for dists, files in sorted(groups.items()))


def missing_files(found: FoundPlugin) -> tuple[str, ...]:
    """Return the files that a distribution installed and that are not there any more."""
    parent = found.location.parent
    return tuple(name for name in installed_files(found.location) if not (parent / name).exists())


def _metadata_folders(path: Sequence[str] | None) -> list[Path]:
    folders = [Path(entry) for entry in dict.fromkeys(PathListing(path).entries)]
    return [
        found
        for folder in folders
        if folder.is_dir()
        for found in sorted(folder.glob("*.dist-info"))
    ]


def _dist_of(location: Path) -> str:
    return location.name.partition("-")[0].replace("_", "-")
