from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import anyio
import pytest

from pegboard.contracts.caller import Caller
from pegboard.contracts.errors import PluginError, UsageError
from pegboard.contracts.message import CallResult, Message, ToolCall, tool_message
from pegboard.contracts.result import Text
from pegboard.contracts.turn import Begun, Incoming
from pegboard.contracts.wire import CALLER, MESSAGE
from pegboard.conversations.short_id import short_id
from pegboard.host.session_service import SessionService
from pegboard.store.archive import EmbeddedArchive
from pegboard.store.embedded import open_store
from pegboard.tools.current_call import current_call
from pegboard.tools.run_scope import CallRequest

pytestmark = pytest.mark.anyio

ANN = Caller(trust="operator", sender="chat:ann")
BOB = Caller(trust="operator", sender="chat:bob")
GUEST = Caller(trust="guest", sender="chat:eve")


@contextmanager
def calling(caller: Caller, conversation: str = "chat/1") -> Iterator[None]:
    """Be in a call as dispatch makes it."""
    run = SimpleNamespace(conversation=conversation)
    call = CallRequest(id="c1", name="tool", arguments={}, caller=caller, run=run)  # type: ignore[arg-type]
    token = current_call.set(call)
    try:
        yield
    finally:
        current_call.reset(token)


class Talk:
    def __init__(self, store) -> None:
        self.store = store
        self.service = SessionService(store, EmbeddedArchive(store.database))
        self._turns = 0

    async def say(self, caller: Caller, text: str, key: str = "chat/1", *more: Message) -> None:
        self._turns += 1
        turn = f"turn-{self._turns:03}"
        await self.store.ingest(
            Incoming(
                turn=turn,
                key=key,
                channel="chat",
                chat=key,
                agent=caller.agent,
                message={"text": text},
                caller=CALLER.write(caller),
                at=float(self._turns),
            )
        )
        begun = await self.store.begin(turn, now=1.0, max_attempts=3)
        assert isinstance(begun, Begun)
        said = (Message.of("user", text), *more, Message.of("assistant", f"answer to {text}"))
        await self.store.finish(
            turn,
            begun.turn.fence,
            state="done",
            now=float(self._turns),
            messages=[MESSAGE.write(message) for message in said],
            tokens=77,
        )


@pytest.fixture
async def talk(tmp_path: Path):
    store = await open_store(tmp_path)
    yield Talk(store)
    await store.aclose()


async def test_an_operator_sees_the_conversations_they_took_part_in(talk) -> None:
    await talk.say(ANN, "about oaks", "chat/1")
    await talk.say(BOB, "about elms", "chat/2")
    await talk.say(ANN, "about ash", "chat/3")
    with calling(ANN):
        found = await talk.service.list()
    assert [(item.key, item.title, item.current) for item in found] == [
        ("chat/3", "about ash", False),
        ("chat/1", "about oaks", True),
    ]


async def test_a_guest_sees_the_conversation_they_are_in_and_no_other(talk) -> None:
    await talk.say(GUEST, "about oaks", "chat/1")
    await talk.say(GUEST, "about elms", "chat/2")
    with calling(GUEST, "chat/2"):
        assert [item.key for item in await talk.service.list()] == ["chat/2"]
        assert [hit.session.key for hit in await talk.service.search("about")] == ["chat/2"]
        for name in ("chat/1", short_id("chat/1")):
            with pytest.raises(UsageError, match="no conversation"):
                await talk.service.history(name)


async def test_delegated_work_sees_nothing(talk) -> None:
    await talk.say(ANN, "about oaks", "chat/1")
    worker = replace(ANN.narrow())
    with calling(worker, "chat/1"):
        assert await talk.service.list() == []
        assert await talk.service.search("oaks") == []
        with pytest.raises(UsageError):
            await talk.service.history()
        with pytest.raises(UsageError):
            await talk.service.history("chat/1")


async def test_another_agent_sees_its_own_conversations(talk) -> None:
    research = replace(ANN, agent="research")
    await talk.say(ANN, "about oaks", "chat/1")
    await talk.say(research, "about elms", "@research/chat/1")
    with calling(research, "@research/chat/1"):
        assert [item.key for item in await talk.service.list()] == ["@research/chat/1"]


async def test_nobody_can_look_without_a_call(talk) -> None:
    with pytest.raises(PluginError, match="during a call"):
        await talk.service.list()


async def test_tasks_that_a_call_starts_look_as_that_call(talk) -> None:
    await talk.say(ANN, "about oaks", "chat/1")
    seen: list[int] = []

    async def look() -> None:
        seen.append(len(await talk.service.list()))

    with calling(ANN):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(look)
    assert seen == [1]


async def test_history_is_what_was_said_with_the_tools_that_were_called(talk) -> None:
    step = Message("assistant", calls=(ToolCall("a", "file_read", "{}"),))
    result = tool_message([CallResult("a", "file_read", (Text("secret"),))])
    await talk.say(ANN, "read it", "chat/1", step, result)
    with calling(ANN):
        (turn,) = await talk.service.history()
    assert [(said.role, said.text, said.calls) for said in turn.messages] == [
        ("user", "read it", ()),
        ("assistant", "", ("file_read",)),
        ("assistant", "answer to read it", ()),
    ]


async def test_history_comes_in_pages(talk) -> None:
    for number in range(5):
        await talk.say(ANN, f"message {number}")
    with calling(ANN):
        assert [turn.seq for turn in await talk.service.history(limit=2)] == [4, 5]
        assert [turn.seq for turn in await talk.service.history(before=4, limit=2)] == [2, 3]
        assert len(await talk.service.history(limit=-3)) == 1


async def test_a_long_message_is_shortened(talk) -> None:
    await talk.say(ANN, "word " * 4_000)
    with calling(ANN):
        (turn,) = await talk.service.history()
    assert len(turn.messages[0].text) <= 4_000
    assert "left out" in turn.messages[0].text


async def test_a_conversation_is_named_by_the_beginning_of_its_id_or_key(talk) -> None:
    await talk.say(ANN, "about oaks", "chat/oaks")
    await talk.say(ANN, "about elms", "chat/elms")
    with calling(ANN, "chat/elms"):
        for name in ("chat/oaks", "chat/o", short_id("chat/oaks"), short_id("chat/oaks")[:5]):
            assert (await talk.service.status(name)).title == "about oaks"
        with pytest.raises(UsageError, match="may be"):
            await talk.service.status("chat/")
        with pytest.raises(UsageError, match="nearest is chat/oaks"):
            await talk.service.status("chat/oakz")


async def test_status_tells_the_tokens_of_the_last_request(talk) -> None:
    await talk.say(ANN, "about oaks")
    with calling(ANN):
        found = await talk.service.status()
    assert (found.tokens, found.turns, found.open, found.current) == (77, 1, 0, True)


async def test_a_call_outside_of_any_conversation_has_no_current_one(talk) -> None:
    await talk.say(ANN, "about oaks")
    with calling(ANN, ""):
        assert [item.current for item in await talk.service.list()] == [False]
        with pytest.raises(UsageError, match="part of no conversation"):
            await talk.service.status()


async def test_a_search_can_be_kept_to_one_conversation(talk) -> None:
    await talk.say(ANN, "about oaks", "chat/1")
    await talk.say(ANN, "about oaks too", "chat/2")
    with calling(ANN):
        hits = await talk.service.search("oaks", session="chat/2")
    assert [(hit.session.key, hit.seq) for hit in hits] == [("chat/2", 1)]
    assert "about oaks too" in hits[0].excerpt
