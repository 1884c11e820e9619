"""`pegboard chat`: a talk with the agent."""

from __future__ import annotations

import secrets
import sys
from contextlib import redirect_stdout
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from pegboard_terminal.channel import LEAVE, NAME, TerminalChannel, open_channel
from pegboard_terminal.command_session import CommandSession, choose_model
from pegboard_terminal.exit_code import exit_code

if TYPE_CHECKING:
    from pegboard import Caller, CommandHost, TurnOutcome

_GREETING: Final = (
    "Type a message. /help lists commands, Ctrl-C stops a turn, /exit or Ctrl-D leaves."
)
_MAIN: Final = "main"
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
@click.option(
    "--effort",
    type=click.Choice(["low", "medium", "high"]),
    help="How much the model thinks before it answers.",
)
@click.option(
    "--resume",
    metavar="[ID]",
    is_flag=False,
    flag_value="",
    help="Go on with a conversation: the last one, or that with this id; work that was cut off in "
    "it is finished first.",
)
@click.pass_context
def chat(
    ctx: click.Context,
    workspace: Path | None,
    provider: str | None,
    model: str | None,
    effort: str | None,
    resume: str | None,
) -> None:
    """Talk to the agent.

    Enter sends, Alt-Enter begins a new line, Ctrl-C stops the running turn, /exit or Ctrl-D leaves.
    When standard input is a pipe, each of its lines is a message, and the exit code is that of the
    last.
    """
    session: CommandSession = ctx.obj
    choose_model(session, provider, model, effort)
    last = session.run(partial(_talk, session, workspace, resume))
    if last is not None:
        ctx.exit(exit_code(last))


async def _talk(
    session: CommandSession, workspace: Path | None, resume: str | None
) -> TurnOutcome | None:
    """Talk to the end; return how the last turn of a script ended, or None for a person."""
    async with session.connect(workspace) as host:
        chat, agent = await _conversation(host, resume)
        commands = await host.command_names(replace(host.local_caller(), agent=agent or _MAIN))
        channel = open_channel(
            chat=chat,
            history=host.state / "terminal" / "history",
            words=(*LEAVE, *commands, *await host.tool_names()),
            color=session.output.color is not False,
        )
        if channel.info.attended:
            click.echo(_GREETING, err=True)
            await _ask_trust(host, channel)
        # what a tool prints is no answer
        with redirect_stdout(sys.stderr):
            await host.run_channel(channel, chat, caller=_caller(host, channel, agent))
    return None if channel.info.attended else channel.last


async def _conversation(host: CommandHost, resume: str | None) -> tuple[str, str]:
    """Return the id of the conversation and its agent: a new one, or one that goes on.

    Args:
        host: The host.
        resume: What `--resume` says; None = begin a new one.

    Raises:
        PegboardError: When there is no such conversation; names what is near.
    """
    if resume is None:
        return f"chat-{secrets.token_hex(6)}", ""
    found = await host.conversation(resume, channel=NAME)
    turns = f"{found.turns} turn{'' if found.turns == 1 else 's'}"
    click.echo(f"Going on with: {found.title or found.key} ({turns})", err=True)
    return found.chat, found.agent


def _caller(host: CommandHost, channel: TerminalChannel, agent: str) -> Caller | None:
    """Return the person here as the agent knows them that a conversation is held with.

    None = as the settings of the channel say.
    """
    if agent in ("", _MAIN):
        return None
    person = host.local_caller(attended=channel.info.attended)
    return replace(person, slash_commands=channel.info.slash_commands, agent=agent)


async def _ask_trust(host: CommandHost, channel: TerminalChannel) -> None:
    """Ask once for each folder with instructions of its own whether the agent may follow them."""
    folder = host.folder.resolve()
    found = [name for name in _OWN_FILES if (folder / name).exists()]
    if not found or host.folder_trust.known(folder) is not None:
        return
    names = " and ".join(found)
    question = f"{folder} has {names}. Trust this folder, so that the agent follows what they say?"
    trusted = await channel.ask("", question)
    host.folder_trust.set(folder, trusted)
    answer, change = ("trusted", " --no") if trusted else ("not trusted", "")
    click.echo(f"The folder is {answer}; `pegboard trust{change}` changes it.", err=True)
