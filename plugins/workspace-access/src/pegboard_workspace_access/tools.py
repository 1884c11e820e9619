"""The tool `request_directory_access`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Final, Literal

from pegboard import Arg, ChangeConfig, Grant, ToolContext, ToolFailure, ToolHelp, ToolResult, tool
from pegboard.sandboxes import refused_grant

_GRIPS: Final = {"read": "ro", "write": "rw"}
_DOES: Final = {"read": "read", "write": "read and change"}
_LONGEST_REASON: Final = 300


@tool(
    effects={"state_write"},
    category="system",
    audience="owner",
    attended="directory_access",
    control="config",
    on_interrupt="rerun",  # it only asks; the host makes the change, and once it is made says so
    outside=False,
    help=ToolHelp(
        when_to_use="When a path was refused because it is outside the granted roots, and the "
        "person's request needs it. Ask for the smallest folder that holds what is needed.",
        examples=(
            '{"path": "/srv/photos", "reason": "To sort the photos you asked about."}',
            '{"path": "~/notes", "mode": "write", "reason": "To add the date you told me."}',
        ),
        failure_modes=(
            "unsafe_folder: home folders, system folders, and those that hold secrets are never "
            "granted in this way.",
            "denied: the person said no, or did not answer within a minute.",
        ),
    ),
)
def request_directory_access(
    ctx: ToolContext,
    path: Annotated[str, Arg("The folder: absolute, or below `~`.", min_length=1)],
    reason: Annotated[str, Arg("What it is needed for, in one sentence.", min_length=1)],
    mode: Annotated[Literal["read", "write"], Arg("write = also change what is in it.")] = "read",
) -> ToolResult:
    """Ask the owner to let you use a folder that is outside the granted roots.

    They are asked at once. After a yes the folder can be used at once, and from now on.
    """
    folder = _folder(ctx, path)
    if _is_granted(ctx.sandbox.explain().grants, folder, mode):
        return ToolResult(f"You may {_DOES[mode]} {folder} already. Go on with the request.")
    refused = refused_grant(folder, "rw" if mode == "write" else "ro")
    if refused is not None:
        raise ToolFailure(
            f"{folder} can't be granted: {refused}.",
            fix="Do without it, or ask for a folder below it.",
            code="unsafe_folder",
        )
    return ToolResult(
        f"The owner agreed: you may {_DOES[mode]} {folder} and what is in it. Go on with the "
        "request.",
        control=ChangeConfig(
            f"May I {_DOES[mode]} {folder} and all that is in it, from now on?\n"
            f"  reason: {_in_one_line(reason)}",
            key="sandbox.grants",
            value={"path": str(folder), "mode": _GRIPS[mode]},
            add=True,
            replaces="path",
        ),
    )


def _folder(ctx: ToolContext, path: str) -> Path:
    """Return the folder that is meant, with every link resolved.

    Raises:
        ToolFailure: When there is none.
    """
    if "\0" in path:
        raise ToolFailure("The path contains a NUL byte.", code="invalid_arguments")
    try:
        named = Path(path).expanduser()
        folder = Path(os.path.realpath(ctx.call.workspace / named))
        is_folder, exists = folder.is_dir(), folder.exists()
    except (OSError, RuntimeError, ValueError) as error:
        raise ToolFailure(f"{path} can't be a folder: {error}.", code="not_found") from error
    if exists and not is_folder:
        raise ToolFailure(
            f"{folder} is no folder.", fix=f"Ask for its folder: {folder.parent}", code="no_folder"
        )
    if not is_folder:
        raise ToolFailure(f"There is no folder {folder}.", fix="Check the name.", code="not_found")
    return folder


def _is_granted(grants: tuple[Grant, ...], folder: Path, mode: str) -> bool:
    """Tell whether the innermost grant that holds a folder is enough."""
    around = [grant for grant in grants if folder.is_relative_to(grant.path)]
    if not around:
        return False
    inner = max(around, key=lambda grant: len(grant.path.parts))
    return mode == "read" or inner.mode == "rw"


def _in_one_line(text: str) -> str:
    line = " ".join(text.split())
    shown = "".join(char if char.isprintable() else "?" for char in line)
    return shown if len(shown) <= _LONGEST_REASON else f"{shown[:_LONGEST_REASON]}..."
