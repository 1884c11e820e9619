"""Files that are not stored: those of a filter, and those that no file tool reads."""

from __future__ import annotations

from typing import Final

from pegboard import ToolFailure
from pegboard_git.names import decoded, plural
from pegboard_git.repository import Repository
from pegboard_git.withheld import OUTSIDE, Version, refused, withheld

_MANY: Final = 16_777_216
_PLACES: Final = 5000
"""Files that are judged by where they are; each is looked up on the disk."""
_NO_FILTER: Final = frozenset({b"unspecified", b"unset", b"set"})
_CHANGED: Final = ("--modified",)
_NEW: Final = ("--others", "--exclude-standard")


async def storable(
    repo: Repository, paths: list[str], *, tracked: bool = False, action: str = "add"
) -> dict[str, str]:
    """Return why changed files are left out: no file tool reads them, or the sandbox hides them.

    Args:
        repo: The repository.
        paths: What is to be stored, relative to the top.
        tracked: Whether new files are not meant.
        action: What it is for.

    Raises:
        ToolFailure: When one of them is named, or a filter would have to convert one: stored as it
            is, that would be another file for everybody.
    """
    which = _CHANGED if tracked else (*_CHANGED, *_NEW)
    listed = await repo.git("ls-files", "-z", *which, "--", *paths, action=action, keep=_MANY)
    if not listed.data:
        return {}
    await _require_unfiltered(repo, listed.data)
    return await _hidden(repo, listed.data, paths, action)


async def hidden(
    repo: Repository, paths: list[str], *, action: str, untracked: bool = False
) -> dict[str, str]:
    """Return why changed files are left alone: the sandbox may hide them from git.

    Args:
        repo: The repository.
        paths: What is to be changed, relative to the top.
        action: What it is for.
        untracked: Whether new files are meant too.

    Raises:
        ToolFailure: When one of them is named.
    """
    which = (*_CHANGED, *_NEW) if untracked else _CHANGED
    listed = await repo.git("ls-files", "-z", *which, "--", *paths, action=action, keep=_MANY)
    return await _hidden(repo, listed.data, paths, action)


async def require_none_hidden(repo: Repository, action: str) -> None:
    """Refuse what needs every file when the sandbox may hide one from git.

    Raises:
        ToolFailure: When there is one.
    """
    for path, reason in (await hidden(repo, ["."], action=action)).items():
        raise refused(path, reason, f"used by {action}, which takes all files")


async def _hidden(repo: Repository, data: bytes, paths: list[str], action: str) -> dict[str, str]:
    names = [name.decode("utf-8", "surrogateescape") for name in data.split(b"\0") if name]
    versions = [Version(name) for name in names]
    keys = [item for item in versions if item.may_be_key]
    judged = await withheld(repo, [*keys, *versions[:_PLACES]])
    # a link that leads out is stored as a link
    found = {path: reason for path, reason in judged.items() if reason != OUTSIDE}
    for path in paths:
        if path in found:
            raise refused(path, found[path], f"used by {action}")
    return found


async def _require_unfiltered(repo: Repository, names: bytes) -> None:
    found = await repo.git("check-attr", "-z", "--stdin", "filter", stdin=names, keep=4 * _MANY)
    fields = found.data.split(b"\0")[:-1]
    filtered = [
        (path, value)
        for path, value in zip(fields[::3], fields[2::3], strict=False)
        if value not in _NO_FILTER
    ]
    if filtered:
        path, value = filtered[0]
        raise ToolFailure(
            f"{decoded(path)} is to be stored through the filter {decoded(value)}, which is a "
            f"program that this tool does not run ({plural(len(filtered), 'such file')}).",
            fix="A person can add it with git itself; leave it out of paths.",
            code="filtered",
        )
