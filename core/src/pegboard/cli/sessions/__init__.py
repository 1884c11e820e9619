"""`pegboard sessions`: past and present conversations, for their owner."""

from __future__ import annotations

from typing import Final

import click

from pegboard.cli.lazy_group import LazyGroup

_COMMANDS: Final[dict[str, tuple[str, str]]] = {
    "list": ("sessions.list:command", "List the conversations, the latest first."),
    "show": ("sessions.show:command", "Show what was said in a conversation."),
    "export": (
        "sessions.export:command",
        "Write a conversation, or all of one person, as lines of JSON or as Markdown.",
    ),
    "resume": ("sessions.resume:command", "Go on with a conversation of the terminal."),
    "fork": (
        "sessions.fork:command",
        "Copy a conversation to a new one of the terminal, to go on with the copy.",
    ),
    "delete": (
        "sessions.delete:command",
        "Erase conversations, or all that is kept of one person.",
    ),
}


@click.group("sessions", cls=LazyGroup, lazy=_COMMANDS)
def group() -> None:
    """List, show, export, resume, copy and erase conversations.

    A conversation is named by its id or its key, or by the beginning of one.
    """
