"""A copy of all that is kept: the store, blobs, what plugins keep, and settings."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pegboard.config.paths import Paths
from pegboard.contracts.errors import StoreError
from pegboard.store.backup import back_up
from pegboard.store.sqlite import FILE_NAME

_BLOBS: Final = "blobs"


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeBackup:
    """A copy of all that is kept.

    Args:
        path: Its folder, which only its owner can enter; in it `state`, `data` and `config`.
        size: Bytes of all files.
        databases: How many SQLite files: the store, and those of plugins.
        blobs: How many images, files and results.
        settings: How many files of the config folder.
    """

    path: Path
    size: int
    databases: int
    blobs: int
    settings: int

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-serialisable data."""
        return {
            "path": str(self.path),
            "size": self.size,
            "databases": self.databases,
            "blobs": self.blobs,
            "settings": self.settings,
        }


def back_up_all(paths: Paths, target: Path, *, replace: bool = False) -> WholeBackup:
    """Copy all that is kept to a folder, also while a host works on it.

    Left out are secrets, logs, caches, and what plugins keep in files of their own.

    Args:
        paths: Where everything is.
        target: The folder that is made.
        replace: True to replace what is there.

    Raises:
        StoreError: When the target is there already, can't be written, or a file is damaged.
    """
    if target.exists() and not replace:
        raise StoreError(f"{target} is there already.", fix=f"rm -r {target}")
    for folder in (paths.config, paths.state, paths.data):
        place, own = target.resolve(), folder.resolve()
        if place.is_relative_to(own) or own.is_relative_to(place):
            where = "holds" if own.is_relative_to(place) else "is in"
            raise StoreError(
                f"{target} {where} {folder}, which is to be copied.", fix="choose another folder"
            )
    if target.exists() and not _is_copy(target):
        raise StoreError(
            f"{target} is no copy of before: it holds something else.", fix="choose another folder"
        )
    part, before = (target.with_name(f".{target.name}.{end}") for end in ("part", "old"))
    with _told_of(target):
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(mode=0o700)
        try:
            # the store first: what it refers to by then is among the blobs
            databases = _databases(paths, part)
            blobs = _files(paths.state / _BLOBS, part / "state" / _BLOBS)
            secrets = {paths.secrets_file.name}
            settings = _files(paths.config, part / "config", without=secrets)
            size = sum(path.stat().st_size for path in part.rglob("*") if path.is_file())
            _put(part, target, before)
        finally:
            shutil.rmtree(part, ignore_errors=True)
    return WholeBackup(path=target, size=size, databases=databases, blobs=blobs, settings=settings)


def _is_copy(folder: Path) -> bool:
    """Tell whether a folder holds nothing but what a copy has."""
    if folder.is_symlink() or not folder.is_dir():
        return False
    return {path.name for path in folder.iterdir()} <= {"state", "data", "config"}


def _put(part: Path, target: Path, before: Path) -> None:
    """Put a copy in its place; the one that was there goes only then."""
    if target.exists():
        shutil.rmtree(before, ignore_errors=True)
        target.rename(before)
    try:
        part.rename(target)
    except OSError:
        if before.exists():
            before.rename(target)
        raise
    shutil.rmtree(before, ignore_errors=True)


def _databases(paths: Paths, part: Path) -> int:
    found = [(path, part / "state" / FILE_NAME) for path in [paths.state / FILE_NAME]]
    for folder, name in ((paths.state, "state"), (paths.plugin_storages, "data/storage")):
        for path in sorted(folder.glob("*/*.db")):
            found.append((path, part / name / path.parent.name / path.name))
    for path, copy in found:
        copy.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        back_up(path, copy)
    return len(found)


def _files(folder: Path, copy: Path, *, without: Iterable[str] = ()) -> int:
    """Copy plain files, below folders too; return how many."""
    count = 0
    for top, _, names in os.walk(folder):
        here = copy / Path(top).relative_to(folder)
        here.mkdir(mode=0o700, parents=True, exist_ok=True)
        for name in names:
            source = Path(top, name)
            if name in without or source.is_symlink() or not source.is_file():
                continue
            try:
                shutil.copy2(source, here / name)
            except FileNotFoundError:
                continue  # it was erased in this moment
            count += 1
    return count


@contextmanager
def _told_of(target: Path) -> Iterator[None]:
    """Turn what the copy's place refuses into an error for people."""
    try:
        yield
    except OSError as error:
        raise StoreError(
            f"The copy {target} can't be written: {error.strerror}.", fix=f"df -h {target.parent}"
        ) from error
