"""Change files for a call: what they held is kept, all is changed as one step, and told."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial

import anyio

from pegboard import SandboxError, ToolContext
from pegboard_files.editable import MAX_BYTES
from pegboard_files.file_change import Content, FileChange
from pegboard_files.history import History
from pegboard_files.journal import Journal, needs_journal
from pegboard_files.names import shown
from pegboard_files.seen import look_at, mark_seen
from pegboard_files.transaction import RollbackFailed, Transaction, missing_folders


async def read_content(
    ctx: ToolContext, target: str, *, unreadable: bool = False
) -> Content | None:
    """Return what a file holds, or None when there is nothing.

    Args:
        ctx: The call.
        target: Absolute path.
        unreadable: True when what may not be read is wanted too, without its bytes.

    Raises:
        SandboxError, OSError: When it is no file, or may not be reached.
    """
    stat = await ctx.sandbox.stat(target)
    if stat is None:
        return None
    most = max(MAX_BYTES, ctx.plugin.config.history_file_mb << 20)
    try:
        data = await ctx.sandbox.read(target, limit=most + 1)
    except (PermissionError, SandboxError):
        # what may be written need not be readable; writing says itself what is refused
        if not unreadable or stat.kind != "file":
            raise
        return Content(b"", whole=False, stat=stat)
    return Content(data, whole=len(data) <= most, stat=stat)


async def change_files(
    ctx: ToolContext, changes: Sequence[FileChange], *, tool: str, known: Iterable[str] = ()
) -> tuple[str, ...]:
    """Make changes, all or none, and keep what the files held before.

    Args:
        ctx: The call.
        changes: What becomes of each file.
        tool: Name of the tool, for the history.
        known: Absolute paths of the files whose whole new content the conversation knows.

    Returns:
        Sentences that the model and a person should read.

    Raises:
        ToolFailure, SandboxError, OSError: When a change can't be made; none is made then.
    """
    changes = [await _with_folder(ctx, change) for change in changes]
    if needs_journal(changes):
        left_out = await _by_steps(ctx, changes, tool)
    else:
        left_out = await _at_once(ctx, changes, tool)
    await mark_seen(ctx, await look_at(ctx, known))
    return tuple(
        f"{shown(path)} was too large to be kept: this change can't be undone" for path in left_out
    )


async def _at_once(ctx: ToolContext, changes: Sequence[FileChange], tool: str) -> list[str]:
    """Make a change that the file system makes as one step."""
    history = History(ctx.plugin)
    ids, left_out = await history.keep(ctx.call, tool, changes)
    try:
        await Transaction(ctx.sandbox, ctx.plugin.new_id()).apply(changes)
    except RollbackFailed:
        raise
    except BaseException:
        with anyio.CancelScope(shield=True):
            await history.forget(ids)
        raise
    return left_out


async def _by_steps(ctx: ToolContext, changes: Sequence[FileChange], tool: str) -> list[str]:
    """Make a change of several steps, which another process can end when this one dies."""
    journal, token = Journal(ctx.plugin), ctx.plugin.new_id()
    with journal.held(token):
        _, left_out = await History(ctx.plugin).keep(ctx.call, tool, changes, token=token)
        try:
            await Transaction(ctx.sandbox, token, no_way_back=partial(journal.commit, token)).apply(
                changes
            )
        except RollbackFailed:
            raise  # it stays written down: what could not be taken back is tried again
        except BaseException:
            with anyio.CancelScope(shield=True):
                await journal.close(token, undone=True)
            raise
        with anyio.CancelScope(shield=True):
            await journal.close(token)
    return left_out


async def _with_folder(ctx: ToolContext, change: FileChange) -> FileChange:
    if change.before is not None or change.after is None:
        return change
    missing = await missing_folders(ctx.sandbox, change.target)
    return replace(change, made=missing[-1]) if missing else change
