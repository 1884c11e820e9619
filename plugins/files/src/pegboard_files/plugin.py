"""Reads, writes, edits, lists and searches files of the workspace and the granted folders."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pegboard import Plugin
from pegboard_files.tools.apply_patch import apply_patch
from pegboard_files.tools.content_search import content_search
from pegboard_files.tools.file_edit import file_edit
from pegboard_files.tools.file_read import file_read
from pegboard_files.tools.file_write import file_write
from pegboard_files.tools.glob_search import glob_search
from pegboard_files.tools.list_dir import list_dir
from pegboard_files.tools.notebook_edit import notebook_edit
from pegboard_files.tools.read_many_files import read_many_files
from pegboard_files.tools.undo_changes import undo_changes

if TYPE_CHECKING:
    import click

plugin = Plugin(
    summary="Tools for files: read, write, edit, list, find by name, search by content.",
    config="pegboard_files.config:FilesSettings",
)
plugin.add_tools(
    apply_patch,
    content_search,
    file_edit,
    file_read,
    file_write,
    glob_search,
    list_dir,
    notebook_edit,
    read_many_files,
    undo_changes,
)


def make_undo() -> click.Command:
    """Return the command `undo`."""
    from pegboard_files.undo_command import command

    return command


plugin.contribute("command", "undo", make_undo, summary="Take back what a run did to files.")
