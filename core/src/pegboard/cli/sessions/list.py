"""`pegboard sessions list`."""

from __future__ import annotations

import click

from pegboard.cli.output import WARN
from pegboard.cli.session import Session, json_option
from pegboard.cli.sessions.find import known, to_json, when
from pegboard.cli.stored import reading


@click.command()
@click.option("--channel", metavar="NAME", help="Only those of this channel.")
@click.option(
    "--limit", type=click.IntRange(min=1), default=20, show_default=True, help="At most so many."
)
@json_option
@click.pass_obj
def command(session: Session, channel: str | None, limit: int) -> None:
    """List the conversations, the latest first."""
    with reading(session) as connection:
        found = [to_json(item) for item in known(connection, channel, limit)]
    output = session.output
    if output.json_wanted:
        output.json({"sessions": found})
        return
    if not found:
        output.line("There are no conversations yet.")
        return
    output.table(
        ["ID", "LAST", "TURNS", "OPEN", "CHANNEL", "TITLE"],
        [
            (
                item["id"],
                when(item["updated_at"]),
                str(item["turns"]),
                str(item["open"] or ""),
                item["channel"]
                if item["agent"] == "main"
                else f"{item['channel']} @{item['agent']}",
                item["title"],
            )
            for item in found
        ],
        right=frozenset({2, 3}),
        paint={3: lambda cell: WARN},
    )


def _where(channel: str, agent: str) -> str:
    return channel if agent == "main" else f"{channel} @{agent}"
