"""A difference between two trees: its text, and its files as data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from pegboard_git.git_call import Output
from pegboard_git.names import decoded
from pegboard_git.reading.arguments import ReadArguments
from pegboard_git.repository import Repository
from pegboard_git.withheld import (
    parse_raw,
    withheld,
    withheld_facts,
    withheld_note,
    without,
)

SAFE_DIFF: Final = ("--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty", "--no-color")
FORMS: Final = {"patch": "--patch", "stat": "--stat", "names": "--name-status"}
RAW: Final = ("--raw", "-z", "--no-abbrev")
PATCH: Final = 262_144
"""Bytes of a difference that are kept."""
JUDGED: Final = 16_384
"""Sides of files that are looked at: what is kept of a difference has no room for more."""
_FILES: Final = 1000
_MANY: Final = 16_777_216
_MORE: Final = "[there is more; name paths, or a smaller range]"


@dataclass(frozen=True, slots=True)
class Difference:
    """What differs.

    Args:
        lines: As text.
        files: Each file with the lines that were added and deleted.
        withheld: Why files are not shown, by path.
        more: Whether there is more of it.
    """

    lines: list[str]
    files: list[dict[str, Any]]
    withheld: Mapping[str, str] = field(default_factory=dict)
    more: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return its files as JSON-serialisable data."""
        hidden = {"withheld": withheld_facts(self.withheld)} if self.withheld else {}
        return {"files": self.files, "count": len(self.files), "more": self.more, **hidden}


async def difference(
    repo: Repository,
    ask: ReadArguments,
    command: Sequence[str],
    names: Sequence[str],
    paths: Sequence[str],
) -> Difference:
    """Return a difference, without what is not to be shown.

    Args:
        repo: The repository.
        ask: Says in which form, and how much context.
        command: The command of git with its options.
        names: What is compared.
        paths: Files that it is about; none = all.
    """
    before = ("--end-of-options", *names, "--")
    raw = await repo.git(*command, *SAFE_DIFF, *RAW, *before, *paths, keep=_MANY)
    hidden = await withheld(repo, parse_raw(raw.data)[:JUDGED])
    kept, env = without(paths, hidden)
    what = (*before, *kept)
    counted = await repo.git(*command, *SAFE_DIFF, "--numstat", "-z", *what, env=env)
    files = parse_numstat(counted.data)
    more = raw.cut or counted.cut or len(files) > _FILES
    context = () if ask.context is None else (f"--unified={ask.context}",)
    form = (FORMS[ask.form or "patch"], *context)
    text = await repo.git(*command, *SAFE_DIFF, *form, *what, keep=PATCH, env=env)
    lines = [*cut_text(text), *withheld_note(hidden)]
    return Difference(lines, files[:_FILES], hidden, more or text.cut)


def parse_numstat(data: bytes) -> list[dict[str, Any]]:
    """Return the files of `--numstat -z`, with the lines that were added and deleted."""
    found: list[dict[str, Any]] = []
    records = iter(data.split(b"\0"))
    for record in records:
        counts = record.lstrip(b"\n").split(b"\t", 2)
        if len(counts) != 3:
            continue
        added, deleted, name = counts
        fact: dict[str, Any] = {"path": decoded(name)}
        if not name:  # a rename names the old and the new path after it
            fact = {"old_path": decoded(next(records, b"")), "path": decoded(next(records, b""))}
        binary = added == b"-"
        fact |= {"binary": True} if binary else {"added": int(added), "deleted": int(deleted)}
        found.append(fact)
    return found


def cut_text(done: Output) -> list[str]:
    """Return the lines of an output, and one more that says where it was cut."""
    lines = done.text.rstrip("\n").split("\n") if done.data else []
    return [*lines, _MORE] if done.cut else lines
