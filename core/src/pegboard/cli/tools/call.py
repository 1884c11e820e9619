"""`pegboard tools call`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from pegboard.cli import exit_codes
from pegboard.cli.completing import tool_names
from pegboard.cli.fault import tell
from pegboard.cli.output import Output
from pegboard.cli.session import Session, json_option
from pegboard.cli.tools.arguments import arguments_of
from pegboard.cli.tools.options import as_option, workspace_option
from pegboard.contracts.effects import Trust
from pegboard.contracts.result import Suspend, ToolResult
from pegboard.tools.fence import unfenced
from pegboard.tools.outcome import PLACE

if TYPE_CHECKING:
    from pegboard.host.stages import Stages

_NEAREST: Final = "nearest"
"""What a fix holds that names other tools."""


@click.command()
@click.argument("name", shell_complete=tool_names)
@click.argument("arguments", nargs=-1, metavar="[KEY=VALUE... | JSON | -]")
@click.option("--trace", is_flag=True, help="Print each stage of the call on standard error.")
@as_option
@workspace_option
@json_option
@click.pass_context
def command(
    ctx: click.Context,
    name: str,
    arguments: tuple[str, ...],
    trace: bool,
    trust: Trust,
    workspace: Path | None,
) -> None:
    """Call a tool, by the same path as a model's call.

    KEY=VALUE takes VALUE as text or JSON, as the tool's schema says; KEY:=VALUE as JSON;
    KEY=@FILE reads it from a file. Or give one JSON object, or - to read one from standard input.
    With --json the result is exactly what a model reads, marks around text from outside included.
    """
    session: Session = ctx.obj
    from pegboard.host.stages import Stages

    stages = Stages()
    known = True

    async def call() -> ToolResult:
        nonlocal known
        async with session.connect(workspace) as host:
            # a guest does not learn of a tool by another answer
            tool = await host.find_tool(name, why_not=trust != "guest")
            known = tool is not None
            given = arguments_of(arguments, tool.parameters if tool else {})
            attended = session.output.interactive()
            caller = host.local_caller(as_guest=trust == "guest", attended=attended)
            run = partial(host.call_tool, name, given, caller, stages=stages if trace else None)
            agreed: list[str] = []
            while True:
                result = await run(agreed=agreed)
                asked = result.control if attended else None
                # a call may be asked about more than once, but never twice about the same
                if not isinstance(asked, Suspend) or asked.subject in agreed:
                    return result
                if not click.confirm(asked.question, err=True):
                    return result
                agreed.append(asked.subject)

    result = session.run(call)
    if trace and not session.output.json_wanted:
        _print_trace(session.output, stages)
    if session.output.json_wanted:
        data = {"tool": name, "result": result.to_dict()}
        session.output.json({**data, "trace": stages.seen} if trace else data)
    else:
        _print(session.output, result, known=known)
    if result.error is not None:
        ctx.exit(exit_codes.TOOL)


def _print(output: Output, result: ToolResult, *, known: bool) -> None:
    if result.text:
        output.data(unfenced(result.text))
    if result.error is not None:
        fix = result.error.fix
        if not known and _NEAREST not in (fix or ""):  # what it says is for a model
            fix = "pegboard tools list"
        message = unfenced(result.error.message).strip()
        tell(output, message, fix)
        place = str(result.details.get(PLACE, ""))
        if place and place not in message:
            output.note(f"  At: {place}")


def _print_trace(output: Output, stages: Stages) -> None:
    for item in stages.seen:
        facts = ", ".join(
            f"{key} {value}" for key, value in item.items() if key not in ("stage", "at_ms")
        )
        output.note(
            f"{item['at_ms']:9.3f} ms  {item['stage']:<12}  {facts}".rstrip(), {"dim": True}
        )
