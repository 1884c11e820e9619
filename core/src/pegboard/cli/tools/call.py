"""`pegboard tools call`."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pegboard.cli import exit_codes
from pegboard.cli.completing import tool_names
from pegboard.cli.fault import tell
from pegboard.cli.output import Output
from pegboard.cli.session import Session, json_option
from pegboard.cli.tools.arguments import arguments_of
from pegboard.cli.tools.options import as_option, workspace_option
from pegboard.contracts.effects import Trust
from pegboard.contracts.errors import PluginError
from pegboard.contracts.result import Suspend, ToolResult
from pegboard.tools.fence import unfenced

if TYPE_CHECKING:
    from pegboard.contracts.caller import Caller
    from pegboard.host import Host


class Stages:
    """Collects the stages of one dispatch, with the milliseconds since the first."""

    def __init__(self) -> None:
        self.seen: list[dict[str, Any]] = []
        self._began: float | None = None

    def __call__(self, stage: str, **facts: Any) -> None:
        """Note one stage."""
        now = time.perf_counter()
        if self._began is None:
            self._began = now
        ms = round((now - self._began) * 1000, 3)
        self.seen.append({"stage": stage, "at_ms": ms, **facts})


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
    stages = Stages()

    async def call() -> ToolResult:
        async with session.open_host(workspace) as host:
            tool = host.registry.find(name)
            if tool is None and trust != "guest":
                _refuse_absent(host, name)
            given = arguments_of(arguments, tool.spec.parameters if tool else {})
            attended = session.output.interactive()
            caller = host.local_caller(as_guest=trust == "guest", attended=attended)
            run = partial(_run, host, name, given, caller, stages if trace else None)
            result = await run(approved=False)
            asked = result.control if attended else None
            if isinstance(asked, Suspend) and click.confirm(asked.question, err=True):
                result = await run(approved=True)
            return result

    result = session.run(call)
    if trace and not session.output.json_wanted:
        _print_trace(session.output, stages)
    if session.output.json_wanted:
        data = {"tool": name, "result": result.to_dict()}
        session.output.json({**data, "trace": stages.seen} if trace else data)
    else:
        _print(session.output, result)
    if result.error is not None:
        ctx.exit(exit_codes.TOOL)


def _refuse_absent(host: Host, name: str) -> None:
    """Raise when a plugin that can't be used now brings the tool: a person wants to know."""
    for record in host.records:
        if record.usable or record.manifest is None:
            continue
        for tool in record.manifest.tools:
            names = (tool["name"], f"{record.id}:{tool['name']}", *tool.get("aliases", ()))
            if name in names:
                raise PluginError(
                    f"The tool {name!r} comes from the plugin {record.id} ({record.dist} "
                    f"{record.version}), which is {record.state.value}: {record.reason}.",
                    fix=record.fix,
                )


async def _run(
    host: Host, name: str, given: Any, caller: Caller, trace: Stages | None, *, approved: bool
) -> ToolResult:
    """Call the tool; what its code prints goes to standard error."""
    from pegboard.plugins.running.guard_stdout import quiet

    with quiet(name):
        return await host.call_tool(name, given, caller, trace=trace, approved=approved)


def _print(output: Output, result: ToolResult) -> None:
    if result.text:
        output.data(unfenced(result.text))
    if result.error is not None:
        tell(output, unfenced(result.error.message).strip(), result.error.fix)


def _print_trace(output: Output, stages: Stages) -> None:
    for item in stages.seen:
        facts = ", ".join(
            f"{key} {value}" for key, value in item.items() if key not in ("stage", "at_ms")
        )
        output.note(
            f"{item['at_ms']:9.3f} ms  {item['stage']:<12}  {facts}".rstrip(), {"dim": True}
        )
