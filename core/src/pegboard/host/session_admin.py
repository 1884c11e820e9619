"""What the owner may do with conversations: find, copy and erase them, and clear what is old."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from pegboard.contracts.archive import Archive, Erased
from pegboard.contracts.audit import Audit
from pegboard.contracts.clock import Clock
from pegboard.contracts.errors import UsageError
from pegboard.contracts.store import Store
from pegboard.contracts.transcript import Conversation
from pegboard.conversations.key import ConversationKey
from pegboard.conversations.short_id import matching, unclear
from pegboard.host.ingress import local_caller
from pegboard.policy.audit import audited
from pegboard.store.blob_sweep import Swept
from pegboard.store.retention import Pruned, Retention, prune, remove_blobs

TERMINAL: Final = "terminal"
"""The channel on which the person at this machine goes on with a copy of any conversation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasedPerson:
    """What was erased of one person.

    Args:
        rows: What the store had of them.
        blobs: Images, files and results that were theirs alone.
    """

    rows: Erased
    blobs: Swept


class Manages(Protocol):
    """What commands may do with conversations, wherever the store is open."""

    async def fork(self, source: Conversation) -> Conversation:
        """Copy a conversation to a new one of the terminal, and return that."""
        ...

    async def delete(self, key: str) -> Swept | None:
        """Erase a conversation; None when it is not there."""
        ...

    async def delete_person(self, sender: str) -> ErasedPerson:
        """Erase all that is kept of one person."""
        ...

    async def prune(self, retention: Retention) -> Pruned:
        """Erase what is kept no longer."""
        ...


class SessionAdmin:
    """Conversations as the owner manages them; implements `Manages`.

    Args:
        store: The store.
        archive: What it can find and erase.
        blobs: Folder of the blobs.
        clock: Time.
        new_id: Returns a new id for a chat.
        changed: Told of the key of each conversation that is not what it was.
        audit: Records that something was erased, and nothing of what; None = nobody does.
        elsewhere: Erases what plugins keep of it, never raises; None = the next host does.
    """

    def __init__(
        self,
        store: Store,
        archive: Archive,
        blobs: Path,
        clock: Clock,
        *,
        new_id: Callable[[], str],
        changed: Callable[[str], None] = lambda key: None,
        audit: Audit | None = None,
        elsewhere: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self._audit = audit
        self._elsewhere = elsewhere
        self._store = store
        self._archive = archive
        self._blobs = blobs
        self._clock = clock
        self._new_id = new_id
        self._changed = changed

    async def named(self, text: str, *, channel: str | None = None) -> Conversation:
        """Return the conversation that a text names; "" = the one that last changed.

        Args:
            text: An id or a key, or the beginning of one.
            channel: Only those of this channel; None = of all.

        Raises:
            UsageError: When there is none, or several; names what is near.
        """
        known = await self._store.conversations(channel=channel)
        if not text:
            if not known:
                raise UsageError("There is no conversation yet.", fix="pegboard chat")
            return known[0]
        match = matching(text, [item.key for item in known])
        if len(match.keys) != 1:
            raise UsageError(unclear(text, match), fix="pegboard sessions list")
        return next(item for item in known if item.key == match.keys[0])

    async def fork(self, source: Conversation) -> Conversation:
        """Copy a conversation to a new one of the terminal, and return that.

        Raises:
            UsageError: When it was erased meanwhile.
        """
        chat, now = self._new_id(), self._clock.now()
        key = ConversationKey(TERMINAL, chat, agent=source.agent)
        copy = Conversation(
            key=key.text,
            channel=TERMINAL,
            chat=chat,
            agent=source.agent,
            title=source.title,
            created_at=now,
            updated_at=now,
        )
        if not await self._store.fork(source.key, copy):
            raise UsageError(
                f"There is no conversation {source.key}.", fix="pegboard sessions list"
            )
        return copy

    async def delete(self, key: str) -> Swept | None:
        """Erase a conversation; return what became of its blobs, or None when it is not there.

        A turn of it that runs loses its place: nothing more is written of it.
        """
        blobs = await self._archive.blobs_of(key)
        if not await self._store.forget(key):
            return None
        await self._record("sessions.delete")
        self._changed(key)
        await self.erase_elsewhere()
        return await remove_blobs(self._archive, self._blobs, blobs)

    async def delete_person(self, sender: str) -> ErasedPerson:
        """Erase all that is kept of one person.

        Args:
            sender: Normalised sender id (`channel:id`).
        """
        keys = [item.key for item in await self._store.conversations()]
        rows = await self._archive.erase_person(sender)
        await self._record("sessions.delete_person")
        for key in keys:
            self._changed(key)
        await self.erase_elsewhere()
        return ErasedPerson(
            rows=rows, blobs=await remove_blobs(self._archive, self._blobs, rows.blobs)
        )

    async def prune(self, retention: Retention) -> Pruned:
        """Erase what is kept no longer.

        Args:
            retention: How long things are kept.
        """
        done = await prune(
            self._archive,
            self._blobs,
            retention,
            now=self._clock.now(),
            expired=self.erase_elsewhere,
        )
        if done.turns:
            for item in await self._store.conversations():
                self._changed(item.key)
        return done

    async def erase_elsewhere(self) -> None:
        """Erase what plugins keep of all that was erased; what can't be done now is done later."""
        if self._elsewhere is not None:
            await self._elsewhere()

    async def _record(self, rule: str) -> None:
        """Tell the audit log what the person at this machine did."""
        if self._audit is not None:
            await self._audit(audited("admin", rule, "allow", local_caller(), at=self._clock.now()))
