"""One repository that may be used, and every call of git in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from pegboard import Sandbox
from pegboard_git.failures import failure
from pegboard_git.git_call import KEPT, Output, ceiling, run
from pegboard_git.hardening import FIXED, Pairs, environment, filters

if TYPE_CHECKING:
    from pegboard_git.config import GitSettings

_IN_PROGRESS: Final = (
    ("MERGE_HEAD", "merge"),
    ("rebase-merge", "rebase"),
    ("rebase-apply", "rebase"),
    ("CHERRY_PICK_HEAD", "cherry-pick"),
    ("REVERT_HEAD", "revert"),
    ("BISECT_LOG", "bisect"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    """A repository that may be used.

    Args:
        sandbox: Where git runs.
        settings: What the operator decides.
        root: Top folder of the working tree.
        git_dir: Its `.git`, or that of this working tree.
        common_dir: Where its branches and objects are.
        config: The repository's own configuration, the last value of each key.
        pairs: The answers that every call gives to git.
    """

    sandbox: Sandbox
    settings: GitSettings
    root: str
    git_dir: str
    common_dir: str
    config: Mapping[str, str] = field(default_factory=dict)
    pairs: Pairs = FIXED

    @property
    def filters(self) -> tuple[str, ...]:
        """Names of the filters that its configuration sets, all of them left out."""
        return filters(self.config)

    async def git(
        self,
        *arguments: str,
        action: str = "",
        stdin: bytes = b"",
        keep: int = KEPT,
        accept: Sequence[int] = (0,),
        env: Mapping[str, str] | None = None,
        more: Pairs = (),
        unsaid: str = "",
        ended: str = "",
    ) -> Output:
        """Run git in the top folder.

        Args:
            arguments: Its arguments.
            action: What this is for, in an error; "" = the command.
            stdin: What it reads.
            keep: Bytes of its output that are kept.
            accept: Exit codes that are no failure.
            env: Further variables.
            more: Further answers to configuration.
            unsaid: What it means when it fails without a word.
            ended: Words that say that all was done although it failed.

        Raises:
            ToolFailure: When it ends otherwise.
        """
        done = await run(
            self.sandbox,
            self.root,
            arguments,
            stdin=stdin,
            keep=keep,
            env=environment((*self.pairs, *more), {**ceiling(self.root), **(env or {})}),
        )
        if done.code not in accept and not done.cut and not (ended and ended in done.said):
            said = done.said if done.said.strip() else unsaid
            raise failure(said, self.root, action or arguments[0])
        return done

    async def in_progress(self) -> str:
        """Return which larger operation has begun and not ended, or ""."""
        for name, operation in _IN_PROGRESS:
            if await self.sandbox.stat(f"{self.git_dir}/{name}") is not None:
                return operation
        return ""

    async def conflicts(self) -> list[bytes]:
        """Return the paths that are in conflict."""
        found = await self.git(
            "diff", "--name-only", "--diff-filter=U", "-z", "--ignore-submodules=dirty", "--"
        )
        return list(dict.fromkeys(path for path in found.data.split(b"\0") if path))
