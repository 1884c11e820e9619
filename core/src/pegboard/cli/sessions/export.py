"""`pegboard sessions export`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from pegboard.cli.output import GOOD, WARN
from pegboard.cli.session import Session
from pegboard.cli.sessions.find import one, person, said, to_json
from pegboard.cli.stored import reading
from pegboard.contracts.errors import UsageError

if TYPE_CHECKING:
    import sqlite3

EXPORT_VERSION: Final = 1
_AT_ONCE: Final = 100


@click.command()
@click.argument("conversation", metavar="[ID]", required=False)
@click.option(
    "--sender", metavar="CHANNEL:ID", help="All that is kept of this person, instead of one ID."
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["jsonl", "markdown"]),
    help="jsonl unless the name of FILE ends in .md.",
)
@click.option(
    "-o",
    "--output",
    "file",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Where it goes; it is printed unless told.",
)
@click.pass_obj
def command(
    session: Session,
    conversation: str | None,
    sender: str | None,
    form: str | None,
    file: Path | None,
) -> None:
    """Write a conversation, or all of one person, as lines of JSON or as Markdown.

    Lines of JSON hold everything: the first one says what it is, each of the others is a turn, or,
    with --sender, one thing that is kept of that person.
    """
    if (conversation is None) == (sender is None):
        raise UsageError(
            "Say which conversation, or whose with --sender.", fix="pegboard sessions export ID"
        )
    if form is None:
        form = "markdown" if file is not None and file.suffix == ".md" else "jsonl"
    if sender is not None and form == "markdown":
        raise UsageError(
            "What is kept of a person is exported as lines of JSON only.",
            fix=f"pegboard sessions export --sender {sender}",
        )
    with reading(session) as connection:
        if sender is not None:
            lines = _person(connection, person(sender))
        else:
            lines = _conversation(connection, str(conversation), form)
        written = _write(session, lines, file)
    if sender is not None and written == 1:
        session.output.note(f"Nothing is kept of {sender}.", WARN)


def _write(session: Session, lines: Iterator[str], file: Path | None) -> int:
    """Write lines to a file or print them; return how many there were."""
    from pegboard.config.private_file import write_private

    if file is None:
        count = 0
        for line in lines:
            session.output.data(line)
            count += 1
        return count
    held = list(lines)
    write_private(file, "".join(f"{line}\n" for line in held))
    session.output.line(f"It is in {file}.", GOOD)
    return len(held)


def _conversation(connection: sqlite3.Connection | None, text: str, form: str) -> Iterator[str]:
    from pegboard.cli.sessions.spoken import markdown

    found = one(connection, text)
    assert connection is not None, "a conversation was found in it"
    turns = said(connection, found.key)
    if form == "markdown":
        yield from markdown(found, turns)
        return
    yield _line({"kind": "session", "version": EXPORT_VERSION, **to_json(found)})
    for turn in turns:
        yield _line(
            {
                "kind": "said",
                "seq": turn.seq,
                "turn": turn.turn,
                "at": turn.at,
                "messages": list(turn.messages),
            }
        )


def _person(connection: sqlite3.Connection | None, sender: str) -> Iterator[str]:
    from pegboard.store import person_rows

    yield _line({"kind": "person", "version": EXPORT_VERSION, "sender": sender})
    if connection is None:
        return
    for item in person_rows.told_beside(connection, sender):
        yield _line(item)
    turns = person_rows.turns_of(connection, sender)
    for start in range(0, len(turns), _AT_ONCE):
        for item in person_rows.told_of_turns(connection, turns[start : start + _AT_ONCE]):
            yield _line(item)


def _line(value: object) -> str:
    # ASCII: whatever somebody has written, also half a character, can be printed and read back
    return json.dumps(value, sort_keys=True)
