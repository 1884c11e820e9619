"""A click group whose commands are imported when they are used, not when they are listed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import Any, NoReturn

import click

from pegboard.config.nearest import nearest
from pegboard.contracts.errors import UsageError


class LazyGroup(click.Group):
    """A group that knows the name and the summary of each command before importing it.

    Args:
        lazy: By command name: `module:attribute` below `pegboard.cli`, and the one-line summary.
    """

    def __init__(
        self, *args: Any, lazy: Mapping[str, tuple[str, str]] | None = None, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.lazy = dict(lazy or {})

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Show the help when nothing follows the group's name."""
        if not args and not ctx.resilient_parsing:
            click.echo(ctx.get_help())
            ctx.exit()
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order in which they are declared."""
        return list(self.lazy)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return a command, or return None when there is no such name."""
        if cmd_name not in self.lazy:
            return None
        module, _, attribute = self.lazy[cmd_name][0].partition(":")
        command: click.Command = getattr(import_module(f"pegboard.cli.{module}"), attribute)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that `args` begins with; an unknown one gets a suggestion."""
        name = args[0]
        command = self.get_command(ctx, name)
        if command is None and not ctx.resilient_parsing and not name.startswith("-"):
            self.unknown(ctx, name)
        if command is None:
            return super().resolve_command(ctx, args)
        return name, command, args[1:]

    def unknown(self, ctx: click.Context, name: str, others: Iterable[str] = ()) -> NoReturn:
        """Refuse a command that does not exist; one that the program has by that name is told.

        Args:
            ctx: The context of this group.
            name: What was typed.
            others: Further names that could have been meant.

        Raises:
            UsageError: Always.
        """
        path, program = ctx.command_path, ctx.find_root()
        near = nearest(name, (*self.lazy, *others))
        if program is not ctx and name in _commands_of(program):
            meant = f"{program.command_path} {name}"
            raise UsageError(f"{path} has no command {name!r}. Did you mean: {meant}", fix=meant)
        raise UsageError(
            f"{path} has no command {name!r}.",
            fix=f"{path} {near}" if near else f"{path} --help",
        )

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the section of commands into the help, importing none of them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in self.lazy.items()])


def _commands_of(ctx: click.Context) -> list[str]:
    return ctx.command.list_commands(ctx) if isinstance(ctx.command, click.Group) else []
