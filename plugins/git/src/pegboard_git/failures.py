"""What git says when it can't do its job, as a failure with a next step."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from pegboard import ToolFailure
from pegboard_git.names import shown

_LONGEST: Final = 2000


@dataclass(frozen=True, slots=True)
class Known:
    """A kind of failure.

    Args:
        code: Its stable name.
        says: What git says then.
        fix: What to do next.
        message: What to say in git's place; "" = what git says.
        retryable: True when the same call may succeed later.
    """

    code: str
    says: re.Pattern[str]
    fix: str
    message: str = ""
    retryable: bool = False


IDENTITY_FIX: Final = (
    "A person sets it: pegboard config set plugins.git.author_name NAME, and "
    "plugins.git.author_email ADDRESS."
)


def _known(code: str, says: str, fix: str, message: str = "", *, retry: bool = False) -> Known:
    return Known(code, re.compile(says, re.IGNORECASE | re.MULTILINE), fix, message, retry)


KNOWN: Final = (
    _known(
        "dubious_ownership",
        "dubious ownership",
        "If the person trusts it: pegboard config set plugins.git.safe_directories '[\"{root}\"]'",
        "The repository {root} belongs to another user.",
    ),
    _known(
        "bare_repository",
        r"cannot use bare repository|must be run in a work tree",
        "Name a repository with a working tree.",
        "This is a bare repository: it has no working tree.",
    ),
    _known(
        "not_a_repository",
        r"not a git repository|invalid gitfile format|no such file or directory.*gitdir",
        'Name its folder as repo, or make one with git_write, action "init".',
        "{root} is not in a git repository that can be reached.",
    ),
    _known(
        "outside_the_grants",
        r"invalid path '.*': no such file|cannot chdir to|cannot come back to cwd",
        "A person can put it into one folder, or grant the other one: pegboard grant PATH",
        "The repository in {root} uses a folder that can't be reached from here.",
    ),
    _known(
        "locked",
        r"\.lock': file exists|unable to create .*\.lock.*exists|another git process",
        "Try again in a moment. If no other git is at work, a person can remove the lock file.",
        retry=True,
    ),
    _known(
        "identity_missing",
        r"tell me who you are|empty ident name|auto-detect email|no (email|name) was given"
        r"|author identity unknown|committer identity unknown",
        IDENTITY_FIX,
        "Nobody's name and address are set for commits.",
    ),
    _known(
        "nothing_to_commit",
        r"nothing to commit|no changes added to commit|nothing added to commit",
        'Add files first: git_write with action "add", or commit with all true.',
        "There is nothing to commit.",
    ),
    _known(
        "no_commits",
        r"does not have any commits yet|bad (default )?revision 'HEAD'|no commits yet"
        r"|do not have the initial commit|not a valid object name:? '?HEAD'?$|no such ref: HEAD$"
        r"|HEAD - not something we can merge|invalid upstream 'HEAD'|resolve 'HEAD' as a valid ref"
        r"|nothing to amend",
        'Make the first commit: git_write with actions "add" and "commit".',
        "There are no commits yet.",
    ),
    _known(
        "protected",
        r"unsupported file type|can only add regular files",
        "Leave it out of paths; a person can do it with git itself.",
        "A file here is hidden from git, as it is protected, such as a private key.",
    ),
    _known(
        "would_overwrite",
        r"would be overwritten|local changes to the following|uncommitted changes"
        r"|unstaged changes|please commit or stash",
        'Commit them, or put them away: git_write with action "stash_push".',
    ),
    _known(
        "in_progress",
        r"not concluded your merge|unmerged files|unmerged paths|rebase-(merge|apply) directory"
        r"|resolve your current index first|cannot switch branch while|needs merge"
        r"|merge is not possible",
        'Resolve and add the conflicting files, then "continue"; or give up with "abort".',
    ),
    _known(
        "not_in_progress",
        r"no \S+ in progress|there is no merge to abort|MERGE_HEAD missing|or revert in progress",
        'Use git_read with action "status".',
    ),
    _known(
        "not_merged",
        "not fully merged",
        "Merge it first, or set force to true to lose its commits.",
    ),
    _known(
        "diverged",
        r"not possible to fast-forward|diverging branches",
        'Choose how to join them: strategy "merge" or "rebase".',
    ),
    _known(
        "in_use",
        r"checked out at|already used by worktree|used by worktree at",
        "Switch that working tree to another branch first.",
    ),
    _known(
        "corrupt",
        r"index file corrupt|bad index file|bad signature|is corrupt|object file .* is empty",
        "A person has to mend it: git fsck says what is broken.",
    ),
    _known("exists", r"already exists|destination exists", "Choose another name."),
    _known(
        "would_lose",
        r"has local modifications|staged content different|changes staged in the index",
        "Commit them, or restore the files; or set keep to true to leave the files where they are.",
    ),
    _known(
        "merge_commit",
        r"is a merge but no -m option|mainline was specified but|does not have parent",
        "Of a merge say with mainline which parent to compare with, mostly 1; of no other commit.",
    ),
    _known(
        "stash_empty",
        r"no stash entries found|is not a valid reference|no local changes to save"
        r"|log for .*stash.* only has",
        'Use git_read with action "stash".',
    ),
    _known(
        "path_not_found",
        r"pathspec .* did not match|does not exist in|no such path|exists on disk, but not in",
        'Use git_read with action "ls_files" or "status" to see the names.',
    ),
    _known(
        "unknown_revision",
        r"unknown revision|bad revision|ambiguous argument|needed a single revision"
        r"|invalid reference|not a valid object name|not a commit|not something we can merge"
        r"|not a valid branch|invalid upstream|bad object|branch '.*' not found|tag '.*' not found"
        r"|no such (ref|branch)|invalid object name",
        'Use git_read with action "branch", "tag" or "log" to see what there is.',
    ),
    _known(
        "missing_object",
        r"transport .* not allowed|could not fetch .* from promisor|unable to read tree"
        r"|missing blob|lazy fetching disabled",
        "A person must fetch it: this tool fetches no single objects of a partial clone.",
        "The repository lacks an object that only its server has.",
    ),
    _known(
        "read_only",
        r"read-only file system",
        "Work in a folder that is granted to be written: pegboard grant PATH --write",
    ),
    _known("permission", "permission denied", "Ask the person to change its permissions."),
)


def failure(said: str, root: str, action: str) -> ToolFailure:
    """Return the failure that git's words mean.

    Args:
        said: What it wrote, on both streams.
        root: The folder that it worked in.
        action: What it was asked for.
    """
    words = said_words(said)
    for known in KNOWN:
        if known.says.search(said) is not None:
            message = known.message.format(root=shown(root)) or f"git refused {action}: {words}"
            return ToolFailure(
                message,
                fix=known.fix.replace("{root}", shown(root)),
                code=known.code,
                retryable=known.retryable,
            )
    return ToolFailure(
        f"git could not do {action}: {words or 'it did not say why'}",
        fix='Use git_read with action "status" to see how things are.',
        code="git_failed",
    )


def said_words(said: str) -> str:
    """Return git's own words without its hints, on a line each, not too many."""
    lines = [line.strip() for line in said.splitlines()]
    kept = [
        line.removeprefix("fatal: ").removeprefix("error: ")
        for line in lines
        if line and not line.startswith("hint:")
    ]
    return "\n".join(map(shown, kept))[:_LONGEST]
