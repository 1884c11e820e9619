"""Names that models give the arguments of these tools."""

from __future__ import annotations

from typing import Final

PATH: Final = (
    "file_path",
    "filepath",
    "filePath",
    "filename",
    "file_name",
    "file",
    "target_file",
    "absolute_path",
    "relative_workspace_path",
)
PATHS: Final = ("files", "file_paths", "filePaths", "filenames")
FOLDER: Final = (
    "dir_path",
    "directory",
    "directory_path",
    "dir",
    "folder",
    "target_directory",
    "root",
    "relative_workspace_path",
)
LIMIT: Final = ("head_limit", "max_results", "maxResults", "max_count")
CONTENT: Final = ("contents", "text", "file_text", "file_content", "data", "code_content")
OLD: Final = (
    "old_str",
    "old_text",
    "oldText",
    "oldString",
    "oldStr",
    "old",
    "search",
    "find",
    "target",
)
NEW: Final = (
    "new_str",
    "new_text",
    "newText",
    "newString",
    "newStr",
    "new",
    "replace",
    "replacement",
)
EVERYWHERE: Final = ("replaceAll", "all", "global", "allow_multiple")
EDITS: Final = ("changes", "replacements", "operations")
PATCH: Final = ("input", "patch_text", "patchText", "diff", "patch_content", "text")
