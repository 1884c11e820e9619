"""`pegboard plugins rescan`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import click

from pegboard.cli.output import GOOD
from pegboard.cli.plugins.view import explain, to_json
from pegboard.cli.resident import tell_host
from pegboard.cli.session import Session, json_option


@click.command()
@json_option
@click.pass_obj
def command(session: Session) -> None:
    """Look again at what is installed.

    A host that stays takes over packages that came or went; another version of one counts when it
    starts again. Without it there is nothing to refresh: every command looks as it starts.
    """
    changes = tell_host(session, "rescan")
    boot = session.boot
    if session.output.json_wanted:
        plugins = [to_json(record) for record in boot.records]
        facts = {"running": changes is not None, "plugins": plugins}
        session.output.json(facts if changes is None else {**facts, "changes": changes})
        return
    output = session.output
    if changes is None:
        output.line(
            "No host is running: each command looks at the installed packages as it starts."
        )
    else:
        _tell(session, changes)
    states = Counter(record.state.value for record in boot.records)
    counts = ", ".join(f"{count} {state}" for state, count in sorted(states.items()))
    output.line(f"Found now: {counts or 'no plugin'}.")
    for record in boot.records:
        if record.reason:
            explain(output, record)


def _tell(session: Session, changes: Mapping[str, Sequence[str]]) -> None:
    """Say what the running host has taken over."""
    told = {
        "added": "Added",
        "removed": "Removed",
        "changed": "Another version, in use after a restart",
    }
    lines = [f"{words}: {', '.join(changes[key])}." for key, words in told.items() if changes[key]]
    for line in lines or ["Nothing came or went since the running host has looked."]:
        session.output.line(line, GOOD)
