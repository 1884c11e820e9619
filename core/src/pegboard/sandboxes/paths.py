"""Paths as a model writes them, read into plain components before anything is opened."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from pegboard.contracts.errors import SandboxError

Parts = tuple[str, ...]
"""Components of an absolute path; `()` is the root of the file system."""

MAX_SHOWN: Final = 240
"""Characters of a path that a message shows."""
_USER: Final = re.compile(r"~[a-z_][a-z0-9_-]*")
_URL: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
_SHORT_GIT: Final = re.compile(r"git~\d+")
_IGNORED: Final = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\U000e0000-\U000e0fff]"
)


@dataclass(frozen=True, slots=True)
class PathText:
    """A path that has been read.

    Args:
        text: As it was written, for messages.
        parts: Absolute components without `.` and `..`.
        folder: True when it was written as a folder (`src/`).
    """

    text: str
    parts: Parts
    folder: bool


def read_path(text: str, *, workspace: Parts, home: Parts) -> PathText:
    """Read a path: relative ones start in the workspace, `~/` is the home folder.

    `..` is taken away by name, before any link is looked at, so the path that is shown is the path
    that is used. `~name` is another user's home, which nobody looks up; a file of that name is
    written `./~name`.

    Raises:
        SandboxError: When it is empty, holds a NUL byte, is no text of this system, is a URL, or
            begins with another user's home.
    """
    check_text(text)
    user = text.partition("/")[0]
    if _USER.fullmatch(user):
        raise SandboxError(
            f"{clipped(text)} is in another user's home: {user} is not looked up here",
            fix=f"Write the whole path of that home, or ./{user} for a file of that name.",
        )
    if text == "~" or text.startswith("~/"):
        base, rest = home, text[1:]
    elif text.startswith("/"):
        base, rest = (), text
    else:
        base, rest = workspace, text
    return PathText(text, normal(base, rest), rest.endswith(("/", "/.", "/..")))


def check_text(text: str) -> None:
    """Refuse what can't be a path.

    Raises:
        SandboxError: When it is empty, holds a NUL byte, is no text of this system, or is a URL.
    """
    if not text:
        raise SandboxError("the path is empty", fix='Name a file or folder; "." is the workspace.')
    if "\0" in text:
        raise SandboxError("path contains a NUL byte", fix="Write the path without it.")
    if _URL.match(text):
        raise SandboxError(f"{clipped(text)} is a URL, not a path", fix="Write the plain path.")
    try:
        text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise SandboxError(
            f"path is not valid text: {clipped(text)!a}", fix="Write it without lone surrogates."
        ) from None


def clipped(text: str) -> str:
    """Return a path as a message shows it: of a very long one the middle is left out."""
    left_out = len(text) - MAX_SHOWN
    if left_out <= 0:
        return text
    half = MAX_SHOWN // 2
    return f"{text[:half]}[... {left_out} characters ...]{text[-half:]}"


def plain_name(path: str) -> str:
    """Return a relative path so that it is read as one, though it begins with `~`."""
    if not path.startswith("~"):
        return path
    first = path.partition("/")[0]
    return f"./{path}" if first == "~" or _USER.fullmatch(first) else path


def normal(base: Parts, rest: str) -> Parts:
    """Return `base` with the components of `rest` added; `..` never goes above the root."""
    parts = list(base)
    for name in rest.split("/"):
        if name == "..":
            del parts[-1:]
        elif name not in ("", "."):
            parts.append(name)
    return tuple(parts)


def split(path: str) -> Parts:
    """Return the components of an absolute path."""
    return normal((), path)


def join(parts: Parts) -> str:
    """Return an absolute path made of components."""
    return "/" + "/".join(parts)


def is_below(parts: Parts, folder: Parts) -> bool:
    """Return whether `parts` is `folder` or inside it, by whole components."""
    return parts[: len(folder)] == folder


@lru_cache(maxsize=8192)
def canon(name: str) -> str:
    """Return what a file name comes to on the most forgiving file system.

    Letter case, full-width forms, invisible characters, stream suffixes, trailing dots and spaces
    are folded, so that `.GIT`, `.git::$INDEX_ALLOCATION` and `GIT~1` are all `.git`. Look-alike
    letters of other scripts are different files everywhere and stay different.
    """
    folded = unicodedata.normalize("NFKC", _IGNORED.sub("", name)).casefold()
    folded = folded.partition(":")[0].rstrip(". ")
    return ".git" if _SHORT_GIT.fullmatch(folded) else folded


def canon_parts(parts: Parts) -> Parts:
    """Return every component in the form of `canon`."""
    return tuple(map(canon, parts))
