"""Whether a repository that a command has made would run programs of its choice on the host."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final

_SECTION: Final = re.compile(r'\[\s*([a-z][a-z0-9.-]*)(?:\s+"(?:[^"\\]|\\.)*")?\s*\]', re.I)
_SETTING: Final = re.compile(r"([a-z][a-z0-9-]*)\s*(?:=\s*(.*))?", re.I)
_HARMLESS: Final[dict[str, frozenset[str]]] = {
    "core": frozenset(
        {
            *("repositoryformatversion", "filemode", "bare", "logallrefupdates", "ignorecase"),
            *("precomposeunicode", "symlinks", "autocrlf", "eol", "safecrlf", "quotepath"),
            *("sharedrepository", "longpaths", "abbrev"),
        }
    ),
    "extensions": frozenset({"objectformat", "refstorage", "partialclone"}),
    "init": frozenset({"defaultbranch"}),
    "user": frozenset({"name", "email"}),
    "remote": frozenset({"url", "fetch", "tagopt", "prune", "promisor", "partialclonefilter"}),
    "branch": frozenset({"remote", "merge", "rebase", "description"}),
    "submodule": frozenset({"url", "active"}),
    "pull": frozenset({"rebase", "ff"}),
}
"""Settings of git that name no program. Whatever else a config says is not looked into."""
_URL: Final = re.compile(r"(https?|ssh|git|file)://|[\w.@-]+:[^:]|[./~]", re.I)
_LARGEST: Final = 65_536


def runs_programs(git: Path) -> bool:
    """Return whether using the repository `git` (a `.git` folder) could run a program it names.

    In doubt it could: what can't be read as plainly harmless is not.
    """
    if git.is_symlink() or not git.is_dir():
        return True
    if any(os.path.lexists(git / name) for name in ("commondir", "config.worktree", "modules")):
        return True
    return _has_hook(git / "hooks") or not _is_harmless(git / "config")


def _has_hook(hooks: Path) -> bool:
    if hooks.is_symlink():
        return True
    try:
        return any(not name.endswith(".sample") for name in os.listdir(hooks))  # noqa: PTH208
    except NotADirectoryError:
        return True
    except FileNotFoundError:
        return False


def _is_harmless(config: Path) -> bool:
    try:
        if config.is_symlink() or config.stat().st_size > _LARGEST:
            return False
        lines = config.read_text("utf-8").splitlines()
    except (OSError, ValueError):
        return False
    section = ""
    for line in map(str.strip, lines):
        if not line or line[0] in "#;":
            continue
        head = _SECTION.fullmatch(line)
        if head is not None:
            section = head[1].lower()
        elif not _is_harmless_setting(section, line):
            return False
    return True


def _is_harmless_setting(section: str, line: str) -> bool:
    setting = _SETTING.fullmatch(line)
    if setting is None or line.endswith("\\"):
        return False
    name, value = setting[1].lower(), setting[2] or ""
    if name not in _HARMLESS.get(section, ()):
        return False
    return name != "url" or _URL.match(value) is not None
