"""Turns that are taken up again: handed on, suspended, given up."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from typing import Any

import anyio
import pytest

from pegboard.contracts.approval import Answer, Suspended
from pegboard.contracts.channel import TurnOutcome
from pegboard.contracts.errors import StoreError
from pegboard.contracts.hook_events import TurnBegan, TurnEnded
from pegboard.contracts.result import Suspend, ToolResult
from pegboard.contracts.turn import Incoming
from pegboard.conversations.key import ConversationKey
from pegboard.testing.model import Call
from pegboard.turns.handler import GIVEN_UP

pytestmark = pytest.mark.anyio
KEY = ConversationKey("chat", "1")


async def test_a_turn_that_runs_when_its_host_ends_is_handed_on(
    make_bench, tmp_path, chat_channel
) -> None:
    there = anyio.Event()

    async def wait(turn):
        there.set()
        await anyio.sleep_forever()

    first = make_bench(folder=tmp_path / "home")
    first.tools = {"wait": wait}
    first.script(Call("wait"))
    channel = chat_channel()
    with first.channels.named("chat", channel):
        receipt = await first.receive("Hi", channel=channel)
        first.serve()
        await there.wait()
        await first.close()
    second = make_bench(folder=tmp_path / "home", name="b")
    record = await second.store.turn(receipt.ref.turn)
    assert (record.state, record.attempts) == ("queued", 0)
    second.tools = {"wait": lambda turn: "7"}
    second.script("Seven.")
    with second.channels.named("chat", channel):
        second.serve()
        await second.idle()
    assert channel.texts == ["Seven."]
    # the model was not asked again what it had answered
    assert len(second.model.requests) == 1
    assert second.model.requests[0].messages[-1].results[0].text == "7"


async def test_a_turn_that_has_time_ends_before_its_host_does(make_bench, chat_channel) -> None:
    bench, there = make_bench(), anyio.Event()

    async def wait(turn):
        there.set()
        await anyio.sleep(0.05)
        return "ok"

    bench.tools = {"wait": wait}
    bench.script(Call("wait"), "Done.")
    channel = chat_channel()
    with bench.channels.named("chat", channel):
        await bench.receive("Hi", channel=channel)
        bench.serve()
        await there.wait()
        await bench.close(grace_s=5.0)
    assert channel.texts == ["Done."]


class Question:
    """An approver whose answer comes later."""

    def __init__(self) -> None:
        self.answer: bool | None = None
        self.asked = 0

    def __call__(self, turn: Any) -> Any:
        async def approve(call: Any, asked: Suspend) -> Answer:
            self.asked += 1
            if self.answer is None:
                raise Suspended(turn.begun.turn.received_at + 60)
            return Answer(self.answer)

        return approve


@pytest.mark.parametrize("restart", [False, True])
async def test_a_turn_that_waits_for_a_person_goes_on_with_their_word(
    make_bench, tmp_path, live_channel, restart
) -> None:
    question, ran = Question(), []

    def careful(turn):
        if question.answer is None:
            return ToolResult(control=Suspend("Really?"))
        ran.append("careful")
        return "done it"

    def tools(bench):
        bench.tools = {"look": lambda turn: ran.append("look") or "seen", "careful": careful}

    bench = make_bench(folder=tmp_path / "home", approver=question)
    tools(bench)
    bench.script([Call("look"), Call("careful")], "All done.")
    channel = live_channel()
    with ExitStack() as opened:
        opened.enter_context(bench.channels.named("chat", channel))
        receipt = await bench.receive("Hi", channel=channel)
        bench.serve()

        async def waits() -> bool:
            return (await bench.store.turn(receipt.ref.turn)).state == "waiting"

        await bench.until(waits)
        await bench.until(lambda: bench.runner.active == ())
        assert channel.texts == []
        if restart:
            await bench.close()
            bench = make_bench(folder=tmp_path / "home", name="b", approver=question)
            tools(bench)
            bench.script("All done.")
            opened.enter_context(bench.channels.named("chat", channel))
            bench.serve()
        question.answer = True
        assert await bench.store.wake(receipt.ref.turn)
        await bench.engine.poke("chat/1")
        await bench.idle()
    assert channel.texts == ["All done."]
    assert (await bench.store.turn(receipt.ref.turn)).state == "done"
    if not restart:
        # who watched all the time was told of each call once
        calls = [event.type for event in channel.events if event.type.startswith("tool_")]
        assert calls.count("tool_started") == 2
        assert calls.count("tool_finished") == 2
        assert channel.types().count("turn_started") == 1
        observed = [type(event) for event in bench.hooks.observed]
        assert (observed.count(TurnBegan), observed.count(TurnEnded)) == (1, 1)
    assert channel.types().count("turn_finished") == 1


async def test_who_waits_for_a_suspended_turn_waits_on(make_bench, live_channel) -> None:
    question = Question()

    def careful(turn):
        return ToolResult(control=Suspend("Really?")) if question.answer is None else "done it"

    bench = make_bench(approver=question)
    bench.tools = {"careful": careful}
    bench.script(Call("careful"), "All done.")
    outcomes = []

    async def run() -> None:
        outcomes.append(await bench.run(channel=live_channel()))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run)
        await bench.until(lambda: question.asked)
        question.answer = True
        await anyio.sleep(0.02)
        await bench.store.wake("turn-1")
        await bench.engine.poke("chat/1")
    assert outcomes[0].text == "All done."


async def test_cancelling_who_waits_for_a_suspended_turn_ends_it(make_bench, live_channel) -> None:
    question = Question()
    bench = make_bench(approver=question)
    bench.tools = {"careful": lambda turn: ToolResult(control=Suspend("Really?"))}
    bench.script(Call("careful"))
    with anyio.move_on_after(0.1):
        await bench.run(channel=live_channel())
    await bench.idle()
    assert (await bench.store.turn("turn-1")).state == "cancelled"
    assert "was stopped" in (await bench.history())[-1][1]


async def test_a_turn_that_kills_its_host_each_time_is_given_up_and_told_once(
    make_bench, tmp_path, chat_channel
) -> None:
    home = tmp_path / "home"
    first = make_bench(folder=home)
    receipt = await first.receive("Hi")
    for _ in range(3):  # begun, and then the host is gone without a word
        begun = await first.store.begin(receipt.ref.turn, now=0.0, max_attempts=3)
        first.store._attempts.clear()
        assert begun.turn.state == "running"
    await first.close()
    channel = chat_channel()
    second = make_bench(folder=home, name="b")
    second.script("Fine.")
    with second.channels.named("chat", channel):
        await second.receive("Next", channel=channel)
        second.serve()
        await second.until(lambda: len(channel.texts) == 2)
    assert channel.texts == [GIVEN_UP, "Fine."]
    assert (await second.store.turn(receipt.ref.turn)).state == "dead"
    await second.close()
    third = make_bench(folder=home, name="c")
    with third.channels.named("chat", channel):
        third.serve()
        await anyio.sleep(0.05)
    assert len(channel.texts) == 2


async def test_who_watches_a_turn_that_is_given_up_learns_of_it(make_bench, live_channel) -> None:
    bench = make_bench()
    receipt = await bench.receive("Hi", external_id="same")
    for _ in range(3):
        await bench.store.begin(receipt.ref.turn, now=0.0, max_attempts=3)
        bench.store._attempts.clear()
    channel = live_channel()
    with bench.channels.named("chat", channel):
        outcome = await bench.run("Hi", channel=channel, external_id="same")
    assert (outcome.status, outcome.error["code"]) == ("failed", "turn_dead")
    assert channel.types() == ["turn_started", "turn_finished"]
    assert channel.texts == []


async def test_a_turn_that_nobody_can_read_fails_and_the_next_one_runs(bench, chat_channel) -> None:
    incoming = Incoming(
        turn="bad",
        key=KEY.text,
        channel="chat",
        chat="1",
        message={"v": 99, "text": "of a newer host"},
        caller={"v": 1},
        at=0.0,
    )
    await bench.store.ingest(incoming)
    bench.script("Fine.")
    channel = chat_channel()
    with bench.channels.named("chat", channel):
        outcome = await bench.run("Next", channel=channel)
    assert outcome.text == "Fine."
    record = await bench.store.turn("bad")
    assert (record.state, record.error["code"]) == ("failed", "wire_invalid")


async def test_a_guard_is_not_asked_again_about_a_message_it_let_in(
    make_bench, make_hooks, tmp_path, live_channel
) -> None:
    judged, there = [], anyio.Event()
    hooks = make_hooks(pegboard_message_guard=lambda event: judged.append(event.message.text))

    async def wait(turn):
        there.set()
        await anyio.sleep_forever()

    first = make_bench(folder=tmp_path / "home", hooks=hooks)
    first.tools = {"wait": wait}
    first.script(Call("wait"))
    channel = live_channel()
    with first.channels.named("chat", channel):
        await first.receive("Hi", channel=channel)
        first.serve()
        await there.wait()
        await first.close()
    second = make_bench(folder=tmp_path / "home", name="b", hooks=hooks)
    second.tools = {"wait": lambda turn: "7"}
    second.script("Seven.")
    with second.channels.named("chat", channel):
        second.serve()
        await second.idle()
    assert judged == ["Hi"]
    assert channel.texts == ["Seven."]


async def test_a_full_disk_hands_the_turn_back_and_it_is_answered_later(
    bench, chat_channel, monkeypatch
) -> None:
    finish, failures = bench.store.finish, [StoreError("The disk is full.")]

    async def full(*args, **facts):
        if failures:
            raise failures.pop()
        return await finish(*args, **facts)

    monkeypatch.setattr(bench.store, "finish", full)
    bench.script("Hello!")
    channel = chat_channel()
    outcome = await bench.run(channel=channel)
    assert (outcome.text, channel.texts) == ("Hello!", ["Hello!"])
    assert len(bench.model.requests) == 1
    assert len(await bench.history()) == 2


async def test_a_fault_before_the_attempt_hands_the_turn_back(bench, caplog) -> None:
    faults = [RuntimeError("no lease")]

    @contextmanager
    def leased(caller):
        if faults:
            raise faults.pop()
        yield caller

    bench.runner.services.leased = leased
    bench.script("Hello!")
    assert (await bench.run()).text == "Hello!"
    assert "no lease" in caplog.text


async def test_who_comes_when_the_host_is_stopping_is_told_and_answered_by_the_next(
    make_bench, tmp_path, chat_channel
) -> None:
    first = make_bench(folder=tmp_path / "home")
    first.serve()
    await anyio.sleep(0.01)
    first.runner.hand_on()
    await first.engine.close(0.0)
    stopping = TurnOutcome(text="", status="cancelled", error={"code": "host_stopped"})
    first.runner.let_go(stopping)
    assert await first.run("Hi") == stopping
    await first.store.aclose()
    second = make_bench(folder=tmp_path / "home", name="b")
    second.script("Hello!")
    channel = chat_channel()
    with second.channels.named("chat", channel):
        second.serve()
        await second.idle()
    assert channel.texts == ["Hello!"]
