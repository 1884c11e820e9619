"""What the host keeps no longer: expired turns, and blobs that nothing refers to."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

import anyio.to_thread

from pegboard.contracts.archive import Archive
from pegboard.store import blob_sweep
from pegboard.store.blob_sweep import Swept

DAY_S: Final = 86_400.0
MB: Final = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """How long things are kept; from the section `[store]`.

    Args:
        keep_days: Days after which what was said is erased; 0 = never.
        blob_days: Days that a blob stays to which nothing refers.
        blob_quota: Bytes that all blobs may take; None = any number.
    """

    keep_days: float = 0
    blob_days: float = 7
    blob_quota: int | None = 1024 * MB

    @classmethod
    def of(cls, section: Mapping[str, Any]) -> Retention:
        """Return the settings of a valid configuration."""
        quota = float(section.get("blob_quota_mb", 1024))
        return cls(
            keep_days=float(section.get("keep_days", 0)),
            blob_days=float(section.get("blob_days", 7)),
            blob_quota=round(quota * MB) if quota else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruned:
    """What pruning did.

    Args:
        turns: Turns that were erased.
        blobs: What became of the blobs.
    """

    turns: int = 0
    blobs: Swept = field(default_factory=Swept)

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-serialisable data."""
        return {
            "turns": self.turns,
            "blobs": self.blobs.removed,
            "bytes": self.blobs.freed,
            "blobs_left": self.blobs.left,
            "bytes_left": self.blobs.left_bytes,
        }


async def prune(
    archive: Archive,
    blobs: Path,
    retention: Retention,
    *,
    now: float,
    expired: Callable[[], Awaitable[None]] | None = None,
) -> Pruned:
    """Erase what is kept no longer; safe while hosts work on the store.

    Args:
        archive: The store.
        blobs: Folder of the blobs.
        retention: How long things are kept.
        now: Seconds since the epoch.
        expired: Called before the blobs are looked at: what else is kept of old turns goes there.

    Raises:
        StoreError: When the store can't be read or written.
    """
    turns = 0
    if retention.keep_days:
        turns = await archive.expire(now - retention.keep_days * DAY_S)
    if expired is not None:
        await expired()
    return Pruned(turns=turns, blobs=await _swept(archive, blobs, retention, now))


async def remove_blobs(archive: Archive, blobs: Path, ids: Collection[str]) -> Swept:
    """Remove blobs of these ids to which nothing refers any more, whatever their age."""
    if not ids:
        return Swept()
    referenced = await archive.blob_references()
    return await anyio.to_thread.run_sync(_remove_named, blobs, ids, referenced)


async def _swept(archive: Archive, folder: Path, retention: Retention, now: float) -> Swept:
    stored = await anyio.to_thread.run_sync(blob_sweep.stored, folder)
    choose = partial(
        blob_sweep.leaving,
        stored,
        now=now,
        keep_s=retention.blob_days * DAY_S,
        quota=retention.blob_quota,
    )
    gone = choose(())
    if gone:  # only then it is worth reading the whole store
        referenced = await archive.blob_references()
        gone = choose(await anyio.to_thread.run_sync(blob_sweep.followed, folder, referenced))
    gone = await anyio.to_thread.run_sync(blob_sweep.remove, gone)
    await anyio.to_thread.run_sync(partial(blob_sweep.tidy, folder, now=now))
    return _told(stored, gone)


def _remove_named(folder: Path, ids: Collection[str], referenced: Collection[str]) -> Swept:
    stored = blob_sweep.stored(folder)
    theirs = blob_sweep.followed(folder, ids)
    others = blob_sweep.followed(folder, referenced)
    return _told(stored, blob_sweep.remove(blob_sweep.named(stored, theirs, others)))


def _told(stored: list[blob_sweep.BlobFile], gone: list[blob_sweep.BlobFile]) -> Swept:
    freed = sum(blob.size for blob in gone)
    return Swept(
        removed=len(gone),
        freed=freed,
        left=len(stored) - len(gone),
        left_bytes=sum(blob.size for blob in stored) - freed,
    )
