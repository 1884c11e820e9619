"""What git would write over without a word: files that are not tracked, also ignored ones."""

from __future__ import annotations

import posixpath
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Final

from pegboard import ToolFailure
from pegboard_git.names import decoded
from pegboard_git.repository import Repository

_MANY: Final = 16_777_216


async def require_nothing_in_the_way(repo: Repository, old: str, new: str, action: str) -> None:
    """Refuse to write over files that are not tracked, which git would not keep anywhere.

    Args:
        repo: The repository.
        old: The commit that files are as in now; "" = none.
        new: The commit, of which the files are written that the other one does not have.
        action: What it is for.

    Raises:
        ToolFailure: When there is one.
    """
    added = ("diff-tree", "-r", "-z", "--name-only", "--diff-filter=A", "--no-renames", old, new)
    every = ("ls-tree", "-r", "-z", "--name-only", "--full-tree", new)
    wanted = await repo.git(*(added if old else every), "--", action=action, keep=_MANY)
    names = [name for name in wanted.data.split(b"\0") if name]
    if not names:
        return
    listed = await repo.git(
        *("ls-files", "--others", "--directory", "--no-empty-directory", "-z", "--"), keep=_MANY
    )
    others = sorted(name for name in listed.data.split(b"\0") if name)
    if (found := await _first(repo, names, others)) is not None:
        raise ToolFailure(
            f"{action} would write over {decoded(found)}, which is not tracked.",
            fix="Rename or remove it first.",
            code="would_overwrite",
        )


async def require_room(repo: Repository, name: str, action: str, *, joined: bool) -> None:
    """Refuse a revision whose files would be written over files that are not tracked.

    Args:
        repo: The repository.
        name: The revision; of one that there is not git says itself what is wrong.
        action: What it is for.
        joined: Whether only what it has changed comes in, and not all that it has.

    Raises:
        ToolFailure: When there is such a file.
    """
    if new := await commit_of(repo, name):
        old = await commit_of(repo, "HEAD")
        if old and joined:
            shared = await repo.git("merge-base", old, new, accept=(0, 1))
            old = shared.text.strip() or old
        await require_nothing_in_the_way(repo, old, new, action)


async def commit_of(repo: Repository, name: str) -> str:
    """Return the commit that a revision stands for, or ""."""
    done = await repo.git(
        *("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}"),
        accept=(0, 1, 128),
    )
    return done.text.strip()


async def _first(repo: Repository, names: Sequence[bytes], others: Sequence[bytes]) -> bytes | None:
    """Return the first file or folder in the way; a folder without tracked files ends with `/`."""
    known = frozenset(others)
    for name in names:
        place = bisect_left(others, name + b"/")
        if name in known or b"".join(others[place : place + 1]).startswith(name + b"/"):
            return name
        for above in _above(name):
            if above in known:
                return above
            if above + b"/" in known and (found := await _below(repo, above, name)) is not None:
                return found
    return None


async def _below(repo: Repository, folder: bytes, name: bytes) -> bytes | None:
    """Return what is in the way in a folder of which git has listed nothing else."""
    for place in (*(item for item in _above(name) if len(item) > len(folder)), name):
        path = posixpath.join(repo.root, place.decode("utf-8", "surrogateescape"))
        found = await repo.sandbox.stat(path)
        if found is None:
            return None
        if place == name or found.kind != "dir":
            return place
    return None


def _above(name: bytes) -> Iterator[bytes]:
    """Yield the folders that a file is in, the uppermost first."""
    end = name.find(b"/")
    while end >= 0:
        yield name[:end]
        end = name.find(b"/", end + 1)
