"""`pegboard chat`: a talk with the agent."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from pegboard_terminal.channel import TerminalChannel, open_channel
from pegboard_terminal.command_session import CommandSession, choose_model
from pegboard_terminal.exit_code import exit_code

if TYPE_CHECKING:
    from pegboard import Host, TurnOutcome

_GREETING: Final = "Type a message. /help lists commands, Ctrl-C stops a turn, Ctrl-D leaves."
_COMMANDS: Final = ("help", "new", "tools", "plugins", "rescan", "why")
_OWN_FILES: Final = ("AGENTS.md", ".pegboard")


@click.command("chat")
@click.option(
    "--workspace",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="DIR",
    help="The folder to work in; the current one by default.",
)
@click.option("--provider", metavar="NAME", help="The provider to ask.")
@click.option("--model", metavar="NAME", help="The provider's model.")
@click.pass_context
def chat(
    ctx: click.Context, workspace: Path | None, provider: str | None, model: str | None
) -> None:
    """Talk to the agent.

    Enter sends, Alt-Enter begins a new line, Ctrl-C stops the running turn, Ctrl-D leaves. When
    standard input is a pipe, each of its lines is a message, and the exit code is that of the last.
    """
    session: CommandSession = ctx.obj
    choose_model(session, provider, model)
    last = session.run(partial(_talk, session, workspace))
    if last is not None:
        ctx.exit(exit_code(last))


async def _talk(session: CommandSession, workspace: Path | None) -> TurnOutcome | None:
    """Talk to the end; return how the last turn of a script ended, or None for a person."""
    async with session.open_host(workspace) as host:
        channel = open_channel(
            history=host.config.paths.state / "terminal" / "history",
            words=(*_COMMANDS, *(tool.wire_name for tool in host.registry.list_all())),
            color=session.output.color is not False,
        )
        if channel.info.attended:
            click.echo(_GREETING, err=True)
            await _ask_trust(host, channel)
        # what a tool prints is no answer
        with redirect_stdout(sys.stderr):
            await host.run_channel(channel)
    return None if channel.info.attended else channel.last


async def _ask_trust(host: Host, channel: TerminalChannel) -> None:
    """Ask once for each folder with instructions of its own whether the agent may follow them."""
    folder = host.workspace.resolve()
    found = [name for name in _OWN_FILES if (folder / name).exists()]
    if not found or host.folder_trust.known(folder) is not None:
        return
    names = " and ".join(found)
    question = f"{folder} has {names}. Trust this folder, so that the agent follows what they say?"
    trusted = await channel.ask("", question)
    host.folder_trust.set(folder, trusted)
    answer, change = ("trusted", " --no") if trusted else ("not trusted", "")
    click.echo(f"The folder is {answer}; `pegboard trust{change}` changes it.", err=True)
