"""`pegboard plugins enable` and `disable`: the list `[plugins] disabled` in the user's config."""

from __future__ import annotations

import click

from pegboard.cli.completing import plugin_ids
from pegboard.cli.fault import tell
from pegboard.cli.plugins.view import to_json
from pegboard.cli.resident import tell_host
from pegboard.cli.session import Session, json_option
from pegboard.config.edit import add_item, remove_item
from pegboard.plugins.decision.failures import FailureStore

_KEY = "plugins.disabled"


@click.command()
@click.argument("plugins", nargs=-1, required=True, shell_complete=plugin_ids)
@json_option
@click.pass_obj
def disable(session: Session, plugins: tuple[str, ...]) -> None:
    """Disable plugins; they are not imported any more.

    The ids are kept in the list `[plugins] disabled` of your config file.
    """
    boot = session.boot
    ids = [boot.record(name).id for name in plugins]
    for plugin_id in ids:
        add_item(session.paths.config_file, _KEY, plugin_id)
    for plugin_id in ids:
        if plugin_id in session.config.get("plugins.required", ()):
            tell(
                session.output,
                f"{plugin_id} is in [plugins] required.",
                "take it out of the list: pegboard config get plugins.required",
                title="Warning",
            )
    _report(session, ids, wanted="disabled")


@click.command()
@click.argument("plugins", nargs=-1, required=True, shell_complete=plugin_ids)
@json_option
@click.pass_obj
def enable(session: Session, plugins: tuple[str, ...]) -> None:
    """Enable plugins, and forget their failures.

    A plugin that ended the whole process when it was imported is disabled until then.
    """
    boot = session.boot
    listed = session.config.get(_KEY, ())
    ids = [name if name in listed else boot.record(name).id for name in plugins]
    failures = FailureStore(session.paths)
    for plugin_id in ids:
        remove_item(session.paths.config_file, _KEY, plugin_id)
        failures.forget(plugin_id)
    _report(session, ids, wanted="enabled")


def _report(session: Session, ids: list[str], *, wanted: str) -> None:
    """Say what the plugins are now, which another setting may have decided."""
    tell_host(session, subject=", ".join(ids))
    now = session.again().boot
    records = [record for plugin_id in ids if (record := now.get(plugin_id))]
    if session.output.json_wanted:
        session.output.json({"plugins": [to_json(record) for record in records]})
        return
    for record in records:
        state = record.state.value
        if state == "disabled" if wanted == "disabled" else record.usable:
            session.output.line(f"{record.id} is {state}.")
        else:
            tell(
                session.output,
                f"{record.id} is {wanted}, but {state}: {record.reason}",
                record.fix,
                title="Warning",
            )
