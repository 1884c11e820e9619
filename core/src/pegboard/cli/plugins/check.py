"""`pegboard plugins check`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from pegboard.cli import exit_codes
from pegboard.cli.completing import plugin_ids
from pegboard.cli.output import BAD, GOOD
from pegboard.cli.plugins.view import explain, to_json
from pegboard.cli.session import Session, json_option
from pegboard.contracts.errors import BuildError, PluginError
from pegboard.plugins.decision.failures import FailureStore
from pegboard.plugins.discovery.own_code import code_stamp

if TYPE_CHECKING:
    from pegboard.plugins.building.build_child import BuildTarget
    from pegboard.plugins.decision.state import PluginRecord

_LATER: Final = ("lifespan", "config")
"""Phases of an activation that this command does not come to."""


@click.command()
@click.argument("plugin", shell_complete=plugin_ids)
@json_option
@click.pass_context
def command(ctx: click.Context, plugin: str) -> None:
    """Try a plugin: import it in a process of its own, and compare it with its plugin.json.

    When it is in order, a failure of an earlier import is forgotten. Its lifespan is not run.
    """
    session: Session = ctx.obj
    record = session.boot.record(plugin)
    differences = _differences(session, record)
    if not differences:
        _forget(session, record)
    now = session.again().boot.record(plugin)
    if session.output.json_wanted:
        session.output.json({"plugin": to_json(now), "differences": differences})
    else:
        _print(session, now, differences)
    if differences or not now.usable:
        ctx.exit(exit_codes.FAILED)


def _differences(session: Session, record: PluginRecord) -> list[str]:
    """Return what code and plugin.json say differently; what fails is kept for `plugins why`."""
    from pegboard.plugins.building.build_child import build_in_child, stale
    from pegboard.plugins.decision.mending import is_authored, mend_code

    target = _target(record)
    try:
        with session.output.step(f"Importing {record.id}"):
            manifest = build_in_child(target, again=f"`pegboard plugins check {record.id}`")
    except BuildError as error:
        fix = error.fix if is_authored(record.found) else None
        fix = fix or mend_code(record.found, str(error.details.get("traceback", "")))
        reason = error.message.removeprefix(f"plugin {record.id}: ")
        FailureStore(session.paths).record(
            record.id,
            record.dist,
            record.version,
            "import",
            str(error.details.get("traceback", "")),
            reason=reason,
            stamp=code_stamp(record.found),
        )
        message = f"{record.id} ({record.dist} {record.version}): {reason}"
        raise PluginError(message, fix=fix, plugin=record.id) from error
    return stale(target, manifest) if target.file.exists() else []


def _target(record: PluginRecord) -> BuildTarget:
    from pegboard.plugins.building.build_child import BuildTarget
    from pegboard.plugins.discovery.manifest_place import FILE_NAME, place

    try:
        file = place(record.found.value)
    except ModuleNotFoundError as error:
        raise PluginError(f"{record.id}: {record.reason or error}", fix=record.fix) from error
    # a module that is a single file has no place for one
    return BuildTarget(record.id, record.found.value, None, file or Path(FILE_NAME, FILE_NAME))


def _forget(session: Session, record: PluginRecord) -> None:
    store = FailureStore(session.paths)
    failure = store.read().get(record.id)
    if failure is not None and failure.phase not in _LATER:
        store.forget(record.id)


def _print(session: Session, record: PluginRecord, differences: list[str]) -> None:
    output = session.output
    if differences:
        output.line(f"The code of {record.id} and its plugin.json differ:", BAD)
        for line in differences:
            output.line(f"  {line}")
        output.line(f"  Fix: pegboard plugins build {record.id}")
    elif record.usable:
        words = f": {record.reason}" if record.reason else ""
        output.line(f"{record.id} can be imported. It is {record.state.value}{words}.", GOOD)
    else:
        explain(output, record)
