"""Large values as files of one folder, named by their content."""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Final

import anyio.to_thread

from pegboard.config.paths import make_private
from pegboard.contracts.blob import BlobRef

_ID: Final = re.compile(r"[0-9a-f]{64}")


class FolderBlobs:
    """Keeps each value once, in a file that only the owner can read.

    Args:
        folder: Where the files go; made when the first value is stored.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    async def put(self, data: bytes, *, media_type: str, name: str = "") -> BlobRef:
        """Store `data` and return its reference; the same bytes always have the same id.

        Raises:
            OSError: When the disk refuses; nothing half-written stays.
        """
        blob_id = await anyio.to_thread.run_sync(self._store, data)
        return BlobRef(blob_id, media_type, len(data), name)

    async def get(self, blob_id: str) -> bytes:
        """Return a stored value.

        Raises:
            KeyError: When there is no such blob.
        """
        if not _ID.fullmatch(blob_id):
            raise KeyError(blob_id)
        try:
            return await anyio.to_thread.run_sync(self._place(blob_id).read_bytes)
        except FileNotFoundError as error:
            raise KeyError(blob_id) from error

    def _place(self, blob_id: str) -> Path:
        return self.folder / blob_id[:2] / blob_id

    def _store(self, data: bytes) -> str:
        blob_id = hashlib.sha256(data).hexdigest()
        place = self._place(blob_id)
        with suppress(FileNotFoundError):
            # a file of another size was cut off when the machine went down
            if place.stat().st_size == len(data):
                os.utime(place)  # it is wanted again: a sweep shall not take it for an old one
                return blob_id
        make_private(self.folder)
        place.parent.mkdir(mode=0o700, exist_ok=True)
        # written beside its place and renamed: a reader sees the whole value or none
        handle, temporary = tempfile.mkstemp(dir=place.parent, prefix=".new-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            Path(temporary).replace(place)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
        return blob_id
