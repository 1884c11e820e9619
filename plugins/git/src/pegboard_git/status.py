"""The status of a working tree, out of `git status --porcelain=v2 -z --branch`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from pegboard_git.names import decoded

KINDS: Final = {
    "M": "modified",
    "T": "type changed",
    "A": "added",
    "D": "deleted",
    "R": "renamed",
    "C": "copied",
}
_CONFLICTS: Final = {
    "DD": "deleted by both",
    "AU": "added by us",
    "UD": "deleted by them",
    "UA": "added by them",
    "DU": "deleted by us",
    "AA": "added by both",
    "UU": "changed by both",
}


@dataclass(frozen=True, slots=True)
class Change:
    """A path that is not as in the last commit.

    Args:
        path: Its name, as it can be shown.
        kind: What happened to it.
        old_path: What it was named before, or "".
    """

    path: str
    kind: str
    old_path: str = ""

    def to_dict(self) -> dict[str, str]:
        """Return it as JSON-serialisable data."""
        found = {"path": self.path, "kind": self.kind}
        return {**found, "old_path": self.old_path} if self.old_path else found


@dataclass(slots=True)
class Status:
    """What a working tree and its index hold.

    Args:
        branch: Name of the branch, or "" when none is checked out.
        commit: Hash of the last commit, or "" when there is none.
        upstream: The branch that it follows, or "".
        ahead, behind: Commits that only this one, or only the upstream, has.
        staged, unstaged, conflicts: Changes.
        untracked: Names.
        stashes: Entries of the stash.
    """

    branch: str = ""
    commit: str = ""
    upstream: str = ""
    ahead: int = 0
    behind: int = 0
    staged: list[Change] = field(default_factory=list)
    unstaged: list[Change] = field(default_factory=list)
    conflicts: list[Change] = field(default_factory=list)
    untracked: list[str] = field(default_factory=list)
    stashes: int = 0

    @property
    def clean(self) -> bool:
        """Whether there is nothing to tell of any file."""
        return not (self.staged or self.unstaged or self.conflicts or self.untracked)

    @property
    def count(self) -> int:
        """Number of entries."""
        changes = (self.staged, self.unstaged, self.conflicts)
        return sum(len(some) for some in changes) + len(self.untracked)

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-serialisable data."""
        return {
            "branch": self.branch or None,
            "detached": not self.branch,
            "commit": self.commit or None,
            "upstream": self.upstream or None,
            "ahead": self.ahead,
            "behind": self.behind,
            "staged": [change.to_dict() for change in self.staged],
            "unstaged": [change.to_dict() for change in self.unstaged],
            "conflicts": [change.to_dict() for change in self.conflicts],
            "untracked": self.untracked,
            "stashes": self.stashes,
            "clean": self.clean,
        }


def parse_status(data: bytes, *, limit: int) -> tuple[Status, bool]:
    """Return the status, and whether there is more than `limit` entries.

    Args:
        data: The output; a last entry without its end is left out.
        limit: Entries to take.
    """
    status = Status()
    records = iter(data.split(b"\0")[:-1])
    for record in records:
        if record.startswith(b"# "):
            _header(status, record[2:].decode("utf-8", "replace"))
            continue
        if status.count >= limit:
            return status, True
        _entry(status, record, records)
    return status, False


def _header(status: Status, text: str) -> None:
    name, _, value = text.partition(" ")
    if name == "branch.oid":
        status.commit = "" if value == "(initial)" else value
    elif name == "branch.head":
        status.branch = "" if value == "(detached)" else value
    elif name == "branch.upstream":
        status.upstream = value
    elif name == "branch.ab":
        ahead, _, behind = value.partition(" ")
        status.ahead, status.behind = abs(int(ahead)), abs(int(behind))
    elif name == "stash":
        status.stashes = int(value)


def _entry(status: Status, record: bytes, rest: Iterator[bytes]) -> None:
    kind, _, fields = record.partition(b" ")
    if kind == b"?":
        status.untracked.append(decoded(fields))
    elif kind == b"1":
        _changes(status, fields[:2].decode(), decoded(fields.split(b" ", 7)[7]), "")
    elif kind == b"2":
        name = decoded(fields.split(b" ", 8)[8])
        _changes(status, fields[:2].decode(), name, decoded(next(rest, b"")))
    elif kind == b"u":
        what = _CONFLICTS.get(fields[:2].decode(), "in conflict")
        status.conflicts.append(Change(decoded(fields.split(b" ", 9)[9]), what))


def _changes(status: Status, both: str, path: str, old: str) -> None:
    for letter, changes in ((both[0], status.staged), (both[1], status.unstaged)):
        if letter != ".":
            moved = old if letter in "RC" else ""
            changes.append(Change(path, KINDS.get(letter, letter), moved))
