"""How a plugin is shown: as cells of a table, and as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from pegboard.cli.output import BAD, GOOD, WARN, Output, Style
from pegboard.plugins.decision.broken import CHOSEN, SOUND, broken_lines
from pegboard.plugins.decision.broken import broken as broken
from pegboard.plugins.decision.chat_commands import chat_commands
from pegboard.plugins.discovery.chat_command import KIND as CHAT_COMMAND

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
        shown = [shown_name(kind, name) for name in names]
        words.append(f"{len(names)} {label}s" if many else f"{label} {', '.join(shown)}")
    return ", ".join(words)


def shown_name(kind: str, name: str) -> str:
    """Return a name as people use it: `/plan` for a chat command."""
    return f"/{name}" if kind == CHAT_COMMAND else name


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
    """Return the names that several want, each with the line that settles it.

    They are short names of tools and chat commands.
    """
    return (*_tool_clashes(boot), *chat_commands(boot.records).problems)


def _tool_clashes(boot: Boot) -> tuple[Problem, ...]:
    wanted = [
        (record, tool)
        for record in boot.usable
        if record.manifest is not None
        for tool in record.manifest.tools
    ]
    names = [tool["name"] for _, tool in wanted]
    own = set(names)
    # an alias that is a tool's own name is that tool's: nobody else gets it
    names += [name for _, tool in wanted for name in tool.get("aliases", ()) if name not in own]
    chosen = boot.config.section("names")
    if not chosen and len(set(names)) == len(names):
        return ()  # as it nearly always is, and `plugins list` must be quick
    from pegboard.plugins.decision.names import ToolNames, short_names

    tools = [
        ToolNames(record.id, tool["name"], tuple(tool.get("aliases", ())), record.dist)
        for record, tool in wanted
    ]
    return short_names(tools, chosen).problems


def missing_requirements(boot: Boot) -> tuple[Problem, ...]:
    """Return what usable plugins require and is not installed, of whatever version."""
    from pegboard.config.schema import Problem
    from pegboard.plugins.discovery.requirements import applying, missing

    lines = {line for record in boot.usable for line in record.found.requires}
    lacking = set(missing(lines, boot.installed))
    if not lacking:
        return ()
    return tuple(
        Problem(
            record.id,
            f"{record.id} ({record.dist} {record.version}) requires {requirement.name}"
            f"{requirement.range}, which is not installed.",
            f"pip install '{requirement.name}{requirement.range}'",
        )
        for record in boot.usable
        for requirement in applying(record.found.requires)
        if requirement in lacking
    )


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
    origin = shipped(record) if broken(record) else ""
    output.fields([("why", record.reason), ("fix", record.fix or ""), ("who", origin)], indent="  ")


def shipped(record: PluginRecord) -> str:
    """Return who ships a plugin, or whose folder it is; "" when nothing tells."""
    from pegboard.plugins.discovery.origin import origin_of, shipper_of
    from pegboard.plugins.discovery.own_code import shown_file

    origin = origin_of(record.found)
    if origin.kind in ("editable", "folder"):
        how = "installed editable" if origin.kind == "editable" else "a copy of it is installed"
        return f"your folder {shown_file(origin.place)} ({how})"
    place = "" if origin.kind == "index" else f"from {shown_file(origin.place)}"
    return ", ".join(filter(None, (*shipper_of(record.found), place)))
