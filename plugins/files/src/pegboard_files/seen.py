"""Which files a conversation has seen, and as what, so that none is overwritten unseen."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from pegboard import FileStat, PegboardError, ToolContext, ToolFailure
from pegboard_files.history import DAY_S
from pegboard_files.history_tables import opened
from pegboard_files.names import shown

_DAYS: Final = 30


class Sighting(NamedTuple):
    """A file as it was at a moment: absolute path, bytes, time of its last change."""

    target: str
    size: int
    mtime_ns: int


async def look_at(ctx: ToolContext, paths: Iterable[str]) -> list[Sighting]:
    """Return what files are now, before they are read: what comes later is another file.

    Args:
        ctx: The call.
        paths: The files, as they were named.
    """
    found: list[Sighting] = []
    if not _reader(ctx):
        return found
    for path in paths:
        try:
            target = ctx.sandbox.resolve(path)
            stat = await ctx.sandbox.stat(target)
        except (PegboardError, OSError):
            continue  # reading says itself what is wrong
        if stat is not None:
            found.append(Sighting(target, stat.size, stat.mtime_ns))
    return found


async def mark_seen(ctx: ToolContext, found: Sequence[Sighting]) -> None:
    """Note that whoever makes this call knows what files hold.

    Args:
        ctx: The call.
        found: The files, as they were when they were read.
    """
    reader = _reader(ctx)
    if not found or not reader:
        return
    now = ctx.plugin.clock.now()

    def work(statements: Any) -> None:
        statements.execute("DELETE FROM seen WHERE at < ?", (now - _DAYS * DAY_S,))
        for item in found:
            statements.execute(
                "INSERT OR REPLACE INTO seen(reader, path, size, mtime_ns, at, turn) "
                "VALUES (?, ?, ?, ?, ?, ?)",
                (reader, item.target, item.size, item.mtime_ns, now, ctx.call.owner.turn),
            )

    try:
        tables = await opened(ctx.plugin.storage)
        await tables.transaction(work)
    except PegboardError as error:
        # reading does not fail for it: what is not noted is only asked for once more
        ctx.plugin.log.warning("what was read could not be noted: %s", error)


async def has_seen(ctx: ToolContext, target: str, stat: FileStat) -> bool | None:
    """Tell whether this conversation knows what a file holds now.

    Args:
        ctx: The call.
        target: Absolute path of the file.
        stat: What it is.

    Returns:
        True when it does, or nobody has to: a person's own call. False when the file was changed
        since, None when it was never read.
    """
    reader = _reader(ctx)
    if not reader:
        return True
    tables = await opened(ctx.plugin.storage)
    rows = await tables.query(
        "SELECT size, mtime_ns FROM seen WHERE reader = ? AND path = ?", (reader, target)
    )
    return tuple(rows[0]) == (stat.size, stat.mtime_ns) if rows else None


async def require_seen(ctx: ToolContext, path: str, target: str, stat: FileStat) -> None:
    """Refuse to replace a file whose content this conversation does not know.

    Raises:
        ToolFailure: When it was never read, or was changed since.
    """
    known = await has_seen(ctx, target, stat)
    if known:
        return
    if known is None:
        raise ToolFailure(
            f"{shown(path)} exists and was not read in this conversation.",
            fix=f"Read it with file_read, then write it; or use file_edit on {shown(path)}.",
            code="not_read",
        )
    raise ToolFailure(
        f"{shown(path)} was changed since it was read.",
        fix="Read it again with file_read, then write it.",
        code="stale",
    )


def _reader(ctx: ToolContext) -> str:
    """Return who has to have read: the conversation, or the run that works for one."""
    return ctx.call.conversation or (ctx.call.run if ctx.caller.depth else "")
