"""Two streams that may be one terminal: answers on one, everything else on the other.

In a terminal the last line can be a status line, which is redrawn and taken away again; nothing
that is written ever mixes with it.
"""

from __future__ import annotations

import os
from typing import Final, Literal, TextIO

from pegboard_terminal.safe_text import fit, harmless, one_line

Style = Literal["plain", "faint", "good", "bad", "warn"]
_CODES: Final[dict[Style, str]] = {"faint": "2", "good": "32", "bad": "31", "warn": "33"}
_ERASE_LINE: Final = "\r\x1b[K"
_USUAL_COLUMNS: Final = 80


class Screen:
    """Writes text as it comes and lines about it.

    Args:
        out: Where answers go. Text is made harmless when this is a terminal, else written as it is.
        err: Where everything else goes.
        color: False = no colour even in a terminal.
    """

    def __init__(self, out: TextIO, err: TextIO, *, color: bool = True) -> None:
        self._out = out
        self._err = err
        dumb = os.environ.get("TERM") == "dumb"
        self.live = err.isatty() and not dumb
        self._color = color and self.live and not os.environ.get("NO_COLOR")
        self.out_is_terminal = out.isatty()
        self._status_shown = False
        self._text_open = False
        self._held = ""

    def text(self, piece: str) -> None:
        """Write a piece of an answer."""
        if self.out_is_terminal:
            # CR LF may come in two pieces
            whole = self._held + piece
            self._held = "\r" if whole.endswith("\r") else ""
            piece = harmless(whole.removesuffix("\r"))
        if not piece:
            return
        self.clear_status()
        self._write(self._out, piece)
        self._text_open = not piece.endswith("\n")

    def end_text(self) -> None:
        """Begin a new line unless there is one."""
        self._held = ""
        if self._text_open:
            self._write(self._out, "\n")
            self._text_open = False

    def line(self, text: str, style: Style = "plain", *, mark: str = "") -> None:
        """Write a line that is no answer.

        Args:
            text: The line.
            style: Colour of the mark when there is one, else of the line.
            mark: A sign in front, or "".
        """
        self.clear_status()
        self._fresh_line()
        safe = harmless(text)
        shown = f"{self._painted(mark, style)} {safe}" if mark else self._painted(safe, style)
        self._write(self._err, f"{shown}\n")

    def status(self, text: str) -> None:
        """Show one line that the next output replaces; nothing in a pipe."""
        if not self.live:
            return
        if not self._status_shown:
            self._fresh_line()
        line = fit(one_line(text), self._columns() - 1)
        self._write(self._err, f"{_ERASE_LINE}{self._painted(line, 'faint')}")
        self._status_shown = True

    def clear_status(self) -> None:
        """Take the status line away."""
        if self._status_shown:
            self._write(self._err, _ERASE_LINE)
            self._status_shown = False

    def sign(self, wanted: str, plain: str) -> str:
        """Return `wanted` when the terminal's encoding has it, else `plain`."""
        try:
            wanted.encode(self._err.encoding or "ascii")
        except UnicodeEncodeError:
            return plain
        return wanted

    def _fresh_line(self) -> None:
        """End an open line of text before a line of the other stream, where both are on screen."""
        if self.out_is_terminal and self.live:
            self.end_text()

    def _painted(self, text: str, style: Style) -> str:
        code = _CODES.get(style) if self._color else None
        return f"\x1b[{code}m{text}\x1b[0m" if code and text else text

    def _columns(self) -> int:
        try:
            return os.get_terminal_size(self._err.fileno()).columns or _USUAL_COLUMNS
        except (OSError, ValueError):
            return _USUAL_COLUMNS

    def _write(self, stream: TextIO, text: str) -> None:
        try:
            stream.write(text)
        except UnicodeEncodeError:
            encoding = stream.encoding or "ascii"
            stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
        stream.flush()
