"""The service `news`: what conversations wait to be told, kept in a file of its own."""

from __future__ import annotations

import hashlib
import logging
import os
import secrets
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Final

from pegboard.contracts.clock import Clock
from pegboard.contracts.effects import Trust
from pegboard.contracts.errors import StoreError
from pegboard.contracts.news import NewsItem
from pegboard.contracts.storage import Document, Owner
from pegboard.store.plugin_storage import DOCUMENTS, PluginStorage
from pegboard.store.workers import FOLDER, Workers

MOST: Final = 20
"""Items that a model is told at one step; the others follow at the next."""
LONGEST: Final = 1_000
"""Characters of one item."""
WAITING: Final = 100
"""Items that wait for one conversation; nobody may ever write there again."""
_BRACKETS: Final = str.maketrans("[]", "()")
_COLLECTION: Final = "news"
_ID_BYTES: Final = 8
_log = logging.getLogger(__name__)


class NewsBoard:
    """Keeps news until they are told; implements `News`, and what turns need of it.

    Several hosts may share the file: each looks anew at every step. Nothing is made on the disk
    before something is left. A last will bears the name of its host, which holds the lock of that
    name for as long as it lives; who finds the lock free tells the will.

    Args:
        folder: Folder of the file and of the locks.
        clock: The host's clock.
    """

    def __init__(self, folder: Path, clock: Clock) -> None:
        self._file = folder / DOCUMENTS
        self._storage = PluginStorage("news", folder, clock)
        self._clock = clock
        self._hosts = Workers(folder / FOLDER, f"{os.getpid()}-{secrets.token_hex(_ID_BYTES)}")

    async def __aenter__(self) -> NewsBoard:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Write what waits and close the file; last wills of this host that are left come true."""
        await self._storage.aclose()
        self._hosts.leave()

    async def leave(
        self, conversation: str, item: NewsItem, *, trust: Trust, last_will: bool = False
    ) -> None:
        """Tell a model something at its next step; a last will once this host is gone."""
        if last_will:
            self._enter()  # before it is written: others would take this host for a dead one
        text = " ".join(item.text.split()).translate(_BRACKETS)
        value = {
            "id": item.id,
            "text": text if len(text) <= LONGEST else f"{text[:LONGEST]}...",
            "trust": trust,
            "at": self._clock.now(),
            "will_of": self._hosts.name if last_will else "",
        }
        place = (_COLLECTION, _key(conversation, item.id))
        others = [it for it in await self._of(conversation) if it.key != place[1]]
        others.sort(key=lambda it: (bool(it.value["will_of"]), it.value["at"]))
        gone = [(_COLLECTION, it.key) for it in others[: max(0, len(others) + 1 - WAITING)]]
        await self._storage.write({place: value}, gone, of=Owner(conversation=conversation))

    async def take_back(self, conversation: str, id: str) -> bool:
        """Take back what the model need not be told any more; False when it was told already."""
        if not self._file.exists():
            return False
        return await self._storage.delete(_COLLECTION, _key(conversation, id))

    async def due(self, conversation: str, trust: Trust) -> Sequence[NewsItem]:
        """Return what the model is to be told at its next step, oldest first; never raises."""
        try:
            found = [item.value for item in await self._of(conversation)]
        except StoreError as error:
            _log.warning("news can't be read: %s", error.message)
            return ()
        hosts = {item.get("will_of", "") for item in found} - {""}
        alive = set(filter(self._hosts.alive, hosts))
        mine = sorted(
            (it for it in found if it["trust"] == trust and it.get("will_of", "") not in alive),
            key=lambda item: item["at"],
        )
        return tuple(
            NewsItem(id=item["id"], text=item["text"], left_at=item["at"]) for item in mine[:MOST]
        )

    async def told(self, conversation: str, items: Sequence[NewsItem]) -> None:
        """Forget what was told, but not what has replaced it since; never raises."""
        if not items or not self._file.exists():
            return
        told = {
            (_COLLECTION, _key(conversation, item.id)): {"text": item.text, "at": item.left_at}
            for item in items
        }
        try:
            await self._storage.delete_same(told)
        except StoreError as error:
            _log.warning("news that were told can't be taken away: %s", error.message)

    def _enter(self) -> None:
        try:
            self._hosts.enter()
        except OSError as error:
            raise StoreError(
                f"This host can't be entered in {self._file.parent}: {error.strerror}.",
                fix=f"ls -ld {self._file.parent}",
            ) from error

    async def _of(self, conversation: str) -> Sequence[Document]:
        if not self._file.exists():
            return ()
        return await self._storage.list(_COLLECTION, prefix=_key(conversation, ""))


def _key(conversation: str, id: str) -> str:
    """Return the key of an item; conversations are hashed, for their keys hold any text."""
    text = conversation.encode("utf-8", "surrogatepass")
    return f"{hashlib.sha256(text).hexdigest()[:32]}:{id}"
