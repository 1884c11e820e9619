"""Replies: written first, sent once, in doubt where nobody knows."""

from __future__ import annotations

import anyio
import pytest

from pegboard.contracts.channel import Delivery, DeliveryError
from pegboard.contracts.stream import Noticed
from pegboard.testing.model import Call
from pegboard.turns import attempt

pytestmark = pytest.mark.anyio
UNKNOWN = ConnectionError("the line went dead")


async def test_a_reply_is_written_before_it_is_sent_and_kept_after(bench, chat_channel) -> None:
    class Looking(chat_channel):
        async def send(self, message):
            begun = await bench.store.begun("turn-1")
            self.seen = [(part.state, part.message["text"]) for part in begun.outbox]
            self.kept = await bench.history()
            return await super().send(message)

    bench.script("Hello!")
    await bench.run(channel=Looking())
    assert bench.channel.seen == [("sending", "Hello!")]
    assert bench.channel.kept == []
    assert len(await bench.history()) == 2


async def test_a_reply_in_doubt_is_told_with_the_next_one(bench, chat_channel) -> None:
    channel = chat_channel()
    channel.raises = UNKNOWN
    bench.script("The first answer.", "Two.", "Three.")
    outcome = await bench.run(channel=channel)
    assert (outcome.status, outcome.error["code"]) == ("failed", "delivery_in_doubt")
    # the model knows what it said: it may have been read
    assert await bench.history() == [("user", "Hi"), ("assistant", "The first answer.")]
    assert len(await bench.store.doubtful("chat/1")) == 1
    await bench.run()
    (text,) = bench.channel.texts
    assert text == (
        "(It is not certain that this earlier reply reached you: The first answer.)\n\nTwo."
    )
    assert (await bench.history())[-1] == ("assistant", "Two.")
    await bench.run()
    assert bench.channel.texts == ["Three."]


async def test_where_events_are_shown_a_reply_in_doubt_is_one_notice(
    bench, chat_channel, live_channel
) -> None:
    channel = chat_channel(max_chars=20)
    channel.raises = UNKNOWN
    bench.script("word " * 20, "Two.")
    await bench.run(channel=channel)
    await bench.run(channel=live_channel())
    (notice,) = [event for event in bench.channel.events if isinstance(event, Noticed)]
    assert notice.code == "reply_in_doubt"
    assert "earlier messages reached you; the first: word word" in notice.text
    assert bench.channel.texts == ["Two."]
    assert await bench.store.doubtful("chat/1") == []


async def test_doubt_about_one_chat_is_not_told_in_another(bench, chat_channel) -> None:
    channel = chat_channel()
    channel.raises = UNKNOWN
    bench.script("Secret.", "Two.")
    await bench.run(channel=channel)
    await bench.run(chat="2")
    assert bench.channel.texts == ["Two."]


async def test_a_reply_that_can_not_go_now_goes_later(bench, chat_channel) -> None:
    channel = chat_channel()
    channel.raises = DeliveryError("No network.", kind="retry")
    bench.script("Hello!", "Two.")
    outcomes = []

    async def run() -> None:
        outcomes.append(await bench.run(channel=channel))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run)

        async def waits() -> bool:
            return (await bench.store.turn("turn-1")).state == "waiting"

        await bench.until(lambda: bench.clock.now() and channel.raises and waits())
        channel.raises = None
        await bench.clock.advance(600)
        await bench.store.wake("turn-1")
        await bench.engine.poke("chat/1")
    assert outcomes[0].text == "Hello!"
    assert channel.texts == ["Hello!"]
    assert len(bench.model.requests) == 1
    assert await bench.store.doubtful() == []


async def test_a_reply_that_can_not_go_for_an_hour_is_given_up(bench, chat_channel) -> None:
    class Down(chat_channel):
        async def send(self, message):
            await bench.clock.advance(attempt.PUT_OFF_S)
            raise DeliveryError("No network.", kind="retry")

    bench.script("Hello!")
    outcome = await bench.run(channel=Down())
    assert (outcome.status, outcome.error["code"]) == ("failed", "delivery_failed")
    assert "could not be delivered" in (await bench.history())[-1][1]


async def test_once_a_reply_is_written_nothing_changes_it(
    make_bench, make_hooks, tmp_path, chat_channel
) -> None:
    """A host ends between two parts; the next one sends the rest and asks nobody anything."""

    class Ends(chat_channel):
        async def send(self, message):
            if self.sent:
                await anyio.sleep_forever()
            return await super().send(message)

    first = make_bench(folder=tmp_path / "home")
    first.tools = {"count": lambda turn: "7"}
    first.script([Call("count")], "one two three four five six")
    channel = Ends(max_chars=20)
    with first.channels.named("chat", channel):
        await first.receive("Hi", channel=channel)
        first.serve()
        await first.until(lambda: channel.sent)
        await anyio.sleep(0.02)
        await first.close()
    second = make_bench(folder=tmp_path / "home", name="b", hooks=make_hooks())
    second.refuse = AssertionError("nothing is to be asked")
    rest = chat_channel(max_chars=20, deduplicates=True)
    with second.channels.named("chat", rest):
        second.serve()
        await second.idle()
    assert " ".join([*channel.texts, *rest.texts]) == "one two three four five six"
    assert second.model.requests == []
    roles = [role for role, _ in await second.history()]
    assert roles == ["user", "assistant", "tool", "assistant"]


async def test_a_part_that_was_being_sent_when_the_host_ended_is_in_doubt(
    make_bench, tmp_path, chat_channel
) -> None:
    class Hangs(chat_channel):
        async def send(self, message):
            self.tried = True
            await anyio.sleep_forever()

    first = make_bench(folder=tmp_path / "home")
    first.script("Hello!")
    channel = Hangs()
    channel.tried = False
    with first.channels.named("chat", channel):
        await first.receive("Hi", channel=channel)
        first.serve()
        await first.until(lambda: channel.tried)
        await first.close()
    second = make_bench(folder=tmp_path / "home", name="b")
    rest = chat_channel()
    with second.channels.named("chat", rest):
        second.serve()
        await second.idle()
    assert rest.texts == []
    assert (await second.store.turn("turn-1")).state == "failed"
    (part,) = await second.store.doubtful("chat/1")
    assert part.message["text"] == "Hello!"


async def test_what_a_hook_raises_on_the_way_out_ends_the_turn_and_not_the_queue(
    make_bench, make_hooks, caplog
) -> None:
    def crash(event):
        if event.message.text == "One.":
            raise RuntimeError("hook")

    bench = make_bench(hooks=make_hooks(pegboard_message_out=crash))
    bench.script("One.", "Two.")
    outcome = await bench.run()
    assert (outcome.status, outcome.error["code"]) == ("failed", "internal")
    assert (await bench.run()).text == "Two."


async def test_a_channel_that_returns_nothing_has_sent(bench, chat_channel) -> None:
    class Careless(chat_channel):
        async def send(self, message):
            await super().send(message)

    bench.script("Hello!")
    assert (await bench.run(channel=Careless())).status == "done"


async def test_the_channels_ids_are_kept(bench, chat_channel) -> None:
    class Numbered(chat_channel):
        async def send(self, message):
            await super().send(message)
            return Delivery(external_ids=("a", "b"))

    bench.script("Hello!")
    await bench.run(channel=Numbered())
    (part,) = (await bench.store.begun("turn-1")).outbox
    assert (part.state, part.external_ids) == ("sent", ("a", "b"))
