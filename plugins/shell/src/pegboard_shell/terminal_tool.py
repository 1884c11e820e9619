"""The tool `terminal`: programs that need a terminal, drawn as text."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

import anyio

from pegboard import (
    Arg,
    Process,
    SandboxError,
    TerminalSize,
    ToolContext,
    ToolFailure,
    ToolHelp,
    ToolResult,
    start_process,
    tool,
)
from pegboard_shell.commands import background_command, require_sane
from pegboard_shell.handles import Handle, HandleTable, require_rights
from pegboard_shell.keys import key_bytes
from pegboard_shell.output import handle_facts, state
from pegboard_shell.screen import TerminalScreen

Action = Literal["create", "list", "send", "read", "wait", "resize", "kill"]
_LOOK_S: Final = 0.05
_QUIET_S: Final = 0.25
"""Seconds without anything new after which a screen counts as drawn."""
_SETTLE_MS: Final = 2_000
_LONGEST_WAIT_MS: Final = 110_000
_SHELL: Final = ("bash", "--norc", "--noprofile", "-i")


def able(ctx: ToolContext) -> str | None:
    """Return why there are no terminals here, or None."""
    if "terminal" in ctx.sandbox.info.abilities:
        return None
    return f"the sandbox {ctx.sandbox.info.id} can't give a command a terminal"


@tool(
    effects={"read", "fs_write", "exec"},
    # what is typed has whatever effect the program makes of it
    effects_by={
        "action": {
            "list": ["read"],
            "read": ["read"],
            "wait": ["read"],
            "resize": ["read"],
            "kill": ["exec"],
        }
    },
    category="system",
    # `shell` is another tool's name, which wins: rules that ask or refuse it hold here too
    aliases=("shell", "terminal_session", "pty"),
    available=able,
    help=ToolHelp(
        when_to_use="For programs that ask questions, draw on the screen or keep a prompt: "
        "debuggers, REPLs, editors, installers. Else `shell` is simpler.",
        examples=(
            '{"action": "create", "command": "python3"}',
            '{"action": "send", "handle": "t1", "command": "print(6 * 7)", "keys": ["enter"]}',
            '{"action": "wait", "handle": "t1", "text": ">>>", "wait_ms": 20000}',
            '{"action": "send", "handle": "t1", "keys": ["ctrl-c"]}',
        ),
        failure_modes=(
            "timeout: the text that was waited for has not come; the screen is shown",
            "not_found: the handle is not of this conversation, or its host has ended.",
        ),
    ),
)
async def terminal(
    ctx: ToolContext,
    action: Annotated[
        Action,
        Arg(
            "create; send = type `command`, then press `keys`; read = the screen; wait = for "
            "`text` or the end; resize; kill; list."
        ),
    ],
    handle: Annotated[
        str, Arg("Which one: `t1`.", aliases=("id", "session_id", "sessionId", "terminal_id"))
    ] = "",
    command: Annotated[
        str,
        Arg(
            "create: Bash source to run in it; a shell with a prompt unless told. "
            "send: text to type, as it is: add the key `enter` to send a line.",
            shell=True,
            aliases=("cmd", "input", "data"),
        ),
    ] = "",
    keys: Annotated[
        list[str] | None,
        Arg("send: keys to press: enter, tab, escape, up, ctrl-c, alt-x, f1 ...", max_length=100),
    ] = None,
    text: Annotated[str, Arg("wait: text that the screen shall show.")] = "",
    wait_ms: Annotated[
        int,
        Arg(
            "Milliseconds until the screen is shown as it is.",
            ge=0,
            le=_LONGEST_WAIT_MS,
            aliases=("timeout_ms", "timeout"),
        ),
    ] = _SETTLE_MS,
    rows: Annotated[int, Arg("create, resize.", ge=1, le=200, aliases=("height",))] = 24,
    columns: Annotated[int, Arg("create, resize.", ge=1, le=500, aliases=("cols", "width"))] = 80,
    working_dir: Annotated[
        str,
        Arg("create: folder to start in.", access="read", aliases=("cwd", "workdir", "directory")),
    ] = ".",
    description: Annotated[str, Arg("create: what it is for, in a few words.", remark=True)] = "",
) -> ToolResult:
    """Run a program in a terminal, type into it, and see its screen."""
    table: HandleTable = ctx.plugin.state
    size = TerminalSize(rows=rows, columns=columns)
    if action == "list":
        result = _list([found for found in table.of(ctx) if found.kind == "terminal"])
        await table.saw(ctx, result.structured["terminals"])
        return result
    if action == "create":
        found = await _create(ctx, command, working_dir, size, description)
        result = await _drawn(found, wait_ms / 1000)
    else:
        found = table.find(ctx, handle, "terminal")
        if action == "wait":
            result = await _wait(found, text, wait_ms / 1000)
        else:
            await _act(ctx, found, action, command, keys or [], size)
            within_s = wait_ms / 1000 if action in ("send", "resize") else 0
            result = await _drawn(found, within_s)
    await table.saw(ctx, [result.details])
    return result


async def _act(
    ctx: ToolContext,
    handle: Handle,
    action: Action,
    command: str,
    keys: list[str],
    size: TerminalSize,
) -> None:
    """Do to a terminal what the call says, before its screen is shown."""
    if action == "send":
        require_rights(ctx, handle)
        await _send(ctx, handle, command, keys)
    elif action == "resize":
        await handle.process.resize(size)
        _screen(handle).resize(size)
    elif action == "kill" and handle.running:
        await handle.process.stop()


async def _create(
    ctx: ToolContext, command: str, working_dir: str, size: TerminalSize, description: str
) -> Handle:
    require_sane(ctx, command)
    table: HandleTable = ctx.plugin.state
    table.require_room(ctx)
    argv = ("bash", "-c", command) if command else _SHELL
    asked = background_command(ctx, argv, working_dir, None)
    process = await start_process(ctx.sandbox, asked, terminal=size)
    return await table.add(
        ctx,
        "terminal",
        process,
        command=command or "bash",
        description=description,
        screen=TerminalScreen(size),
    )


async def _send(ctx: ToolContext, handle: Handle, text: str, keys: list[str]) -> None:
    require_sane(ctx, text)
    # a terminal ends a line with the key Enter, which is a carriage return
    typed = text.replace("\r\n", "\r").replace("\n", "\r").encode("utf-8", "surrogatepass")
    data = typed + b"".join(map(key_bytes, keys))
    if not data:
        raise ToolFailure(
            "There is nothing to type.", fix="Give `command`, `keys`, or both.", code="no_input"
        )
    taken = await handle.process.write(data)
    if taken < len(data):
        raise ToolFailure(
            f"{handle.name} took {taken} of {len(data)} bytes: the program does not read.",
            fix=f'See what it does: terminal(action="read", handle="{handle.name}")',
            code="not_reading",
        )


async def _drawn(handle: Handle, within_s: float) -> ToolResult:
    """Return the screen when nothing new has come for a moment, or the time is over."""
    screen = _screen(handle)
    await _catch_up(screen, handle.process)
    with anyio.move_on_after(within_s):
        quiet = 0.0
        while handle.running and quiet < _QUIET_S:
            await anyio.sleep(_LOOK_S)
            quiet = 0.0 if await _catch_up(screen, handle.process) else quiet + _LOOK_S
    await _catch_up(screen, handle.process)
    return _shown(handle)


async def _wait(handle: Handle, text: str, within_s: float) -> ToolResult:
    """Wait for a text on the screen, or for the end."""
    screen = _screen(handle)
    await _catch_up(screen, handle.process)
    with anyio.move_on_after(within_s):
        while handle.running and not (text and text in screen.text()):
            await anyio.sleep(_LOOK_S)
            await _catch_up(screen, handle.process)
    await _catch_up(screen, handle.process)
    if (text and text in screen.text()) or (not text and not handle.running):
        return _shown(handle)
    shown = _shown(handle)
    what = f"The screen has not shown {text!r}" if text else f"{handle.name} has not ended"
    return ToolResult.failed(
        "timeout",
        f"{what} {'before it ended' if not handle.running else f'within {within_s:g} s'}.",
        fix="Look at the screen, and wait again or do something else.",
        output=str(shown.output),
        details=shown.details,
    )


def _list(handles: list[Handle]) -> ToolResult:
    lines = [f"{found.name} {state(found)}: {_title(found)}" for found in handles]
    return ToolResult(
        "\n".join(lines) or "There is no terminal.",
        structured={"terminals": [handle_facts(found) for found in handles]},
    )


def _shown(handle: Handle) -> ToolResult:
    screen = _screen(handle)
    facts: dict[str, Any] = {**handle_facts(handle), **screen.facts()}
    row, column = facts["cursor"]
    told = f"[{handle.name} {state(handle)}; cursor in row {row}, column {column}]"
    text = screen.text()
    return ToolResult(
        f"{text}\n{told}" if text else told, structured={**facts, "screen": text}, details=facts
    )


def _title(handle: Handle) -> str:
    return handle.description or handle.command.splitlines()[0]


def _screen(handle: Handle) -> TerminalScreen:
    assert handle.screen is not None, "a terminal has a screen"
    return handle.screen


async def _catch_up(screen: TerminalScreen, process: Process) -> bool:
    try:
        return await screen.catch_up(process)
    except SandboxError:  # it ended while it was being answered
        return False
