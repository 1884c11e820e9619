"""Say what a path error means for the one who asked: what is there instead, what to do."""

from __future__ import annotations

import difflib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from pegboard import Sandbox, SandboxError, ToolFailure
from pegboard_files.names import shown, stray_note

_NEAREST: Final = 3
_CUTOFF: Final = 0.5


@asynccontextmanager
async def path_errors(sandbox: Sandbox, path: str) -> AsyncIterator[None]:
    """Turn what the system says about a path into a failure with a next step.

    Raises:
        ToolFailure: In place of the errors of the operating system. A refusal of the sandbox passes
            as it is: it says itself what would allow it.
    """
    try:
        yield
    except FileNotFoundError as error:
        raise await not_found(sandbox, path) from error
    except IsADirectoryError as error:
        raise ToolFailure(
            f"{shown(path)} is a folder.", fix="Use list_dir to see it.", code="is_a_folder"
        ) from error
    except NotADirectoryError as error:
        raise ToolFailure(
            f"{shown(path)} is not a folder, or a part of it is a file.",
            fix="Use file_read for a file.",
            code="not_a_folder",
        ) from error
    except FileExistsError as error:
        raise ToolFailure(
            f"{shown(path)} exists already.", fix="Choose another name.", code="exists"
        ) from error
    except PermissionError as error:
        raise ToolFailure(
            f"The system does not let this user use {shown(path)}.",
            fix="Ask the person to change its permissions.",
            code="permission",
        ) from error


async def not_found(sandbox: Sandbox, path: str) -> ToolFailure:
    """Return the failure for a path that is not there, with names that are near."""
    if await _is_link(sandbox, path):
        return ToolFailure(
            f"{shown(path)} is a link to what does not exist: "
            f"{shown(sandbox.display(sandbox.resolve(path)))}.",
            fix="Name another file, or make that one.",
            code="not_found",
        )
    folder, missing = await _deepest_folder(sandbox, path)
    near = await _near(sandbox, folder, missing)
    fix = ""
    if near:
        # a name that can't be written as it is may look like the one that was given
        others = [shown(name) for name in near if shown(name) != path]
        meant = [f"Did you mean {' or '.join(others)}?"] if others else []
        fix = " ".join((*meant, *(f"{note}." for note in stray_note(near))))
    fix = fix or f"Use list_dir on {shown(folder)}, or glob_search."
    return ToolFailure(f"{shown(path)} does not exist.", fix=fix, code="not_found")


async def _is_link(sandbox: Sandbox, path: str) -> bool:
    try:
        found = await sandbox.stat(path)
    except (SandboxError, OSError):
        return False
    return found is not None and found.kind == "symlink"


async def _deepest_folder(sandbox: Sandbox, path: str) -> tuple[str, str]:
    """Return the deepest folder on the way that exists, and the name that is missing in it."""
    rooted = path.startswith("/")
    parts = [part for part in path.split("/") if part not in ("", ".")]
    for length in range(len(parts) - 1, 0, -1):
        folder = ("/" if rooted else "") + "/".join(parts[:length])
        try:
            found = await sandbox.stat(folder)
        except (SandboxError, OSError):
            break
        if found is not None and found.kind == "dir":
            return folder, parts[length]
    return ".", parts[0] if parts else path


async def _near(sandbox: Sandbox, folder: str, missing: str) -> list[str]:
    try:
        entries = await sandbox.list_dir(folder)
    except (SandboxError, OSError):
        return []
    names = {entry.path.rpartition("/")[2]: entry.path for entry in entries}
    folded = [name for name in names if name.casefold() == missing.casefold()]
    close = difflib.get_close_matches(missing, list(names), n=_NEAREST, cutoff=_CUTOFF)
    return [names[name] for name in dict.fromkeys((*folded, *close))][:_NEAREST]
