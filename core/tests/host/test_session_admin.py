from __future__ import annotations

import itertools
import os
import time
from pathlib import Path

import pytest

from pegboard.contracts.caller import Caller
from pegboard.contracts.errors import UsageError
from pegboard.contracts.message import Message
from pegboard.contracts.turn import Begun, Incoming
from pegboard.contracts.wire import CALLER, MESSAGE
from pegboard.conversations.short_id import short_id
from pegboard.host.session_admin import SessionAdmin
from pegboard.store.archive import EmbeddedArchive
from pegboard.store.blobs import FolderBlobs
from pegboard.store.embedded import open_store
from pegboard.store.retention import DAY_S, Retention
from pegboard.testing.clock import FakeClock

pytestmark = pytest.mark.anyio


class Desk:
    def __init__(self, store, folder: Path) -> None:
        self.store = store
        self.blobs = FolderBlobs(folder / "blobs")
        self.clock = FakeClock(start=time.time())
        self.changed: list[str] = []
        ids = (f"copy-{number}" for number in itertools.count(1))
        self.admin = SessionAdmin(
            store,
            EmbeddedArchive(store.database),
            self.blobs.folder,
            self.clock,
            new_id=lambda: next(ids),
            changed=self.changed.append,
        )
        self._turns = 0

    async def say(self, text: str, key: str, *, sender="chat:ann", at=1.0, blob="") -> None:
        self._turns += 1
        turn = f"turn-{self._turns:03}"
        message = {"text": text, **({"blob": blob} if blob else {})}
        caller = CALLER.write(Caller(sender=sender))
        channel = key.partition("/")[0]
        await self.store.ingest(
            Incoming(
                turn=turn, key=key, channel=channel, chat=key, message=message, caller=caller, at=at
            )
        )
        begun = await self.store.begin(turn, now=at, max_attempts=3)
        assert isinstance(begun, Begun)
        said = [
            MESSAGE.write(Message.of("user", text)),
            MESSAGE.write(Message.of("assistant", "!")),
        ]
        await self.store.finish(turn, begun.turn.fence, state="done", now=at, messages=said)

    async def put(self, data: bytes) -> str:
        return (await self.blobs.put(data, media_type="image/png")).id

    async def keys(self) -> list[str]:
        return [item.key for item in await self.store.conversations()]


@pytest.fixture
async def desk(tmp_path: Path):
    store = await open_store(tmp_path)
    yield Desk(store, tmp_path)
    await store.aclose()


async def test_a_conversation_is_found_by_the_beginning_of_its_id_or_key(desk) -> None:
    await desk.say("oaks", "terminal/oaks", at=1.0)
    await desk.say("elms", "slack/elms", at=2.0)
    for text in ("terminal/oaks", "term", short_id("terminal/oaks")[:5]):
        assert (await desk.admin.named(text)).key == "terminal/oaks"
    with pytest.raises(UsageError, match="nearest is slack/elms"):
        await desk.admin.named("slack/elmz")
    with pytest.raises(UsageError, match="no conversation"):
        await desk.admin.named("slack/elms", channel="terminal")


async def test_without_a_name_it_is_the_latest(desk) -> None:
    with pytest.raises(UsageError, match="no conversation yet"):
        await desk.admin.named("")
    await desk.say("oaks", "terminal/oaks", at=1.0)
    await desk.say("elms", "slack/elms", at=2.0)
    assert (await desk.admin.named("")).key == "slack/elms"
    assert (await desk.admin.named("", channel="terminal")).key == "terminal/oaks"


async def test_a_copy_goes_on_in_the_terminal_and_leaves_the_first_alone(desk) -> None:
    await desk.say("oaks", "slack/oaks")
    copy = await desk.admin.fork(await desk.admin.named("slack/oaks"))
    assert (copy.key, copy.channel, copy.title) == ("terminal/copy-1", "terminal", "oaks")
    assert len((await desk.store.transcript(copy.key)).turns) == 1
    await desk.say("and elms", copy.key)
    assert len((await desk.store.transcript("slack/oaks")).turns) == 1


async def test_a_deleted_conversation_goes_with_the_blobs_that_were_its_own(desk) -> None:
    own, shared = await desk.put(b"own"), await desk.put(b"shared")
    await desk.say("own", "chat/1", blob=own)
    await desk.say("shared", "chat/1", blob=shared)
    await desk.say("shared", "chat/2", blob=shared)
    swept = await desk.admin.delete("chat/1")
    assert swept is not None
    assert (swept.removed, swept.left) == (1, 1)
    assert await desk.keys() == ["chat/2"]
    assert desk.changed == ["chat/1"]
    assert await desk.blobs.get(shared) == b"shared"
    assert await desk.admin.delete("chat/1") is None


async def test_a_person_is_erased_with_the_blobs_that_were_theirs(desk) -> None:
    theirs = await desk.put(b"theirs")
    await desk.say("mine", "chat/1", sender="chat:ann", blob=theirs)
    await desk.say("mine", "chat/2", sender="chat:bob")
    erased = await desk.admin.delete_person("chat:ann")
    assert (erased.rows.conversations, erased.blobs.removed) == (1, 1)
    assert await desk.keys() == ["chat/2"]
    assert "chat/1" in desk.changed


async def test_what_is_old_goes(desk) -> None:
    old = await desk.put(b"old")
    long_ago = time.time() - 30 * DAY_S
    os.utime(desk.blobs.folder / old[:2] / old, (long_ago, long_ago))
    await desk.say("old", "chat/1", at=long_ago, blob=old)
    await desk.say("new", "chat/2", at=time.time())
    done = await desk.admin.prune(Retention(keep_days=7))
    assert (done.turns, done.blobs.removed) == (1, 1)
    assert await desk.keys() == ["chat/2"]
