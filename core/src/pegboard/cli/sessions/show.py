"""`pegboard sessions show`."""

from __future__ import annotations

import click

from pegboard.cli.output import HEAD
from pegboard.cli.session import Session, json_option
from pegboard.cli.sessions.find import one, said, to_json, when
from pegboard.cli.stored import reading


@click.command()
@click.argument("conversation", metavar="ID")
@click.option(
    "--last",
    "limit",
    type=click.IntRange(min=1),
    metavar="N",
    help="Only the last N turns; all unless told.",
)
@json_option
@click.pass_obj
def command(session: Session, conversation: str, limit: int | None) -> None:
    """Show what was said in a conversation.

    What a summary stands for by now is shown as it was said.
    """
    from pegboard.cli.sessions.spoken import plain
    from pegboard.contracts.message import summary
    from pegboard.contracts.wire import MESSAGE

    with reading(session) as connection:
        found = one(connection, conversation)
        assert connection is not None, "a conversation was found in it"
        turns = said(connection, found.key, limit)
    output, facts = session.output, to_json(found)
    if output.json_wanted:
        told = [
            {
                "seq": turn.seq,
                "turn": turn.turn,
                "at": turn.at,
                "messages": [summary(MESSAGE.read(message)) for message in turn.messages],
            }
            for turn in turns
        ]
        output.json({"session": facts, "turns": told})
        return
    output.line(found.title or facts["id"], HEAD)
    output.fields(
        [
            ("id", facts["id"]),
            ("key", found.key),
            ("agent", found.agent),
            ("began", when(found.created_at)),
            ("last", when(found.updated_at)),
            ("open turns", str(found.open or "")),
        ]
    )
    for turn in turns:
        output.line()
        for line in plain(turn):
            output.line(line)
