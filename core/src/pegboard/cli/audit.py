"""`pegboard audit`: what was refused, asked and approved; and whether that record is complete."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from pegboard.cli import exit_codes
from pegboard.cli.lazy_group import LazyGroup
from pegboard.cli.output import BAD, GOOD, PLAIN, WARN
from pegboard.cli.session import Session, json_option
from pegboard.cli.stored import reading
from pegboard.contracts.audit import AUDIT_KINDS
from pegboard.contracts.errors import UsageError

if TYPE_CHECKING:
    from pegboard.store.audit_chain import Head

_COMMANDS: Final[dict[str, tuple[str, str]]] = {
    "list": ("audit:list_command", "List the latest events."),
    "verify": (
        "audit:verify_command",
        "Check that no event was removed, changed, moved or cut off.",
    ),
    "export": ("audit:export_command", "Write the whole log as lines of JSON, with its head."),
}
_AGE: Final = re.compile(r"(\d+)([smhdw])")
_UNITS: Final = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_STYLES: Final = {"deny": BAD, "ask": WARN, "allow": GOOD}


@click.group("audit", cls=LazyGroup, lazy=_COMMANDS)
def group() -> None:
    """List, verify and export the log of refusals and approvals."""


@click.command("list")
@click.option("--since", metavar="TIME", help="From then on: 2026-05-01T12:00, or 30m, 2h, 7d ago.")
@click.option("--tool", metavar="NAME", help="Only this tool, by its canonical name plugin:tool.")
@click.option("--kind", type=click.Choice(AUDIT_KINDS), help="Only this kind of event.")
@click.option(
    "--limit", type=click.IntRange(min=1), default=50, show_default=True, help="At most so many."
)
@json_option
@click.pass_obj
def list_command(
    session: Session, since: str | None, tool: str | None, kind: str | None, limit: int
) -> None:
    """List the latest events, the oldest of them first."""
    from pegboard.store.audit_log import AuditFilter, listed

    wanted = AuditFilter(
        since=None if since is None else earliest(since, datetime.now(UTC)),
        tool=tool,
        kind=kind,
        limit=limit,
    )
    with reading(session, turns=False) as connection:
        found = [] if connection is None else listed(connection, wanted)
    output = session.output
    if output.json_wanted:
        output.json({"events": [record.to_dict() for record in found]})
    elif found:
        output.table(
            ["TIME", "KIND", "OUTCOME", "TOOL", "RULE", "WHAT", "CALLER", "TIMES"],
            [_row(record.to_dict()["event"]) for record in found],
            paint={2: lambda cell: _STYLES.get(cell.partition(" ")[0], PLAIN)},
        )
    else:
        output.line("No such event was recorded.")


@click.command("verify")
@click.option(
    "--head",
    "expected",
    metavar="FILE|HASH",
    help="An exported log, or a head: also detects an end that was cut off since.",
)
@json_option
@click.pass_obj
def verify_command(session: Session, expected: str | None) -> None:
    """Check that no event was removed, changed, moved or cut off.

    Ends with 1 when one was, and says where.
    """
    from pegboard.store.audit_chain import verify
    from pegboard.store.audit_log import verified

    head = None if expected is None else _head(expected)
    with reading(session, turns=False) as connection:
        result = verify((), head) if connection is None else verified(connection, head)
    output = session.output
    if output.json_wanted:
        output.json(result.to_dict())
    elif result.broken is None:
        output.line(f"The audit log is complete: {result.records} events.", GOOD)
        output.line(f"head {result.head}")
    else:
        output.line(f"The audit log is broken: {result.broken.message}", BAD)
        output.line(f"Up to there {result.records} events are as they were written.")
    if result.broken is not None:
        raise click.exceptions.Exit(exit_codes.FAILED)


@click.command("export")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False), required=False)
@click.pass_obj
def export_command(session: Session, file: Path | None) -> None:
    """Write the whole log as lines of JSON, with its head.

    It goes to FILE, or is printed. Its last line is the head: keep that where the log's owner can't
    write, and give it to `pegboard audit verify --head` later.
    """
    from pegboard.config.private_file import write_private
    from pegboard.store.audit_chain import EMPTY
    from pegboard.store.audit_log import end_of_export, exported

    with reading(session, turns=False) as connection:
        lines = iter([end_of_export(EMPTY)]) if connection is None else exported(connection)
        if file is None:
            for line in lines:
                session.output.data(line)
            return
        text = "".join(f"{line}\n" for line in lines)
    write_private(file, text)
    session.output.line(f"{text.count(chr(10)) - 1} events are in {file}.", GOOD)


def earliest(text: str, now: datetime) -> float:
    """Return a time as seconds since the epoch.

    Args:
        text: A date, a date and time (local unless it has a zone), or an age: `30m`, `2h`, `7d`.
        now: The current time.

    Raises:
        UsageError: When it is none of these.
    """
    age = _AGE.fullmatch(text.strip())
    try:
        if age is not None:
            return (now - timedelta(**{_UNITS[age[2]]: int(age[1])})).timestamp()
        return datetime.fromisoformat(text.strip()).timestamp()
    except (ValueError, OverflowError) as error:
        raise UsageError(
            f"--since takes a time like 2026-05-01T12:00 or an age like 2h, got {text!r}.",
            fix="pegboard audit list --since 1d",
        ) from error


def _head(given: str) -> Head:
    """Read a head from an argument, or from the last line of the file that it names."""
    from pegboard.store.audit_chain import parse_head
    from pegboard.store.audit_log import head_of_export

    head = parse_head(given)
    if head is None:
        try:
            lines = Path(given).read_text("utf-8").splitlines()
        except (OSError, ValueError):
            lines = []
        last = lines[-1] if lines else ""
        head = parse_head(last) or head_of_export(last)
    if head is None:
        raise UsageError(
            f"{given} is neither a head nor an exported audit log.",
            fix="pegboard audit export FILE",
        )
    return head


def _row(event: dict[str, Any]) -> tuple[str, ...]:
    time = datetime.fromtimestamp(event["at"]).astimezone().strftime("%Y-%m-%d %H:%M:%S")
    caller = ", ".join(
        filter(
            None,
            (
                event["trust"],
                event["sender"] or event["channel"],
                event["origin"] if event["origin"] != "person" else "",
                f"depth {event['depth']}" if event["depth"] else "",
                f"job {event['job']}" if event["job"] else "",
            ),
        )
    )
    times = str(event["count"]) if event["since"] is None else f"+{event['count']}"
    outcome = " ".join(filter(None, (event["outcome"], event["how"])))
    what = event.get("subject", "")  # older events have none
    return (time, event["kind"], outcome, event["tool"], event["rule"], what, caller, times)
