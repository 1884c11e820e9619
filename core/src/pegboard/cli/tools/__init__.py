"""`pegboard tools`: what the agent can do, and a way to do it by hand."""

from __future__ import annotations

from typing import Final

import click

from pegboard.cli.lazy_group import LazyGroup

_COMMANDS: Final[dict[str, tuple[str, str]]] = {
    "list": ("tools.list:command", "List the tools that a caller is offered."),
    "show": ("tools.show:command", "Show a tool: parameters, effects, help."),
    "call": ("tools.call:command", "Call a tool, by the same path as a model's call."),
    "search": ("tools.search:command", "Search tools by words, as a model does."),
}


@click.group("tools", cls=LazyGroup, lazy=_COMMANDS)
def group() -> None:
    """List, show, search and call tools."""
