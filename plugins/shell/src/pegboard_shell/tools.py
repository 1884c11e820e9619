"""The tool `shell`."""

from __future__ import annotations

from typing import Annotated, Final

from pegboard import (
    Arg,
    Command,
    Completed,
    ToolContext,
    ToolHelp,
    ToolResult,
    start_process,
    tool,
)
from pegboard_shell.commands import background_command, folder, require_sane
from pegboard_shell.handles import HandleTable
from pegboard_shell.output import command_facts, command_text, handle_facts, piece_text, state

_BEYOND_S: Final = 30.0
"""Seconds that the host waits beyond the longest command, for its grace and its last output."""
_LOOK_S: Final = 0.3
"""Seconds after which a command in the background is looked at: many fail at once."""
_STOPPED: Final = {
    "wall": "The command was still running after {seconds:g} s and was ended.",
    "idle": "The command said nothing for too long and was ended.",
    "output": "The command wrote more than it may and was ended.",
}
_LONGER: Final = "No call gets more time: run it with background=true, or make it do less."
_WHAT_NEXT: Final = {
    "wall": "Give it a larger timeout_ms, or make it do less, or run it with background=true.",
    "idle": "Make it say something while it works.",
    "output": "Send its output to a file, or filter it.",
}


@tool(
    # no network: a sandbox that confines keeps it closed; see the README
    effects={"read", "fs_write", "exec"},
    category="system",
    aliases=("bash", "execute", "exec", "exec_command", "run_command", "run_shell_command"),
    intents=(
        "(run|execute) [the] [command|shell command] {command:command}",
        "[run] [the] (shell|bash) [command] {command:command}",
    ),
    timeout_s=600.0 + _BEYOND_S,
    help=ToolHelp(
        when_to_use="To run programs: builds, tests, scripts. For files, the file tools are safer; "
        "for programs that ask questions or draw on the screen, `terminal`.",
        examples=(
            '{"command": "python -m pytest -q", "timeout_ms": 300000}',
            '{"command": "make && ls -l build", "working_dir": "core", "description": "Build"}',
            '{"command": "npm run dev", "background": true}',
        ),
        failure_modes=(
            "timeout: what it had written until then is kept",
            "catastrophic_command: what deletes a system or home folder and the like is refused.",
            "A non-zero exit code is no error of the tool; the last line shows it.",
            "What it leaves running with `&` is ended with it: use background=true.",
            "Refused where the sandbox can't confine commands and the operator has not allowed it.",
        ),
    ),
)
async def shell(
    ctx: ToolContext,
    command: Annotated[
        str,
        Arg(
            "Bash source, run as `bash -c` does.",
            min_length=1,
            shell=True,
            aliases=("cmd", "script", "source"),
        ),
    ],
    timeout_ms: Annotated[
        int | None,
        Arg(
            "Milliseconds until it is ended: 120000 unless told, 600000 at most.",
            ge=1,
            aliases=("timeoutMs", "timeout"),
        ),
    ] = None,
    working_dir: Annotated[
        str,
        Arg(
            "Folder to start in; the workspace unless told.",
            access="read",
            aliases=("cwd", "workdir", "directory", "working_directory"),
        ),
    ] = ".",
    description: Annotated[str, Arg("What the command does, in a few words.", remark=True)] = "",
    background: Annotated[
        bool,
        Arg(
            "Start it and return at once, with a handle for the tool `process`.",
            aliases=("run_in_background", "is_background"),
        ),
    ] = False,
) -> ToolResult:
    """Run a command and return its output and how it ended.

    It has no terminal and nothing on its standard input. No shell options are set, and no start-up
    files are read.
    """
    require_sane(ctx, command)
    if background:
        return await _started(ctx, command, timeout_ms, working_dir, description)
    settings = ctx.plugin.config
    asked = timeout_ms if timeout_ms is not None else settings.timeout_ms
    limit = min(asked, settings.max_timeout_ms)
    done = await ctx.sandbox.run(
        Command(argv=("bash", "-c", command), cwd=folder(working_dir), timeout_s=limit / 1000)
    )
    facts = {
        "command": command,
        **command_facts(done),
        "timeout_ms": limit,
        **({"description": description} if description else {}),
    }
    if done.timed_out is not None:
        return _stopped(done, limit, facts, most=settings.max_timeout_ms)
    return ToolResult(
        output=command_text(done),
        structured={
            "exit_code": done.exit_code,
            "signal": done.signal,
            "stdout": done.stdout.text(),
            "stderr": done.stderr.text(),
        },
        details=facts,
    )


async def _started(
    ctx: ToolContext, command: str, timeout_ms: int | None, working_dir: str, description: str
) -> ToolResult:
    """Start a command in the background; one that ends at once is told as it ended."""
    table: HandleTable = ctx.plugin.state
    table.require_room(ctx)
    asked = background_command(ctx, ("bash", "-c", command), working_dir, timeout_ms)
    process = await start_process(ctx.sandbox, asked)
    handle = await table.add(ctx, "process", process, command=command, description=description)
    await process.wait(_LOOK_S)
    piece = await process.output()
    handle.read_to = piece.end
    text = piece_text(piece)
    told = f"[{handle.name} {state(handle)}]"
    if handle.running:
        told += f'\n[read on with process(action="log", handle="{handle.name}")]'
    shown = handle_facts(handle)
    await table.saw(ctx, [shown])
    return ToolResult(
        output=f"{text}\n{told}" if text else told,
        structured=shown,
        details={**shown, "timeout_ms": round(asked.timeout_s * 1000)},
    )


def _stopped(done: Completed, limit: int, facts: dict[str, object], *, most: int) -> ToolResult:
    reason, seconds = done.timed_out or "wall", limit / 1000
    at_most = reason == "wall" and limit >= most
    return ToolResult.failed(
        "timeout" if reason != "output" else "too_much_output",
        _STOPPED[reason].format(seconds=seconds),
        fix=_LONGER if at_most else _WHAT_NEXT[reason],
        output=command_text(done),
        details=facts,
    )
