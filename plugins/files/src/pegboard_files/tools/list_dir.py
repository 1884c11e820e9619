"""The tool `list_dir`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Final

from pegboard import (
    Arg,
    FileStat,
    OutputLimits,
    Sandbox,
    SandboxError,
    ToolContext,
    ToolHelp,
    ToolResult,
    tool,
)
from pegboard_files.argument_names import EXCLUDE, FOLDER, GITIGNORE, LIMIT, SHOWN_ANYWAY, WHY
from pegboard_files.globs import compile_left_out
from pegboard_files.names import plural, shown, size_text, stray_note
from pegboard_files.path_failures import path_errors

MAX_DEPTH: Final = 10


@tool(
    effects={"read"},
    category="file",
    capability="orch:read",
    audience="owner",
    aliases=("ls", "LS", "list_directory", "list_files", "list_folder", "listdir"),
    ignored_arguments=(*GITIGNORE, "file_filtering_options", *SHOWN_ANYWAY, *WHY),
    intents=(
        "list [me] [all] [the] files [(in|of|under) [the] [folder|directory] {path:path}]",
        "list [the] [current] (folder|directory) [{path:path}]",
        "ls [{path:path}]",
        "(what files are|which files are|what is) [there] in [the] (folder|directory) {path:path}",
        "(what files are|which files are|what is|what's) (here|there|in here)",
        "(what is|what's) in (this|the current) (folder|directory)",
        "(list|show) [me] the files here",
        "show [me] [the] (folder|directory) {path:path}",
    ),
    limits=OutputLimits(chars=30_000, keep="both"),
    help=ToolHelp(
        when_to_use="To see what a folder holds. To find files by name, use glob_search.",
        examples=("{}", '{"path": "src", "depth": 2}'),
        failure_modes=("not_found: names what is near", "not_a_folder: use file_read"),
    ),
)
async def list_dir(
    ctx: ToolContext,
    path: Annotated[
        str,
        Arg(
            'The folder; "." is the workspace.',
            access="read",
            min_length=1,
            aliases=FOLDER,
        ),
    ] = ".",
    depth: Annotated[
        int,
        Arg("How many levels to show.", ge=1, le=MAX_DEPTH, aliases=("max_depth", "levels")),
    ] = 1,
    recursive: Annotated[bool, Arg(f"All levels, at most {MAX_DEPTH}.")] = False,
    limit: Annotated[
        int,
        Arg("Entries to show at most.", ge=1, le=5000, aliases=("max_entries", *LIMIT)),
    ] = 1000,
    ignore: Annotated[
        list[str] | None,
        Arg(
            "Patterns of entries to leave out, such as *.pyc or node_modules.",
            aliases=("exclude", *EXCLUDE),
        ),
    ] = None,
) -> ToolResult:
    """List the entries of a folder: folders end in `/`, links in `@`, files have their size."""
    left_out = [compile_left_out(pattern) for pattern in ignore or ()]
    listing = _Listing(ctx.sandbox, MAX_DEPTH if recursive else depth, limit, left_out)
    async with path_errors(ctx.sandbox, path):
        await listing.add(path, 1)
    entries = listing.entries
    lines = [line for line, _ in entries]
    if not entries:
        lines.append("[the folder is empty]")
    if listing.more:
        lines.append(f"[more than {plural(limit, 'entry', 'entries')}]")
    lines.extend(f"[{note}]" for note in stray_note(item.path for _, item in entries))
    return ToolResult(
        output="\n".join(lines),
        structured={
            "path": path,
            "entries": [
                {"path": item.path, "kind": item.kind, "size": item.size} for _, item in entries
            ],
            "more": listing.more,
        },
        details={"entries": len(entries), "more": listing.more},
    )


class _Listing:
    """Entries collected level by level, indented below their folder."""

    def __init__(
        self, sandbox: Sandbox, depth: int, limit: int, left_out: Sequence[re.Pattern[str]]
    ) -> None:
        self.sandbox = sandbox
        self.left_out = left_out
        self.depth = depth
        self.limit = limit
        self.entries: list[tuple[str, FileStat]] = []
        self.more = False

    async def add(self, path: str, level: int, before: str = "") -> None:
        """Add the entries of a folder; `before` is the way to it from where the listing starts."""
        for item in await self.sandbox.list_dir(path):
            below = before + item.path.rpartition("/")[2]
            if any(pattern.match(below) for pattern in self.left_out):
                continue
            if len(self.entries) >= self.limit:
                self.more = True
                return
            self.entries.append((_line(item, level), item))
            if item.kind == "dir" and level < self.depth:
                await self._below(item.path, level, f"{below}/")

    async def _below(self, path: str, level: int, before: str) -> None:
        try:
            await self.add(path, level + 1, before)
        except (SandboxError, PermissionError) as error:
            reason = "closed" if isinstance(error, SandboxError) else "not readable"
            line, item = self.entries[-1]
            self.entries[-1] = (f"{line} [{reason}]", item)
        except (FileNotFoundError, NotADirectoryError):
            return  # it went away while we looked


def _line(item: FileStat, level: int) -> str:
    name = shown(item.path.rpartition("/")[2])
    marks = {"dir": "/", "symlink": "@", "other": "|", "file": ""}
    size = f"  {size_text(item.size)}" if item.kind == "file" else ""
    return f"{'  ' * (level - 1)}{name}{marks[item.kind]}{size}"
