"""End changes of several files that a process left in the middle when it died."""

from __future__ import annotations

import re
from collections.abc import Collection
from posixpath import basename, dirname
from typing import Final

import anyio

from pegboard import PegboardError, Sandbox, ToolContext
from pegboard_files.history import History
from pegboard_files.journal import Journal, Step, Unfinished
from pegboard_files.names import shown
from pegboard_files.undoable_changes import read_content

_FAILURES: Final = (OSError, PegboardError)
_PART: Final = re.compile(r"\.(.*)\.[0-9a-f]{12}\.tmp", re.DOTALL)
"""A file that is written beside another, to be put in its place."""
_NAME_ROOM: Final = 200


async def recover(ctx: ToolContext) -> tuple[str, ...]:
    """End what died in this folder: it is taken back, or done to its end where that had begun.

    Returns:
        Sentences that the model and a person should read.
    """
    journal, said = Journal(ctx.plugin), list[str]()
    for token in await journal.left(ctx.call.workspace):
        with journal.taken(token) as free:
            change = await journal.unfinished(token) if free else None
            if change is not None:
                with anyio.CancelScope(shield=True):
                    said.extend(await _end(ctx, journal, change))
    return tuple(said)


async def half_changed(ctx: ToolContext, targets: Collection[str]) -> str:
    """Return what who reads files must know of a change of them that died; "" = nothing.

    Args:
        ctx: The call, which may not write and so can't end it.
        targets: Absolute paths of the files.
    """
    journal = Journal(ctx.plugin)
    for token in await journal.left(ctx.call.workspace):
        with journal.taken(token) as free:
            change = await journal.unfinished(token) if free else None
        if change and any(step.target in targets for step in change.steps):
            return (
                f"a change of {_names(change)} was interrupted, and may be half done; the next "
                "tool that changes a file here takes it back first, and so does undo_changes "
                "without a run"
            )
    return ""


def _names(change: Unfinished) -> str:
    return ", ".join(shown(step.path) for step in change.steps)


async def _end(ctx: ToolContext, journal: Journal, change: Unfinished) -> list[str]:
    names = _names(change)
    try:
        for step in change.steps:
            await _sweep(ctx.sandbox, step.target)
        if change.committed:
            await _finish(ctx.sandbox, change)
            left = []
        else:
            left = await _take_back(ctx, change)
    except _FAILURES as error:
        # the disk, or a rule, may allow it later
        return [f"a change of {names} was interrupted, and could not be taken back now: {error}"]
    await journal.close(change.token, undone=not change.committed and not left)
    if change.committed:
        return [f"a change of {names} was interrupted; it was done to its end now"]
    return [f"a change of {names} was interrupted; it was taken back now", *left]


async def _finish(sandbox: Sandbox, change: Unfinished) -> None:
    for step in change.steps:
        if step.aside is not None and await sandbox.stat(step.aside) is not None:
            await sandbox.remove(step.aside)


async def _take_back(ctx: ToolContext, change: Unfinished) -> list[str]:
    """Undo the steps in reverse order; return what could not be, because others came between."""
    gone = [step for step in change.steps if step.after is None]
    put = [step for step in change.steps if step.after is not None]
    left = []
    for step in (*reversed(gone), *reversed(put)):
        why = await (_put_back(ctx.sandbox, step) if step.after is None else _undo(ctx, step))
        if why:
            left.append(f"{shown(step.path)} was left as it is: {why}")
        if step.made is not None:
            await _remove_folders(ctx.sandbox, step)
    return left


async def _put_back(sandbox: Sandbox, step: Step) -> str:
    assert step.aside is not None
    if await sandbox.stat(step.aside) is None:
        return ""  # it was not put aside yet
    if await sandbox.stat(step.target) is not None:
        return f"it is there again; what it held is in {shown(step.aside)}"
    await sandbox.rename(step.aside, step.target)
    return ""


async def _undo(ctx: ToolContext, step: Step) -> str:
    sandbox = ctx.sandbox
    found = await read_content(ctx, step.target, unreadable=True)
    now = None if found is None else found.digest
    if step.moved_from is not None and await sandbox.stat(step.moved_from) is not None:
        # to move it is the first of its steps
        return "" if now is None else f"there is a new {shown(step.moved_from)}"
    if step.before is None:
        if now == step.after:
            await sandbox.remove(step.target)
        return "" if now in (None, step.after) else "somebody changed it since"
    if now not in (step.before, step.after):
        return "somebody changed it since"
    if now != step.before:
        data = await History(ctx.plugin).content(step.before)
        if data is None:
            return "what it held was too large to be kept"
        await sandbox.write(step.target, data)
    if step.moved_from is not None:
        await sandbox.rename(step.target, step.moved_from)
    return ""


async def _remove_folders(sandbox: Sandbox, step: Step) -> None:
    """Remove the folders that were made for a file, as far as nothing is in them."""
    folder = dirname(step.target)
    while step.made is not None and f"{folder}/".startswith(f"{step.made}/"):
        if await sandbox.stat(folder) is not None:
            try:
                if await sandbox.list_dir(folder):
                    return
                await sandbox.remove(folder)
            except _FAILURES:  # it holds something that is not listed, or is no folder any more
                return
        folder = dirname(folder)


async def _sweep(sandbox: Sandbox, target: str) -> None:
    """Remove what was written beside a file and never put in its place."""
    folder = dirname(target)
    if await sandbox.stat(folder) is None:
        return
    name = basename(target).encode("utf-8", "surrogateescape")[:_NAME_ROOM]
    for item in await sandbox.list_dir(folder):
        found = _PART.fullmatch(basename(item.path))
        if found and found[1].encode("utf-8", "surrogateescape") == name and item.kind == "file":
            await sandbox.remove(f"{folder}/{basename(item.path)}")
