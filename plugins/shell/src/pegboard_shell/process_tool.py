"""The tool `process`: what is done to commands in the background."""

from __future__ import annotations

import signal
from typing import Annotated, Final, Literal

import anyio

from pegboard import Arg, ToolContext, ToolFailure, ToolHelp, ToolResult, tool
from pegboard_shell.commands import require_sane
from pegboard_shell.handles import Handle, HandleTable, require_rights
from pegboard_shell.output import handle_facts, piece_text, state

Action = Literal["list", "log", "send", "kill"]
_LOOK_S: Final = 0.1
_ANSWER_S: Final = 0.3
_LONGEST_WAIT_MS: Final = 110_000


@tool(
    effects={"read", "fs_write", "exec"},
    # an `exec` that only ends what it names; `send` has whatever the command makes of it
    effects_by={"action": {"list": ["read"], "log": ["read"], "kill": ["exec"]}},
    category="system",
    # `shell` is another tool's name, which wins: rules that ask or refuse it hold here too
    aliases=("shell", "process_manager", "background_process"),
    help=ToolHelp(
        when_to_use="To follow, feed and end commands that were started with background=true.",
        examples=(
            '{"action": "log", "handle": "p1", "wait_ms": 10000}',
            '{"action": "send", "handle": "p1", "command": "yes"}',
            '{"action": "kill", "handle": "p1"}',
        ),
        failure_modes=(
            "not_found: the handle is not of this conversation, or its host has ended.",
            "not_allowed: it was started by a run that may do more than this one.",
        ),
    ),
)
async def process(
    ctx: ToolContext,
    action: Annotated[
        Action,
        Arg("list = all of this conversation; log = what it wrote; send = write a line to it."),
    ],
    handle: Annotated[
        str, Arg("Which one: `p1`.", aliases=("id", "process_id", "session_id", "sessionId"))
    ] = "",
    command: Annotated[
        str,
        Arg(
            "send: what to write to its standard input.",
            shell=True,
            aliases=("text", "input", "data", "stdin"),
        ),
    ] = "",
    newline: Annotated[bool, Arg("send: end it with a newline.")] = True,
    close: Annotated[bool, Arg("send: close its standard input afterwards.")] = False,
    offset: Annotated[
        int | None,
        Arg("log: byte to begin at; below 0 = from the end; unless told, what is new."),
    ] = None,
    limit: Annotated[int, Arg("log: bytes at most.", ge=1, le=1_000_000)] = 30_000,
    wait_ms: Annotated[
        int,
        Arg(
            "log: milliseconds to wait for something new, or its end.",
            ge=0,
            le=_LONGEST_WAIT_MS,
            aliases=("timeout_ms", "timeout"),
        ),
    ] = 0,
    signal_name: Annotated[
        str,
        Arg("kill: signal to send, such as INT; unless told TERM, then KILL.", aliases=("signal",)),
    ] = "",
) -> ToolResult:
    """List, read, feed or end commands that run in the background."""
    table: HandleTable = ctx.plugin.state
    if action == "list":
        result = _list(table.of(ctx))
        await table.saw(ctx, result.structured["processes"])
        return result
    found = table.find(ctx, handle, "process")
    if action == "log":
        result = await _log(found, offset, limit, wait_ms / 1000)
    elif action == "send":
        require_rights(ctx, found)
        require_sane(ctx, command)
        text = command + ("\n" if newline and command else "")
        result = await _send(found, text, close=close)
    else:
        result = await _kill(found, signal_name)
    await table.saw(ctx, [result.structured])
    return result


def _list(handles: list[Handle]) -> ToolResult:
    lines = [
        f"{handle.name} {state(handle)}: {handle.description or handle.command.splitlines()[0]}"
        for handle in handles
    ]
    return ToolResult(
        "\n".join(lines) or "Nothing was started in the background.",
        structured={"processes": [handle_facts(handle) for handle in handles]},
    )


async def _log(handle: Handle, offset: int | None, limit: int, wait_s: float) -> ToolResult:
    at = handle.read_to if offset is None else offset
    with anyio.move_on_after(wait_s):
        while handle.running and (await handle.process.output(at, limit=0)).total <= max(at, 0):
            await anyio.sleep(_LOOK_S)
    return await _shown(handle, at, limit)


async def _shown(handle: Handle, at: int, limit: int) -> ToolResult:
    piece = await handle.process.output(at, limit=limit)
    handle.read_to = piece.end
    more = piece.total - piece.end
    told = f"[{handle.name} {state(handle)}; " + (
        f"{more} bytes more from offset {piece.end}]" if more else f"next offset {piece.end}]"
    )
    text = piece_text(piece)
    facts = {
        **handle_facts(handle),
        "offset": piece.start,
        "next_offset": piece.end,
        "total_bytes": piece.total,
        "lost_bytes": piece.lost,
    }
    return ToolResult(f"{text}\n{told}" if text else told, structured=facts, details=facts)


async def _send(handle: Handle, text: str, *, close: bool) -> ToolResult:
    data = text.encode("utf-8", "surrogatepass")
    before = (await handle.process.output(limit=0)).total
    taken = await handle.process.write(data)
    if close:
        await handle.process.close_input()
    if taken < len(data):
        raise ToolFailure(
            f"{handle.name} took {taken} of {len(data)} bytes: it does not read its input.",
            fix=f'See what it does: process(action="log", handle="{handle.name}")',
            code="not_reading",
        )
    with anyio.move_on_after(_ANSWER_S):
        while handle.running and (await handle.process.output(limit=0)).total == before:
            await anyio.sleep(_LOOK_S / 2)
    return await _shown(handle, handle.read_to, 30_000)


async def _kill(handle: Handle, name: str) -> ToolResult:
    if name:
        await handle.process.signal(_signal(name))
        await handle.process.wait(_ANSWER_S)
    elif handle.running:
        await handle.process.stop()
    return await _shown(handle, handle.read_to, 30_000)


def _signal(name: str) -> int:
    wanted = name.strip().upper().removeprefix("SIG")
    try:
        return signal.Signals(int(wanted)) if wanted.isdigit() else signal.Signals[f"SIG{wanted}"]
    except (KeyError, ValueError) as error:
        raise ToolFailure(
            f"There is no signal {name!r}.",
            fix="Name one such as INT, TERM, KILL, HUP, USR1.",
            code="invalid_arguments",
        ) from error
