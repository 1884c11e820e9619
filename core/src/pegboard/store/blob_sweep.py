"""Blobs that nothing refers to any more: which of them go, and how."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

GRACE_S: Final = 3_600.0
"""Seconds in which no blob goes: who put it there may not have written yet what refers to it."""
_ID: Final = re.compile(r"[0-9a-f]{64}")
ID: Final = re.compile(r"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])")
"""An id of a blob within a text: the hash of its content, so what looks like one practically is."""
_PART: Final = ".new-"
_LEAVING: Final = ".old-"


class BlobFile(NamedTuple):
    """A blob in its folder.

    Args:
        id: Its id.
        size: Bytes.
        put_at: When it was last put there, in seconds since the epoch.
        path: Its file.
    """

    id: str
    size: int
    put_at: float
    path: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Swept:
    """What a sweep did.

    Args:
        removed: Blobs that went.
        freed: Their bytes.
        left: Blobs that stayed.
        left_bytes: Their bytes.
    """

    removed: int = 0
    freed: int = 0
    left: int = 0
    left_bytes: int = 0


def stored(folder: Path) -> list[BlobFile]:
    """Return the blobs in a folder; without the folder there are none."""
    found = []
    for path in folder.glob("??/*"):
        if _ID.fullmatch(path.name):
            with suppress(OSError):  # it went meanwhile
                state = path.stat()
                found.append(BlobFile(path.name, state.st_size, state.st_mtime, path))
    return found


def leaving(
    blobs: Sequence[BlobFile],
    referenced: Collection[str],
    *,
    now: float,
    keep_s: float,
    quota: int | None,
) -> list[BlobFile]:
    """Return the blobs that go, the oldest first. Pure.

    None that something refers to ever does, also above the quota.

    Args:
        blobs: What there is.
        referenced: Ids that something refers to.
        now: Seconds since the epoch.
        keep_s: Seconds that one stays to which nothing refers.
        quota: Bytes that all together may take; above it the time is shorter. None = any number.
    """
    over = 0 if quota is None else sum(blob.size for blob in blobs) - quota
    gone = []
    for blob in sorted(blobs, key=lambda blob: (blob.put_at, blob.id)):
        age = now - blob.put_at
        if blob.id in referenced or age < GRACE_S:
            continue
        if age >= keep_s or over > 0:
            gone.append(blob)
            over -= blob.size
    return gone


def followed(folder: Path, ids: Collection[str]) -> set[str]:
    """Return ids with those that occur in what they name, and so on: a large record is a blob too.

    Only blobs that hold JSON are looked into; the bytes of a picture refer to nothing.
    """
    known = set(ids)
    waiting = list(known)
    while waiting:
        for id in ids_in(folder / (name := waiting.pop())[:2] / name) - known:
            known.add(id)
            waiting.append(id)
    return known


def ids_in(path: Path) -> set[str]:
    """Return the ids that occur in a blob; none when it holds no JSON, or is not there."""
    with suppress(OSError), path.open("rb") as file:
        if file.read(1) in (b"{", b"["):
            return set(ID.findall(file.read().decode("utf-8", "replace")))
    return set()


def named(
    blobs: Iterable[BlobFile], ids: Collection[str], referenced: Collection[str]
) -> list[BlobFile]:
    """Return the blobs of these ids to which nothing refers, whatever their age. Pure."""
    return [blob for blob in blobs if blob.id in ids and blob.id not in referenced]


def remove(blobs: Iterable[BlobFile]) -> list[BlobFile]:
    """Remove blobs and return those that went.

    One that is put again at this very moment stays: it is first moved aside and looked at.
    """
    gone = []
    for blob in blobs:
        aside = blob.path.with_name(f"{_LEAVING}{blob.id}")
        with suppress(OSError):
            blob.path.rename(aside)
            if aside.stat().st_mtime > blob.put_at and not blob.path.exists():
                aside.rename(blob.path)
                continue
            aside.unlink()
            gone.append(blob)
    return gone


def tidy(folder: Path, *, now: float) -> None:
    """Remove what writers and sweepers left behind that were killed."""
    for path in folder.glob("??/.*"):
        if path.name.startswith((_PART, _LEAVING)):
            with suppress(OSError):
                if now - path.stat().st_mtime >= GRACE_S:
                    path.unlink()
