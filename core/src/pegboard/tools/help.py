"""A tool explained, for a model and for people."""

from __future__ import annotations

import json
from typing import Any, Final

from pegboard.contracts.tool import RegisteredTool
from pegboard.tools.argument_errors import signature
from pegboard.tools.schema_compile import properties_of

_MAX_SUMMARY: Final = 400


def summary_of(tool: RegisteredTool) -> str:
    """Return what a tool does, in a few words."""
    return tool.spec.description[:_MAX_SUMMARY].partition("\n\n")[0].replace("\n", " ").strip()


def brief(tool: RegisteredTool) -> str:
    """Return a tool in two lines: what it does, and its arguments."""
    return f"{tool.wire_name}: {summary_of(tool)}\n  {signature(tool.spec.parameters)}"


def described(tool: RegisteredTool) -> dict[str, Any]:
    """Return a tool's description and schema as JSON-serialisable data."""
    return {
        "name": tool.wire_name,
        "plugin": tool.plugin,
        "description": tool.spec.description,
        "parameters": tool.spec.parameters,
    }


def description_text(tool: RegisteredTool) -> str:
    """Return a tool's description and schema as text."""
    schema = json.dumps(tool.spec.parameters, ensure_ascii=False, indent=2, default=str)
    return f"{tool.wire_name}\n\n{tool.spec.description}\n\nArguments (JSON Schema):\n{schema}"


def help_text(tool: RegisteredTool) -> str:
    """Return all that a tool says about its use."""
    spec = tool.spec
    effects = "unknown" if spec.effects is None else ", ".join(sorted(spec.effects)) or "none"
    parts = [
        f"{tool.wire_name} ({tool.canonical})",
        spec.description,
        f"Arguments: {signature(spec.parameters)}",
        _arguments(tool),
        f"When to use: {spec.help.when_to_use}" if spec.help.when_to_use else "",
        _listed("Examples:", spec.help.examples),
        _listed("What can go wrong:", spec.help.failure_modes),
        f"Effects: {effects}. Stopped after {spec.timeout_s:g} s.",
    ]
    return "\n\n".join(part for part in parts if part)


def _arguments(tool: RegisteredTool) -> str:
    return "\n".join(
        f"- {name}: {schema['description']}"
        for name, schema in properties_of(tool.spec.parameters).items()
        if isinstance(schema, dict) and schema.get("description")
    )


def _listed(title: str, items: tuple[str, ...]) -> str:
    return "\n".join([title, *(f"- {item}" for item in items)]) if items else ""
