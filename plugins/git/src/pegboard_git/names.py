"""Names that a call gives to git, and that git gives back: revisions, branches, paths."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from typing import Final

from pegboard import ToolFailure

_REVISION: Final = re.compile(r"[\w@^][\w.@/^~{}+#=,%^-]*")
_BRANCH: Final = re.compile(r"[\w@][\w./@+#=,%-]*")
_REMOTE: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_LONGEST: Final = 250
_UNSHOWABLE: Final = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")


def revision(text: str, argument: str = "ref") -> str:
    """Return a revision, or a range of two, as it is given to git.

    Raises:
        ToolFailure: When it is neither, so that it can't be taken for an option.
    """
    if len(text) > _LONGEST or _REVISION.fullmatch(text) is None:
        raise _invalid(argument, text, "is no revision", "Name a branch, a tag, HEAD~1 or a hash.")
    return text


def single_revision(text: str, argument: str = "ref") -> str:
    """Return one revision.

    Raises:
        ToolFailure: When it is none, or a range.
    """
    if ".." in text:
        raise _invalid(argument, text, "is a range", "Name one revision.")
    return revision(text, argument)


def branch_name(text: str, argument: str = "branch") -> str:
    """Return the name of a branch or a tag.

    Raises:
        ToolFailure: When git would not take it, or would take it for something else.
    """
    bad = (
        len(text) > _LONGEST
        or _BRANCH.fullmatch(text) is None
        or any(part in text for part in ("..", "@{", "//", "/."))
        or text.endswith(("/", ".", ".lock"))
        or text in ("@", "HEAD")
        or text.startswith("refs/")
    )
    if bad:
        raise _invalid(argument, text, "is no name of a branch or tag", "Name it like fix/parser.")
    return text


def remote_name(text: str) -> str:
    """Return the name of a remote.

    Raises:
        ToolFailure: When it is none.
    """
    if len(text) > _LONGEST or _REMOTE.fullmatch(text) is None or ".." in text:
        raise _invalid(
            "remote", text, "is no name of a remote", 'Use git_read with action "remote".'
        )
    return text


def repository_paths(paths: Sequence[str], root: str) -> list[str]:
    """Return paths as git takes them: relative to the top of the repository.

    Args:
        paths: As they were written: relative to the top, or absolute and inside it.
        root: The top folder.

    Raises:
        ToolFailure: When one is empty, leads out, or is inside `.git`.
    """
    return [_repository_path(path, root) for path in paths]


def _repository_path(path: str, root: str) -> str:
    if not path or "\0" in path:
        raise _invalid("paths", path, "is no path", 'Name a file, or "." for all.')
    whole = posixpath.normpath(posixpath.join(root, path))
    if whole == root:
        return "."
    if not whole.startswith(root.rstrip("/") + "/"):
        raise _invalid(
            "paths",
            path,
            "is outside the repository",
            f"Name a path relative to {shown(root)}.",
        )
    inside = whole[len(root.rstrip("/")) + 1 :]
    if any(part.casefold() == ".git" for part in inside.split("/")):
        raise _invalid("paths", path, "is inside .git", "Name a file of the working tree.")
    return inside


def shown(text: str) -> str:
    """Return a name on one line, with control characters and stray bytes written as escapes."""
    return _UNSHOWABLE.sub(lambda found: _escape(found[0]), text)


def decoded(data: bytes) -> str:
    """Return a name as git wrote it, as it can be shown and put into JSON."""
    return shown(data.decode("utf-8", "surrogateescape"))


def plain(data: bytes) -> str:
    """Return text that keeps its lines; what is not UTF-8 is replaced."""
    return data.decode("utf-8", "replace")


def plural(count: int, noun: str, many: str = "") -> str:
    """Return `1 file`, `2 files`; `many` is the plural of a noun that does not just add an s."""
    return f"{count} {noun}" if count == 1 else f"{count} {many or f'{noun}s'}"


def _invalid(argument: str, text: str, what: str, fix: str) -> ToolFailure:
    return ToolFailure(f"{argument}: {shown(text)!r} {what}.", fix=fix, code="invalid_arguments")


def _escape(character: str) -> str:
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    return {"\n": "\\n", "\t": "\\t", "\r": "\\r"}.get(character, f"\\x{code:02x}")
