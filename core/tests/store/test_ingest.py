from __future__ import annotations

import anyio
import pytest

from pegboard.contracts.errors import StoreError
from pegboard.contracts.turn import TurnRef

pytestmark = pytest.mark.anyio


async def test_what_comes_in_gets_the_next_place_of_its_conversation(store, make):
    places = []
    for turn, key in (("a1", "a"), ("b1", "b"), ("a2", "a"), ("a3", "a"), ("b2", "b")):
        receipt = await store.ingest(make.incoming(turn, key))
        assert not receipt.duplicate
        places.append((receipt.ref.turn, receipt.ref.seq))
    assert places == [("a1", 1), ("b1", 1), ("a2", 2), ("a3", 3), ("b2", 2)]
    assert [ref.turn for ref in await store.open_turns()] == ["a1", "b1", "a2", "a3", "b2"]


async def test_a_turn_keeps_all_that_came_in(store, make):
    receipt = await store.ingest(
        make.incoming(
            "t1",
            "main/chat/7/2",
            chat="7",
            thread="2",
            agent="helper",
            source="job",
            background=True,
            message={"text": "hi", "attachments": []},
            caller={"trust": "guest"},
            at=12.5,
        )
    )
    ref = TurnRef(turn="t1", key="main/chat/7/2", seq=1, channel="chat", background=True)
    assert receipt.ref == ref
    turn = await store.turn("t1")
    assert (turn.ref, turn.state, turn.fence, turn.attempts) == (ref, "queued", 0, 0)
    assert (turn.source, turn.agent, turn.received_at) == ("job", "helper", 12.5)
    assert turn.message == {"text": "hi", "attachments": []}
    assert turn.caller == {"trust": "guest"}
    (conversation,) = await store.conversations()
    assert (conversation.chat, conversation.thread, conversation.agent) == ("7", "2", "helper")
    assert await store.turn("t2") is None
    assert await store.begun("t2") is None


async def test_what_comes_twice_gets_the_turn_it_has(store, make):
    first = await store.ingest(make.incoming("t1", external_id="m"))
    again = await store.ingest(make.incoming("t2", external_id="m", text="hello?"))
    assert again.duplicate and again.ref == first.ref
    assert (await store.turn("t1")).message == {"text": "hello"}
    # also when it is over, and when another agent got the conversation meanwhile
    fence = (await store.begin("t1", now=2.0, max_attempts=3)).turn.fence
    await store.finish("t1", fence, state="done", now=3.0)
    again = await store.ingest(make.incoming("t3", "other agent/k", chat="k", external_id="m"))
    assert again.duplicate and again.ref == first.ref
    assert await store.open_turns() == []
    assert len(await store.conversations()) == 1


async def test_a_number_that_another_chat_or_channel_uses_as_well_is_another_message(store, make):
    await store.ingest(make.incoming("t1", "a", external_id="1"))
    for turn, more in (("t2", {"chat": "b"}), ("t3", {"channel": "mail"})):
        assert not (
            await store.ingest(make.incoming(turn, turn, external_id="1", **more))
        ).duplicate
    assert len(await store.open_turns()) == 3
    again = await store.ingest(make.incoming("t4", "t2", external_id="1", chat="b"))
    assert again.duplicate and again.ref.turn == "t2"


async def test_messages_without_an_id_are_all_different(store, make):
    for turn in ("t1", "t2"):
        assert not (await store.ingest(make.incoming(turn, external_id=""))).duplicate


async def test_handing_in_one_turn_again_is_harmless(store, make):
    one = await store.ingest(make.incoming("t1", source="job"))
    two = await store.ingest(make.incoming("t1", source="job"))
    assert two.duplicate and two.ref == one.ref


async def test_five_redeliveries_at_once_on_two_hosts_get_one_turn(store, other, make):
    receipts = []

    async def deliver(host, turn):
        receipts.append(await host.ingest(make.incoming(turn, external_id="m")))

    async with anyio.create_task_group() as group:
        for number in range(5):
            group.start_soon(deliver, (store, other)[number % 2], f"t{number}")
    assert len({receipt.ref.turn for receipt in receipts}) == 1
    assert [receipt.duplicate for receipt in receipts].count(False) == 1
    assert len(await store.open_turns()) == 1
    assert (await store.conversations())[0].turns == 1


async def test_a_conversation_is_called_like_its_first_message(store, make):
    await store.ingest(make.incoming("t1", "a", message={"text": ""}))
    await store.ingest(make.incoming("t2", "a", text="Buy\n  bread " + "and butter " * 50))
    await store.ingest(make.incoming("t3", "a", text="later"))
    await store.ingest(make.incoming("t4", "b", message={"kind": "event"}))
    titles = {found.key: found.title for found in await store.conversations()}
    assert titles["a"].startswith("Buy bread and butter") and len(titles["a"]) <= 80
    assert titles["b"] == ""


@pytest.mark.parametrize("message", [{"x": float("nan")}, {"x": object()}, {"x": b"bytes"}])
async def test_what_is_no_json_is_refused_and_nothing_is_kept(store, make, message):
    with pytest.raises(StoreError, match=r"message can't be kept, it is no JSON") as raised:
        await store.ingest(make.incoming("t1", message=message))
    assert raised.value.fix is not None
    assert await store.conversations() == []
