"""Reads, writes, edits, lists and searches files of the workspace and the granted folders."""

from __future__ import annotations

from pegboard import Plugin
from pegboard_files.tools.content_search import content_search
from pegboard_files.tools.file_edit import file_edit
from pegboard_files.tools.file_read import file_read
from pegboard_files.tools.file_write import file_write
from pegboard_files.tools.glob_search import glob_search
from pegboard_files.tools.list_dir import list_dir
from pegboard_files.tools.read_many_files import read_many_files

plugin = Plugin(
    summary="Tools for files: read, write, edit, list, find by name, search by content.",
    config="pegboard_files.config:FilesSettings",
)
plugin.add_tools(
    content_search, file_edit, file_read, file_write, glob_search, list_dir, read_many_files
)
