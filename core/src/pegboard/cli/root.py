"""The root command: global options, and the list of commands."""

from __future__ import annotations

from typing import Any, Final

import click

from pegboard._version import __version__
from pegboard.cli import exit_codes
from pegboard.cli.contributed import CommandGroup
from pegboard.cli.session import session_of

PROGRAM: Final = "pegboard"
_COMMANDS: Final[dict[str, tuple[str, str]]] = {
    "plugins": ("plugins:group", "List, inspect, install, switch and check plugins."),
    "tools": ("tools:group", "List, show, search and call tools."),
    "models": ("models:group", "List, show, add and choose models."),
    "usage": ("usage:command", "Show what models were asked, and what it cost."),
    "sessions": ("sessions:group", "List, show, export, resume, copy and erase conversations."),
    "serve": ("serve:command", "Run a host that stays."),
    "status": ("status:command", "Show what the host does, and what needs your eye."),
    "logs": ("logs:command", "Show the log of the host that stays."),
    "service": ("service:group", "Let the system start the host, and keep it running."),
    "why": ("why:command", "Say whether a tool may be called, and which rule decides it."),
    "policy": ("policy:group", "Print who may call what, and hold it to expectations."),
    "audit": ("audit:group", "List, verify and export the log of refusals and approvals."),
    "store": ("store:group", "Copy, check and count what the host keeps."),
    "record": ("record:record_command", "Write what happened in a turn to one file."),
    "replay": ("record:replay_command", "Run a recorded turn again, with no network."),
    "sandbox": ("sandbox:group", "Say what tools may reach, and what keeps them to it."),
    "grant": ("grants:grant", "Let tools use a folder or file beside the workspace."),
    "revoke": ("grants:revoke", "Take back what `pegboard grant` gave."),
    "config": ("config:group", "Show, change and check the configuration."),
    "secret": ("secret:group", "Set, list and remove secrets."),
    "trust": ("trust:command", "Trust a folder's AGENTS.md and settings."),
    "init": ("init:command", "Create the config file and the private folders."),
    "doctor": ("doctor:command", "Check this installation and say how to mend it."),
    "completion": ("completion:command", "Print the script that completes commands in a shell."),
}
_CODES: Final = ", ".join(f"{code} {name}" for code, name in exit_codes.NAMES.items())


def _print_version(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        click.echo(f"{PROGRAM} {__version__}")
        ctx.exit()


@click.command(
    cls=CommandGroup,
    help="An agent host in which every ability is a pip package.",
    lazy=_COMMANDS,
    epilog=f"Exit codes: {_CODES}.",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option(
    "--home",
    metavar="DIR",
    is_eager=True,
    help="Keep config, state, data and cache in DIR (as PEGBOARD_HOME does).",
)
@click.option(
    "--safe",
    is_flag=True,
    is_eager=True,
    envvar="PEGBOARD_SAFE_MODE",
    help="Load first-party plugins only (as PEGBOARD_SAFE_MODE=1 does).",
)
@click.option(
    "--set",
    "settings",
    metavar="KEY=VALUE",
    multiple=True,
    is_eager=True,
    help="Override one setting for this run; may be repeated.",
)
@click.option("--no-color", is_flag=True, is_eager=True, help="Print without colour.")
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Print the version and exit.",
)
@click.pass_context
def root(ctx: click.Context, /, **_: Any) -> None:
    """Make the session that every command finds as its object."""
    session_of(ctx)
