from __future__ import annotations

import itertools
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from pegboard.contracts.message import CallResult, Message, ToolCall, tool_message
from pegboard.contracts.result import Text
from pegboard.contracts.turn import Begun, Incoming, TurnRecord
from pegboard.contracts.wire import MESSAGE, WireError
from pegboard.conversations.history import History
from pegboard.conversations.key import ConversationKey
from pegboard.store.embedded import EmbeddedStore, open_store

pytestmark = pytest.mark.anyio
KEY = "terminal/local"


class World:
    """A store, and turns in it."""

    def __init__(self, store: EmbeddedStore) -> None:
        self.store = store
        self._ids = itertools.count(1)

    async def begin(self, key: str = KEY) -> TurnRecord:
        """Begin a new turn of a conversation."""
        turn = f"turn-{next(self._ids)}"
        incoming = Incoming(
            turn=turn, key=key, channel="c", chat="1", message={}, caller={}, at=1.0
        )
        await self.store.ingest(incoming)
        begun = await self.store.begin(turn, now=1.0, max_attempts=3)
        assert isinstance(begun, Begun)
        return begun.turn

    async def finish(self, turn: TurnRecord, *messages: Message) -> None:
        """End a turn with messages."""
        forms = [MESSAGE.write(message) for message in messages]
        await self.store.finish(turn.ref.turn, turn.fence, state="done", now=2.0, messages=forms)

    async def say(self, history: History, messages: list[Message], key: str = KEY) -> int:
        """Have a turn with messages; return how many old ones had to go."""
        turn = await self.begin(key)
        await history.before(turn)
        await self.finish(turn, *messages)
        return history.add(turn, messages)


@pytest.fixture
async def world(tmp_path: Path, anyio_backend: str) -> AsyncIterator[World]:
    store = await open_store(tmp_path)
    yield World(store)
    await store.aclose()


def turn(name: str, results: int = 0, size: int = 10) -> list[Message]:
    calls = tuple(ToolCall(f"{name}-{n}", "read", "{}") for n in range(results))
    group = [
        Message("assistant", calls=calls),
        tool_message([CallResult(call.id, "read", (Text("x" * size),)) for call in calls]),
    ]
    return [
        Message.of("user", name),
        *(group if results else []),
        Message.of("assistant", f"re {name}"),
    ]


async def texts(history: History, key: str = KEY) -> list[str]:
    return [message.text for message in await history.messages(key)]


async def test_turns_come_back_in_order_and_apart_by_conversation(world: World) -> None:
    history, other = History(world.store), ConversationKey("terminal", "other").text
    await world.say(history, turn("one"))
    await world.say(history, turn("else"), other)
    await world.say(history, turn("two"))
    assert await texts(history) == ["one", "re one", "two", "re two"]
    assert await texts(history, other) == ["else", "re else"]


async def test_a_history_is_the_same_for_the_next_host(world: World) -> None:
    await world.say(History(world.store), turn("one", results=3))
    messages = turn("one", results=3)
    assert list(await History(world.store).messages(KEY)) == messages
    again = await world.begin()
    assert list(await History(world.store).before(again)) == messages


async def test_old_turns_go_whole_so_that_no_call_parts_from_its_results(world: World) -> None:
    history = History(world.store, max_chars=1000)
    await world.say(history, turn("old", results=7, size=100))
    assert await world.say(history, turn("new", results=7, size=100)) == 1
    messages = await history.messages(KEY)
    assert messages[0].text == "new"
    assert len(messages[2].results) == 7


async def test_the_number_of_messages_is_bounded(world: World) -> None:
    history = History(world.store, max_messages=5)
    dropped = [await world.say(history, turn(str(n))) for n in range(4)]
    assert dropped == [0, 0, 1, 1]
    assert (await texts(history))[::2] == ["2", "3"]
    assert [m.text for m in await history.before(await world.begin())][::2] == ["2", "3"]


async def test_the_newest_turn_stays_even_when_it_alone_is_too_long(world: World) -> None:
    history = History(world.store, max_chars=10)
    await world.say(history, turn("long", results=3, size=1000))
    assert (await texts(history))[0] == "long"


async def test_a_summary_stays_though_old_turns_go(world: World) -> None:
    history = History(world.store, max_messages=5)
    await world.say(history, turn("old"))
    summary = [MESSAGE.write(Message.of("user", "what was before"))]
    await world.store.summarize(KEY, through=1, messages=summary, tokens=None, now=3.0)
    history.forget(KEY)
    for n in range(3):
        await world.say(history, turn(str(n)))
    assert (await texts(history))[::2] == ["what was before", "re 1", "re 2"]


async def test_what_another_host_added_is_seen(world: World) -> None:
    mine, other = History(world.store), History(world.store)
    await world.say(mine, turn("one"))
    await world.say(other, turn("two"))
    assert [m.text for m in await mine.before(await world.begin())][::2] == ["one", "two"]


async def test_a_conversation_begun_anew_has_no_history(world: World) -> None:
    history = History(world.store)
    await world.say(history, turn("one"))
    await world.store.new_epoch(KEY, now=3.0)
    assert await history.before(await world.begin()) == ()
    assert await texts(history) == []


async def test_few_conversations_are_kept_in_memory_and_all_in_the_store(world: World) -> None:
    history = History(world.store, remembered=2)
    keys = [f"terminal/{n}" for n in range(5)]
    for key in keys:
        await world.say(history, turn(key), key)
    assert len(history._remembered) == 2
    assert [(await texts(history, key))[0] for key in keys] == keys


async def test_the_next_turn_of_a_remembered_conversation_reads_nothing(world: World) -> None:
    history = History(world.store)
    await world.say(history, turn("one"))
    reads: list[Any] = []
    transcript = world.store.transcript
    world.store.transcript = lambda key: reads.append(key) or transcript(key)  # type: ignore[method-assign]
    await world.say(history, turn("two"))
    assert reads == []


async def test_what_can_not_be_read_is_an_error_and_no_gap(world: World) -> None:
    record = await world.begin()
    await world.store.finish(
        record.ref.turn, record.fence, state="done", now=2.0, messages=[{"v": 99}]
    )
    with pytest.raises(WireError):
        await History(world.store).messages(KEY)
