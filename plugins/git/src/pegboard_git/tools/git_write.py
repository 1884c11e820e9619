"""The tool `git_write`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Final

from pegboard import Arg, Needs, OutputLimits, ToolContext, ToolFailure, ToolHelp, ToolResult, tool
from pegboard_git.reading.arguments import require_used
from pegboard_git.remote.cloning import clone
from pegboard_git.remote.fetching import fetch, pull
from pegboard_git.repository import Repository
from pegboard_git.repository_access import open_repository
from pegboard_git.tools.other_names import ACTION, PATHS, REF, REPO
from pegboard_git.writing import (
    branches,
    changes,
    files,
    integration,
    picks,
    resets,
    stopped_operations,
)
from pegboard_git.writing.arguments import USED, Mode, Strategy, WriteAction, WriteArguments

_LOCAL: Final = ("read", "fs_write")
_ACTIONS: Final[Mapping[str, Callable[[Repository, WriteArguments], Awaitable[ToolResult]]]] = {
    "add": changes.add,
    "unstage": changes.unstage,
    "restore": changes.restore,
    "rm": files.rm,
    "mv": files.mv,
    "commit": changes.commit,
    "reset": resets.reset,
    "switch": branches.switch,
    "checkout": branches.switch,
    "branch_create": branches.branch_create,
    "branch_rename": branches.branch_rename,
    "branch_delete": branches.branch_delete,
    "tag_create": branches.tag_create,
    "tag_delete": branches.tag_delete,
    "merge": integration.merge,
    "merge_abort": integration.merge_abort,
    "rebase": integration.rebase,
    "rebase_continue": integration.rebase_continue,
    "rebase_abort": integration.rebase_abort,
    "cherry_pick": picks.cherry_pick,
    "revert": picks.revert,
    "continue": stopped_operations.go_on,
    "skip": stopped_operations.skip,
    "abort": stopped_operations.abort,
    "stash_push": integration.stash_push,
    "stash_pop": integration.stash_pop,
    "stash_apply": integration.stash_apply,
    "stash_drop": integration.stash_drop,
}


@tool(
    effects={"read", "fs_write", "net_read"},
    effects_by={"action": dict.fromkeys((*_ACTIONS, "init", "push"), _LOCAL)},
    policy_class="read_write",
    category="git",
    capability="orch:write",
    audience="owner",
    outside=False,
    timeout_s=480.0,
    limits=OutputLimits(chars=10_000, keep="both"),
    needs=Needs(binaries=("git",)),
    help=ToolHelp(
        when_to_use="To record and organise work in a git repository, or to get that of others.",
        examples=(
            '{"action": "add", "paths": ["src/parser.py"]}',
            '{"action": "commit", "message": "Parser: keep the last line"}',
            '{"action": "switch", "branch": "fix/parser", "create": true}',
            '{"action": "pull", "strategy": "rebase"}',
        ),
        failure_modes=(
            "conflict: lists the files; edit and add them, then commit or rebase_continue",
            "identity_missing: names the settings that a person has to make",
            "push_refused: this tool never pushes",
            "filtered: a file is to be stored through a filter, which is a program",
            "remote_refused: the remote is no server that this tool may ask",
            "protected: a file that no file tool reads either, such as a private key",
            "not_the_top: the folder is only a part of a repository; names the top",
        ),
    ),
)
async def git_write(
    ctx: ToolContext,
    action: Annotated[WriteAction, Arg("What to do; push is refused.", aliases=ACTION)],
    repo: Annotated[
        str,
        Arg(
            "Top folder of the repository; init, clone: to be made.",
            access="fs_write",
            min_length=1,
            aliases=REPO,
        ),
    ] = ".",
    paths: Annotated[
        list[str] | None,
        Arg("Files or folders, relative to the top of the repository; no patterns.", aliases=PATHS),
    ] = None,
    message: Annotated[
        str | None,
        Arg("commit, tag_create, merge, stash_push: the text.", aliases=("msg", "commit_message")),
    ] = None,
    branch: Annotated[
        str | None,
        Arg("The branch that it is about.", min_length=1, aliases=("branch_name", "new_branch")),
    ] = None,
    tag: Annotated[str | None, Arg("The tag that it is about.", min_length=1)] = None,
    ref: Annotated[
        str | None,
        Arg(
            "Commit or branch: where to start, what to merge, what to rebase onto.",
            min_length=1,
            aliases=REF,
        ),
    ] = None,
    remote: Annotated[str | None, Arg("fetch, pull: origin unless told.", min_length=1)] = None,
    strategy: Annotated[
        Strategy | None, Arg("pull, merge: what to do when both sides have commits.")
    ] = None,
    index: Annotated[int | None, Arg("stash_*: which entry, 0 = the newest.", ge=0)] = None,
    all: Annotated[bool, Arg("commit: with all changes of tracked files.")] = False,
    amend: Annotated[bool, Arg("commit: replace the last commit.")] = False,
    create: Annotated[
        bool, Arg("switch: make the branch first.", aliases=("create_branch",))
    ] = False,
    detach: Annotated[bool, Arg("switch: to a commit, without a branch.")] = False,
    force: Annotated[bool, Arg("branch_delete: even if its commits are lost.")] = False,
    staged: Annotated[bool, Arg("restore: in the index too.")] = False,
    untracked: Annotated[bool, Arg("stash_push: new files too.")] = False,
    url: Annotated[
        str | None,
        Arg("clone: https://HOST/PATH or ssh://HOST/PATH.", min_length=1, aliases=("source",)),
    ] = None,
    to: Annotated[
        str | None,
        Arg(
            "mv: the new path, or a folder; branch_rename: the new name.",
            min_length=1,
            aliases=("destination", "new_path", "new_name"),
        ),
    ] = None,
    mode: Annotated[
        Mode | None,
        Arg("reset: soft keeps the index, mixed (unless told) the files, hard neither."),
    ] = None,
    mainline: Annotated[
        int | None, Arg("cherry_pick, revert: of a merge, the parent to compare with.", ge=1, le=99)
    ] = None,
    keep: Annotated[
        bool, Arg("rm: leave the files in the working tree.", aliases=("cached",))
    ] = False,
) -> ToolResult:
    """Change a git repository: add, commit, switch, merge, rebase, reset, pull, clone and more.

    Nothing is ever pushed. Hooks, filters and signing are left out: they are programs.
    """
    if action == "push":
        raise ToolFailure(
            "git_write never pushes: what leaves this machine is for a person to send.",
            fix="Tell the person which branch is ready; they push it with git push.",
            code="push_refused",
        )
    if "\0" in (message or ""):
        raise ToolFailure(
            "message holds a NUL byte.", fix="Write it without.", code="invalid_arguments"
        )
    ask = WriteArguments(
        paths=tuple(paths or ()),
        message=message,
        branch=branch,
        tag=tag,
        ref=ref,
        remote=remote,
        strategy=strategy,
        index=index,
        all=all,
        amend=amend,
        create=create,
        detach=detach,
        force=force,
        staged=staged,
        untracked=untracked,
        url=url,
        to=to,
        mode=mode,
        mainline=mainline,
        keep=keep,
    )
    require_used(action, ask, USED[action])
    if action == "init":
        return await changes.init(ctx, repo, ask)
    if action == "clone":
        return await clone(ctx, repo, ask)
    opened = await open_repository(ctx, repo, write=True, action=action)
    if action == "fetch":
        return await fetch(ctx, opened, ask)
    if action == "pull":
        return await pull(ctx, opened, ask)
    return await _ACTIONS[action](opened, ask)
