"""Further names that models give the arguments of both tools."""

from __future__ import annotations

from typing import Final

ACTION: Final = ("command", "operation", "subcommand")
REPO: Final = ("repo_path", "repository", "repository_path", "working_dir", "cwd")
PATHS: Final = ("files", "file_paths", "pathspec")
REF: Final = ("revision", "rev", "commit", "commit_hash", "target")
