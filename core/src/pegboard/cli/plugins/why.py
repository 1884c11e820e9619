"""`pegboard plugins why`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from pegboard.cli.completing import plugin_ids
from pegboard.cli.fatal_calls import fatal_json, fatal_tools
from pegboard.cli.output import BAD, FAINT
from pegboard.cli.plugins.view import shipped, state_style, to_json
from pegboard.cli.session import Session, json_option

if TYPE_CHECKING:
    from pegboard.plugins.decision.boot import Boot
    from pegboard.plugins.decision.state import PluginRecord


_UNTRIED: Final = (
    "Nothing is wrong with its files. Its code is imported when it is first used, and only then "
    "shows whether it works."
)


@click.command()
@click.argument("plugin", shell_complete=plugin_ids)
@json_option
@click.pass_obj
def command(session: Session, plugin: str) -> None:
    """Say why a plugin is in its state, and how to change it.

    The traceback of a failed import is the one that was kept when it failed: nothing is imported.
    """
    records = records_of(session.boot, plugin)
    fatal = fatal_tools(session, records[0].id)
    if session.output.json_wanted:
        first, *others = [
            {**to_json(record), "details": dict(record.details)} for record in records
        ]
        session.output.json({"plugin": first, "others": others, "fatal_calls": fatal_json(fatal)})
        return
    for record in records:
        _print(session, record)
    for tool in fatal:
        session.output.line(f"  {tool.sentence()}", BAD)
        session.output.line(f"  Fix: {tool.fix}")


def records_of(boot: Boot, plugin: str) -> list[PluginRecord]:
    """Return every record of a plugin id: more than one when two distributions claim it.

    Raises:
        PluginError: When it is not installed.
    """
    first = boot.record(plugin)
    return [record for record in boot.records if record.id == first.id]


def _print(session: Session, record: PluginRecord) -> None:
    output = session.output
    state = record.state.value
    output.line(f"{record.id} ({record.dist} {record.version}) is {state}", state_style(state))
    untried = record.state.value == "ready"
    output.fields(
        [
            ("why", record.reason or (_UNTRIED if untried else "")),
            ("fix", record.fix or ""),
            ("who", "" if untried else shipped(record)),
            ("try", f"pegboard plugins check {record.id}" if untried else ""),
        ],
        indent="  ",
    )
    traceback = record.details.get("traceback")
    if traceback:
        output.line()
        for line in str(traceback).rstrip().splitlines():
            output.line(f"  {line}", FAINT)
