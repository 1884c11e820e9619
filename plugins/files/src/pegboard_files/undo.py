"""Take back what a run did to files, as far as nobody has changed them since."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from posixpath import dirname
from typing import Literal

from pegboard import PegboardError, ToolContext
from pegboard_files.file_change import Content, FileChange
from pegboard_files.history import History, PastChange
from pegboard_files.undoable_changes import change_files, read_content

Action = Literal["restore", "remove", "nothing", "refused"]


@dataclass(frozen=True, slots=True)
class UndoStep:
    """What undoing does with one file.

    Args:
        path: As it is shown.
        action: What is done.
        why: Why it is refused, or what a person must know; "" = nothing.
        change: The change, when there is one.
        forced: True when somebody's change is lost with it.
        made: Absolute path of the uppermost folder that the run made for the file, or None.
    """

    path: str
    action: Action
    why: str = ""
    change: FileChange | None = None
    forced: bool = False
    made: str | None = None


async def plan_undo(
    ctx: ToolContext, history: History, run: str, *, force: bool
) -> tuple[UndoStep, ...]:
    """Return what it takes to give the files of a run back what they held before it.

    Args:
        ctx: The call.
        history: What was kept.
        run: Id of the run.
        force: True to give up what others have changed since.
    """
    by_path: dict[str, list[PastChange]] = {}
    for item in await history.changes(run):
        by_path.setdefault(item.path, []).append(item)
    steps = [
        await _step(ctx, history, changes[0], changes[-1], force)
        for _, changes in sorted(by_path.items())
    ]
    return tuple(_renames(steps, by_path))


async def undo(ctx: ToolContext, history: History, run: str, steps: Sequence[UndoStep]) -> None:
    """Do what a plan says, all of it or nothing.

    Raises:
        ToolFailure, SandboxError, OSError: When a file can't be changed; none is then.
    """
    changes = [step.change for step in steps if step.change is not None]
    if changes:
        await change_files(ctx, changes, tool="undo")
        await _remove_folders(ctx, steps)
    if all(step.action != "refused" for step in steps):
        await history.set_undone(run, ctx.call.run)


async def _step(
    ctx: ToolContext, history: History, first: PastChange, last: PastChange, force: bool
) -> UndoStep:
    shown = ctx.sandbox.display(first.path)
    try:
        target = ctx.sandbox.resolve(first.path, write=True)
        now = await read_content(ctx, target)
    except (PegboardError, OSError) as error:
        return UndoStep(shown, "refused", f"it can't be reached: {error}")
    digest = None if now is None else now.digest
    if digest == first.before and (now is not None) == first.existed:
        return UndoStep(shown, "nothing", "it is as it was before the run")
    forced = digest != last.after
    if forced and not force:
        return UndoStep(shown, "refused", await _who(history, first.path, last, now))
    if not first.existed:
        gone = FileChange(shown, target, now, None)
        return UndoStep(shown, "remove", change=gone, forced=forced, made=first.made)
    data = await history.content(first.before) if first.before else None
    if data is None:
        return UndoStep(shown, "refused", "what it held was too large to be kept, or was dropped")
    change = FileChange(shown, target, now, Content(data, new_mode=first.mode))
    return UndoStep(shown, "restore", change=change, forced=forced)


async def _who(history: History, path: str, last: PastChange, now: Content | None) -> str:
    """Say who has changed a file since the run, as far as it is known."""
    what = "removed" if now is None else "changed" if last.after else "created again"
    other = await history.last_writer(path, None if now is None else now.digest)
    who = f"by the run {other}" if other and other != last.run else "by somebody else"
    return f"it was {what} since, {who}"


async def _remove_folders(ctx: ToolContext, steps: Sequence[UndoStep]) -> None:
    """Remove the folders that the run made, as far as nothing is in them now."""
    folders: set[str] = set()
    for step in steps:
        if step.made is None or step.change is None:
            continue
        folder = step.change.moved_from or step.change.target
        while folder != step.made:
            folder = dirname(folder)
            folders.add(folder)
    for folder in sorted(folders, key=len, reverse=True):
        with suppress(OSError, PegboardError):  # something is in it, or it is gone
            await ctx.sandbox.remove(folder)


def _renames(steps: Sequence[UndoStep], by_path: dict[str, list[PastChange]]) -> list[UndoStep]:
    """Undo a rename by a rename, where it can be: the file keeps its mode and owner."""
    by_target = {step.change.target: step for step in steps if step.change is not None}
    done: dict[str, UndoStep] = {}
    for path, changes in by_path.items():
        source = changes[0].moved_from
        new, old = by_target.get(path), by_target.get(source or "")
        if new is None or old is None or new.change is None or old.change is None:
            continue
        if new.action != "remove" or old.change.before is not None:
            continue
        now, then = new.change.before, old.change.after
        assert now is not None
        assert then is not None
        same = now.whole and now.data == then.data
        change = replace(
            old.change, after=now if same else then, moved_from=new.change.target, source=now
        )
        done[old.path] = replace(old, change=change, why="", made=new.made)
        done[new.path] = replace(new, change=None, why=f"it becomes {old.path} again")
    return [done.get(step.path, step) for step in steps]
