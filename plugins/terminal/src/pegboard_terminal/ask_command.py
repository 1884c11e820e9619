"""`pegboard ask`: one question, one answer, an exit code."""

from __future__ import annotations

import secrets
import sys
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from pegboard import PegboardError, TurnOutcome
from pegboard_terminal.channel import TerminalChannel
from pegboard_terminal.command_session import CommandSession, choose_model
from pegboard_terminal.exit_code import INTERRUPTED, RUN_FAILED, TOOLS_FAILED, exit_code
from pegboard_terminal.piped_input import is_terminal, read_request
from pegboard_terminal.readers import PipeReader, PromptReader, Reader
from pegboard_terminal.screen import Screen
from pegboard_terminal.views import JsonView, TextView, View

if TYPE_CHECKING:
    from pegboard import Caller, CommandHost


_HELP: Final = f"""Ask the agent once and print its answer.

The question is TEXT, or what is piped in; with both, what is piped in is the context of TEXT. A
last word `-` waits for a slow pipe. Tool calls are shown on standard error.

Exit code: 0 when the question was answered; {TOOLS_FAILED} when it was, but every tool call made
on the way failed; {RUN_FAILED} when the run failed; {INTERRUPTED} when it was interrupted; else the
code that `pegboard --help` lists for what went wrong.

\b
Examples:
  pegboard ask 'list the files'
  pegboard ask '/file_read path=README.md'
  git diff | pegboard ask 'what does this change?'
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked and how.

    Args:
        text: The question.
        workspace: The folder to work in, or None for the current one.
        as_json: True to print event lines.
        as_guest: True to act for a guest.
        tools: Names of the only tools to offer, or None.
        quiet: True to print answers and errors only.
    """

    text: str
    workspace: Path | None
    as_json: bool
    as_guest: bool
    tools: tuple[str, ...] | None
    quiet: bool


def _names(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[str, ...] | None:
    if value is None:
        return None
    return tuple(name.strip() for name in value.split(",") if name.strip())


@click.command("ask", help=_HELP)
@click.argument("text", nargs=-1)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line: the events.")
@click.option(
    "--as",
    "trust",
    type=click.Choice(["operator", "guest"]),
    default="operator",
    show_default=True,
    help="Whom to act for.",
)
@click.option("--tools", callback=_names, metavar="NAMES", help="Offer only these (a,b,c).")
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
@click.option("-q", "--quiet", is_flag=True, help="Print the answer and errors only.")
@click.pass_context
def ask(
    ctx: click.Context,
    text: tuple[str, ...],
    as_json: bool,
    trust: str,
    tools: tuple[str, ...] | None,
    workspace: Path | None,
    provider: str | None,
    model: str | None,
    effort: str | None,
    quiet: bool,
) -> None:
    """Read the question, run it, and end with its exit code."""
    session: CommandSession = ctx.obj
    choose_model(session, provider, model, effort)
    question = Question(
        text=read_request(text, sys.stdin, note=lambda line: click.echo(f"! {line}", err=True)),
        workspace=workspace,
        as_json=as_json,
        as_guest=trust == "guest",
        tools=tools,
        quiet=quiet,
    )
    try:
        outcome = session.run(partial(_answer, session, question))
    except PegboardError as error:
        if as_json:
            JsonView(sys.stdout).error(error.to_dict())
        raise
    ctx.exit(exit_code(outcome))


async def _answer(session: CommandSession, question: Question) -> TurnOutcome:
    async with session.connect(question.workspace) as host:
        try:
            return await _ask(session, host, question)
        except (PegboardError, BrokenPipeError) as error:
            failed = error  # raised below: the host's task group would wrap it
    raise failed


async def _ask(session: CommandSession, host: CommandHost, question: Question) -> TurnOutcome:
    channel = _channel(session, question)
    caller = await _caller(host, question, attended=channel.info.attended)
    submit = partial(host.submit, channel=channel, caller=caller)
    # what a tool prints is no answer, and no event line
    with redirect_stdout(sys.stderr):
        async with channel.interruptible():
            return await channel.take_turn(submit, question.text)


async def _caller(host: CommandHost, question: Question, *, attended: bool) -> Caller:
    """Return whom the question acts for: the person here, or less.

    Raises:
        UsageError: When there is no tool of a name given.
    """
    caller = host.local_caller(as_guest=question.as_guest, attended=attended)
    if question.tools is None:
        return caller
    names = [(await host.tool(name)).canonical for name in question.tools]
    return caller.narrow(tools=names, delegated=False)


def _channel(session: CommandSession, question: Question) -> TerminalChannel:
    """Return the channel of one question; made after the host, which diverts what is printed."""
    color = session.output.color is not False
    view: View = (
        JsonView(sys.stdout)
        if question.as_json
        else TextView(Screen(sys.stdout, sys.stderr, color=color), quiet=question.quiet)
    )
    attended = is_terminal(sys.stdin) and sys.stderr.isatty() and not question.as_json
    reader: Reader = PromptReader() if attended else PipeReader(sys.stdin)
    # each question is a conversation of its own
    chat = f"ask-{secrets.token_hex(6)}"
    return TerminalChannel(view, reader, attended=attended, chat=chat)
