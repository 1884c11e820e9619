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
PATHS: Final = ("files", "file_paths", "filePaths", "filenames", "include")
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
LIMIT: Final = (
    "head_limit",
    "max_results",
    "maxResults",
    "max_count",
    "max_matches",
    "total_max_matches",
)
EXCLUDE: Final = (
    "exclude_pattern",
    "excludePattern",
    "exclude_patterns",
    "excludePatterns",
    "ignore_patterns",
)
GITIGNORE: Final = ("respect_git_ignore", "respect_gitignore", "respectGitIgnore")
NO_GITIGNORE: Final = ("no_ignore", "include_ignored", "includeIgnoredFiles")
CASE_MATTERS: Final = ("case_sensitive", "caseSensitive")
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
SHOWN_ANYWAY: Final = (
    *("show_hidden", "include_hidden", "hidden"),
    *("respect_gemini_ignore", "respectGeminiIgnore"),
)
"""What these tools do whatever is said of it."""
FIRST_LINE: Final = (
    *("line", "line_start", "start", "start_line", "startLine"),
    *("start_line_one_indexed", "StartLine"),
)
LAST_LINE: Final = (
    *("end", "line_end", "endLine", "end_line_one_indexed", "end_line_one_indexed_inclusive"),
    "EndLine",
)
EDITOR: Final = ("command", "file_text", "insert_line", "insert_text", "view_range")
"""What an editor with several commands takes beside the texts of a replacement."""
WHY: Final = ("description", "explanation", "instruction", "instructions", "reason", "thought")
"""What a call is for, which no tool needs."""
EDITS: Final = ("changes", "replacements", "operations")
PATCH: Final = ("input", "patch_text", "patchText", "diff", "patch_content", "text")
