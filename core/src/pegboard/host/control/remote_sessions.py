"""Conversations as the owner manages them, in the host that owns the store."""

from __future__ import annotations

from dataclasses import asdict

from pegboard.contracts.archive import Erased
from pegboard.contracts.transcript import Conversation
from pegboard.host.control.client import ControlClient
from pegboard.host.session_admin import ErasedPerson
from pegboard.store.blob_sweep import Swept
from pegboard.store.retention import Pruned, Retention


class RemoteSessions:
    """Manages them through the control socket; implements `Manages`.

    Args:
        client: The connection.
    """

    def __init__(self, client: ControlClient) -> None:
        self._client = client

    async def fork(self, source: Conversation) -> Conversation:
        """Copy a conversation to a new one of the terminal, and return that."""
        made = await self._client.call("fork", conversation=source.key)
        return Conversation(**made["conversation"])

    async def delete(self, key: str) -> Swept | None:
        """Erase a conversation; None when it is not there."""
        blobs = (await self._client.call("delete", conversation=key))["blobs"]
        return None if blobs is None else Swept(**blobs)

    async def delete_person(self, sender: str) -> ErasedPerson:
        """Erase all that is kept of one person."""
        done = await self._client.call("delete_person", sender=sender)
        rows = {**done["rows"], "blobs": frozenset(done["rows"]["blobs"])}
        return ErasedPerson(rows=Erased(**rows), blobs=Swept(**done["blobs"]))

    async def prune(self, retention: Retention) -> Pruned:
        """Erase what is kept no longer."""
        done = await self._client.call("prune", retention=asdict(retention))
        return Pruned(turns=done["turns"], blobs=Swept(**done["blobs"]))
