"""`pegboard sessions resume`."""

from __future__ import annotations

import click

from pegboard.cli.session import Session, json_option
from pegboard.cli.sessions.find import one, to_json
from pegboard.cli.stored import reading
from pegboard.contracts.errors import UsageError


@click.command()
@click.argument("conversation", metavar="ID")
@json_option
@click.pass_context
def command(ctx: click.Context, conversation: str) -> None:
    """Go on with a conversation of the terminal.

    In a terminal this opens it; else it prints the command that does. One of another channel goes
    on there, or here as a copy: pegboard sessions fork ID
    """
    from pegboard.host.session_admin import TERMINAL

    session: Session = ctx.obj
    with reading(session) as connection:
        found = one(connection, conversation)
    facts, output = to_json(found), session.output
    if found.channel != TERMINAL:
        raise UsageError(
            f"{facts['id']} is a conversation of the channel {found.channel}: it goes on there.",
            fix=f"pegboard sessions fork {facts['id']}",
        )
    words = ["chat", "--resume", facts["id"]]
    if output.json_wanted:
        output.json({"session": facts, "command": ["pegboard", *words]})
    elif output.interactive():
        _open(ctx, words)
    else:
        output.line(f"pegboard {' '.join(words)}")


def _open(ctx: click.Context, words: list[str]) -> None:
    """Run another command of this program in place of this one."""
    root = ctx.find_root()
    assert isinstance(root.command, click.Group)
    name, command, rest = root.command.resolve_command(root, words)
    assert command is not None, "an unknown command is an error"
    with command.make_context(name, rest, parent=root) as inner:
        command.invoke(inner)
