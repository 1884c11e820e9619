"""One call of git in the sandbox, and what it came to."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pegboard import Command, Sandbox, ToolContext, ToolFailure
from pegboard_git.hardening import FIXED, REMOVED, environment
from pegboard_git.names import plain

KEPT: Final = 1_048_576
"""Bytes of an output that are kept, unless an action needs fewer."""
_RUN_S: Final = 100.0
_MOST: Final = 67_108_864


@dataclass(frozen=True, slots=True)
class Output:
    """What one call of git came to.

    Args:
        code: Exit status.
        data: What it wrote, from the start.
        errors: What it wrote on its error stream.
        cut: True when there was more than is kept.
        notes: What the sandbox has to say of it.
    """

    code: int
    data: bytes
    errors: str
    cut: bool
    notes: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """What it wrote, as text."""
        return plain(self.data)

    @property
    def said(self) -> str:
        """Both streams, to be understood."""
        return f"{self.errors}\n{self.text}"


async def run_outside(
    ctx: ToolContext, folder: str, *arguments: str, program: str = "git"
) -> Output:
    """Run git in a folder that is no repository yet.

    Args:
        ctx: The call.
        folder: The folder, with links resolved.
        arguments: Arguments of the program.
        program: `git`, or the shell for several calls of git that belong together.
    """
    env = environment(FIXED, ceiling(folder))
    return await run(ctx.sandbox, folder, arguments, env=env, program=program)


async def run(
    sandbox: Sandbox,
    folder: str,
    arguments: Sequence[str],
    *,
    env: Mapping[str, str],
    stdin: bytes = b"",
    keep: int = KEPT,
    program: str = "git",
) -> Output:
    """Run git, or another program that calls it.

    Args:
        sandbox: Where.
        folder: Where it starts.
        arguments: Its arguments.
        env: The variables that it gets.
        stdin: What it reads.
        keep: Bytes of each output that are kept.
        program: Its name.

    Raises:
        ToolFailure: When it does not end in time.
    """
    options = ("--no-pager",) if program == "git" else ()
    unset = [part for name in REMOVED for part in ("-u", name)]
    done = await sandbox.run(
        Command(
            argv=("env", *unset, program, *options, *arguments),
            cwd=folder,
            env=env,
            stdin=stdin,
            timeout_s=_RUN_S,
            keep_head=keep,
            keep_tail=0,
            max_output=_MOST,
            vetted=True,
        )
    )
    if done.timed_out == "wall":
        raise ToolFailure(
            f"git {arguments[0]} was still running after {_RUN_S:g} s and was ended.",
            fix="Ask for less: fewer paths, a smaller limit.",
            code="timeout",
        )
    return Output(
        code=done.exit_code if done.exit_code is not None else -1,
        data=done.stdout.head,
        errors=done.stderr.text(),
        cut=done.stdout.omitted > 0 or done.timed_out == "output",
        notes=done.notes,
    )


def ceiling(folder: str) -> dict[str, str]:
    """Return what keeps git from looking for a repository above a folder."""
    return {"GIT_CEILING_DIRECTORIES": posixpath.dirname(folder)}
