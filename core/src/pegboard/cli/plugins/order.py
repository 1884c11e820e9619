"""`pegboard plugins order`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from pegboard.cli.session import Session, json_option

if TYPE_CHECKING:
    from pegboard.plugins.decision.state import PluginRecord


@click.command()
@json_option
@click.pass_obj
def command(session: Session) -> None:
    """Print the order in which plugins are called: the first is called first."""
    usable = session.boot.usable
    if session.output.json_wanted:
        data = [
            {"id": record.id, "before": _names(record, 0), "after": _names(record, 1)}
            for record in usable
        ]
        session.output.json({"order": data})
        return
    if not usable:
        session.output.line("No plugin can be used; see pegboard plugins list.")
        return
    rows = [
        (str(place), record.id, ", ".join(_names(record, 0)), ", ".join(_names(record, 1)))
        for place, record in enumerate(usable, start=1)
    ]
    session.output.table(["", "PLUGIN", "BEFORE", "AFTER"], rows, right=frozenset({0}))


def _names(record: PluginRecord, which: int) -> list[str]:
    manifest = record.manifest
    return list((manifest.before, manifest.after)[which]) if manifest else []
