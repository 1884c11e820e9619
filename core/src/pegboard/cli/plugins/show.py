"""`pegboard plugins show`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import click

from pegboard.cli.completing import plugin_ids
from pegboard.cli.output import Output
from pegboard.cli.plugins.view import explain, shown_name, to_json
from pegboard.cli.session import Session, json_option
from pegboard.cli.settings import visible

if TYPE_CHECKING:
    from pegboard.plugins.decision.state import PluginRecord
    from pegboard.plugins.discovery.manifest import Manifest


@click.command()
@click.argument("plugin", shell_complete=plugin_ids)
@json_option
@click.pass_obj
def command(session: Session, plugin: str) -> None:
    """Show all that a plugin brings, as its manifest says."""
    record = session.boot.record(plugin)
    settings = _settings(session, record)
    if session.output.json_wanted:
        manifest = record.manifest.to_dict() if record.manifest else None
        data = {**to_json(record), "manifest": manifest, "settings": settings}
        session.output.json({"plugin": data})
        return
    _print_head(session.output, record)
    if record.manifest is not None:
        _print_manifest(session.output, record.manifest)
    _print_settings(session.output, record, settings)


def _settings(session: Session, record: PluginRecord) -> list[dict[str, Any]]:
    """Return each setting of a plugin with its value, where that comes from, and its meaning."""
    config = session.config
    schema = record.manifest.config if record.manifest else None
    properties: Mapping[str, Any] = (schema or {}).get("properties", {})
    section = f"plugins.{record.id}"
    values = visible(config, session.boot).section(section)
    known = [
        {
            "key": f"{section}.{name}",
            "value": values.get(name, about.get("default")),
            "source": config.source(f"{section}.{name}") if name in values else "default",
            "description": about.get("description", ""),
        }
        for name, about in properties.items()
    ]
    return [item for item in known if not (item["value"] is None and item["source"] == "default")]


def _print_head(output: Output, record: PluginRecord) -> None:
    manifest = record.manifest
    output.fields(
        [
            ("plugin", record.id),
            ("about", manifest.summary if manifest else ""),
            ("package", f"{record.dist} {record.version}"),
            ("state", record.state.value),
            ("by", "Pegboard" if record.first_party else "a third party"),
            ("location", str(record.found.location)),
            ("entry", record.found.value),
            ("hook API", manifest.api if manifest else ""),
            ("imported", _activation(manifest)),
            ("secrets", ", ".join(manifest.secrets) if manifest else ""),
            ("needs", needs_text(manifest.needs) if manifest else ""),
            ("services", ", ".join(manifest.services) if manifest else ""),
            ("background", ", ".join(manifest.background) if manifest else ""),
            ("before", ", ".join(manifest.before) if manifest else ""),
            ("after", ", ".join(manifest.after) if manifest else ""),
        ]
    )
    if record.reason:
        explain(output, record)


def _activation(manifest: Manifest | None) -> str:
    if manifest is None:
        return ""
    return "when the host starts" if manifest.activate == "boot" else "at first use"


def needs_text(needs: Mapping[str, Iterable[str]]) -> str:
    """Return what must be present, in words: `binaries git; plugins files`."""
    return "; ".join(f"{kind} {', '.join(names)}" for kind, names in needs.items() if names)


def effects_text(effects: Iterable[str] | None) -> str:
    """Return effects in words; None is the most dangerous and says so."""
    if effects is None:
        return "unknown"
    return ", ".join(effects) or "none"


def _print_manifest(output: Output, manifest: Manifest) -> None:
    if manifest.tools:
        output.heading("Tools")
        output.table(
            ["NAME", "EFFECTS", "ABOUT"],
            [
                (
                    tool["name"],
                    effects_text(tool.get("effects")),
                    str(tool.get("description", "")).partition("\n")[0],
                )
                for tool in manifest.tools
            ],
        )
    if manifest.families:
        output.heading("Tools that come and go")
        rows = [
            (f"{item.prefix}*", effects_text(item.effects), item.audience)
            for item in manifest.families
        ]
        output.table(["PREFIX", "EFFECTS AT MOST", "AUDIENCE"], rows)
    if manifest.contributions:
        output.heading("Contributions")
        output.table(
            ["KIND", "NAME", "ABOUT"],
            [
                (fact.kind, shown_name(fact.kind, fact.name), fact.summary)
                for fact in manifest.contributions
            ],
        )
    if manifest.hooks:
        output.heading("Hooks")
        output.table(
            ["HOOK", "EVENTS"],
            [
                (name, ", ".join(events) or "all" if name == "pegboard_event" else "")
                for name, events in sorted(manifest.hooks.items())
            ],
        )


def _print_settings(
    output: Output, record: PluginRecord, settings: Iterable[Mapping[str, Any]]
) -> None:
    rows = [
        (item["key"], repr(item["value"]), item["source"], item["description"]) for item in settings
    ]
    if rows:
        output.heading("Settings")
        output.table(["KEY", "VALUE", "FROM", "ABOUT"], rows)
