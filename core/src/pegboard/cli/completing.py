"""What a shell may complete an argument with. A broken installation completes nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import click

from pegboard.cli.session import session_of
from pegboard.contracts.errors import PegboardError


def plugin_ids(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Return ids of installed plugins."""
    try:
        records = session_of(ctx).boot.records
    except (PegboardError, OSError):
        return []
    given = ctx.params.get(param.name or "") or ()
    return [
        record.id
        for record in records
        if record.id.startswith(incomplete) and record.id not in given
    ]


def tool_names(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Return names of tools, as the manifests of usable plugins state them."""
    try:
        records = session_of(ctx).boot.usable
    except (PegboardError, OSError):
        return []
    tools = [tool for record in records if record.manifest for tool in record.manifest.tools]
    return sorted({name for tool in tools if (name := str(tool["name"])).startswith(incomplete)})


def config_keys(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Return dotted keys of core's settings."""
    from pegboard.config.schema import CORE_SCHEMA

    return [key for key in dotted_keys(CORE_SCHEMA) if key.startswith(incomplete)]


def dotted_keys(schema: Mapping[str, Any], above: str = "") -> Iterator[str]:
    """Yield the dotted key of every value that a schema of nested tables describes."""
    for name, about in schema.get("properties", {}).items():
        dotted = f"{above}{name}"
        if "properties" in about:
            yield from dotted_keys(about, f"{dotted}.")
        else:
            yield dotted


def granted_paths(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Return the folders and files that are granted."""
    try:
        grants = session_of(ctx).config.get("sandbox.grants", ())
    except (PegboardError, OSError):
        return []
    return [item["path"] for item in grants if item["path"].startswith(incomplete)]
