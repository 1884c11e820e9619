"""Large or binary values kept beside the conversation and passed by reference."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class BlobRef:
    """A stored value.

    Args:
        id: Identifier within the store.
        media_type: MIME type, e.g. `image/png`.
        size: Length in bytes.
        name: File name to show a person, or "".
    """

    id: str
    media_type: str
    size: int
    name: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the reference as JSON-serialisable data."""
        return asdict(self)


class Blobs(Protocol):
    """Where a run keeps values too large for a message."""

    async def put(self, data: bytes, *, media_type: str, name: str = "") -> BlobRef:
        """Store `data` and return its reference."""
        ...

    async def get(self, blob_id: str) -> bytes:
        """Return a stored value.

        Raises:
            KeyError: When there is no such blob.
        """
        ...
