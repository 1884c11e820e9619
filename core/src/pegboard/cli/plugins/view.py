"""How a plugin is shown: as cells of a table, and as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from pegboard.cli.output import BAD, GOOD, WARN, Output, Style
from pegboard.plugins.decision.broken import CHOSEN, SOUND, broken_lines
from pegboard.plugins.decision.broken import broken as broken

if TYPE_CHECKING:
    from pegboard.config.schema import Problem
    from pegboard.plugins.decision.boot import Boot
    from pegboard.plugins.decision.state import PluginRecord
    from pegboard.plugins.discovery.manifest import Manifest


def state_style(state: str) -> Style:
    """Return the colour of a state: green works, yellow was chosen so, red is broken."""
    return GOOD if state in SOUND else WARN if state in CHOSEN else BAD


def provides(manifest: Manifest | None) -> dict[str, list[str]]:
    """Return the names that a plugin contributes, by kind; `tool` first."""
    found: dict[str, list[str]] = {}
    if manifest is None:
        return found
    if manifest.tools:
        found["tool"] = [str(tool["name"]) for tool in manifest.tools]
    for family in manifest.families:
        found.setdefault("tool", []).append(f"{family.prefix}*")
    for fact in manifest.contributions:
        found.setdefault(fact.kind, []).append(fact.name)
    if manifest.hooks:
        found["hook"] = sorted(manifest.hooks)
    if manifest.services:
        found["service"] = list(manifest.services)
    return found


def provides_text(found: Mapping[str, list[str]]) -> str:
    """Return in a few words what a plugin provides: `7 tools, provider openai`."""
    words = []
    for kind, names in found.items():
        many = kind in ("tool", "hook") and len(names) > 1
        label = kind.replace("_", " ")
        words.append(f"{len(names)} {label}s" if many else f"{label} {', '.join(names)}")
    return ", ".join(words)


def to_json(record: PluginRecord) -> dict[str, Any]:
    """Return what `plugins list --json` says of one plugin."""
    manifest = record.manifest
    return {
        "id": record.id,
        "distribution": record.dist,
        "version": record.version,
        "state": record.state.value,
        "usable": record.usable,
        "reason": record.reason,
        "fix": record.fix,
        "first_party": record.first_party,
        "summary": manifest.summary if manifest else "",
        "provides": provides(manifest),
        "location": str(record.found.location),
    }


def name_clashes(boot: Boot) -> tuple[Problem, ...]:
    """Return the short names that several tools want, each with the line that settles it."""
    wanted = [
        (record, tool)
        for record in boot.usable
        if record.manifest is not None
        for tool in record.manifest.tools
    ]
    names = [name for _, tool in wanted for name in (tool["name"], *tool.get("aliases", ()))]
    chosen = boot.config.section("names")
    if not chosen and len(set(names)) == len(names):
        return ()  # as it nearly always is, and `plugins list` must be quick
    from pegboard.plugins.decision.names import ToolNames, short_names

    tools = [
        ToolNames(record.id, tool["name"], tuple(tool.get("aliases", ())), record.dist)
        for record, tool in wanted
    ]
    return short_names(tools, chosen).problems


def tell_broken(
    output: Output, records: Iterable[PluginRecord], problems: Iterable[Problem]
) -> None:
    """Say on standard error which plugins can't be used though nobody chose that, and the rest."""
    from pegboard.cli.fault import tell

    for message, fix in broken_lines(records, problems):
        tell(output, message, fix, title="Warning")


def explain(output: Output, record: PluginRecord) -> None:
    """Print a plugin with the reason for its state and the command that changes it."""
    output.line()
    output.line(f"{record.id} ({record.dist} {record.version}) is {record.state.value}")
    output.fields([("why", record.reason), ("fix", record.fix or "")], indent="  ")
