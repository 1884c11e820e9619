"""`reset`: a branch is set to another commit."""

from __future__ import annotations

import os

from pegboard import ToolResult
from pegboard_git.names import single_revision
from pegboard_git.reading.state import read_status
from pegboard_git.reading.trees import require_commits
from pegboard_git.repository import Repository
from pegboard_git.writing.arguments import WriteArguments
from pegboard_git.writing.conflict import require_idle, require_no_conflicts
from pegboard_git.writing.identity import identity
from pegboard_git.writing.in_the_way import require_nothing_in_the_way
from pegboard_git.writing.unstored_files import require_none_hidden


async def reset(repo: Repository, ask: WriteArguments) -> ToolResult:
    """Set the branch to another commit; what is lost by it is kept, and told how to get back."""
    mode = ask.mode or "mixed"
    name = single_revision(ask.ref or "HEAD")
    await require_commits(repo, (name,), "reset")
    found = await repo.git("rev-parse", "--verify", "--end-of-options", f"{name}^{{commit}}")
    target = found.text.strip()
    before, _ = await read_status(repo, limit=1)
    kept = ""
    if mode == "hard":
        await require_idle(repo, "reset")
        await require_no_conflicts(repo, "reset")
        await require_none_hidden(repo, "reset")
        await require_nothing_in_the_way(repo, before.commit, target, "reset")
        kept = await _kept_changes(repo)
    await repo.git("reset", "--quiet", "--no-recurse-submodules", f"--{mode}", target, "--")
    after, more = await read_status(repo)
    lines = [f"{after.branch or 'HEAD'} is now at {target[:10]} ({mode}); it was at "]
    lines[0] += f"{before.commit[:10]}." if before.commit else "no commit."
    if kept:
        lines.append("The changes that were not committed are in the stash: stash_pop, index 0.")
    if before.commit and before.commit != target:
        lines.append(f"To undo it: reset, mode {mode}, ref {before.commit[:10]}.")
    facts = {**after.to_dict(), "more": more, "was": before.commit or None, "stash": kept or None}
    return ToolResult(output="\n".join(lines), structured=facts)


async def _kept_changes(repo: Repository) -> str:
    """Put what is not committed into the stash, and return its hash; "" = there is nothing."""
    made = await repo.git(
        *("stash", "create", "before reset"),
        action="reset",
        env=identity(repo.settings, os.environ),
        unsaid="the changes could not be put into the stash; another git process may be at work",
    )
    entry = made.text.strip()
    if entry:
        await repo.git("stash", "store", "--message=before reset", entry, action="reset")
    return entry
