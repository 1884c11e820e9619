"""Images and files of messages, as providers take them: base64, or told in words."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Final

from pegboard import Blobs, File, Image

MAX_ATTACHED: Final = 20_971_520
"""Bytes of one image or file that is sent along."""
IMAGES: Final = frozenset({"image/gif", "image/jpeg", "image/png", "image/webp"})
PDF: Final = frozenset({"application/pdf"})
TEXTS: Final = frozenset(
    {"application/json", "text/csv", "text/html", "text/markdown", "text/plain"}
)


@dataclass(frozen=True, slots=True)
class Encoded:
    """An image or file to send.

    Args:
        media_type: MIME type.
        data: Base64 text.
        name: File name, or "".
    """

    media_type: str
    data: str
    name: str = ""

    @property
    def url(self) -> str:
        """The value as a data URL."""
        return f"data:{self.media_type};base64,{self.data}"


async def encoded(
    part: Image | File, blobs: Blobs | None, *, takes: frozenset[str] = IMAGES
) -> Encoded | None:
    """Return an image or file to send, or None when it must be told in words.

    Args:
        part: The image or file.
        blobs: Where its bytes are.
        takes: MIME types that the provider takes.
    """
    ref = part.blob
    if blobs is None or ref.media_type not in takes or ref.size > MAX_ATTACHED:
        return None
    try:
        data = await blobs.get(ref.id)
    except KeyError:
        return None  # kept for some time only
    return Encoded(ref.media_type, base64.b64encode(data).decode("ascii"), ref.name)


def told(part: Image | File) -> str:
    """Return an image or file in words."""
    ref = part.blob
    kind = "image" if isinstance(part, Image) else "file"
    said = getattr(part, "alt", "") or ref.name
    about = f" {said}" if said else ""
    return f"[{kind}{about}, {ref.media_type}, {ref.size} bytes: not shown to you]"
