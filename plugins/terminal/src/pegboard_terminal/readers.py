"""Where a person's messages come from: a prompt with history, or the lines of a pipe."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, TextIO

from pegboard_terminal.piped_input import lines
from pegboard_terminal.safe_text import harmless

if TYPE_CHECKING:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.key_binding import KeyBindings

_PROMPT: Final = "> "
_YES: Final = ("y", "yes")


class Reader(Protocol):
    """A source of messages, and of answers to questions.

    `prompts` is True when it shows a prompt, where Ctrl-C is a key.
    """

    prompts: bool

    def messages(self) -> AsyncIterator[str]:
        """Yield what the person writes, until they leave."""
        ...

    async def confirm(self, question: str) -> bool:
        """Put a yes/no question; False when nobody answers."""
        ...


class PipeReader:
    """Every line of a pipe is a message; nobody answers questions.

    Args:
        stream: Standard input, or None when it is closed.
    """

    prompts = False

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream

    async def messages(self) -> AsyncIterator[str]:
        """Yield the lines."""
        if self._stream is None:
            return
        async for line in lines(self._stream):
            yield line.rstrip("\r")

    async def confirm(self, question: str) -> bool:
        """Return False: nobody is there."""
        return False


class PromptReader:
    """A prompt with history; Enter sends, Alt-Enter begins a new line.

    Args:
        history: File that remembers what was written, made readable for its owner only; None to
            remember nothing.
        words: What the Tab key completes after a slash.
        terminal: Where the prompt is drawn; None = standard error.
    """

    prompts = True

    def __init__(
        self,
        history: Path | None = None,
        words: Sequence[str] = (),
        terminal: TextIO | None = None,
    ) -> None:
        self._history = history
        self._words = tuple(words)
        self._terminal = terminal or sys.stderr

    async def messages(self) -> AsyncIterator[str]:
        """Yield what is written at the prompt until Ctrl-D; Ctrl-C empties the line."""
        while True:
            try:
                # the channel handles Ctrl-C as a signal; at the prompt it is a key
                yield await self._session.prompt_async(_PROMPT, handle_sigint=False)
            except KeyboardInterrupt:
                continue
            except EOFError:
                return

    async def confirm(self, question: str) -> bool:
        """Ask on the terminal; everything but y or yes is a no."""
        from prompt_toolkit import PromptSession

        session: PromptSession[str] = PromptSession(output=_output(self._terminal))
        try:
            answer = await session.prompt_async(f"{harmless(question)} [y/N] ", handle_sigint=False)
        except (EOFError, KeyboardInterrupt):
            return False
        return answer.strip().lower() in _YES

    @cached_property
    def _session(self) -> PromptSession[str]:
        from prompt_toolkit import PromptSession
        from prompt_toolkit.history import FileHistory, InMemoryHistory

        history: Any = InMemoryHistory()
        if self._history is not None:
            make_private_file(self._history)
            history = FileHistory(self._history)
        return PromptSession(
            history=history,
            multiline=True,
            key_bindings=_keys(),
            completer=_completer(self._words),
            complete_while_typing=False,
            prompt_continuation="  ",
            output=_output(self._terminal),
        )


def make_private_file(file: Path) -> None:
    """Create an empty file that only its owner can read, or make an existing one so."""
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.close(descriptor)
    file.chmod(0o600)


def _output(terminal: TextIO) -> Any:
    from prompt_toolkit.output import create_output
    from prompt_toolkit.output.vt100 import Vt100_Output

    output = create_output(stdout=terminal)
    if isinstance(output, Vt100_Output):
        # a terminal that is asked where its cursor is may answer late, in the next message's text
        output.enable_cpr = False
    return output


def _keys() -> KeyBindings:
    from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

    keys = KeyBindings()

    @keys.add("enter")
    def _(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if buffer.text.strip():
            buffer.validate_and_handle()

    @keys.add("escape", "enter")
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    return keys


def _completer(words: Sequence[str]) -> Any:
    from prompt_toolkit.completion import WordCompleter

    return WordCompleter([f"/{word}" for word in words], sentence=True)
