"""`pegboard completion`."""

from __future__ import annotations

from typing import Final

import click

_HOW: Final = {
    "bash": "~/.bashrc",
    "zsh": "~/.zshrc",
    "fish": "~/.config/fish/completions/pegboard.fish",
}


@click.command("completion")
@click.argument("shell", type=click.Choice(list(_HOW)))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print the script that completes commands in a shell.

    Add it to the shell's start file: pegboard completion bash >> ~/.bashrc
    """
    from click.shell_completion import get_completion_class

    root = ctx.find_root()
    kind = get_completion_class(shell)
    if kind is not None:
        click.echo(kind(root.command, {}, "pegboard", "_PEGBOARD_COMPLETE").source())
