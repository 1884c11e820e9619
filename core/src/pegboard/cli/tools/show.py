"""`pegboard tools show`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from pegboard.cli.completing import tool_names
from pegboard.cli.output import Output
from pegboard.cli.plugins.show import effects_text, needs_text
from pegboard.cli.session import Session, json_option
from pegboard.cli.tools.find import find_tool

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pegboard.contracts.tool import RegisteredTool


@click.command()
@click.argument("name", shell_complete=tool_names)
@json_option
@click.pass_obj
def command(session: Session, name: str) -> None:
    """Show a tool: parameters, effects, help."""

    async def look() -> RegisteredTool:
        async with session.open_host() as host:
            return find_tool(host, name)

    tool = session.run(look)
    if session.output.json_wanted:
        facts = {
            "name": tool.wire_name,
            "canonical": tool.canonical,
            "plugin": tool.plugin,
            "kind": tool.kind,
            "first_party": tool.first_party,
            "spec": tool.spec.to_dict(),
        }
        session.output.json({"tool": facts})
        return
    _print(session.output, tool)


def _print(output: Output, tool: RegisteredTool) -> None:
    spec = tool.spec
    output.line(f"{tool.wire_name}  ({tool.canonical})", {"bold": True})
    output.line()
    output.line(spec.description)
    _print_parameters(output, spec.parameters)
    output.heading("Facts")
    output.fields(
        [
            ("effects", effects_text(None if spec.effects is None else sorted(spec.effects))),
            ("by argument", json.dumps(spec.effects_by.to_dict()) if spec.effects_by else ""),
            ("audience", spec.audience),
            ("exposure", spec.exposure),
            ("category", spec.category),
            ("aliases", ", ".join(spec.aliases)),
            ("needs", needs_text(spec.needs.to_dict())),
            ("attended", spec.attended or ""),
            ("time limit", f"{spec.timeout_s:g} s"),
            ("output", f"at most {spec.limits.chars} characters"),
        ],
        indent="  ",
    )
    _print_help(output, tool)


def _print_parameters(output: Output, schema: Mapping[str, Any]) -> None:
    properties: Mapping[str, Any] = schema.get("properties", {})
    if not properties:
        return
    required = schema.get("required", ())
    output.heading("Parameters")
    output.table(
        ["NAME", "TYPE", "DEFAULT", "ABOUT"],
        [
            (
                name,
                type_text(about),
                "required" if name in required else json.dumps(about.get("default")),
                str(about.get("description", "")),
            )
            for name, about in properties.items()
        ],
    )


def type_text(schema: Mapping[str, Any]) -> str:
    """Return the type of a parameter in words: `string`, `integer or null`, `one of a, b`."""
    if "enum" in schema:
        return "one of " + ", ".join(str(value) for value in schema["enum"])
    if "anyOf" in schema:
        return " or ".join(type_text(option) for option in schema["anyOf"])
    kind = schema.get("type", "any")
    if isinstance(kind, list):
        return " or ".join(kind)
    if kind == "array":
        return f"list of {type_text(schema.get('items', {}))}"
    return str(kind)


def _print_help(output: Output, tool: RegisteredTool) -> None:
    text = tool.spec.help
    if text.when_to_use:
        output.heading("When to use")
        output.line(f"  {text.when_to_use}")
    for title, lines in (("Examples", text.examples), ("It fails when", text.failure_modes)):
        if lines:
            output.heading(title)
            for line in lines:
                output.line(f"  {line}")
    if tool.spec.intents:
        output.heading("Said in words")
        for intent in tool.spec.intents:
            output.line(f"  {intent.pattern}")
