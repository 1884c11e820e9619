"""How a file's bytes are text: its byte order mark and encoding. No guessing by statistics."""

from __future__ import annotations

import codecs
from dataclasses import dataclass
from typing import Final

from pegboard import ToolFailure

PROBE: Final = 8192
"""Bytes of the start that decide whether a file is text."""
WIDE_BELOW: Final = 64 << 20
"""Bytes up to which a UTF-16 or UTF-32 file is read, since it has to be read as a whole."""

_MARKS: Final = (
    # the longer marks first: UTF-32 in little endian begins like UTF-16
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_MARK_STARTS: Final = frozenset(mark[:1] for mark, _ in _MARKS)
_IMAGES: Final = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)
_KINDS: Final = (
    (b"\x89PNG\r\n\x1a\n", "PNG image"),
    (b"\xff\xd8\xff", "JPEG image"),
    (b"GIF8", "GIF image"),
    (b"BM", "BMP image"),
    (b"\x00\x00\x01\x00", "icon"),
    (b"%PDF-", "PDF document"),
    (b"PK\x03\x04", "ZIP archive, or a document made of one"),
    (b"\x1f\x8b", "gzip archive"),
    (b"BZh", "bzip2 archive"),
    (b"\xfd7zXZ\x00", "xz archive"),
    (b"\x28\xb5\x2f\xfd", "zstd archive"),
    (b"7z\xbc\xaf\x27\x1c", "7z archive"),
    (b"\x7fELF", "ELF program"),
    (b"MZ", "Windows program"),
    (b"\xcf\xfa\xed\xfe", "Mach-O program"),
    (b"\xca\xfe\xba\xbe", "Java class or Mach-O program"),
    (b"SQLite format 3\x00", "SQLite database"),
    (b"OggS", "Ogg audio"),
    (b"ID3", "MP3 audio"),
    (b"fLaC", "FLAC audio"),
    (b"\x00asm", "WebAssembly module"),
    (b"\x1aE\xdf\xa3", "Matroska video"),
)


@dataclass(frozen=True, slots=True)
class TextFormat:
    """How bytes become text.

    Args:
        encoding: Name of the codec.
        mark: The byte order mark at the start, b"" when there is none.
    """

    encoding: str
    mark: bytes = b""

    @property
    def wide(self) -> bool:
        """Whether a character is two or four bytes, so that lines can't be found in raw bytes."""
        return self.encoding != "utf-8"

    def as_utf8(self, data: bytes) -> bytes:
        """Return a whole file as UTF-8 without its mark; what is no character is replaced."""
        text = data[len(self.mark) :].decode(self.encoding, "replace")
        return text.encode("utf-8", "replace")


_PLAIN: Final = TextFormat("utf-8")


def text_format(start: bytes) -> TextFormat | None:
    """Return how the file that begins so is text, or None when it is binary.

    Args:
        start: Its first `PROBE` bytes, or all of it when it is shorter.
    """
    if start[:1] in _MARK_STARTS:
        for mark, encoding in _MARKS:
            if start.startswith(mark):
                return TextFormat(encoding, mark)
    return None if b"\0" in start[:PROBE] else _PLAIN


def encoded(text: str, what: str) -> bytes:
    """Return a text from a model as UTF-8.

    Args:
        text: The text.
        what: Its name, for the message.

    Raises:
        ToolFailure: When it holds half a character.
    """
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise ToolFailure(
            f"The {what} holds a lone surrogate, which is no text.",
            fix="Write that character as it is.",
            code="invalid_arguments",
        ) from error


def binary_kind(start: bytes) -> str:
    """Return what a binary file is, by its first bytes."""
    if start[:4] == b"RIFF":
        return {b"WEBP": "WebP image", b"WAVE": "WAV audio", b"AVI ": "AVI video"}.get(
            start[8:12], "RIFF media"
        )
    if start[4:8] == b"ftyp":
        return "MP4 video, or an image like it"
    for magic, kind in _KINDS:
        if start.startswith(magic):
            return kind
    if _is_wide_text(start):
        return "probably UTF-16 text without a byte order mark"
    return "unknown kind"


def image_type(start: bytes) -> str | None:
    """Return the MIME type of an image that models can see, by its first bytes, or None."""
    if start[:4] == b"RIFF" and start[8:12] == b"WEBP":
        return "image/webp"
    for magic, name in _IMAGES:
        if start.startswith(magic):
            return name
    return None


def _is_wide_text(start: bytes) -> bool:
    even, odd = start[0:64:2], start[1:64:2]
    lopsided = even.count(0) * 4 >= len(even) * 3 or odd.count(0) * 4 >= len(odd) * 3
    return len(start) >= 4 and lopsided and even.count(0) != odd.count(0)
