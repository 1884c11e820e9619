"""`pegboard plugins uninstall`."""

from __future__ import annotations

import re
import shutil
from typing import TYPE_CHECKING, Final

import click

from pegboard.cli.completing import plugin_ids
from pegboard.cli.fault import tell
from pegboard.cli.output import GOOD
from pegboard.cli.plugins.fresh import fresh_plugins
from pegboard.cli.plugins.install import confirm
from pegboard.cli.plugins.pip import Pip
from pegboard.cli.resident import tell_host
from pegboard.cli.session import Session, json_option
from pegboard.config.edit import remove_item, unset
from pegboard.config.keys import join_key
from pegboard.contracts.errors import PluginError, UsageError
from pegboard.plugins.decision.failures import FailureStore
from pegboard.plugins.decision.kinds import KINDS
from pegboard.plugins.discovery.scan import normalized

if TYPE_CHECKING:
    from pegboard.plugins.decision.boot import Boot
    from pegboard.plugins.decision.state import PluginRecord

_NAME: Final = re.compile(r"[A-Za-z0-9._-]+")
"""The name that a `Requires-Dist` line begins with."""


@click.command()
@click.argument("plugins", nargs=-1, required=True, shell_complete=plugin_ids)
@click.option("--yes", "-y", is_flag=True, help="Uninstall without asking.")
@click.option("--purge", is_flag=True, help="Remove its settings and all that it keeps as well.")
@json_option
@click.pass_obj
def command(session: Session, plugins: tuple[str, ...], yes: bool, purge: bool) -> None:
    """Remove plugins from this environment.

    Settings and data stay for the day it comes back, unless you say --purge. Secrets always stay;
    remove them with: pegboard secret rm NAME
    """
    boot = session.boot
    records = [one(boot, name) for name in plugins]
    for record in records:
        _warn_of_needs(session, boot, record, leaving={record.id for record in records})
    names = ", ".join(record.dist for record in records)
    more = ", with settings and data" if purge else ""
    confirm(session, f"Uninstall {names}{more}?", yes=yes)
    pip = Pip(session.output, session.env)
    for record in records:
        pip.uninstall(record.dist)
        FailureStore(session.paths).forget(record.id)
        if purge:
            _purge(session, record)
    tell_host(session, subject=names)
    _report(session, records)


def one(boot: Boot, name: str) -> PluginRecord:
    """Return the one plugin that an id or a distribution names.

    Raises:
        PluginError: When it is not installed.
        UsageError: When two distributions claim the id.
    """
    by_dist = [record for record in boot.records if normalized(record.dist) == normalized(name)]
    found = [record for record in boot.records if record.id == name] or by_dist
    if len(found) > 1:
        dists = " and ".join(record.dist for record in found)
        raise UsageError(
            f"The id {name!r} is claimed by {dists}; say which distribution you mean.",
            fix=f"pegboard plugins uninstall {found[-1].dist}",
        )
    return found[0] if found else boot.record(name)


def _warn_of_needs(session: Session, boot: Boot, record: PluginRecord, leaving: set[str]) -> None:
    for other in boot.records:
        if other.id not in leaving and _needs(other, record):
            tell(
                session.output,
                f"{other.id} ({other.dist}) needs {record.id} and won't work without it.",
                f"pegboard plugins uninstall {record.id} {other.id}",
                title="Warning",
            )


def _needs(other: PluginRecord, record: PluginRecord) -> bool:
    needs = other.manifest.needs if other.manifest else {}
    offered = record.manifest.services if record.manifest else ()
    if record.id in needs.get("plugins", ()) or set(needs.get("services", ())) & set(offered):
        return True
    own = normalized(record.dist)
    return any(
        normalized(found[0]) == own
        for line in other.found.requires
        if "extra ==" not in line and (found := _NAME.match(line))
    )


def _purge(session: Session, record: PluginRecord) -> None:
    file = session.paths.config_file
    unset(file, f"plugins.{record.id}")
    remove_item(file, "plugins.disabled", record.id)
    for dotted in _instance_tables(session, record):
        unset(file, dotted)
    shutil.rmtree(session.paths.data / "plugins" / record.id, ignore_errors=True)
    shutil.rmtree(session.paths.plugin_storage(record.id), ignore_errors=True)


def _instance_tables(session: Session, record: PluginRecord) -> list[str]:
    """Return the config tables whose type this plugin brings: `providers.groq`."""
    facts = record.manifest.contributions if record.manifest else ()
    tables = []
    for fact in facts:
        kind = KINDS.get(fact.kind)
        if kind is None or kind.section is None:
            continue
        for name, table in session.config.section(kind.section).items():
            own = (fact.name, f"{record.id}:{fact.name}")
            if isinstance(table, dict) and table.get("type", name) in own:
                tables.append(join_key([kind.section, name]))
    return tables


def _report(session: Session, records: list[PluginRecord]) -> None:
    left = fresh_plugins(session, [record.id for record in records])
    gone = [record for record in records if all(item["id"] != record.id for item in left)]
    if session.output.json_wanted:
        session.output.json({"uninstalled": [record.id for record in gone], "left": left})
    else:
        for record in gone:
            session.output.line(f"{record.id} ({record.dist}) is uninstalled.", GOOD)
    if left:
        names = ", ".join(f"{item['id']} from {item['distribution']}" for item in left)
        raise PluginError(
            f"Still installed: {names}.",
            fix=f"pegboard plugins uninstall {left[0]['distribution']}",
        )
