"""What this package brings: the channel type `terminal`, and the commands `ask` and `chat`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pegboard import Plugin

if TYPE_CHECKING:
    import click

    from pegboard import PluginContext
    from pegboard_terminal.channel import TerminalChannel

plugin = Plugin(summary="Talk to the agent from a terminal or a pipe: `ask` and `chat`.")


@plugin.channel(
    "terminal",
    summary="The person at this machine's terminal.",
    surface="terminal",
    local=True,
    slash_commands=True,
)
def make_channel(context: PluginContext, settings: Any) -> TerminalChannel:
    """Return the channel on this process's own terminal; it has no settings."""
    # imported here, as below: what one command needs, the other and the boot shall not pay for
    from pegboard_terminal.channel import open_channel

    return open_channel(history=context.data_dir / "history")


def make_ask() -> click.Command:
    """Return the command `ask`."""
    from pegboard_terminal.ask_command import ask

    return ask


def make_chat() -> click.Command:
    """Return the command `chat`."""
    from pegboard_terminal.chat_command import chat

    return chat


plugin.contribute("command", "ask", make_ask, summary="Ask the agent once, also from a pipe.")
plugin.contribute("command", "chat", make_chat, summary="Talk to the agent.")
