"""What is kept of a call in the journal, as JSON.

A tool call has `result`, `kept` when that was cut, and `asked` when a tool made the call. A model
call has `request` (see `asked.py`), `hop`, `model`, `done`, and `state`, which serves to go on and
is dropped when the turn ends; `news` that it was told then; and `settled`: results of the step
before that have no record of their own. Each has its times, `began` and `ended`. A value that is
large goes to the blob store, and its reference stays.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, replace
from typing import Any, Final

from pegboard.contracts.blob import BlobRef, Blobs
from pegboard.contracts.errors import StoreError
from pegboard.contracts.journal import Answered
from pegboard.contracts.message import Message
from pegboard.contracts.news import NewsItem
from pegboard.contracts.provider import Done
from pegboard.contracts.result import ToolResult
from pegboard.contracts.turn import Json
from pegboard.contracts.wire import DONE, MESSAGE, TOOL_RESULT, WireError
from pegboard.tools.kept_results import KeptResult

SPILL_BYTES: Final = 1_000_000
"""Bytes of JSON from which on a value is kept as a blob."""


class LostValue(StoreError):
    """A value was kept as a blob, and the blob is gone."""

    code = "record_lost"


class Packer:
    """Puts values where they belong: into the record, or into a blob when they are large.

    Args:
        blobs: Where large ones go.
    """

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs

    async def result_form(
        self, result: ToolResult, asked: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Return the result of a tool call as it is written.

        Args:
            result: The result.
            asked: Name and arguments of a call that a tool makes.

        Raises:
            StoreError: When a blob can't be written.
        """
        form = {"result": await self._packed(_result(result))}
        if asked is not None:
            form["asked"] = await self._packed(_plain(asked) or {})
        return form

    async def asked(self, form: Json) -> Json:
        """Return name and arguments of a call that a tool made; {} when they are not kept."""
        try:
            return await self._unpacked(form.get("asked", {}))
        except LostValue:
            return {}

    async def result(self, form: Json) -> ToolResult:
        """Return the result of a tool call.

        Raises:
            LostValue: When it is no longer there.
        """
        return TOOL_RESULT.read(await self._unpacked(form["result"]))

    async def answer_form(
        self, answer: Answered, settled: Mapping[str, ToolResult]
    ) -> dict[str, Any]:
        """Return what a model answered as it is written.

        Args:
            answer: What it answered.
            settled: Results of the step before that have no record of their own, by id.

        Raises:
            StoreError: When a blob can't be written.
        """
        done = _done(answer.done)
        state = done.pop("state", None)
        form: dict[str, Any] = {"hop": answer.hop, "model": answer.model}
        form["done"] = await self._packed(done)
        if state is not None:
            form["state"] = await self._packed(state)
        if answer.news:
            form["news"] = [asdict(item) for item in answer.news]
        if settled:
            results = {call: _result(result) for call, result in settled.items()}
            form["settled"] = await self._packed({"results": results})
        return form

    async def answer(self, form: Json) -> Answered:
        """Return what a model answered.

        Raises:
            LostValue: When it is no longer there; its state may be missing.
        """
        done = dict(await self._unpacked(form["done"]))
        if "state" in form:
            with suppress(LostValue):  # the messages say the same
                done["state"] = await self._unpacked(form["state"])
        news = tuple(NewsItem(**item) for item in form.get("news", ()))
        return Answered(done=DONE.read(done), hop=form["hop"], model=form["model"], news=news)

    async def settled(self, form: Json) -> dict[str, ToolResult]:
        """Return the results of the step before that have no record of their own.

        Raises:
            LostValue: When they are no longer there.
        """
        if "settled" not in form:
            return {}
        results = (await self._unpacked(form["settled"]))["results"]
        return {call: TOOL_RESULT.read(item) for call, item in results.items()}

    async def message(self, blob: str) -> Message | None:
        """Return a message that is kept as a blob, or None when it is no longer there."""
        with suppress(KeyError, OSError, ValueError, StoreError):
            return MESSAGE.read(json.loads(await self._blobs.get(blob)))
        return None

    async def _packed(self, value: dict[str, Any]) -> dict[str, Any]:
        text = json.dumps(value, separators=(",", ":"))
        if len(text) < SPILL_BYTES:
            return value
        try:
            blob = await self._blobs.put(
                text.encode("ascii"), media_type="application/json", name="call.json"
            )
        except OSError as error:
            raise StoreError(
                f"What a call returned can't be kept: {error}.", fix="make room on the disk"
            ) from error
        return {"spilled": blob.to_dict()}

    async def _unpacked(self, value: Json) -> Json:
        place = value.get("spilled")
        if place is None:
            return value
        try:
            data = await self._blobs.get(place["id"])
        except (KeyError, OSError) as error:
            raise LostValue(f"The blob {place['id']} is gone.") from error
        if len(data) != place["size"]:
            raise LostValue(f"The blob {place['id']} is not whole.")
        value = json.loads(data)
        return value


def kept_form(kept: KeptResult) -> dict[str, Any]:
    """Return where the whole text of a cut result is, as JSON."""
    return asdict(kept)


def read_kept(data: Json) -> KeptResult:
    """Return where the whole text of a cut result is."""
    return KeptResult(**{**data, "blob": BlobRef(**data["blob"])})


def _result(result: ToolResult) -> dict[str, Any]:
    """Return a result without what no JSON can say: a plugin's types are not checked."""
    try:
        return TOOL_RESULT.write(result)
    except WireError:
        plain = ToolResult(
            output=result.text,
            structured=_plain(result.structured),
            details=_plain(result.details) or {},
            error=result.error,
            outside=result.outside,
        )
        return TOOL_RESULT.write(plain)


def _done(done: Done) -> dict[str, Any]:
    try:
        return DONE.write(done)
    except WireError:  # what nobody has checked before is the provider's own record
        return DONE.write(replace(done, state=None))


def _plain(value: Any) -> Any:
    try:
        return json.loads(json.dumps(value, default=str))
    except (TypeError, ValueError, RecursionError):
        return None
