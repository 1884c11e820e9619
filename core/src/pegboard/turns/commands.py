"""Commands that a person writes into a chat: `/help`, `/new`, `/why NAME` and the like."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from pegboard.contracts.caller import Caller, RunProfile
from pegboard.contracts.errors import UsageError
from pegboard.contracts.message import InboundMessage
from pegboard.contracts.turn import OutboxPart, TurnRecord
from pegboard.turns.person_call import PersonCall

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

    async def provider(self) -> str:
        """Return who is asked, and which model; or why nobody can be."""
        ...

    async def children(self, conversation: str) -> Sequence[tuple[str, str]]:
        """Return agent and task of the child runs that work for a conversation now."""
        ...


class ConversationControl(Protocol):
    """What commands may do to the conversation they are written in, and see of it."""

    @property
    def key(self) -> str:
        """Key of the conversation."""
        ...

    async def stop(self, task: str = "") -> int:
        """Stop what runs, waits and is queued here, and return how many turns those are.

        Args:
            task: End of the id of a turn in the background, to stop that one.
        """
        ...

    async def new(self) -> None:
        """Stop what is open and forget what was said."""
        ...

    async def open(self) -> Sequence[TurnRecord]:
        """Return the turns that have not ended, in order."""
        ...

    async def background(self) -> Sequence[TurnRecord]:
        """Return the open turns that nobody waits for and that were begun from this chat."""
        ...

    async def doubtful(self) -> Sequence[OutboxPart]:
        """Return the parts of replies of which nobody knows whether they were delivered."""
        ...

    async def submit_background(self, text: str) -> str:
        """Let a request be answered beside this conversation, and return the id of its turn.

        Raises:
            StoreError: When it can't be kept.
        """
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


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandCall:
    """A command that is carried out.

    Args:
        argument: What follows its name, or "".
        caller: Who wrote it.
        message: The message that it is.
        conversation: Where it was written.
    """

    argument: str
    caller: Caller
    message: InboundMessage
    conversation: ConversationControl


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """What a command makes of itself: a request to the model, in the same turn.

    Args:
        text: The request.
        run_profile: How much work the turn may make of it.
    """

    text: str
    run_profile: RunProfile = ""


class Command(Protocol):
    """A chat command of the host.

    Args:
        name: The word after the slash.
        summary: What it does, for `/help`.
        operator: True when only the owner may use it.
        argument: What follows it, as `/help` shows it: `NAME`, or `[NAME]` when it may be left out;
            "" when nothing may follow.
        bypass: True when it is answered at once, even while a turn runs. Otherwise it is a turn of
            the conversation: kept, in order, and answered by the command.
        everywhere: True when it is a command also on a channel that has no others.
    """

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def summary(self) -> str: ...  # noqa: D102
    @property
    def operator(self) -> bool: ...  # noqa: D102
    @property
    def argument(self) -> str: ...  # noqa: D102
    @property
    def bypass(self) -> bool: ...  # noqa: D102
    @property
    def everywhere(self) -> bool: ...  # noqa: D102

    async def run(self, call: CommandCall) -> str | Prompt | PersonCall:
        """Carry it out and return the reply, as Markdown, or the call whose result is the reply.

        Only a queued one returns a prompt.
        """
        ...


class BroughtCommand(Command, Protocol):
    """A chat command of a plugin, which is one only for whom it works."""

    def known_to(self, caller: Caller) -> bool:
        """Tell whether it is a command for this caller; to others its word is one as any."""
        ...


class ChatCommands:
    """Answers chat commands.

    Args:
        commands: Those of the host, in the order of `/help`, which need not be among them.

    Attributes:
        brought: Those of plugins, by name, in the order of `/help`; the host's own come first.

    Raises:
        UsageError: When two of the host have one name.
    """

    def __init__(self, commands: Iterable[Command]) -> None:
        self.brought: Mapping[str, BroughtCommand] = {}
        self._commands: dict[str, Command] = {}
        for command in (_Help(self), *commands):
            if command.name in self._commands:
                raise UsageError(f"There are two chat commands /{command.name}.")
            self._commands[command.name] = command

    @property
    def names(self) -> tuple[str, ...]:
        """The words of the host's own."""
        return tuple(self._commands)

    def of(self, caller: Caller) -> Iterator[Command]:
        """Yield the commands that a caller may use, in the order of `/help`."""
        for command in self._commands.values():
            if caller.trust == "operator" or not command.operator:
                yield command
        for name, brought in self.brought.items():
            if name not in self._commands and brought.known_to(caller):
                yield brought

    def parse(
        self, text: str, caller: Caller, *, slash_commands: bool = True
    ) -> ChatCommand | None:
        """Return the command in `text`, or None when it is none: then it goes to the provider.

        Any other `/word` is none: providers may have words of their own.

        Args:
            text: What was written.
            caller: Who wrote it.
            slash_commands: False where the channel has no commands but those that are everywhere.
        """
        match = _COMMAND.fullmatch(text.strip())
        command = None if match is None else self._find(match[1], caller)
        if match is None or command is None or not (slash_commands or command.everywhere):
            return None
        return ChatCommand(match[1], (match[2] or "").strip())

    def bypasses(self, command: ChatCommand, caller: Caller) -> bool:
        """Tell whether a command is answered at once; so is whatever is wrong about one."""
        found = self._find(command.name, caller)
        return found is None or found.bypass or bool(_refused(found, command, caller))

    async def run(
        self,
        command: ChatCommand,
        caller: Caller,
        message: InboundMessage,
        conversation: ConversationControl,
    ) -> str | Prompt | PersonCall:
        """Carry out a command and return the reply, as Markdown."""
        found = self._find(command.name, caller)
        if found is None:  # its plugin has gone since it was read
            return f"There is no command /{command.name} any more."
        refused = _refused(found, command, caller)
        if refused:
            return refused
        call = CommandCall(
            argument=command.argument, caller=caller, message=message, conversation=conversation
        )
        return await found.run(call)

    def _find(self, name: str, caller: Caller) -> Command | None:
        brought = None if name in self._commands else self.brought.get(name)
        if brought is not None:
            return brought if brought.known_to(caller) else None
        return self._commands.get(name)


def _refused(facts: Command, command: ChatCommand, caller: Caller) -> str:
    """Return why a command is not carried out, or ""."""
    if facts.operator and caller.trust != "operator":
        return f"Only the owner can use /{command.name}."
    if command.argument and not facts.argument:
        return f"/{command.name} takes nothing after it. Send /{command.name} alone."
    if not command.argument and facts.argument and not facts.argument.startswith("["):
        return f"Write /{command.name} {facts.argument}."
    return ""


@dataclass(frozen=True, slots=True)
class _Help:
    commands: ChatCommands
    name: str = "help"
    summary: str = "show this list"
    operator: bool = False
    argument: str = ""
    bypass: bool = True
    everywhere: bool = False

    async def run(self, call: CommandCall) -> str:
        return "\n".join(
            f"- `/{item.name}{' ' + item.argument if item.argument else ''}`: {item.summary}"
            for item in self.commands.of(call.caller)
        )
