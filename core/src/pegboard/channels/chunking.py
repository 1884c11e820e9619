"""Cut a long reply into messages that a channel takes."""

from __future__ import annotations

import unicodedata
from typing import Final

from pegboard.channels.fences import Fence, is_fence, open_at_end

_JOINER: Final = "\u200d"
_LONGEST_CLUSTER: Final = 32


def split(text: str, max_chars: int | None) -> list[str]:
    """Return `text` in pieces of at most `max_chars` characters; one piece when it fits.

    Cuts fall between paragraphs, else lines, else words, else characters as a person sees them. A
    cut inside a fenced code block closes the block and opens it again in the next piece. Blank
    space at a cut is dropped; nothing else is lost.

    Args:
        text: Markdown.
        max_chars: Longest message, or None for any length.

    Raises:
        ValueError: When `max_chars` is less than 1.
    """
    if max_chars is None or len(text) <= max_chars:
        return [text]
    if max_chars < 1:
        raise ValueError("a message holds at least one character")
    pieces: list[str] = []
    rest, fence = text, None
    while rest:
        piece, rest, fence = _next(rest, fence, max_chars)
        if piece.strip():
            pieces.append(piece)
    return pieces


def _next(rest: str, fence: Fence | None, limit: int) -> tuple[str, str, Fence | None]:
    """Return one piece, what follows it, and the block that is open there."""
    if fence is not None and 2 * (len(fence.opener) + len(fence.marker) + 2) > limit:
        fence = None  # no room for a block in so short a message
    prefix = f"{fence.opener}\n" if fence else ""
    room = limit - len(prefix)
    if len(rest) <= room:
        return prefix + rest, "", None
    cut = _cut(rest, room, inside=fence is not None)
    still = open_at_end(rest[:cut], fence)
    if still is not None:
        cut = _cut(rest, max(1, room - len(still.marker) - 1), inside=fence is not None)
        still = open_at_end(rest[:cut], fence)
    if still is not None and still.start > 0 and not rest[still.body : cut].strip():
        cut, still = still.start, None  # an empty block says nothing
    if still is None:
        return prefix + rest[:cut].rstrip(), _trimmed(rest[cut:]), None
    head, after = rest[:cut].rstrip("\n"), rest[cut:].removeprefix("\n")
    piece = f"{prefix}{head}\n{still.marker}"
    if len(piece) > limit:
        return prefix + rest[:cut], rest[cut:], still
    first, _, others = after.partition("\n")
    if still.closes(first):
        return piece, _trimmed(others), None
    return piece, after, Fence(still.opener, still.marker)


def _cut(rest: str, room: int, *, inside: bool) -> int:
    """Return where to cut, at least 1 and at most `room`."""
    separators = ("\n",) if inside else ("\n\n", "\n", " ")
    found = [
        (separator, rest.rfind(separator, 1, room + len(separator))) for separator in separators
    ]
    best = next((at for _, at in found if at >= room // 2), 0)
    best = best or max((at for _, at in found), default=0)
    cut = best if best > 0 else _between_clusters(rest, room)
    line = rest.rfind("\n", 0, cut) + 1
    end = rest.find("\n", cut)
    if 0 < line < cut and is_fence(rest[line : end if end >= 0 else None]) and cut != end:
        return line  # a torn fence would be none
    return cut


def _between_clusters(text: str, cut: int) -> int:
    """Return `cut` moved back to where no character with its marks is torn."""
    for back in range(min(_LONGEST_CLUSTER, cut)):
        if not _joined(text[cut - back - 1], text[cut - back]):
            return cut - back
    return cut


def _joined(before: str, after: str) -> bool:
    return (
        before == _JOINER
        or after == _JOINER
        or bool(unicodedata.combining(after))
        or "\ufe00" <= after <= "\ufe0f"
        or "\U0001f3fb" <= after <= "\U0001f3ff"
        or ("\U0001f1e6" <= before <= "\U0001f1ff" and "\U0001f1e6" <= after <= "\U0001f1ff")
    )


def _trimmed(text: str) -> str:
    """Drop the blank space at a cut, but not the indentation of the next line."""
    return text.lstrip("\n") if text.startswith("\n") else text.lstrip(" ")
