"""What a turn writes of its calls in the store, and what earlier attempts of it wrote there."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple

import anyio

from pegboard.contracts.blob import Blobs
from pegboard.contracts.clock import Clock, SystemClock
from pegboard.contracts.effects import Effects
from pegboard.contracts.errors import StoreError
from pegboard.contracts.journal import Answered
from pegboard.contracts.provider import ChatRequest
from pegboard.contracts.result import Suspend, ToolResult
from pegboard.contracts.store import Store
from pegboard.contracts.tool import RegisteredTool
from pegboard.contracts.turn import CallRecord, Json
from pegboard.tools.kept_results import KeptResults
from pegboard.turns.call_form import LostValue, Packer, kept_form, read_kept
from pegboard.turns.request_digests import RequestDigests

RERUN: Final[Effects] = frozenset({"read", "net_read"})
"""What an interrupted call may do at most to be run again without asking anybody."""
_log: Final = logging.getLogger(__name__)


class _Place(NamedTuple):
    """Where a call of this attempt stands in the record.

    Args:
        id: Id of its record.
        digest: Hash of what is asked for.
        earlier: What an earlier attempt wrote there, or None.
        asked: Name and arguments of a call that a tool makes; a model's answer has its own.
    """

    id: str
    digest: str
    earlier: CallRecord | None = None
    asked: Mapping[str, Any] | None = None

    @property
    def attempt(self) -> int:
        return 1 if self.earlier is None else self.earlier.attempt + 1


class TurnJournal:
    """The record of one attempt of a turn; implements `Journal` and `ModelJournal`.

    Calls of a model are found by their ids, which its recorded answers hold. Calls that a tool
    makes are found by what they ask for as well: a tool that is run again may make them in another
    order.

    Args:
        store: The store.
        turn: Id of the turn.
        fence: What the attempt may write with.
        calls: What earlier attempts have begun or finished, by id.
        blobs: Where large results go.
        clock: Time, for the record.

    Attributes:
        kept: The cut results of the turn, those of earlier attempts among them: what the `RunScope`
            of the turn is given.
    """

    def __init__(
        self,
        store: Store,
        turn: str,
        fence: int,
        calls: Mapping[str, CallRecord],
        *,
        blobs: Blobs,
        clock: Clock | None = None,
    ) -> None:
        self.kept = KeptResults()
        self._store = store
        self._turn = turn
        self._fence = fence
        self._calls = calls
        self._packer = Packer(blobs)
        self._request_digests = RequestDigests(blobs)
        self._clock = clock or SystemClock()
        self._places: dict[str, _Place] = {}
        self._taken: set[str] = set()
        self._settled: dict[str, ToolResult] = {}
        self._finished: set[str] = set()
        self._began: dict[str, float] = {}
        for record in calls.values():
            if record.result is not None and "kept" in record.result:
                self.kept.add(read_kept(record.result["kept"]))

    async def known(
        self, call: str, name: str, arguments: str | Mapping[str, Any]
    ) -> ToolResult | None:
        """Return what a call came to in an earlier attempt, or that it may have run, or None."""
        if call in self._settled:
            return _replayed(self._settled[call])
        place = self._find(call, digest_of(name, arguments))
        if _outer(call) in self._places:
            place = place._replace(asked={"name": name, "arguments": arguments})
        self._places[call] = place
        self._taken.add(place.id)
        record = place.earlier
        if record is None:
            return None
        if record.result is None:
            return None if may_rerun(record) else interrupted(name)
        try:
            result = await self._packer.result(record.result)
        except LostValue:
            result = _lost(name)
        self._finished.add(call)
        return _replayed(result)

    def attempt(self, call: str) -> int:
        """Return the number of the attempt that would begin now, from 1."""
        return self._place(call).attempt

    def idempotency_key(self, call: str) -> str:
        """Return the key of a call: the same for every attempt of it, and no other's."""
        return f"{self._turn}:{self._place(call).id}"

    async def intent(
        self, call: str, tool: RegisteredTool, arguments: Mapping[str, Any], effects: Effects
    ) -> None:
        """Write that the call is about to run."""
        place = self._place(call)
        record = CallRecord(
            id=place.id,
            kind="tool",
            name=tool.canonical,
            digest=place.digest,
            effects=None if tool.spec.effects is None else effects,
            on_interrupt=tool.spec.on_interrupt,
            idempotency_key=f"{self._turn}:{place.id}",
            attempt=place.attempt,
        )
        self._began[call] = self._clock.now()
        await self._store.intend(self._turn, self._fence, [record])

    async def result(self, call: str, result: ToolResult) -> None:
        """Write what it returned; nothing of one that waits for a person."""
        if isinstance(result.control, Suspend):
            return
        place = self._place(call)
        form = {**self._times(call), **await self._packer.result_form(result, place.asked)}
        kept = self.kept.get(call)
        if kept is not None:
            form["kept"] = kept_form(kept)
        # it has run: that is written also when the turn is cancelled meanwhile
        with anyio.CancelScope(shield=True):
            await self._store.record(self._turn, self._fence, place.id, form)
        self._finished.add(call)

    async def answered(self, step: int) -> Answered | None:
        """Return what the model answered at a step in an earlier attempt, or None."""
        form, following = self._answer_form(step), self._answer_form(step + 1)
        try:
            if following is not None:
                self._settled.update(await self._packer.settled(following))
            if form is not None:
                return await self._packer.answer(form)
        except LostValue as error:
            raise StoreError(
                f"Turn {self._turn} can't go on: what its model answered is no longer kept.",
                fix="send the message again",
            ) from error
        self._began[_model(step)] = self._clock.now()
        return None

    async def done(
        self,
        step: int,
        answer: Answered,
        *,
        request: ChatRequest,
        results: Mapping[str, ToolResult],
    ) -> None:
        """Write what the model answered, and what the step before came to beside its records."""
        call = _model(step)
        settled = {id: result for id, result in results.items() if id not in self._finished}
        form = {
            **self._times(call),
            "request": await self._request_digests.form(request),
            **await self._packer.answer_form(answer, settled),
        }
        record = CallRecord(
            id=call,
            kind="model",
            name=answer.model or answer.hop,
            idempotency_key=request.idempotency_key,
            result=form,
        )
        await self._store.intend(self._turn, self._fence, [record])

    def _answer_form(self, step: int) -> Json | None:
        record = self._calls.get(_model(step))
        return None if record is None else record.result

    def _times(self, call: str) -> dict[str, Any]:
        now = self._clock.now()
        return {"began": self._began.pop(call, now), "ended": now}

    def _place(self, call: str) -> _Place:
        return self._places.get(call) or _Place(call, "")

    def _find(self, call: str, digest: str) -> _Place:
        """Return where a call stands: at its id, or where the same was asked for before."""
        placed = self._places.get(call)
        if placed is not None and placed.digest == digest:
            return placed  # it comes again, now that a person has agreed
        record = self._calls.get(call)
        if record is not None and record.digest == digest and call not in self._taken:
            return _Place(call, digest, record)
        outer = _outer(call)
        if outer in self._places:
            for other in self._calls.values():
                if (
                    other.digest == digest
                    and _outer(other.id) == outer
                    and other.id not in self._taken
                ):
                    return _Place(other.id, digest, other)
        if record is None and call not in self._taken:
            return _Place(call, digest)
        # what stands there is another call: it stays, for that one may come yet
        other_id = f"{call}~{digest[:12]}"
        earlier = None if other_id in self._taken else self._calls.get(other_id)
        if outer not in self._places:
            _log.warning("turn %s: call %s is not the one that is recorded", self._turn, call)
        return _Place(other_id, digest, earlier)


def digest_of(name: str, arguments: str | Mapping[str, Any]) -> str:
    """Return a hash of what is asked for."""
    if not isinstance(arguments, str):
        try:
            arguments = json.dumps(arguments, sort_keys=True, default=repr)
        except (TypeError, ValueError, RecursionError):
            arguments = ""  # it will not pass the check of its arguments
    text = f"{name}\0{arguments}"
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def may_rerun(record: CallRecord) -> bool:
    """Tell whether an interrupted call may run again: its tool says so, or it only reads.

    A tool that reconciles is run again too, with the key of the first attempt: it looks itself what
    was done.
    """
    if record.on_interrupt is not None:
        return record.on_interrupt in ("rerun", "reconcile")
    return record.effects is not None and record.effects <= RERUN


def interrupted(name: str) -> ToolResult:
    """Return what the model is told of a call that was interrupted and may not run again."""
    return ToolResult.failed(
        "interrupted",
        f"The host was stopped while {name} ran. The call may have run, wholly or in part, or not "
        "at all; it was not run again.",
        fix="Look at what it has done before you decide whether to do it again.",
    )


def _lost(name: str) -> ToolResult:
    return ToolResult.failed(
        "interrupted",
        f"{name} has run, but then the host was stopped and its result is no longer kept.",
        fix="Look at what it has done before you decide whether to do it again.",
    )


def _replayed(result: ToolResult) -> ToolResult:
    return replace(result, details={**result.details, "replayed": True})


def _model(step: int) -> str:
    return f"model:{step}"


def _outer(call: str) -> str:
    return call.rpartition(".")[0]
