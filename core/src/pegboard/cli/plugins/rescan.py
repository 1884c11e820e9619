"""`pegboard plugins rescan`."""

from __future__ import annotations

from collections import Counter

import click

from pegboard.cli.plugins.view import explain, to_json
from pegboard.cli.session import Session, json_option


@click.command()
@json_option
@click.pass_obj
def command(session: Session) -> None:
    """Look again at what is installed.

    A host that runs while packages come and go looks again by itself when it is asked to; every
    command looks each time it starts, so there is nothing to refresh between two commands.
    """
    boot = session.boot
    if session.output.json_wanted:
        data = [to_json(record) for record in boot.records]
        session.output.json({"running": False, "plugins": data})
        return
    output = session.output
    states = Counter(record.state.value for record in boot.records)
    counts = ", ".join(f"{count} {state}" for state, count in sorted(states.items()))
    output.line("No host is running: each command looks at the installed packages as it starts.")
    output.line(f"Found now: {counts or 'no plugin'}.")
    for record in boot.records:
        if record.reason:
            explain(output, record)
