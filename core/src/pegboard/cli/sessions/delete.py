"""`pegboard sessions delete`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from pegboard.cli.output import GOOD
from pegboard.cli.plugins.install import confirm
from pegboard.cli.session import Session, json_option
from pegboard.cli.sessions.find import managed, one, person, to_json
from pegboard.cli.stored import reading
from pegboard.contracts.errors import UsageError

if TYPE_CHECKING:
    from pegboard.contracts.transcript import Conversation


@click.command()
@click.argument("conversations", metavar="[ID]...", nargs=-1)
@click.option(
    "--sender", metavar="CHANNEL:ID", help="All that is kept of this person, instead of some IDs."
)
@click.option("--yes", "-y", is_flag=True, help="Erase without asking.")
@json_option
@click.pass_obj
def command(
    session: Session, conversations: tuple[str, ...], sender: str | None, yes: bool
) -> None:
    """Erase conversations, or all that is kept of one person.

    It can't be undone. What is erased is overwritten in the store, and with it goes what plugins
    keep of it; copies of the store that were made before hold it still. Of a person that is their
    conversations, their turns in those that others took part in, and what they cost. The audit log
    keeps its events, which hold nothing that was said.
    """
    if bool(conversations) == (sender is not None):
        raise UsageError(
            "Say which conversations, or whose with --sender.", fix="pegboard sessions delete ID"
        )
    if sender is not None:
        _delete_person(session, person(sender), yes)
    else:
        _delete(session, conversations, yes)


def _delete(session: Session, names: tuple[str, ...], yes: bool) -> None:
    with reading(session) as connection:
        found = {item.key: item for item in (one(connection, name) for name in names)}
    shown = ", ".join(_shown(item) for item in found.values())
    confirm(session, f"Erase {shown}?", yes=yes)

    async def erase() -> int:
        async with managed(session) as admin:
            return sum([await admin.delete(key) is not None for key in found])

    erased = session.run(erase)
    if session.output.json_wanted:
        session.output.json({"erased": [to_json(item) for item in found.values()]})
        return
    session.output.line(f"{erased} of {len(found)} erased.", GOOD)


def _delete_person(session: Session, sender: str, yes: bool) -> None:
    confirm(session, f"Erase all that is kept of {sender}?", yes=yes)

    async def erase() -> dict[str, Any]:
        async with managed(session) as admin:
            erased = await admin.delete_person(sender)
        return {
            "conversations": erased.rows.conversations,
            "turns": erased.rows.turns,
            "spendings": erased.rows.spendings,
            "blobs": erased.blobs.removed,
        }

    told = session.run(erase)
    if session.output.json_wanted:
        session.output.json({"sender": sender, **told})
        return
    session.output.line(
        f"Erased of {sender}: {told['conversations']} conversations, {told['turns']} turns, "
        f"{told['spendings']} records of cost, {told['blobs']} files.",
        GOOD,
    )


def _shown(conversation: Conversation) -> str:
    title = conversation.title or conversation.key
    return f"{to_json(conversation)['id']} ({title})"
