"""The terminal as a channel: one person, who is at this machine."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from contextvars import copy_context
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

import anyio

from pegboard import ChannelInfo, Delivery, InboundMessage, PegboardError, TurnOutcome
from pegboard_terminal.piped_input import is_terminal
from pegboard_terminal.readers import PipeReader, PromptReader, Reader
from pegboard_terminal.screen import Screen
from pegboard_terminal.views import TextView, View
from pegboard_terminal.wording import unknown_word

if TYPE_CHECKING:
    from pegboard import Inbox, OutboundMessage, StreamEvent

NAME: Final = "terminal"
SENDER: Final = "local"
LEAVE: Final = ("exit", "quit")
"""Commands that end a talk, as Ctrl-D does: the terminal's own, no host hears of them."""

T = TypeVar("T")
Submit = Callable[[InboundMessage], Awaitable[TurnOutcome]]


class TerminalChannel:
    """Shows turns in a view and takes messages from a reader.

    Args:
        view: What the person sees.
        reader: Where messages and answers come from.
        attended: True when a person sits at the terminal.
        slash_commands: True when `/words` are commands.
        chat: Id of the conversation.
        words: Commands and tools that may be written after a slash.
    """

    def __init__(
        self,
        view: View,
        reader: Reader,
        *,
        attended: bool,
        slash_commands: bool = False,
        chat: str = "local",
        words: Sequence[str] = (),
    ) -> None:
        self.info = ChannelInfo(
            surface="terminal",
            local=True,
            attended=attended,
            live_reply=attended,
            slash_commands=slash_commands,
            streaming=True,
            retract=True,  # it says that what was written does not count
        )
        self.last: TurnOutcome | None = None
        self._view = view
        self._reader = reader
        self._chat = chat
        self._words = tuple(words)
        self._not_found: set[str] = set()
        self._turn: anyio.CancelScope | None = None
        self._stopping = False
        self._reader_gone = False
        # a tool reports progress in its own context, in which the host leads output elsewhere
        self._own_context = copy_context()

    async def run(self, inbox: Inbox) -> None:
        """Submit what is written, one message after the other; Ctrl-C cancels the running turn.

        Where `/words` are commands, `/exit` and `/quit` end it.

        Raises:
            KeyboardInterrupt: At Ctrl-C while no turn runs and no prompt is shown.
        """
        async with self.interruptible():
            async for text in self._reader.messages():
                if not text.strip():
                    continue
                if self._leaves(text):
                    return
                try:
                    self.last = await self.take_turn(inbox.submit, text)
                except PegboardError as error:
                    self._view.error(error.to_dict())
                hint = unknown_word(text, self._not_found, self._words)
                if hint:
                    self._view.note(hint)

    def _leaves(self, text: str) -> bool:
        return self.info.slash_commands and text.strip() in [f"/{word}" for word in LEAVE]

    async def take_turn(self, submit: Submit, text: str) -> TurnOutcome:
        """Submit one message and show what comes of it.

        Args:
            submit: Hands the message to the host and returns how the turn ended.
            text: What the person wrote.

        Raises:
            PegboardError: When the host refuses the message.
            BrokenPipeError: When the program that reads our output went away.
        """
        message = InboundMessage(channel=NAME, chat=self._chat, sender=SENDER, text=text)
        outcome = TurnOutcome(text="", status="cancelled")
        refused: PegboardError | None = None
        self._view.begin()
        self._stopping = False
        self._not_found.clear()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._view.spin)
            with anyio.CancelScope() as self._turn:
                try:
                    outcome = await submit(message)
                except PegboardError as error:
                    refused = error  # raised below, outside of the task group, which would wrap it
            self._turn = None
            tasks.cancel_scope.cancel()
        if self._reader_gone:
            raise BrokenPipeError
        if refused is not None:  # there was no turn, so none was cancelled
            self._view.end(TurnOutcome(text="", status="failed"))
            raise refused
        self._view.end(outcome)
        return outcome

    def takes(self, chat: str) -> bool:
        """Tell whether a chat is the one that is shown here; each command has a chat of its own."""
        return chat == self._chat

    async def stream(self, chat: str, event: StreamEvent) -> None:
        """Show one event of the running turn."""
        facts = event.to_dict() if event.type == "tool_finished" else {}
        if facts.get("error") == "not_found":
            self._not_found.add(facts["name"])
        self._write(self._view.show, event)

    async def send(self, message: OutboundMessage) -> Delivery:
        """Show a reply."""
        self._write(self._view.reply, message.text)
        return Delivery()

    async def ask(self, chat: str, question: str) -> bool:
        """Put a yes/no question to the person."""
        self._view.pause(True)
        try:
            return await self._reader.confirm(question)
        finally:
            self._view.pause(False)

    @asynccontextmanager
    async def interruptible(self) -> AsyncIterator[None]:
        """Let Ctrl-C cancel the running turn and nothing else, for as long as the block runs.

        Raises:
            KeyboardInterrupt: At Ctrl-C while no turn runs and no prompt is shown, and at once when
                a turn does not end that was told to.
        """
        loop = asyncio.get_running_loop()
        left = False

        # a handler of Python's own: one of the event loop would wait for a tool that blocks it
        def interrupted(*_: object) -> None:
            nonlocal left
            if self._turn is not None:
                if self._stopping:
                    raise KeyboardInterrupt
                self._stopping = True
                loop.call_soon_threadsafe(self._turn.cancel)
            elif not self._reader.prompts:
                left = True
                loop.call_soon_threadsafe(scope.cancel)

        before = signal.signal(signal.SIGINT, interrupted)
        try:
            with anyio.CancelScope() as scope:
                yield
        finally:
            signal.signal(signal.SIGINT, before)
        if left:
            raise KeyboardInterrupt

    def _write(self, write: Callable[[T], None], what: T) -> None:
        """Show something; when the program that reads our output went away, end the turn."""
        try:
            self._own_context.run(write, what)
        except BrokenPipeError:
            # the host takes no offence at a channel that can't show something, so say it otherwise
            self._reader_gone = True
            if self._turn is not None:
                self._turn.cancel()


def open_channel(
    *,
    history: Path | None = None,
    words: tuple[str, ...] = (),
    color: bool = True,
    chat: str = "local",
) -> TerminalChannel:
    """Return the channel for a talk on this process's own terminal, or over its pipes.

    Args:
        history: File that remembers what was written at the prompt, or None.
        words: Commands and tools that the prompt completes, and suggests for a misspelt one.
        color: False = no colour even in a terminal.
        chat: Id of the conversation.
    """
    view = TextView(Screen(sys.stdout, sys.stderr, color=color))
    terminal = next((s for s in (sys.stdout, sys.stderr) if s.isatty()), None)
    attended = is_terminal(sys.stdin) and terminal is not None
    reader: Reader = PromptReader(history, words, terminal) if attended else PipeReader(sys.stdin)
    return TerminalChannel(
        view, reader, attended=attended, slash_commands=True, chat=chat, words=words
    )
