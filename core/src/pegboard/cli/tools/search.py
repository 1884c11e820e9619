"""`pegboard tools search`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from pegboard.cli import exit_codes
from pegboard.cli.fault import tell
from pegboard.cli.session import Session, json_option
from pegboard.cli.tools.options import as_option
from pegboard.contracts.effects import Trust

if TYPE_CHECKING:
    from pegboard.contracts.result import ToolResult


@click.command()
@click.argument("words", nargs=-1, required=True)
@as_option
@json_option
@click.pass_context
def command(ctx: click.Context, words: tuple[str, ...], trust: Trust) -> None:
    """Search tools by words, as a model does: only what the caller could call is found."""
    session: Session = ctx.obj

    async def search() -> ToolResult:
        async with session.open_host() as host:
            caller = host.local_caller(as_guest=trust == "guest")
            return await host.call_tool("core:tool_search", {"query": " ".join(words)}, caller)

    result = session.run(search)
    if session.output.json_wanted:
        session.output.json({"query": " ".join(words), "result": result.to_dict()})
    elif result.error is None:
        session.output.line(result.text)
    else:
        tell(session.output, result.error.message, result.error.fix)
    if result.error is not None:
        ctx.exit(exit_codes.TOOL)
