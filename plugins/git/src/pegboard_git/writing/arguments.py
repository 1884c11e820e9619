"""What a call of `git_write` asks for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

WriteAction = Literal[
    "init",
    "clone",
    "add",
    "unstage",
    "restore",
    "rm",
    "mv",
    "commit",
    "reset",
    "switch",
    "checkout",
    "branch_create",
    "branch_rename",
    "branch_delete",
    "tag_create",
    "tag_delete",
    "merge",
    "merge_abort",
    "rebase",
    "rebase_continue",
    "rebase_abort",
    "cherry_pick",
    "revert",
    "continue",
    "skip",
    "abort",
    "stash_push",
    "stash_pop",
    "stash_apply",
    "stash_drop",
    "fetch",
    "pull",
    "push",
]
Strategy = Literal["ff_only", "merge", "rebase"]
Mode = Literal["soft", "mixed", "hard"]

_SWITCH: Final = frozenset({"branch", "ref", "create", "detach"})
USED: Final[dict[WriteAction, frozenset[str]]] = {
    "init": frozenset({"branch"}),
    "clone": frozenset({"url", "branch"}),
    "add": frozenset({"paths"}),
    "rm": frozenset({"paths", "keep"}),
    "mv": frozenset({"paths", "to"}),
    "reset": frozenset({"ref", "mode"}),
    "unstage": frozenset({"paths"}),
    "restore": frozenset({"paths", "ref", "staged"}),
    "commit": frozenset({"message", "all", "amend"}),
    "switch": _SWITCH,
    "checkout": _SWITCH,
    "branch_create": frozenset({"branch", "ref"}),
    "branch_rename": frozenset({"branch", "to"}),
    "branch_delete": frozenset({"branch", "force"}),
    "tag_create": frozenset({"tag", "ref", "message"}),
    "tag_delete": frozenset({"tag"}),
    "merge": frozenset({"ref", "message", "strategy"}),
    "merge_abort": frozenset(),
    "rebase": frozenset({"ref"}),
    "rebase_continue": frozenset(),
    "rebase_abort": frozenset(),
    "cherry_pick": frozenset({"ref", "mainline"}),
    "revert": frozenset({"ref", "mainline"}),
    "continue": frozenset({"message"}),
    "skip": frozenset(),
    "abort": frozenset(),
    "stash_push": frozenset({"message", "paths", "untracked"}),
    "stash_pop": frozenset({"index"}),
    "stash_apply": frozenset({"index"}),
    "stash_drop": frozenset({"index"}),
    "fetch": frozenset({"remote", "branch"}),
    "pull": frozenset({"remote", "branch", "strategy"}),
}
"""The arguments that each action takes, beside `repo`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteArguments:
    """The arguments beside `action` and `repo`; None and the like = not given."""

    paths: tuple[str, ...] = ()
    message: str | None = None
    branch: str | None = None
    tag: str | None = None
    ref: str | None = None
    remote: str | None = None
    strategy: Strategy | None = None
    index: int | None = None
    all: bool = False
    amend: bool = False
    create: bool = False
    detach: bool = False
    force: bool = False
    staged: bool = False
    untracked: bool = False
    url: str | None = None
    to: str | None = None
    mode: Mode | None = None
    mainline: int | None = None
    keep: bool = False
