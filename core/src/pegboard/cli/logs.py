"""`pegboard logs`: what the host that stays has logged."""

from __future__ import annotations

import gc
import json
import sys
import time
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from pegboard.cli.output import BAD, FAINT, PLAIN, WARN, Output, Style
from pegboard.cli.session import Session

if TYPE_CHECKING:
    from pegboard.host.resident.log_lines import LogLine

_LOOK_S: Final = 0.25
_STYLES: Final[dict[str, Style]] = {"debug": FAINT, "warning": WARN, "error": BAD, "critical": BAD}


@click.command("logs")
@click.option("-f", "--follow", is_flag=True, help="Go on with what comes, until Ctrl-C.")
@click.option("--since", metavar="TIME", help="From then on: 2026-05-01T12:00, or 30m, 2h, 7d ago.")
@click.option(
    "--level",
    type=click.Choice(["debug", "info", "warning", "error"]),
    default="debug",
    help="Only what is at least so important.",
)
@click.option(
    "-n",
    "--lines",
    "most",
    type=click.IntRange(min=0),
    default=100,
    show_default=True,
    help="The last so many.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line.")
@click.pass_obj
def command(
    session: Session, follow: bool, since: str | None, level: str, most: int, as_json: bool
) -> None:
    """Show the log of the host that stays, the latest last.

    `[log] level` decides what is written. The files are in the folder logs of the state folder.
    """
    from pegboard.cli.audit import earliest
    from pegboard.host.resident.log_lines import Follower, kept

    state = session.paths.state
    earliest_at = 0.0 if since is None else earliest(since, datetime.now(UTC))
    follower = Follower(state)
    found = kept(state, since=earliest_at, level=level, most=most, before=follower)
    _print(session.output, found, as_json=as_json)
    if not found and not follow:
        session.output.note(_why_nothing(state))
    gc.enable()  # it may go on for days
    while follow:
        lines = [line for line in follower.read() if line.wanted(earliest_at, level)]
        _print(session.output, lines, as_json=as_json)
        time.sleep(_LOOK_S)


def _why_nothing(state: Path) -> str:
    from pegboard.host.resident.log_lines import files

    if files(state):
        return "Nothing of that kind was logged."
    return "There is no log yet: a host that stays writes it (pegboard serve)."


def _print(output: Output, lines: Iterable[LogLine], *, as_json: bool) -> None:
    for line in lines:
        if as_json:
            output.data(json.dumps(line.facts))
            continue
        at = datetime.fromtimestamp(line.at).astimezone() if line.at else None
        when = f"{at:%Y-%m-%d %H:%M:%S} " if at else ""
        output.line(
            f"{when}{line.level:<7} {line.logger}: {line.message}", _STYLES.get(line.level, PLAIN)
        )
        for more in str(line.facts.get("traceback") or "").splitlines():
            output.line(f"    {more}", FAINT)
    sys.stdout.flush()
