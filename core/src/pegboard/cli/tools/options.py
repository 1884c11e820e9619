"""Options that several commands about tools share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


def as_option(function: F) -> F:
    """Give a command `--as operator|guest`, passed as `trust`."""
    option = click.option(
        "--as",
        "trust",
        type=click.Choice(["operator", "guest"]),
        default="operator",
        show_default=True,
        help="Whom to act for.",
    )
    return option(function)


def workspace_option(function: F) -> F:
    """Give a command `--workspace DIR`, passed as `workspace`; None = the current folder."""
    option = click.option(
        "--workspace",
        type=click.Path(path_type=Path, file_okay=False),
        help="Folder that tools work in.  [default: the current one]",
    )
    return option(function)
