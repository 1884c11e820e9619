"""`pegboard sessions fork`."""

from __future__ import annotations

import click

from pegboard.cli.output import GOOD
from pegboard.cli.session import Session, json_option
from pegboard.cli.sessions.find import managed, one, to_json
from pegboard.cli.stored import reading
from pegboard.contracts.transcript import Conversation


@click.command()
@click.argument("conversation", metavar="ID")
@json_option
@click.pass_obj
def command(session: Session, conversation: str) -> None:
    """Copy a conversation to a new one of the terminal, to go on with the copy.

    The first one stays as it is. What was said is copied, and work that is under way is not.
    """
    with reading(session) as connection:
        found = one(connection, conversation)

    async def copy() -> Conversation:
        async with managed(session) as admin:
            return await admin.fork(found)

    facts = to_json(session.run(copy))
    if session.output.json_wanted:
        session.output.json({"session": facts, "source": to_json(found)})
        return
    session.output.line(f"The copy is {facts['id']}.", GOOD)
    session.output.line(f"Go on with it: pegboard chat --resume {facts['id']}")
