"""Import the one plugin that brings a command: no host is opened, nothing else is imported."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from pegboard.cli.contributed import contributed
from pegboard.contracts.errors import PegboardError, PluginError
from pegboard.plugins.building.isolation import is_plugin_fault, one_line
from pegboard.plugins.decision.failures import FailureStore
from pegboard.plugins.running.guard_stdout import quiet
from pegboard.plugins.running.importer import Importer, fix_of
from pegboard.plugins.running.loading import LoadFailed

if TYPE_CHECKING:
    from pegboard.cli.session import Session
    from pegboard.plugins.decision.boot import Boot
    from pegboard.plugins.decision.state import PluginRecord


async def import_command(session: Session, boot: Boot, name: str) -> click.Command | None:
    """Return the command `name`, or None when no usable plugin brings it.

    Plugins without a manifest are imported to learn what they bring, as a host does at its start.

    Raises:
        PluginError: When the plugin can't be imported, or two bring the command.
    """
    importer = Importer(
        FailureStore(session.paths),
        timeout_s=float(session.config.get("plugins.import_timeout_s", 20)),
        report=lambda _plugin, _what: None,  # the error that is raised says it
    )
    records = [
        record if record.manifest else await _described(importer, record)
        for record in boot.records
        if record.usable
    ]
    found = contributed(records).get(name, [])
    if not found:
        return None
    if len(found) > 1:
        raise _shared(name, [record for record, _ in found])
    record = found[0][0]
    try:
        section = session.config.section(f"plugins.{record.id}")
        loaded, _ = await importer.load(record, section)
    except LoadFailed as failure:
        importer.store(record, failure)
        who = f"The plugin {record.id} ({record.dist} {record.version})"
        raise PluginError(
            f"{who} brings the command {name!r} and can't be imported: {failure.reason}",
            fix=fix_of(record, failure),
        ) from failure
    session.plugin = record.id
    try:
        with quiet(record.id):
            contribution = loaded.declared.contributions["command", name]
            assert contribution.factory is not None, "only chat commands have none"
            command = contribution.factory()
    except BaseException as error:
        if isinstance(error, PegboardError) or not is_plugin_fault(error):
            raise
        raise PluginError(
            f"The plugin {record.id} ({record.dist} {record.version}) can't make its command "
            f"{name!r}: {one_line(error)}",
            fix=f"pegboard plugins disable {record.id}",
        ) from error
    if not isinstance(command, click.Command):
        raise PluginError(
            f"The plugin {record.id} contributes the command {name!r}, but its factory returned "
            f"{type(command).__name__}, not a click.Command.",
            fix=f"pegboard plugins disable {record.id}",
        )
    return command


async def _described(importer: Importer, record: PluginRecord) -> PluginRecord:
    try:
        return record._replace(manifest=await importer.build(record))
    except LoadFailed as failure:
        importer.store(record, failure)
        return record


def _shared(name: str, records: Iterable[PluginRecord]) -> PluginError:
    *_, last = records
    return PluginError(
        f"{' and '.join(record.dist for record in records)} both bring the command {name!r}, so "
        "nobody has it.",
        fix=f"pegboard plugins disable {last.id}",
    )
