"""Shell source as a command: what is refused before it is started."""

from __future__ import annotations

import math
from typing import Final

from pegboard import Command, ToolContext, ToolFailure, catastrophe

ALLOW: Final = "pegboard config set plugins.shell.allow_catastrophic true"
BACKGROUND_OUTPUT: Final = 4 << 30
"""Bytes that a command in the background may write; no more than a few are kept."""


def require_sane(ctx: ToolContext, source: str) -> None:
    """Refuse source that can't be run, or that nobody wants to run by mistake.

    Raises:
        ToolFailure: When it holds a NUL byte, or would bring a catastrophe.
    """
    if "\0" in source:
        raise ToolFailure(
            "The command contains a NUL byte.", fix="Write it without.", code="invalid_arguments"
        )
    found = None if ctx.plugin.config.allow_catastrophic else catastrophe(source)
    if found is not None:
        raise ToolFailure(
            f"This command is refused ({found.kind}): {found.reason}.",
            fix=f"Name what you mean more narrowly. Only the operator can allow it: {ALLOW}",
            code="catastrophic_command",
        )


def folder(working_dir: str) -> str:
    """Return a working folder as sandboxes take it."""
    return "" if working_dir in (".", "") else working_dir


def background_command(
    ctx: ToolContext, argv: tuple[str, ...], cwd: str, ms: int | None
) -> Command:
    """Return a command that goes on.

    Args:
        ctx: The call.
        argv: Program and arguments.
        cwd: Folder to start in, as the model wrote it.
        ms: Milliseconds that the call gives it, or None.
    """
    settings = ctx.plugin.config
    # nobody reaches what delegated work has left, so it lasts no longer than any other command
    most = min(settings.background_ms, settings.max_timeout_ms if ctx.caller.depth else math.inf)
    return Command(
        argv=argv,
        cwd=folder(cwd),
        timeout_s=(most if ms is None else min(ms, most)) / 1000,
        max_output=BACKGROUND_OUTPUT,
    )
