"""Tells the model that a command has ended while it did something else, or with its host."""

from __future__ import annotations

from contextlib import suppress
from typing import Final

from anyio.abc import TaskGroup

from pegboard import News, NewsItem, PegboardError, PluginContext, SandboxError, ToolContext
from pegboard_shell.handles import Handle
from pegboard_shell.output import state

_SHOWN_CHARS: Final = 80
_KILLED: Final = "the host that ran it was killed"


class Endings:
    """Follows each command to its end, and tells the conversation that started it.

    Args:
        context: The plugin's own.
        tasks: Where commands are followed.
    """

    def __init__(self, context: PluginContext, tasks: TaskGroup) -> None:
        self._news: News = context.service("news")
        self._log = context.log
        self._tasks = tasks

    async def follow(self, ctx: ToolContext, handle: Handle) -> None:
        """Tell of the end of a command, unless whoever started it has seen it by then.

        When this returns, that it ended is told even if the host is killed from here on. Delegated
        work has no step after its own end, and a call outside of a conversation none.
        """
        if not ctx.call.conversation or ctx.caller.depth:
            return
        handle.news = (ctx.call.conversation, f"shell:{ctx.plugin.new_id()}")
        try:
            await self._leave(ctx, handle, f"{_told(handle)} ended: {_KILLED}.", last_will=True)
        finally:
            self._tasks.start_soon(self._followed, ctx, handle)

    async def _followed(self, ctx: ToolContext, handle: Handle) -> None:
        with suppress(SandboxError):  # that is how it ended
            await handle.process.wait()
        async with handle.telling:
            if not handle.seen:
                await self._leave(ctx, handle, _sentence(handle))

    async def _leave(
        self, ctx: ToolContext, handle: Handle, text: str, *, last_will: bool = False
    ) -> None:
        assert handle.news is not None, "it is followed"
        conversation, id = handle.news
        item = NewsItem(id=id, text=text)
        try:
            await self._news.leave(conversation, item, trust=ctx.caller.trust, last_will=last_will)
        except PegboardError as error:
            self._log.warning("nobody is told that %s ended: %s", handle.name, error.message)

    async def saw(self, handle: Handle) -> None:
        """Take in that the model was shown that a command has ended."""
        async with handle.telling:
            news = None if handle.seen else handle.news
            handle.seen = True
            if news is not None:
                try:
                    await self._news.take_back(*news)
                except PegboardError as error:
                    self._log.warning("%s is told again: %s", handle.name, error.message)


def _told(handle: Handle) -> str:
    what = " ".join((handle.description or handle.command).split())
    shown = what if len(what) <= _SHOWN_CHARS else f"{what[:_SHOWN_CHARS].rstrip()}..."
    kind = "The terminal" if handle.kind == "terminal" else "The background command"
    return f"{kind} {handle.name} ({shown})"


def _sentence(handle: Handle) -> str:
    tool, action = ("terminal", "read") if handle.kind == "terminal" else ("process", "log")
    told = _told(handle)
    try:
        ended = handle.process.ended
    except SandboxError as error:
        return f"{told} was ended: {error.message}."
    assert ended is not None, "it was waited for"
    look = f'{tool}(action="{action}", handle="{handle.name}")'
    return f"{told} {state(handle)}. See what it wrote: {look}"
