"""What a turn that is taken up by another host must know of what the first one did."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from pegboard.contracts.hook_events import ModelCalled
from pegboard.policy.spend_limits import Held as Room
from pegboard.testing.model import Call
from pegboard.turns.handler import GIVEN_UP

pytestmark = pytest.mark.anyio


class Gate:
    """Something that a turn waits in, for ever."""

    def __init__(self) -> None:
        self.there = anyio.Event()

    async def wait(self, *_: Any) -> Any:
        self.there.set()
        await anyio.sleep_forever()


async def test_a_message_sent_beside_is_known_to_who_takes_the_turn_up(
    make_bench, tmp_path, chat_channel
) -> None:
    """The tool that sent it is not run again, and the turn still closes silently."""
    gate = Gate()

    async def send(turn):
        await turn.reply.send(turn.reply.message("A picture."))
        return "sent"

    first = make_bench(folder=tmp_path / "home")
    first.tools = {"send": send, "wait": gate.wait}
    first.script([Call("send"), Call("wait")])
    channel = chat_channel()
    with first.channels.named("chat", channel):
        receipt = await first.receive(channel=channel)
        first.serve()
        await gate.there.wait()
        await first.close()
    second = make_bench(folder=tmp_path / "home", name="b")
    second.tools = {"send": lambda turn: "sent", "wait": lambda turn: "ok"}  # as recorded
    second.script("")
    with second.channels.named("chat", channel):
        second.serve()
        await second.idle()
    assert channel.texts == ["A picture."]
    assert (await second.store.turn(receipt.ref.turn)).state == "done"
    marker = "[Answered by an action beside this conversation.]"
    assert (await second.history())[-1] == ("assistant", marker)


async def test_of_a_message_that_went_in_part_the_turn_knows(make_bench, chat_channel) -> None:
    class Breaks(chat_channel):
        async def send(self, message):
            if self.sent:
                raise OSError("gone")
            return await super().send(message)

    async def send(turn):
        try:
            await turn.reply.send(turn.reply.message("one two three four"))
        except OSError:
            return "it broke"

    bench = make_bench()
    bench.tools = {"send": send}
    bench.script(Call("send"), "")
    channel = Breaks(max_chars=10)
    outcome = await bench.run(channel=channel)
    assert len(channel.texts) == 1
    assert outcome.status == "done"


async def test_a_notice_of_the_host_is_no_answer(make_bench, chat_channel) -> None:
    """Where no event is shown it is a message, and still nothing that the agent has done."""

    class Held:
        """Limits that tell of themselves, once."""

        async def held(self, caller, message, now, *, turn):
            told, self.told = getattr(self, "told", False), True
            return None if told else Room(until=now, sentence="Wait a moment.")

        async def admit(self, *facts):
            return None

        async def spent(self, *facts):
            return None

    bench = make_bench()
    bench.runner.services.limits = Held()
    bench.script("")
    outcome = await bench.run(channel=chat_channel())
    assert bench.channel.texts[0] == "Wait a moment."
    assert outcome.error["code"] == "empty_completion"


async def test_a_turn_all_of_whose_steps_are_recorded_knows_its_tokens(
    make_bench, make_hooks, tmp_path, chat_channel
) -> None:
    """Its host ended before the reply was written: no model is asked again, none counted again."""
    gate = Gate()
    first = make_bench(folder=tmp_path / "home", hooks=make_hooks())
    first.tools = {"look": lambda turn: "7"}
    first.script(Call("look"), "Seven.")
    transform = first.hooks.transform

    async def hang(hook, event):
        return await (gate.wait() if hook == "pegboard_message_out" else transform(hook, event))

    first.hooks.transform = hang
    channel = chat_channel()
    with first.channels.named("chat", channel):
        await first.receive(channel=channel)
        first.serve()
        await gate.there.wait()
        await first.close()
    spent = [event.usage for event in first.hooks.observed if isinstance(event, ModelCalled)]
    second = make_bench(folder=tmp_path / "home", name="b", hooks=make_hooks())
    second.tools = first.tools
    ended = []
    with second.channels.named("chat", channel):
        second.serve()
        await second.idle()
        ended = [e for e in second.hooks.observed if type(e).__name__ == "TurnEnded"]
    assert channel.texts == ["Seven."]
    assert second.model.requests == []
    assert not [event for event in second.hooks.observed if isinstance(event, ModelCalled)]
    assert (await second.store.transcript("chat/1")).tokens == spent[-1].input + spent[-1].output
    assert [(event.usage.input, event.usage.output) for event in ended] == [
        (sum(usage.input for usage in spent), sum(usage.output for usage in spent))
    ]


async def test_that_a_turn_is_given_up_is_told_also_when_a_host_dies_before_that(
    make_bench, tmp_path, chat_channel
) -> None:
    home = tmp_path / "home"
    first = make_bench(folder=home)
    receipt = await first.receive("Hi")
    for _ in range(4):  # the last of them was to tell it
        begun = await first.store.begin(receipt.ref.turn, now=0.0, max_attempts=3)
        first.store._attempts.clear()
    assert begun.given_up
    await first.close()
    channel = chat_channel()
    second = make_bench(folder=home, name="b")
    second.script("Fine.")
    with second.channels.named("chat", channel):
        await second.receive("Next", channel=channel)
        second.serve()
        await second.idle()
    assert channel.texts == [GIVEN_UP, "Fine."]
    record = await second.store.turn(receipt.ref.turn)
    assert (record.state, record.error["code"]) == ("dead", "turn_dead")
    # what ended its hosts may be the request: it is not shown to a model again
    assert await second.history() == [("user", "Next"), ("assistant", "Fine.")]


async def test_a_reply_that_is_written_is_sent_also_when_its_turn_is_given_up(
    make_bench, tmp_path, chat_channel
) -> None:
    home, gate = tmp_path / "home", Gate()

    class Hangs(chat_channel):
        async def send(self, message):
            return await (gate.wait() if self.sent else super().send(message))

    first = make_bench(folder=home, max_attempts=1)
    first.script("one two three four five six")
    channel = Hangs(max_chars=20)
    with first.channels.named("chat", channel):
        receipt = await first.receive(channel=channel)
        first.serve()
        await gate.there.wait()
        await first.close()
    dying = make_bench(folder=home, name="b")
    await dying.store.begin(receipt.ref.turn, now=0.0, max_attempts=1)
    dying.store._attempts.clear()
    await dying.close()
    rest = chat_channel(max_chars=20, deduplicates=True)
    last = make_bench(folder=home, name="c", max_attempts=1)
    with last.channels.named("chat", rest):
        last.serve()
        await last.idle()
    assert " ".join([*channel.texts, *rest.texts]) == "one two three four five six"
    assert (await last.store.turn(receipt.ref.turn)).state == "done"
