"""Whole results of earlier turns of a conversation, which its history holds only in part."""

from __future__ import annotations

from pegboard.contracts.archive import Archive
from pegboard.contracts.blob import Blobs
from pegboard.contracts.errors import StoreError
from pegboard.tools.fence import fence_of, unfenced
from pegboard.tools.kept_results import KeptResult
from pegboard.tools.limits import line_count
from pegboard.turns.call_form import Packer, read_kept


class KeptBefore:
    """Finds them by the ids of their calls, in the record of those turns.

    Args:
        archive: The store.
        blobs: Where large values are.
        conversation: Key of the conversation.
    """

    def __init__(self, archive: Archive, blobs: Blobs, conversation: str) -> None:
        self._archive = archive
        self._blobs = blobs
        self._conversation = conversation

    async def __call__(self, call: str) -> KeptResult | None:
        """Return the result of a call of an earlier turn, or None when it is not known any more."""
        found = await self._archive.call_result(self._conversation, call)
        if found is None:
            return None
        if "kept" in found.result:  # it was cut when it came, and is kept whole since
            return read_kept(found.result["kept"])
        try:
            text = (await Packer(self._blobs).result(found.result)).text
        except (StoreError, KeyError):
            return None
        whole = unfenced(text)
        blob = await self._blobs.put(
            whole.encode("utf-8", "replace"), media_type="text/plain", name=f"{call}.txt"
        )
        return KeptResult(
            call=call,
            tool=found.tool,
            blob=blob,
            chars=len(whole),
            lines=line_count(whole),
            outside=fence_of(text) is not None,
        )
