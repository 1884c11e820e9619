"""A file's bytes as a text that can be changed and gives all other bytes back the same."""

from __future__ import annotations

import codecs
from dataclasses import dataclass
from typing import Final

from pegboard import ToolFailure
from pegboard_files.names import shown, size_text
from pegboard_files.text_format import PROBE, binary_kind, text_format

MAX_BYTES: Final = 10 << 20
"""Bytes of a file that is edited at most."""


@dataclass(frozen=True, slots=True)
class Editable:
    """One way to read a file's bytes that gives the same bytes back.

    Args:
        text: The file as text, without its mark.
        mark: The byte order mark before it, or b"".
        encoding: Codec.
        errors: Its error handler.
        sure: Whether the file is text in that encoding, so that any character may be put in.
    """

    text: str
    mark: bytes
    encoding: str
    errors: str
    sure: bool

    def encoded(self, path: str, text: str, inserted: str) -> bytes:
        """Return a changed text as the file's bytes.

        Args:
            path: The file, for messages.
            text: The whole new text.
            inserted: What is new in it.

        Raises:
            ToolFailure: When the file's encoding has not all of its characters.
        """
        if not self.sure and not inserted.isascii():
            raise ToolFailure(
                f"{shown(path)} is not UTF-8, so it can't be told how to write the new text.",
                fix="Use file_edit with the file's encoding in `encoding`, or write ASCII.",
                code="encoding",
            )
        try:
            return self.mark + text.encode(self.encoding, self.errors)
        except UnicodeEncodeError as error:
            character = text[error.start]
            raise ToolFailure(
                f"{self.encoding} has no U+{ord(character):04X} {character!r}.",
                fix="Use other characters.",
                code="encoding",
            ) from error


def editable(path: str, data: bytes, encoding: str | None = None) -> tuple[Editable, ...]:
    """Return the ways to read a file, the likeliest first.

    Args:
        path: The file, for messages.
        data: All its bytes.
        encoding: Its encoding where a model has named one.

    Raises:
        ToolFailure: When it is too large, no text, or not in that encoding.
    """
    if len(data) > MAX_BYTES:
        raise ToolFailure(
            f"{shown(path)} is larger than {size_text(MAX_BYTES)}.",
            fix="Files of that size can't be edited with this tool.",
            code="too_large",
        )
    if encoding is not None:
        return (_told(path, data, b"", encoding),)
    how = text_format(data[:PROBE])
    if how is None:
        raise ToolFailure(
            f"{shown(path)} is a binary file ({binary_kind(data)}).",
            fix="Only text can be edited.",
            code="binary",
        )
    body = data[len(how.mark) :]
    if how.wide:
        return (_told(path, body, how.mark, how.encoding),)
    try:
        return (Editable(body.decode(), how.mark, "utf-8", "strict", sure=True),)
    except UnicodeDecodeError:
        escaped = body.decode("utf-8", "surrogateescape")
        # file_read shows stray bytes as Latin-1, so that is how the old text may be written
        as_shown = body.decode("latin-1")
        return (
            Editable(escaped, how.mark, "utf-8", "surrogateescape", sure=False),
            Editable(as_shown, how.mark, "latin-1", "strict", sure=False),
        )


def presentable(text: str) -> str:
    """Return a text with stray bytes replaced, so that it can be shown."""
    return text.encode("utf-8", "replace").decode()


def _told(path: str, body: bytes, mark: bytes, encoding: str) -> Editable:
    try:
        name = codecs.lookup(encoding).name
        text = body.decode(name)
        same = text.encode(name) == body
    except LookupError as error:
        raise ToolFailure(
            f"{encoding} is no encoding.", fix="For example latin-1.", code="invalid_arguments"
        ) from error
    except (UnicodeError, ValueError):
        same = False
    if not same:
        raise ToolFailure(
            f"{shown(path)} is not {encoding}: it would not stay the same.",
            fix="Name another encoding.",
            code="encoding",
        )
    return Editable(text, mark, name, "strict", sure=True)
