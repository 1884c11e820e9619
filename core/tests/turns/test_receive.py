"""What comes in is kept before anybody is told, and gets one turn."""

from __future__ import annotations

from dataclasses import replace

import anyio
import pytest

from pegboard.contracts.errors import StoreError
from pegboard.contracts.wire import CALLER, INBOUND
from pegboard.conversations.key import ConversationKey
from pegboard.testing.model import Call

pytestmark = pytest.mark.anyio


async def test_a_received_message_is_kept_before_anybody_is_told(bench, owner) -> None:
    receipt = await bench.receive("Hi", thread="t")
    record = await bench.store.turn(receipt.ref.turn)
    assert (record.state, record.ref.seq, receipt.duplicate) == ("queued", 1, False)
    assert record.ref.key == "chat/1/t"
    assert INBOUND.read(record.message).text == "Hi"
    assert CALLER.read(record.caller) == owner


async def test_it_is_answered_by_whoever_runs_next(make_bench, tmp_path, chat_channel) -> None:
    first = make_bench(folder=tmp_path / "home")
    await first.receive("Hi")
    await first.close()
    second = make_bench(folder=tmp_path / "home", name="b")
    channel = chat_channel()
    second.script("Hello!")
    with second.channels.named("chat", channel):
        second.serve()
        await second.idle()
    assert channel.texts == ["Hello!"]
    assert channel.sent[0].in_reply_to == "m1"
    assert await second.history() == [("user", "Hi"), ("assistant", "Hello!")]


async def test_a_message_handed_in_five_times_at_once_gets_one_turn(bench, live_channel) -> None:
    bench.script("Hello!")
    channel, outcomes = live_channel(), []

    async def run() -> None:
        outcomes.append(await bench.run("Hi", channel=channel, external_id="same"))

    async with anyio.create_task_group() as tasks:
        for _ in range(5):
            tasks.start_soon(run)
    assert [(outcome.status, outcome.text) for outcome in outcomes] == [("done", "Hello!")] * 5
    assert channel.texts == ["Hello!"]
    assert len(bench.model.requests) == 1
    assert channel.types().count("turn_finished") == 1


async def test_a_message_that_was_answered_is_answered_from_what_is_kept(bench) -> None:
    bench.script("Hello!")
    await bench.run("Hi", external_id="same")
    outcome = await bench.run("Hi", external_id="same")
    assert (outcome.text, outcome.status) == ("Hello!", "done")
    assert bench.channel.sent == []
    receipt = await bench.receive("Hi", external_id="same")
    assert receipt.duplicate
    assert len(await bench.history()) == 2


async def test_a_failed_one_that_comes_again_has_failed(bench) -> None:
    bench.script("")
    await bench.run("Hi", external_id="same")
    outcome = await bench.run("Hi", external_id="same")
    assert (outcome.status, outcome.error["code"]) == ("failed", "empty_completion")


async def test_who_joins_a_running_turn_does_not_end_it_by_leaving(bench, live_channel) -> None:
    there, go = anyio.Event(), anyio.Event()

    async def wait(turn):
        there.set()
        await go.wait()
        return "ok"

    bench.tools = {"wait": wait}
    bench.script(Call("wait"), "Done.")
    channel, outcomes = live_channel(), []

    async def first() -> None:
        outcomes.append(await bench.run("Go", channel=channel, external_id="same"))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(first)
        await there.wait()
        with anyio.move_on_after(0.05):
            await bench.run("Go", channel=channel, external_id="same")
        go.set()
    assert outcomes[0].text == "Done."


async def test_the_same_number_in_another_chat_is_another_message(bench) -> None:
    bench.script("One.", "Two.")
    await bench.run("Hi", external_id="7")
    assert (await bench.run("Hi", external_id="7", chat="2")).text == "Two."


async def test_messages_without_a_number_are_different_messages(bench) -> None:
    bench.script("One.", "Two.")
    await bench.run("Hi", external_id="")
    assert (await bench.run("Hi", external_id="")).text == "Two."


async def test_received_messages_are_answered_in_order(bench, chat_channel) -> None:
    channel = chat_channel()
    bench.script(*[lambda request: f"re {request.messages[-1].text}"] * 20)
    with bench.channels.named("chat", channel):
        for n in range(10):
            for chat in ("1", "2"):
                await bench.receive(str(n), channel=channel, chat=chat)
        bench.serve()
        await bench.idle()
    for chat in ("1", "2"):
        texts = [message.text for message in channel.sent if message.chat == chat]
        assert texts == [f"re {n}" for n in range(10)]


async def test_what_can_not_be_kept_was_not_received(bench) -> None:
    await bench.store.aclose()
    with pytest.raises(StoreError):
        await bench.receive("Hi")
    with pytest.raises(StoreError):
        await bench.run("Hi")
    assert bench.runner._live._turns == {}


async def test_a_command_is_answered_and_not_kept(bench, live_channel) -> None:
    channel = live_channel(slash_commands=True)
    receipt = await bench.receive("/help", channel=channel)
    assert receipt.ref.seq == 0
    assert "/stop" in channel.texts[0]
    assert await bench.store.open_turns() == []


async def test_a_named_agent_has_its_own_conversation(bench, owner) -> None:
    bench.script("One.", "Two.")
    await bench.run("Hi")
    await bench.run("Hi", caller=replace(owner, agent="research"))
    key = ConversationKey("chat", "1", agent="research")
    assert bench.turns[1].key == key
    assert len(bench.model.requests[1].messages) == 3
    assert [c.agent for c in await bench.store.conversations()] == ["research", "main"]


async def test_a_turn_is_left_to_who_reaches_its_chat(make_bench, tmp_path, chat_channel) -> None:
    here = make_bench(folder=tmp_path / "home")
    here.everything = False
    here.serve()
    await anyio.sleep(0.02)
    receipt = await here.receive("Hi")
    await anyio.sleep(0.05)
    record = await here.store.turn(receipt.ref.turn)
    assert (record.state, record.fence) == ("queued", 0)


async def test_two_hosts_on_one_store_answer_each_message_once(
    make_bench, tmp_path, chat_channel
) -> None:
    channel = chat_channel()
    hosts = [make_bench(folder=tmp_path / "home", name=name) for name in ("a", "b")]
    for host in hosts:
        host.model.answers = None
        host.script(*[lambda request: f"re {request.messages[-1].text}"] * 20)
    outcomes = []

    async def say(host, n) -> None:
        outcomes.append(await host.run(str(n), channel=channel, external_id=f"x{n}"))

    async with anyio.create_task_group() as tasks:
        for n in range(6):
            tasks.start_soon(say, hosts[n % 2], n)
    assert sorted(outcome.text for outcome in outcomes) == [f"re {n}" for n in range(6)]
    assert sorted(channel.texts) == [f"re {n}" for n in range(6)]
    said = [text for role, text in await hosts[0].history() if role == "user"]
    answered = [text for role, text in await hosts[0].history() if role == "assistant"]
    assert answered == [f"re {text}" for text in said]
