"""The words of a refusal: what happened, and the command that would allow it."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from typing import Final

from pegboard.contracts.effects import Effect, Effects
from pegboard.contracts.errors import SandboxError
from pegboard.contracts.sandbox import Grant, Grip
from pegboard.sandboxes.protected import Closed

_LONGEST_PATH: Final = 4095
"""Bytes; the system opens nothing that is written longer."""
_DOES: Final[dict[Effect, str]] = {
    "read": "read files",
    "fs_write": "write files",
    "exec": "run commands",
}
_WHY_CLOSED: Final[dict[Closed, str]] = {
    "own": "it belongs to Pegboard itself",
    "secret": "it holds secrets",
    "key": "it is a private key",
    "control": "it decides what programs run",
}


def outside(
    path: str, *, mode: Grip, folder: str, never: str | None, grants: Sequence[Grant]
) -> SandboxError:
    """Return the refusal of a path that no grant reaches.

    Args:
        path: As it was written.
        mode: What would have to be granted.
        folder: The folder to grant.
        never: Why that folder can't be granted, or None when it can.
        grants: What is granted; the first is the workspace.
    """
    roots = ", ".join(str(grant.path) for grant in grants)
    return SandboxError(
        f"path is outside the granted roots: {path} (granted: {roots})",
        fix=_grant_or_not(folder, mode, never),
        path=path,
    )


def read_only(path: str, *, root: str) -> SandboxError:
    """Return the refusal of a write below a grant that is only for reading."""
    return SandboxError(
        f"{path} is granted only to be read", fix=grant_command(root, "rw"), path=path
    )


def link_outside(
    link: str, target: str, *, mode: Grip, folder: str, never: str | None
) -> SandboxError:
    """Return the refusal of a symbolic link that leads out of the grants.

    Args:
        link: The link.
        target: Where it leads to, as it is written in it.
        mode: What would have to be granted.
        folder: The folder to grant.
        never: Why that folder can't be granted, or None when it can.
    """
    return SandboxError(
        f"symbolic link leads outside the granted roots: {link} -> {target}",
        fix=_grant_or_not(folder, mode, never),
        path=link,
    )


def protected(path: str, why: Closed, *, write: bool, place: str) -> SandboxError:
    """Return the refusal of a place that is closed inside a grant.

    Args:
        path: As it was written.
        why: What the place is.
        write: Whether it was to be changed.
        place: The closed place itself; a grant that names it opens it, unless it is Pegboard's own.
    """
    verb = "written" if write else "read"
    if why == "own":
        fix = "No grant opens it: change it with `pegboard config` or `pegboard secret`."
    elif why == "key":
        fix = "No grant opens it: a person can copy what is needed into a file of another name."
    else:
        fix = grant_command(place, "rw" if write else "ro")
    return SandboxError(
        f"{path} is protected and cannot be {verb}: {_WHY_CLOSED[why]}", fix=fix, path=path
    )


def not_regular(path: str, kind: str) -> SandboxError:
    """Return the refusal of what is no file of bytes."""
    return SandboxError(
        f"not a regular file: {path} ({kind})",
        fix="No grant opens it: only regular files are read and written.",
        path=path,
    )


def refused_root(root: str, reason: str, *, granted: bool = False) -> SandboxError:
    """Return the refusal of a folder that may not be granted.

    Args:
        root: The folder.
        reason: Why.
        granted: Whether it stands among the grants of the config.
    """
    return SandboxError(
        f"refusing to grant {root}: {reason}",
        fix=f"pegboard revoke {shlex.quote(root)}"
        if granted
        else "Nothing can grant it: work in a folder of its own, or grant one below it.",
        path=root,
    )


def lacks_effect(effect: Effect, effects: Effects) -> SandboxError:
    """Return the refusal of what this call may not do at all."""
    allowed = ", ".join(sorted(effects)) or "nothing"
    return SandboxError(
        f"this call may not {_DOES[effect]} (it may: {allowed})",
        fix="`pegboard why TOOL` shows the rule that decides what a call may do.",
    )


def grant_command(path: str, mode: Grip) -> str:
    """Return the command that grants one more folder or file."""
    return f"pegboard grant {shlex.quote(path)}" + (" --write" if mode == "rw" else "")


def _grant_or_not(folder: str, mode: Grip, never: str | None) -> str:
    if len(os.fsencode(folder)) > _LONGEST_PATH:
        return "No grant opens it: no folder has so long a path."
    return f"{folder} can't be granted: {never}." if never else grant_command(folder, mode)
