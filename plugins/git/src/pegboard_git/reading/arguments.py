"""What a call of `git_read` asks for."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Final, Literal

from pegboard import ToolFailure

ReadAction = Literal[
    "status",
    "log",
    "diff",
    "show",
    "file",
    "blame",
    "grep",
    "branch",
    "tag",
    "remote",
    "stash",
    "reflog",
    "ls_files",
    "ls_tree",
    "rev_parse",
    "merge_base",
    "shortlog",
]
Form = Literal["patch", "stat", "names"]
Which = Literal["tracked", "modified", "deleted", "untracked", "ignored", "conflicted"]

USED: Final[dict[ReadAction, frozenset[str]]] = {
    "status": frozenset({"paths", "limit"}),
    "log": frozenset(
        {"ref", "paths", "limit", "skip", "form", "author", "text", "since", "until", "all_refs"}
    ),
    "diff": frozenset({"ref", "paths", "staged", "form", "context"}),
    "show": frozenset({"ref", "paths", "form", "context"}),
    "file": frozenset({"ref", "paths"}),
    "blame": frozenset({"ref", "paths", "start", "end"}),
    "grep": frozenset({"pattern", "ref", "paths", "literal", "ignore_case", "context", "limit"}),
    "branch": frozenset({"limit"}),
    "tag": frozenset({"limit"}),
    "remote": frozenset(),
    "stash": frozenset({"index", "form"}),
    "ls_files": frozenset({"which", "paths", "limit"}),
    "ls_tree": frozenset({"ref", "paths", "recursive", "limit"}),
    "rev_parse": frozenset({"ref"}),
    "merge_base": frozenset({"ref", "other"}),
    "shortlog": frozenset({"ref", "paths", "limit", "since", "until"}),
    "reflog": frozenset({"ref", "limit", "skip"}),
}
"""The arguments that each action takes, beside `repo`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadArguments:
    """The arguments beside `action` and `repo`; None and the like = not given."""

    ref: str | None = None
    paths: tuple[str, ...] = ()
    limit: int | None = None
    skip: int | None = None
    form: Form | None = None
    staged: bool | None = None
    context: int | None = None
    pattern: str | None = None
    literal: bool | None = None
    ignore_case: bool | None = None
    author: str | None = None
    text: str | None = None
    since: str | None = None
    until: str | None = None
    all_refs: bool | None = None
    start: int | None = None
    end: int | None = None
    which: Which | None = None
    index: int | None = None
    other: str | None = None
    recursive: bool | None = None


def require_used(action: str, given: Any, used: frozenset[str]) -> None:
    """Refuse arguments that an action does not take, so that none is silently left out.

    Args:
        action: The action.
        given: A dataclass of all arguments.
        used: Names of those that it takes.

    Raises:
        ToolFailure: When there is one.
    """
    foreign = sorted(
        item.name
        for item in fields(given)
        if getattr(given, item.name) not in (None, (), False) and item.name not in used
    )
    if foreign:
        takes = ", ".join(sorted(used)) or "none"
        raise ToolFailure(
            f"{action} does not take {', '.join(foreign)}.",
            fix=f"Leave it out. Beside repo, {action} takes: {takes}.",
            code="invalid_arguments",
        )
