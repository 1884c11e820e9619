"""`ls_tree`, and one entry of a tree: what a commit holds."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from pegboard import ToolFailure, ToolResult
from pegboard_git.failures import failure
from pegboard_git.names import decoded, plural, repository_paths, shown, single_revision
from pegboard_git.reading.arguments import ReadArguments
from pegboard_git.repository import Repository
from pegboard_git.withheld import Version

_ENTRIES: Final = 500
_ANY: Final = tuple(range(256))
_MANY: Final = 16_777_216
_LINK: Final = "120000"
_KINDS: Final = {"blob": "file", "tree": "folder", "commit": "submodule"}


@dataclass(frozen=True, slots=True)
class Entry:
    """What a tree has under one name.

    Args:
        path: Its name, relative to the top; bytes that are no UTF-8 as surrogates.
        mode: As git writes it.
        kind: `blob`, `tree` or `commit`.
        hash: Its object.
        size: Bytes of a blob, else None.
    """

    path: str
    mode: str
    kind: str
    hash: str
    size: int | None = None

    @property
    def version(self) -> Version:
        """The file that it is."""
        return Version(self.path, self.hash, self.mode == _LINK)

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-serialisable data."""
        kind = "link" if self.mode == _LINK else _KINDS[self.kind]
        found = {"path": shown(self.path), "kind": kind, "mode": self.mode, "hash": self.hash}
        return {**found, **({} if self.size is None else {"size": self.size})}


async def ls_tree(repo: Repository, ask: ReadArguments) -> ToolResult:
    """List what a commit holds: the top folder, or the folders and files that are named."""
    limit = ask.limit or _ENTRIES
    name = single_revision(ask.ref or "HEAD")
    paths = [path for path in repository_paths(ask.paths, repo.root) if path != "."]
    await require_commits(repo, (name,), "ls_tree")
    found = [await find_entry(repo, name, path, "ls_tree") for path in paths]
    named = [f"{entry.path}/" if entry.kind == "tree" else entry.path for entry in found]
    options = ("-r",) if ask.recursive else ()
    # of a partial clone the sizes are not known
    sizes = () if "extensions.partialclone" in repo.config else ("-l",)
    done = await repo.git(
        *("ls-tree", "-z", *sizes, "--full-tree", *options, name, "--", *named),
        action="ls_tree",
        keep=_MANY,
    )
    entries = parse_tree(done.data)
    more = done.cut or len(entries) > limit
    entries = entries[:limit]
    lines = [_line(entry) for entry in entries] or ["[empty]"]
    if more:
        lines.append(f"[more than {plural(limit, 'entry', 'entries')}; name paths]")
    facts = {"entries": [entry.to_dict() for entry in entries], "count": len(entries), "more": more}
    return ToolResult(output="\n".join(lines), structured={"ref": name, **facts})


async def find_entry(repo: Repository, name: str, path: str, action: str) -> Entry:
    """Return what a commit has under a path.

    Raises:
        ToolFailure: When there is no such commit, or nothing of that name in it.
    """
    await require_commits(repo, (name,), action)
    done = await repo.git("ls-tree", "-z", "--full-tree", name, "--", path, action=action)
    found = parse_tree(done.data)
    if len(found) != 1 or found[0].path != path:
        raise ToolFailure(
            f"{shown(path)} does not exist at {name}.",
            fix='Use action "ls_tree" to see the names.',
            code="path_not_found",
        )
    return found[0]


async def require_commits(repo: Repository, names: Sequence[str], action: str) -> None:
    """Refuse revisions that are no commits: of a file or folder alone nobody knows the name.

    Args:
        repo: The repository.
        names: Revisions, or ranges of two.
        action: What they are for.

    Raises:
        ToolFailure: When one is none.
    """
    sides = [side or "HEAD" for name in names for side in re.split(r"\.{2,3}", name)]
    for side in dict.fromkeys(sides):
        done = await repo.git(
            *("rev-parse", "--verify", "--quiet", "--end-of-options", f"{side}^{{commit}}"),
            accept=_ANY,
        )
        if done.code and side == "HEAD":
            raise failure("no commits yet", repo.root, action)
        if done.code:
            raise ToolFailure(
                f"{side} is no commit.",
                fix='Use action "branch", "tag" or "log" to see what there is.',
                code="unknown_revision",
            )


def parse_tree(data: bytes) -> list[Entry]:
    """Return the entries of `ls-tree -z`, with `-l` or not; one that was cut is left out."""
    found = []
    for record in data.split(b"\0")[:-1]:
        facts, _, name = record.partition(b"\t")
        mode, kind, hashed, *sized = facts.decode().split()
        size = "".join(sized)
        path = name.decode("utf-8", "surrogateescape")
        found.append(Entry(path, mode, kind, hashed, int(size) if size.isdigit() else None))
    return found


def _line(entry: Entry) -> str:
    name = decoded(entry.path.encode("utf-8", "surrogateescape"))
    if entry.kind == "tree":
        return f"{name}/"
    if entry.kind == "commit":
        return f"{name} (submodule at {entry.hash[:10]})"
    return name if entry.size is None else f"{name} ({plural(entry.size, 'byte')})"
