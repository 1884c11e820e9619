"""Commands that a person writes into a chat: `/help`, `/new`, `/why NAME` and the like."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from pegboard.contracts.caller import Caller

_COMMAND: Final = re.compile(r"/([a-z][a-z0-9_-]*)(?:\s+(.*))?", re.DOTALL)


class CommandData(Protocol):
    """What commands tell about the host."""

    async def tools(self, caller: Caller) -> Sequence[tuple[str, str]]:
        """Return name and summary of the tools that this caller may use."""
        ...

    async def plugins(self) -> Sequence[tuple[str, str, str]]:
        """Return id, state and reason of every plugin."""
        ...

    async def why(self, name: str, caller: Caller) -> str:
        """Return the decision about a tool for this caller, with the rule that made it."""
        ...

    async def rescan(self) -> str:
        """Take over packages that came or went since the host started, and say which."""
        ...


class ConversationControl(Protocol):
    """What commands may do to the conversation they are written in."""

    async def stop(self) -> bool:
        """Stop the turn that runs, and return True when there was one."""
        ...

    async def new(self) -> None:
        """Stop the turn that runs and forget what was said."""
        ...


@dataclass(frozen=True, slots=True)
class ChatCommand:
    """A command as it was written.

    Args:
        name: The word after the slash.
        argument: What follows, or "".
    """

    name: str
    argument: str = ""


@dataclass(frozen=True, slots=True)
class _Facts:
    summary: str
    operator: bool
    argument: str = ""


_FACTS: Final = {
    "help": _Facts("show this list", operator=False),
    "tools": _Facts("list the tools you can use here", operator=False),
    "new": _Facts("begin a new conversation", operator=True),
    "stop": _Facts("stop the running turn", operator=True),
    "plugins": _Facts("list the plugins and their state", operator=True),
    "rescan": _Facts("take over packages that were installed or removed", operator=True),
    "why": _Facts("tell why a tool may or may not be used", operator=True, argument="NAME"),
}
COMMAND_NAMES: Final = tuple(_FACTS)


def parse_command(text: str) -> ChatCommand | None:
    """Return the command in `text`, or None when it is none: then it goes to the provider as it is.

    Any other `/word` is none: providers may have words of their own.
    """
    match = _COMMAND.fullmatch(text.strip())
    if match is None or match[1] not in _FACTS:
        return None
    return ChatCommand(match[1], (match[2] or "").strip())


class ChatCommands:
    """Answers chat commands.

    Args:
        data: What they tell about the host.
    """

    def __init__(self, data: CommandData) -> None:
        self._data = data

    async def run(
        self, command: ChatCommand, caller: Caller, conversation: ConversationControl
    ) -> str:
        """Carry out a command and return the reply, as Markdown."""
        facts = _FACTS[command.name]
        if facts.operator and caller.trust != "operator":
            return f"Only the owner can use /{command.name}."
        if command.argument and not facts.argument:
            return f"/{command.name} takes nothing after it. Send /{command.name} alone."
        if facts.argument and not command.argument:
            return f"Write /{command.name} {facts.argument}."
        answers: dict[str, Callable[[], Awaitable[str]]] = {
            "help": lambda: self._help(caller),
            "tools": lambda: self._tools(caller),
            "new": lambda: _new(conversation),
            "stop": lambda: _stop(conversation),
            "plugins": self._plugins,
            "rescan": self._data.rescan,
            "why": lambda: self._data.why(command.argument, caller),
        }
        return await answers[command.name]()

    async def _help(self, caller: Caller) -> str:
        return "\n".join(
            f"- `/{name}{' ' + facts.argument if facts.argument else ''}`: {facts.summary}"
            for name, facts in _FACTS.items()
            if caller.trust == "operator" or not facts.operator
        )

    async def _tools(self, caller: Caller) -> str:
        tools = await self._data.tools(caller)
        return (
            "\n".join(f"- `{name}`: {text}" for name, text in tools) or "There are no tools here."
        )

    async def _plugins(self) -> str:
        plugins = await self._data.plugins()
        lines = [
            f"- `{id}`: {state}{f' ({reason})' if reason else ''}" for id, state, reason in plugins
        ]
        return "\n".join(lines) or "No plugin is installed."


async def _new(conversation: ConversationControl) -> str:
    await conversation.new()
    return "A new conversation begins here."


async def _stop(conversation: ConversationControl) -> str:
    return "Stopped." if await conversation.stop() else "Nothing is running here."
