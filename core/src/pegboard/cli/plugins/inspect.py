"""`pegboard plugins inspect`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from pegboard.cli.output import WARN, Output
from pegboard.cli.plugins.show import effects_text, needs_text
from pegboard.cli.plugins.view import provides, provides_text
from pegboard.cli.session import Session, json_option
from pegboard.contracts.errors import PegboardError

if TYPE_CHECKING:
    from pegboard.plugins.discovery.inspect import Inspection
    from pegboard.plugins.discovery.manifest import Manifest


@click.command()
@click.argument("target", metavar="WHEEL|FOLDER|NAME")
@json_option
@click.pass_obj
def command(session: Session, target: str) -> None:
    """Look into a wheel, folder or plugin; run nothing.

    FOLDER is the source of a plugin; NAME is an installed plugin or distribution. What differs
    from the installed version is shown, if there is one.
    """
    from pegboard.plugins.discovery.inspect import inspect

    found = inspect(target)
    changes = differences(found)
    if session.output.json_wanted:
        session.output.json({"inspection": found.to_dict(), "changes": changes})
        return
    print_inspection(session.output, found, changes)


def differences(found: Inspection) -> list[str] | None:
    """Return how `found` differs from the installed version, or None when there is none."""
    from pegboard.plugins.discovery.changes import diff
    from pegboard.plugins.discovery.inspect import inspect

    if found.source == "installed":
        return None
    try:
        return diff(inspect(found.dist), found)
    except PegboardError:
        return None


def print_inspection(output: Output, found: Inspection, changes: list[str] | None) -> None:
    """Print what installing a distribution brings, dangers last so that they stay in sight."""
    output.fields(
        [
            ("package", f"{found.dist} {found.version}"),
            ("looked at", f"{found.target} ({found.source})"),
            ("plugins", ", ".join(found.plugins) or "none: this is no Pegboard plugin"),
            ("requires", ", ".join(found.requires)),
        ]
    )
    for plugin_id, manifest in found.manifests.items():
        _print_manifest(output, plugin_id, manifest)
    if changes is not None:
        output.heading("Compared with the installed version")
        for line in changes or ["Nothing differs."]:
            output.line(f"  {line}")
    warnings = _warnings(found)
    if warnings:
        output.heading("Worth a look")
        for line in warnings:
            output.line(f"  {line}", WARN)


def _print_manifest(output: Output, plugin_id: str, manifest: Manifest) -> None:
    output.heading(f"Plugin {plugin_id}")
    contents = provides(manifest)
    contents.pop("tool", None)
    output.fields(
        [
            ("about", manifest.summary),
            ("secrets", ", ".join(manifest.secrets)),
            ("needs", needs_text(manifest.needs)),
            ("brings", provides_text(contents)),
            ("imported", "when the host starts" if manifest.activate == "boot" else ""),
            *((f"tool {tool['name']}", _tool_text(tool)) for tool in manifest.tools),
            *(
                (f"tools {family.prefix}*", f"at most: {effects_text(family.effects)}")
                for family in manifest.families
            ),
        ],
        indent="  ",
    )


def _tool_text(tool: Any) -> str:
    from pegboard.plugins.discovery.tool_facts import policy_facts

    words = [effects_text(tool.get("effects")), *policy_facts(tool)]
    needs = needs_text(tool.get("needs", {}))
    return "; ".join(word for word in (*words, f"needs {needs}" if needs else "") if word)


def _warnings(found: Inspection) -> list[str]:
    lines = [
        f"It puts the program {name} ({value}) on PATH." for name, value in found.scripts.items()
    ]
    lines += [
        f"It extends {group} as well: {', '.join(values)}."
        for group, values in found.entry_points.items()
    ]
    return [*lines, *found.problems]
