"""`pegboard plugins`: manage plugins. Only `build`, `check` and `test` import one."""

from __future__ import annotations

from typing import Final

import click

from pegboard.cli.lazy_group import LazyGroup

_COMMANDS: Final[dict[str, tuple[str, str]]] = {
    "list": ("plugins.list:command", "List the installed plugins and their states."),
    "show": ("plugins.show:command", "Show all that a plugin brings."),
    "why": ("plugins.why:command", "Say why a plugin is in its state, and how to change it."),
    "inspect": ("plugins.inspect:command", "Look into a wheel, folder or plugin; run nothing."),
    "install": ("plugins.install:command", "Inspect a plugin, then install it here."),
    "uninstall": ("plugins.uninstall:command", "Remove plugins from this environment."),
    "enable": ("plugins.switch:enable", "Enable plugins, and forget their failures."),
    "disable": ("plugins.switch:disable", "Disable plugins; they are not imported any more."),
    "order": ("plugins.order:command", "Print the order in which plugins are called."),
    "doctor": ("plugins.doctor:command", "Check every plugin without importing any."),
    "check": ("plugins.check:command", "Try a plugin: import it in a process of its own."),
    "build": ("plugins.build:command", "Write a plugin's plugin.json from its code."),
    "test": ("plugins.test:command", "Run a plugin's tests and the contract suites."),
    "new": ("plugins.new:command", "Make the project of a new plugin."),
    "rescan": ("plugins.rescan:command", "Look again at what is installed."),
}


@click.group("plugins", cls=LazyGroup, lazy=_COMMANDS)
def group() -> None:
    """List, inspect, install, switch and check plugins."""
