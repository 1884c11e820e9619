"""`pegboard store prune`."""

from __future__ import annotations

import click

from pegboard.cli.output import GOOD
from pegboard.cli.session import Session, json_option
from pegboard.cli.sessions.find import managed


@click.command("prune")
@json_option
@click.pass_obj
def command(session: Session) -> None:
    """Erase what is kept no longer: old turns, and files that nothing refers to.

    How long that is the section [store] says; a host does the same once a day.
    """
    from pegboard.store.retention import Pruned, Retention

    retention = Retention.of(session.config.section("store"))

    async def prune() -> Pruned:
        async with managed(session) as admin:
            return await admin.prune(retention)

    done = session.run(prune)
    if session.output.json_wanted:
        session.output.json(done.to_dict())
        return
    session.output.line(
        f"Erased: {done.turns} turns, {done.blobs.removed} files of {done.blobs.freed} bytes. "
        f"Kept: {done.blobs.left} files of {done.blobs.left_bytes} bytes.",
        GOOD,
    )
