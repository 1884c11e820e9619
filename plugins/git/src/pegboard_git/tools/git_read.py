"""The tool `git_read`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Final

from pegboard import Arg, Intent, Needs, OutputLimits, ToolContext, ToolHelp, ToolResult, tool
from pegboard_git.reading import history, lines, refs, state, trees, walks
from pegboard_git.reading.arguments import (
    USED,
    Form,
    ReadAction,
    ReadArguments,
    Which,
    require_used,
)
from pegboard_git.repository import Repository
from pegboard_git.repository_access import open_repository
from pegboard_git.tools.other_names import ACTION, PATHS, REF, REPO

_ACTIONS: Final[
    Mapping[ReadAction, Callable[[Repository, ReadArguments], Awaitable[ToolResult]]]
] = {
    "status": state.status,
    "log": history.log,
    "diff": history.diff,
    "show": history.show,
    "file": history.file,
    "blame": lines.blame,
    "grep": lines.grep,
    "branch": refs.branch,
    "tag": refs.tag,
    "remote": refs.remote,
    "stash": history.stash,
    "ls_files": state.ls_files,
    "rev_parse": state.rev_parse,
    "ls_tree": trees.ls_tree,
    "reflog": walks.reflog,
    "merge_base": walks.merge_base,
    "shortlog": walks.shortlog,
}

_SHOW: Final = {"action": "show"}


@tool(
    effects={"read"},
    category="git",
    aliases=("git",),
    capability="orch:read",
    audience="owner",
    intents=(
        "[show] [me] [the] git {action:word}",
        "(show|tell) [me] [the] {action:word} of [the] [git] repository [in] {repo:path}",
        Intent("(what|what was|what has|which files) changed in [the] (last|latest) commit", _SHOW),
        Intent("what did [the] (last|latest) commit change", _SHOW),
        Intent("show [me] [the] (last|latest) commit", _SHOW),
        Intent("[show] [me] [the] (last|latest) {limit:number} commits", {"action": "log"}),
    ),
    limits=OutputLimits(chars=30_000, keep="both"),
    needs=Needs(binaries=("git",)),
    help=ToolHelp(
        when_to_use="To see the state, history and contents of a git repository.",
        examples=(
            '{"action": "status"}',
            '{"action": "log", "paths": ["src/parser.py"], "limit": 5}',
            '{"action": "diff", "ref": "main..HEAD", "form": "stat"}',
            '{"action": "blame", "paths": ["src/parser.py"], "start": 10, "end": 20}',
        ),
        failure_modes=(
            "protected: a file that no file tool reads either, such as a private key",
            "not_a_repository: no repository holds the folder",
            "unknown_revision: there is no such branch, tag or commit",
            "invalid_arguments: an argument that this action does not take, or a bad name",
        ),
    ),
)
async def git_read(
    ctx: ToolContext,
    action: Annotated[ReadAction, Arg("What to read.", aliases=ACTION)],
    repo: Annotated[
        str, Arg("Folder of the repository.", access="read", min_length=1, aliases=REPO)
    ] = ".",
    ref: Annotated[
        str | None,
        Arg("Branch, tag, commit, or for log and diff a range a..b.", min_length=1, aliases=REF),
    ] = None,
    paths: Annotated[
        list[str] | None,
        Arg("Files or folders, relative to the top of the repository; no patterns.", aliases=PATHS),
    ] = None,
    limit: Annotated[
        int | None,
        Arg("Entries to return at most.", ge=1, le=2000, aliases=("max_count", "count", "n")),
    ] = None,
    skip: Annotated[int | None, Arg("log: commits to pass over.", ge=0)] = None,
    form: Annotated[
        Form | None, Arg("log, diff, show, stash: the changes as patch, stat or names.")
    ] = None,
    staged: Annotated[
        bool, Arg("diff: the index in place of the working tree.", aliases=("cached",))
    ] = False,
    context: Annotated[
        int | None,
        Arg(
            "diff, show, grep: lines around each change or match.",
            ge=0,
            le=100,
            aliases=("context_lines", "unified"),
        ),
    ] = None,
    pattern: Annotated[
        str | None, Arg("grep: regular expression.", min_length=1, aliases=("query", "regex"))
    ] = None,
    literal: Annotated[bool, Arg("grep: take the pattern as plain text.")] = False,
    ignore_case: Annotated[bool, Arg("grep: let letter case not matter.")] = False,
    author: Annotated[str | None, Arg("log: part of a name or address.")] = None,
    text: Annotated[str | None, Arg("log: part of a message.")] = None,
    since: Annotated[str | None, Arg("log: a date, such as 2026-01-31 or 2 weeks ago.")] = None,
    until: Annotated[str | None, Arg("log: a date.")] = None,
    all_refs: Annotated[bool, Arg("log: of all branches and tags.")] = False,
    start: Annotated[int | None, Arg("blame: first line.", ge=1, aliases=("start_line",))] = None,
    end: Annotated[int | None, Arg("blame: last line.", ge=1, aliases=("end_line",))] = None,
    which: Annotated[Which | None, Arg("ls_files: which files; tracked unless told.")] = None,
    index: Annotated[int | None, Arg("stash: the entry to show, 0 = the newest.", ge=0)] = None,
    other: Annotated[str | None, Arg("merge_base: the second revision.", min_length=1)] = None,
    recursive: Annotated[bool, Arg("ls_tree: what is in folders too.")] = False,
) -> ToolResult:
    """Read a git repository: status, log, diff, show, file, blame, grep, branch, tag and more.

    Nothing is changed, and no program that the repository names is run.
    """
    ask = ReadArguments(
        ref=ref,
        paths=tuple(paths or ()),
        limit=limit,
        skip=skip,
        form=form,
        staged=staged,
        context=context,
        pattern=pattern,
        literal=literal,
        ignore_case=ignore_case,
        author=author,
        text=text,
        since=since,
        until=until,
        all_refs=all_refs,
        start=start,
        end=end,
        which=which,
        index=index,
        other=other,
        recursive=recursive,
    )
    require_used(action, ask, USED[action])
    opened = await open_repository(ctx, repo, action=action)
    return await _ACTIONS[action](opened, ask)
