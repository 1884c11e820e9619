"""Runs Bash source in the sandbox of the run."""

from __future__ import annotations

from pegboard import Plugin
from pegboard_shell.tools import shell

plugin = Plugin(
    summary="Runs Bash source in the sandbox.", config="pegboard_shell.config:ShellSettings"
)
plugin.add_tools(shell)
