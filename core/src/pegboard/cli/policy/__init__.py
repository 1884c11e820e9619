"""`pegboard policy`: what everybody may do, as a table, and as expectations that are held to."""

from __future__ import annotations

from typing import Final

import click

from pegboard.cli.lazy_group import LazyGroup

_COMMANDS: Final[dict[str, tuple[str, str]]] = {
    "matrix": (
        "policy.matrix:command",
        "Print who may call which tool; without TOOL, of every tool.",
    ),
    "check": (
        "policy.check:command",
        "Hold the policy to the expectations in FILE; exit code 1 when one is not met.",
    ),
}


@click.group("policy", cls=LazyGroup, lazy=_COMMANDS)
def group() -> None:
    """Print who may call what, and hold it to expectations."""
