"""Images and files as the service takes them."""

from __future__ import annotations

from typing import Any, Final

from pegboard_provider_http.attachments import PDF, TEXTS, encoded

from pegboard import Blobs, File, Image

IN_RESULTS: Final = frozenset({"image/jpeg", "image/png", "image/webp"}) | PDF | TEXTS
"""Types that may stand in the result of a call."""
TAKEN: Final = IN_RESULTS | {
    "audio/aac",
    "audio/flac",
    "audio/mpeg",
    "audio/ogg",
    "audio/wav",
    "image/heic",
    "image/heif",
    "video/mp4",
    "video/mpeg",
    "video/quicktime",
    "video/webm",
}
_MAX_BYTES: Final = 14_680_064
"""Bytes of one image or file: the service takes requests of 20 MB, and base64 makes them longer."""


async def inline(
    part: Image | File, blobs: Blobs | None, *, takes: frozenset[str] = TAKEN
) -> dict[str, Any] | None:
    """Return a part that holds an image or file, or None when it must be told in words.

    Args:
        part: The image or file.
        blobs: Where its bytes are.
        takes: MIME types that may stand there.
    """
    sent = None
    if 0 < part.blob.size <= _MAX_BYTES:
        sent = await encoded(part, blobs, takes=takes)
    if sent is None:
        return None
    # of texts the service knows few types, and refuses a request with another
    kind = "text/plain" if sent.media_type in TEXTS else sent.media_type
    return {"inlineData": {"mimeType": kind, "data": sent.data}}
