"""Reads and changes git repositories in the sandbox of the run; never pushes."""

from __future__ import annotations

from pegboard import Plugin
from pegboard_git.tools.git_read import git_read
from pegboard_git.tools.git_write import git_write

plugin = Plugin(
    summary="Tools for git: read and change repositories, fetch, never push.",
    config="pegboard_git.config:GitSettings",
    secrets=("git_credentials",),
)
plugin.add_tools(git_read, git_write)
