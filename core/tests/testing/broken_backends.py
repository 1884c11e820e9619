"""Backends that break the laws of a backend, each in one way."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import anyio

from pegboard.contracts.archive import Erased, Scope
from pegboard.contracts.engine import After, Later, Lease, Outcome, accept_all
from pegboard.contracts.store import FencedError
from pegboard.contracts.turn import Begun, NotBegun
from pegboard.engine.backend import EmbeddedBackend
from pegboard.engine.embedded import EmbeddedEngine
from pegboard.store.archive import EmbeddedArchive
from pegboard.store.database import Database
from pegboard.store.embedded import EmbeddedStore


class Backend(EmbeddedBackend):
    """An embedded backend whose store, engine and archive can be others."""

    archive_type = EmbeddedArchive

    def __init__(self, folder: Path, store: type = EmbeddedStore, engine: type = EmbeddedEngine):
        super().__init__(Database(folder / "state"), reconcile_s=0.2)
        self.types = store, engine

    async def open(self, settings, clock, **options):
        await self._database.open()
        self.archive = self.archive_type(self._database)
        store, engine = self.types
        self._store = store(self._database)
        self._engine = engine(self._store, clock, reconcile_s=self._reconcile_s, **options)
        return self._store, self._engine


def store_that(**verbs: Callable[..., Any]) -> type[EmbeddedStore]:
    """Return a store some of whose verbs are others; each is given the store first."""
    return type("BrokenStore", (EmbeddedStore,), verbs)


def engine_that(**methods: Callable[..., Any]) -> type[EmbeddedEngine]:
    return type("BrokenEngine", (EmbeddedEngine,), methods)


def wrong(verb: str, change: Callable[[Any], Any]) -> type[EmbeddedStore]:
    """Return a store one of whose verbs answers something else."""

    async def changed(self, *args, **more):
        return change(await getattr(EmbeddedStore, verb)(self, *args, **more))

    return store_that(**{verb: changed})


def called(verb: str, **other: Any) -> type[EmbeddedStore]:
    """Return a store one of whose verbs is called with other keywords."""

    async def changed(self, *args, **more):
        return await getattr(EmbeddedStore, verb)(self, *args, **{**more, **other})

    return store_that(**{verb: changed})


def idle(verb: str, answer: Any = None) -> type[EmbeddedStore]:
    """Return a store one of whose verbs does nothing."""

    async def nothing(self, *args, **more):
        return answer

    return store_that(**{verb: nothing})


def taking(change: Callable[[Any], Any]) -> type[EmbeddedStore]:
    """Return a store that takes in something else than what came in."""

    async def ingest(self, incoming):
        return await EmbeddedStore.ingest(self, change(incoming))

    return store_that(ingest=ingest)


def intended_once(begun: Begun) -> Begun:
    calls = {name: replace(call, attempt=1) for name, call in begun.calls.items()}
    return replace(begun, calls=calls)


def beginning(change: Callable[[Begun], Begun]) -> type[EmbeddedStore]:
    return wrong("begin", lambda begun: change(begun) if isinstance(begun, Begun) else begun)


def numbered(seq: Callable[[int], int]) -> type[EmbeddedStore]:
    def renumber(receipt):
        return replace(receipt, ref=replace(receipt.ref, seq=seq(receipt.ref.seq)))

    return wrong("ingest", renumber)


# predicates of the statements, taken out


def no_fence(connection, turn, fence, *also):
    """Let every attempt write."""


def no_end(connection, turn, fence, *also):
    """Let an attempt write that was ended."""
    row = connection.execute("SELECT fence FROM turn WHERE id = ?", (turn,)).fetchone()
    if row is None or row[0] != fence:
        raise FencedError("fenced")


def no_order(statement: str) -> str:
    """Return a statement that does not look at earlier turns."""
    return statement.replace("e.seq < t.seq", "0")


# stores


async def release_counted(self, turn, fence):
    await EmbeddedStore.release(self, turn, fence)
    await self.database.write(
        lambda connection: connection.execute(
            "UPDATE turn SET attempts = attempts + 1 WHERE id = ?", (turn,)
        )
    )


async def wake_waiting_only(self, turn):
    record = await self.turn(turn)
    if record is None or record.state != "waiting":
        return False
    return await EmbeddedStore.wake(self, turn)


async def wake_always(self, turn):
    await EmbeddedStore.wake(self, turn)
    return True


async def stop_begun_only(self, key, **which):
    for ref in await self.open_turns():
        record = await self.turn(ref.turn)
        if record is not None and ref.key == key and record.fence:
            return await EmbeddedStore.ask_to_stop(self, key, turn=ref.turn)
    return []


async def stop_all(self, key, **which):
    mine = [ref for ref in await self.open_turns() if ref.key == key]
    for ref in mine:
        await EmbeddedStore.ask_to_stop(self, key, turn=ref.turn)
    return mine


async def stop_running_only(self, key, **which):
    for ref in await self.open_turns():
        record = await self.turn(ref.turn)
        if record is not None and ref.key == key and record.state == "running":
            return await EmbeddedStore.ask_to_stop(self, key)
    return []


async def begin_sharing_calls(self, turn, **more):
    begun = await EmbeddedStore.begin(self, turn, **more)
    if isinstance(begun, NotBegun):
        return begun
    others = [await self.begun(ref.turn) for ref in await self.open_turns()]
    return replace(begun, calls={k: v for other in others if other for k, v in other.calls.items()})


async def record_cut(self, turn, fence, call, result):
    result = {key: str(value)[:1000] for key, value in result.items()}
    await EmbeddedStore.record(self, turn, fence, call, result)


async def record_again(self, turn, fence, call, result):
    await EmbeddedStore.record(self, turn, fence, call, result)
    await self.database.write(
        lambda connection: connection.execute(
            "UPDATE call SET result = ? WHERE turn = ? AND id = ?", ('{"output":"x"}', turn, call)
        )
    )


async def sending_always(self, turn, fence, part, *, now):
    await EmbeddedStore.sending(self, turn, fence, part, now=now)
    return True


async def answer_always(self, key, token, **more):
    found = [item for item in await self.approvals() if item.token == token]
    answered = await EmbeddedStore.answer(self, key, token, **more)
    self.last = answered or (found[0] if found else getattr(self, "last", None))
    return self.last


async def answer_anywhere(self, key, token, **more):
    found = [item for item in await self.approvals() if item.token == token]
    return await EmbeddedStore.answer(self, found[0].key if found else key, token, **more)


async def ask_alone(self, approval):
    return await EmbeddedStore.ask(self, replace(approval, subject=approval.token))


async def ask_once(self, approval):
    kept = self.__dict__.setdefault("asked", {})
    return kept.setdefault(approval.subject, await EmbeddedStore.ask(self, approval))


async def ask_anew(self, approval):
    return replace(await EmbeddedStore.ask(self, approval), token=approval.token)


async def doubtful_for_ever(self, key=None, *, settle=False):
    return await EmbeddedStore.doubtful(self, key)


async def finish_without_messages(self, turn, fence, **more):
    await EmbeddedStore.finish(self, turn, fence, **{**more, "messages": ()})


async def finish_with_a_message(self, turn, fence, **more):
    messages = more.get("messages") or ({"role": "user", "text": ""},)
    await EmbeddedStore.finish(self, turn, fence, **{**more, "messages": messages})


async def finish_forgetting_tokens(self, turn, fence, **more):
    await EmbeddedStore.finish(self, turn, fence, **{**more, "tokens": more.get("tokens") or 0})


async def transcript_of_all(self, key):
    found = [await EmbeddedStore.transcript(self, item.key) for item in await self.conversations()]
    return replace(found[0], turns=tuple(turn for item in found for turn in item.turns))


async def transcript_for_ever(self, key):
    return replace(await EmbeddedStore.transcript(self, key), turns=await self.messages(key))


async def summarize_always(self, key, **more):
    await EmbeddedStore.summarize(self, key, **more)
    return True


async def forget_by_name(self, key):
    return any(item.key == key for item in await self.conversations())


async def new_epoch_of_all(self, key, *, now, by=None):
    return await EmbeddedStore.new_epoch(self, key, now=now)


# archives


class Unscoped(EmbeddedArchive):
    async def conversations(self, scope, *, limit=None):
        return [
            *await super().conversations(Scope(key="ann")),
            *await super().conversations(Scope(key="bob")),
        ]


class Unerasing(EmbeddedArchive):
    async def erase_person(self, sender):
        return Erased(conversations=1, turns=1)


class Forgetful(EmbeddedArchive):
    async def erasures(self):
        return []


class Undying(EmbeddedArchive):
    async def expire(self, before):
        return 0


# engines


async def submit_nothing(self, ref):
    """Leave it to the store."""


async def submit_eagerly(self, ref):
    if ref.turn in self._held:
        self._group.start_soon(self._handler, ref, Lease(ref.key))
    else:
        await EmbeddedEngine.submit(self, ref)


class BlindStore:
    """A store in which nothing is open."""

    def __init__(self, store):
        self.turn = store.turn

    async def open_turns(self):
        return []


class Blind(EmbeddedEngine):
    """An engine that delivers only what is submitted to it."""

    def __init__(self, store, clock, **more):
        super().__init__(BlindStore(store), clock, **more)


class Undiscerning(EmbeddedEngine):
    """An engine that delivers what is not for its host."""

    def __init__(self, store, clock, **more):
        super().__init__(store, clock, **{**more, "accepts": accept_all})


class Apart(EmbeddedEngine):
    """An engine that runs the turns of a conversation side by side."""

    def _put(self, ref):
        self.__dict__.setdefault("refs", {})[ref.turn] = ref
        super()._put(replace(ref, key=ref.turn))

    async def _handled(self, lane, ref, lease):
        return await super()._handled(lane, self.refs[ref.turn], lease)


def put_in_one_queue(self, ref):
    number = self.__dict__.setdefault("numbers", count(1))
    if ref.turn not in self._held:
        EmbeddedEngine._put(self, replace(ref, key="all", seq=next(number)))


def put_as_background(self, ref):
    EmbeddedEngine._put(self, replace(ref, background=True))


def put_as_a_person(self, ref):
    EmbeddedEngine._put(self, replace(ref, background=False))


async def handled_unguarded(self, lane, ref, lease):
    return await self._handler(ref, lease)


def handled_as(change: Callable[[Outcome | None], Outcome | None]) -> Any:
    async def handled(self, lane, ref, lease):
        return change(await EmbeddedEngine._handled(self, lane, ref, lease))

    return handled


async def poke_nothing(self, key):
    """Tell nobody."""


async def poke_resting_only(self, key):
    lane = self._lanes.get(key)
    if lane is not None and lane.state == "resting":
        await EmbeddedEngine.poke(self, key)


async def serve_with_one_more(self, handler, *, slots):
    await EmbeddedEngine.serve(self, handler, slots=slots + 1)


async def close_at_once(self, grace_s):
    await EmbeddedEngine.close(self, 0)


async def close_never(self, grace_s):
    with anyio.move_on_after(1):
        await EmbeddedEngine.close(self, 3600)


async def close_when_served(self, grace_s):
    with anyio.fail_after(1):
        await self._ended.wait()


class Lingering(EmbeddedEngine):
    """An engine that leaves what it runs running."""

    async def serve(self, handler, *, slots):
        async def apart(ref, lease):
            task = asyncio.create_task(handler(ref, lease))
            return await asyncio.shield(task)

        await super().serve(apart, slots=slots)


class Careless(EmbeddedEngine):
    """An engine that runs what killed its hosts beside everything else."""

    def _put(self, ref):
        EmbeddedEngine._put(self, replace(ref, attempts=0))


later_is_busy = handled_as(lambda outcome: After.BUSY if isinstance(outcome, Later) else outcome)
busy_is_later = handled_as(lambda outcome: Later(None) if outcome is After.BUSY else outcome)
fenced_is_later = handled_as(lambda outcome: Later(None) if outcome is After.FENCED else outcome)
