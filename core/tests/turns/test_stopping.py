"""`/stop` and `/new` at every stage of a turn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio
import pytest

from pegboard.contracts.approval import Suspended
from pegboard.contracts.channel import DeliveryError
from pegboard.contracts.result import Suspend, ToolResult
from pegboard.contracts.verdict import Deny
from pegboard.conversations.key import ConversationKey
from pegboard.testing.model import Call, ScriptedModel
from pegboard.turns.own_commands import OwnCommand

pytestmark = pytest.mark.anyio
KEY = ConversationKey("chat", "1")
STOPPED = "The request above was stopped"


class Stage:
    """A turn that is brought to a stage and stays there until something ends it.

    Args:
        make_bench: Makes the bench.
        live_channel: The channel where the reply would go.
    """

    def __init__(self, make_bench: Any, live_channel: Any) -> None:
        self.there = anyio.Event()
        stage = self

        class Channel(live_channel):
            async def send(self, message):
                if message.text.startswith("part"):
                    if len(self.sent) == stage.hang_at_part:
                        await stage.hang()
                    if stage.unreachable:
                        raise DeliveryError("No network.", kind="retry", retry_after=900)
                return await super().send(message)

        self.hang_at_part = -1
        self.unreachable = False
        self.channel = Channel(slash_commands=True, max_chars=32)
        self.suspended = False
        self.bench = make_bench(approver=self.approver)
        self.bench.tools = {
            "send": lambda turn: "sent",
            "wait": lambda turn: self.hang(),
            "careful": lambda turn: ToolResult(control=Suspend("Really?")),
        }
        self.outcomes: list[Any] = []

    async def reach(self, name: str) -> None:
        with anyio.fail_after(5):
            await getattr(self, name)()

    async def hang(self) -> str:
        self.there.set()
        await anyio.sleep_forever()
        return "never"

    def approver(self, turn: Any) -> Callable[..., Any] | None:
        async def approve(call: Any, question: str) -> bool:
            raise Suspended(turn.begun.turn.received_at + 3600)

        return approve if self.suspended else None

    async def model_asked(self) -> None:
        stage = self

        class Slow(ScriptedModel):
            async def stream(self, request):
                if len(self.requests) == 1:
                    await stage.hang()
                async for event in super().stream(request):
                    yield event

        self.bench.model = Slow([[Call("send")]])
        await self.there.wait()

    async def tool_running(self) -> None:
        self.bench.script([Call("send"), Call("wait")])
        await self.there.wait()

    async def waiting_for_a_person(self) -> None:
        self.suspended = True
        self.bench.script([Call("send"), Call("careful")], "Done.")
        await self.bench.until(self._waits)

    async def first_part(self) -> None:
        self.hang_at_part = 0
        self.bench.script([Call("send")], "part one of the answer, part two of the answer")
        await self.there.wait()

    async def second_part(self) -> None:
        self.hang_at_part = 1
        self.bench.script([Call("send")], "part one of the answer,\n\npart two of the answer")
        await self.there.wait()

    async def put_off(self) -> None:
        self.unreachable = True
        self.bench.script([Call("send")], "part one of the answer")
        await self.bench.until(self._waits)

    async def _waits(self) -> bool:
        record = await self.bench.store.turn("turn-1")
        return record is not None and record.state == "waiting"

    async def run(self) -> None:
        self.outcomes.append(await self.bench.run("Do it", channel=self.channel))

    async def command(self, text: str) -> None:
        await self.bench.run(text, channel=self.channel)


STAGES = (
    "model_asked",
    "tool_running",
    "waiting_for_a_person",
    "first_part",
    "second_part",
    "put_off",
)


@pytest.fixture
def stage(make_bench, live_channel) -> Stage:
    return Stage(make_bench, live_channel)


@pytest.mark.parametrize("name", STAGES)
async def test_stop_suppresses_the_reply_and_closes_the_request(stage: Stage, name: str) -> None:
    bench = stage.bench
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(stage.run)
        await stage.reach(name)
        sent = list(stage.channel.texts)
        await stage.command("/stop")
        await bench.until(lambda: stage.outcomes)
    assert stage.outcomes[0].status == "cancelled"
    assert stage.channel.texts == [*sent, "Stopped."]
    assert (await bench.store.turn("turn-1")).state == "cancelled"
    history = await bench.history()
    assert history[0] == ("user", "Do it")
    assert STOPPED in history[-1][1]
    assert ("tool", "") in history  # what it did until then is known
    assert stage.channel.types().count("turn_finished") == 2  # the command's and its own
    stage.unreachable = False
    bench.script("Next.")
    assert (await bench.run("Next", channel=stage.channel)).text == "Next."
    await stage.command("/stop")
    assert stage.channel.texts[-1] == "Nothing is running here."


@pytest.mark.parametrize("name", STAGES)
async def test_new_suppresses_the_reply_and_forgets_the_request(stage: Stage, name: str) -> None:
    bench, queued = stage.bench, []

    async def next_one() -> None:
        queued.append(await bench.run("Next", channel=stage.channel))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(stage.run)
        await stage.reach(name)
        tasks.start_soon(next_one)
        await bench.until(lambda: _open(bench, 2))
        sent = list(stage.channel.texts)
        await stage.command("/new")
        await bench.until(lambda: stage.outcomes and queued)
    assert [stage.outcomes[0].status, queued[0].status] == ["cancelled", "cancelled"]
    assert stage.channel.texts == [*sent, "A new conversation begins here."]
    assert await bench.history() == []
    # what was said stays readable
    said = await bench.store.messages("chat/1")
    assert said[0].messages[0]["role"] == "user"
    stage.unreachable = False
    model = bench.script("Hello!")
    assert (await bench.run("Hi", channel=stage.channel)).text == "Hello!"
    assert [m.role for m in model.requests[0].messages] == ["system", "system", "user"]


async def _open(bench: Any, count: int) -> bool:
    return len(await bench.store.open_turns()) == count


async def test_stop_ends_what_runs_and_what_waits_behind_it_in_order(stage: Stage) -> None:
    bench, others = stage.bench, []

    async def other(text: str) -> None:
        others.append(await bench.run(text, channel=stage.channel))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(stage.run)
        await stage.tool_running()
        for number, text in enumerate(("Second", "Third"), 2):
            tasks.start_soon(other, text)
            await bench.until(lambda number=number: _open(bench, number))
        await stage.command("/stop")
        await bench.until(lambda: len(others) == 2)
        bench.script("Fine.")
        await bench.run("Fourth", channel=stage.channel)
    assert [stage.outcomes[0].status, *(other.status for other in others)] == ["cancelled"] * 3
    assert stage.channel.texts == ["Stopped, and 2 more that waited.", "Fine."]
    said = [(role, text[:30]) for role, text in await bench.history() if role != "tool"]
    stopped = ("assistant", f"[{STOPPED}")
    assert said[2:] == [
        stopped,
        ("user", "Second"),
        stopped,
        ("user", "Third"),
        stopped,
        ("user", "Fourth"),
        ("assistant", "Fine."),
    ]


async def test_stop_of_a_queued_turn_that_was_never_begun(make_bench, live_channel) -> None:
    """All slots are taken by other chats: it ends now all the same."""
    bench, there = make_bench(slots=1), anyio.Event()

    async def wait(turn):
        there.set()
        await anyio.sleep_forever()

    bench.tools = {"wait": wait}
    bench.script(Call("wait"))
    channel, outcomes = live_channel(slash_commands=True), []

    async def run() -> None:
        outcomes.append(await bench.run("Do it", channel=channel))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: bench.run("Other", channel=live_channel(), chat="2"))
        await there.wait()
        with bench.channels.named("chat", channel):
            tasks.start_soon(run)
            await bench.until(lambda: _open(bench, 2))
            await bench.run("/stop", channel=channel)
            await bench.until(lambda: outcomes)
        assert len(await bench.store.open_turns()) == 1
        assert channel.texts == ["Stopped."]
        assert outcomes[0].status == "cancelled"
        assert [role for role, _ in await bench.history()] == ["user", "assistant"]
        assert STOPPED in (await bench.history())[-1][1]
        assert "turn_finished" in channel.types()
        await bench.runner.stop(ConversationKey("chat", "2"))
    assert len(bench.model.requests) == 1


@pytest.mark.parametrize("text", ["/plan", "bad words"])
async def test_a_stopped_turn_keeps_no_command_and_nothing_a_guard_refuses(
    make_bench, make_hooks, live_channel, text
) -> None:
    def guard(event):
        return Deny("Not here.") if event.message.text == "bad words" else None

    plan = OwnCommand(name="plan", summary="", answer=anyio.sleep_forever, bypass=False)
    bench = make_bench(hooks=make_hooks(pegboard_message_guard=guard), further=[plan])
    channel = live_channel(slash_commands=True)
    with bench.channels.named("chat", channel):
        receipt = await bench.receive(text, channel=channel)
        await bench.runner.stop(KEY)
        assert (await bench.store.turn(receipt.ref.turn)).state == "cancelled"
    assert await bench.history() == []


async def test_another_hosts_queued_turns_are_stopped_through_the_store(
    make_bench, tmp_path, live_channel, monkeypatch
) -> None:
    monkeypatch.setattr("pegboard.turns.attempt.LOOK_S", 0.02)
    here = make_bench(folder=tmp_path / "home")
    there = make_bench(folder=tmp_path / "home", name="b")
    there.everything = False  # it reaches none of these chats
    begun = anyio.Event()

    async def wait(turn):
        begun.set()
        await anyio.sleep_forever()

    here.tools = {"wait": wait}
    here.script(Call("wait"))
    outcomes = []

    async def run(text: str) -> None:
        outcomes.append((text, (await here.run(text)).status))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run, "One")
        await begun.wait()
        tasks.start_soon(run, "Two")
        await here.until(lambda: _open(here, 2))
        assert len(await there.runner.stop(KEY)) == 2
    assert outcomes == [("One", "cancelled"), ("Two", "cancelled")]
    assert [text for role, text in await here.history() if role == "user"] == ["One", "Two"]


async def test_who_stops_waiting_for_a_queued_turn_stops_it_also_for_the_next_host(
    make_bench, tmp_path, chat_channel
) -> None:
    first = make_bench(folder=tmp_path / "home")
    first.everything = False
    with anyio.move_on_after(0.05):
        await first.run("Do it")
    assert (await first.store.turn("turn-1")).cancel_asked
    await first.close()
    second = make_bench(folder=tmp_path / "home", name="b")
    channel = chat_channel()
    with second.channels.named("chat", channel):
        second.serve()
        await second.idle()
    assert channel.texts == [] and second.model.requests == []
    assert (await second.store.turn("turn-1")).state == "cancelled"


async def test_a_part_that_was_being_sent_when_it_was_stopped_is_in_doubt(stage: Stage) -> None:
    bench = stage.bench
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(stage.run)
        await stage.first_part()
        await stage.command("/stop")
    assert len(await bench.store.doubtful("chat/1")) == 1


async def test_another_hosts_turn_is_stopped_through_the_store(
    make_bench, tmp_path, live_channel, monkeypatch
) -> None:
    monkeypatch.setattr("pegboard.turns.attempt.LOOK_S", 0.02)
    here = make_bench(folder=tmp_path / "home")
    there = make_bench(folder=tmp_path / "home", name="b")
    begun = anyio.Event()

    async def wait(turn):
        begun.set()
        await anyio.sleep_forever()

    here.tools = {"wait": wait}
    here.script(Call("wait"))
    outcomes = []

    async def run() -> None:
        outcomes.append(await here.run("Do it"))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run)
        await begun.wait()
        assert await there.runner.stop(KEY)
    assert outcomes[0].status == "cancelled"


async def test_an_attempt_that_lost_its_turn_says_nothing_more(
    make_bench, tmp_path, live_channel, monkeypatch
) -> None:
    """The turn is taken over while a tool runs, as after a long pause of the whole process."""
    monkeypatch.setattr("pegboard.turns.attempt.LOOK_S", 0.02)
    bench = make_bench()
    begun = anyio.Event()

    async def wait(turn):
        begun.set()
        await anyio.sleep_forever()

    bench.tools = {"wait": wait}
    bench.script(Call("wait"))
    channel = live_channel()
    with bench.channels.named("chat", channel):
        receipt = await bench.receive("Do it", channel=channel)
        bench.serve()
        await begun.wait()
        fence = (await bench.store.turn(receipt.ref.turn)).fence
        await bench.store.release(receipt.ref.turn, fence)
        taken = await bench.store.begin(receipt.ref.turn, now=0.0, max_attempts=9)
        await bench.until(lambda: not bench.runner.active)
    assert channel.texts == []
    assert "turn_finished" not in channel.types()
    assert await bench.history() == []
    assert (await bench.store.turn(receipt.ref.turn)).fence == taken.turn.fence


async def test_a_stop_that_comes_while_the_turn_begins_is_not_missed(
    make_bench, live_channel, monkeypatch
) -> None:
    monkeypatch.setattr("pegboard.turns.attempt.LOOK_S", 60.0)
    bench = make_bench()
    begin = bench.store.begin

    async def begin_then_stop(turn, **facts):
        monkeypatch.setattr(bench.store, "begin", begin)
        begun = await begin(turn, **facts)
        await bench.runner.stop(KEY)
        return begun

    monkeypatch.setattr(bench.store, "begin", begin_then_stop)
    bench.tools = {"wait": lambda turn: anyio.sleep_forever()}
    bench.script(Call("wait"))
    assert (await bench.run(channel=live_channel())).status == "cancelled"
