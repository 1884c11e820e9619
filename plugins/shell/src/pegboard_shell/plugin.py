"""Runs Bash source in the sandbox of the run: to its end, in the background, in a terminal."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from pegboard import Plugin
from pegboard_shell.handles import HandleTable
from pegboard_shell.process_tool import process
from pegboard_shell.terminal_tool import terminal
from pegboard_shell.tools import shell

if TYPE_CHECKING:
    from pegboard import PluginContext

plugin = Plugin(
    summary="Runs Bash source in the sandbox.", config="pegboard_shell.config:ShellSettings"
)
plugin.add_tools(shell, process, terminal)


@plugin.lifespan
async def lifespan(context: PluginContext) -> AsyncIterator[HandleTable]:
    """Keep what goes on between calls, and end it with the plugin."""
    table = HandleTable()
    yield table
    await table.end()
