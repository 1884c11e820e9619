"""Runs Bash source in the sandbox of the run: to its end, in the background, in a terminal."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import anyio

from pegboard import Needs, Plugin
from pegboard_shell.endings import Endings
from pegboard_shell.handles import HandleTable
from pegboard_shell.process_tool import process
from pegboard_shell.terminal_tool import terminal
from pegboard_shell.tools import shell

if TYPE_CHECKING:
    from pegboard import PluginContext

plugin = Plugin(
    summary="Runs Bash source in the sandbox.",
    config="pegboard_shell.config:ShellSettings",
    needs=Needs(services=("news",)),
)
plugin.add_tools(shell, process, terminal)


@plugin.lifespan
async def lifespan(context: PluginContext) -> AsyncIterator[HandleTable]:
    """Keep what goes on between calls, and end it with the plugin."""
    async with anyio.create_task_group() as tasks:
        table = HandleTable(Endings(context, tasks))
        yield table
        await table.end()
