from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import anyio
import pytest

from pegboard.agent.compaction import SUMMARY_HEAD, CompactionError
from pegboard.contracts.caller import Caller
from pegboard.contracts.errors import BudgetError
from pegboard.contracts.message import CallResult, InboundMessage, Message, ToolCall, tool_message
from pegboard.contracts.provider import ProviderError
from pegboard.contracts.result import Text
from pegboard.contracts.stream import Noticed, StreamEvent
from pegboard.contracts.turn import Begun, Incoming
from pegboard.contracts.wire import MESSAGE
from pegboard.providers.route import Hop, ModelAttempt, Route
from pegboard.store.embedded import EmbeddedStore, open_store
from pegboard.testing.clock import FakeClock
from pegboard.testing.model import Fail, ScriptedModel
from pegboard.turns import compaction
from pegboard.turns.commands import ChatCommands, CommandCall
from pegboard.turns.compaction import CompactCommand, CompactionSettings, Compactor, past_turns

pytestmark = pytest.mark.anyio

WINDOW = 10_000
KEY = "chat/1"
FULL = 9_000
SUMMARY = "<summary>They paint a boat.</summary>"


class Talk:
    """A conversation in a real store, a model, and a compactor between them."""

    def __init__(self, store: EmbeddedStore) -> None:
        self.store = store
        self.clock = FakeClock(auto=True)
        self.events: list[StreamEvent] = []
        self.attempts: list[ModelAttempt] = []
        self.compactor = Compactor(store, self.clock)
        self._turns = 0
        self.script()

    def script(self, *answers: object, context: int = WINDOW) -> ScriptedModel:
        self.model = ScriptedModel(answers, context=context)  # type: ignore[arg-type]
        self.route = Route([Hop(name="model", provider=self.model)], clock=self.clock)
        return self.model

    def settle(self, **settings: object) -> None:
        self.compactor = Compactor(self.store, self.clock, CompactionSettings(**settings))  # type: ignore[arg-type]

    async def emit(self, event: StreamEvent) -> None:
        self.events.append(event)

    async def attempt(self, attempt: ModelAttempt) -> None:
        self.attempts.append(attempt)

    async def turn(
        self, *messages: Message, tokens: int | None = None, words: int = 400, key: str = KEY
    ) -> None:
        self._turns += 1
        turn = f"turn-{self._turns:03}"
        asked = f"request {self._turns} " + "word " * words
        said = messages or (Message.of("user", asked), Message.of("assistant", "done"))
        await self.store.ingest(
            Incoming(turn=turn, key=key, channel="chat", chat="1", message={}, caller={}, at=1.0)
        )
        begun = await self.store.begin(turn, now=1.0, max_attempts=3)
        assert isinstance(begun, Begun)
        await self.store.finish(
            turn,
            begun.turn.fence,
            state="done",
            now=2.0,
            messages=[MESSAGE.write(message) for message in said],
            tokens=tokens,
        )

    async def turns(self, count: int, *, tokens: int) -> None:
        for _ in range(count - 1):
            await self.turn()
        await self.turn(tokens=tokens)

    async def preflight(self, **facts: object) -> bool:
        return await self.compactor.preflight(
            KEY,
            self.route,
            self.emit,
            on_attempt=self.attempt,
            **facts,  # type: ignore[arg-type]
        )

    async def after(self) -> bool:
        return await self.compactor.after(KEY, self.route, self.emit)

    async def now(self) -> str:
        return await self.compactor.now(KEY, self.route)

    async def history(self) -> Sequence[str]:
        transcript = await self.store.transcript(KEY)
        return [
            message.text
            for turn in past_turns(transcript.turns)
            for message in turn.messages
            if message.text
        ]


@pytest.fixture
async def talk(tmp_path: Path) -> AsyncIterator[Talk]:
    store = await open_store(tmp_path)
    yield Talk(store)
    await store.aclose()


async def test_a_full_conversation_is_made_shorter_before_its_next_turn(talk: Talk) -> None:
    model = talk.script(SUMMARY)
    await talk.turns(7, tokens=FULL)
    assert await talk.preflight()
    said = await talk.history()
    assert said[:2] == [SUMMARY_HEAD, "They paint a boat."]
    assert [text[:9] for text in said if text.startswith("request")] == [
        "request 4",
        "request 5",
        "request 6",
        "request 7",
    ]
    assert len(model.requests) == 1
    assert len(talk.attempts) == 1
    assert talk.events == [Noticed(code="compacted", text=compaction.NOTICE)]


async def test_it_is_made_shorter_after_a_turn_in_the_same_way(talk: Talk) -> None:
    talk.script(SUMMARY)
    await talk.turns(7, tokens=FULL)
    assert await talk.after()
    assert (await talk.history())[1] == "They paint a boat."


async def test_what_was_said_stays_readable(talk: Talk) -> None:
    talk.script(SUMMARY)
    await talk.turns(7, tokens=FULL)
    await talk.after()
    assert len(await talk.store.messages(KEY)) == 7


async def test_below_the_threshold_nothing_happens(talk: Talk) -> None:
    await talk.turns(7, tokens=8_499)
    assert not await talk.preflight()
    assert not talk.events


async def test_the_new_message_counts(talk: Talk) -> None:
    talk.script(SUMMARY)
    await talk.turns(7, tokens=8_000)
    assert not await talk.preflight(added=400)
    assert await talk.preflight(added=600)


async def test_a_conversation_without_a_measured_turn_is_left_alone(talk: Talk) -> None:
    assert not await talk.preflight(added=50_000)
    await talk.turn()
    assert not await talk.preflight(added=50_000)


async def test_it_can_be_switched_off(talk: Talk) -> None:
    await talk.turns(7, tokens=FULL)
    talk.settle(enabled=False)
    assert not await talk.preflight()
    assert not await talk.after()


async def test_the_threshold_is_a_setting(talk: Talk) -> None:
    talk.script(SUMMARY)
    await talk.turns(7, tokens=5_000)
    talk.settle(threshold=0.5)
    assert await talk.preflight()


async def test_tokens_counted_before_do_not_trigger_it_again(talk: Talk) -> None:
    model = talk.script(SUMMARY)
    await talk.turns(7, tokens=FULL)
    assert await talk.after()
    assert (await talk.store.transcript(KEY)).tokens is None
    assert not await talk.preflight()
    assert not await talk.after()
    # a turn that ended without a count says nothing either
    await talk.turn(tokens=None)
    assert not await talk.preflight()
    assert len(model.requests) == 1


async def test_the_next_summary_stands_for_the_earlier_one_as_well(talk: Talk) -> None:
    model = talk.script(SUMMARY, "<summary>The boat is blue.</summary>")
    await talk.turns(7, tokens=FULL)
    assert await talk.after()
    await talk.turns(4, tokens=FULL)
    assert await talk.after()
    said = await talk.history()
    assert said[1] == "The boat is blue."
    assert "They paint a boat." not in said
    record = model.requests[1].messages[1].text
    assert json.dumps({"agent": "They paint a boat."}) in record.splitlines()


async def test_after_a_failure_it_waits_for_a_minute(talk: Talk) -> None:
    model = talk.script(Fail("bad_request", "no"), SUMMARY)
    await talk.turns(7, tokens=FULL)
    assert not await talk.after()
    assert not await talk.preflight()
    assert len(model.requests) == 1
    await talk.clock.advance(59)
    assert not await talk.preflight()
    await talk.clock.advance(1)
    assert await talk.preflight()
    assert len(model.requests) == 2


async def test_the_wait_is_for_one_conversation_only(talk: Talk) -> None:
    talk.script(Fail("bad_request", "no"), SUMMARY)
    await talk.turns(7, tokens=FULL)
    for _ in range(7):
        await talk.turn(key="chat/2", tokens=FULL)
    assert not await talk.after()
    assert await talk.compactor.after("chat/2", talk.route, talk.emit)


async def test_a_rate_limit_changes_nothing_in_the_conversation(talk: Talk) -> None:
    talk.script(Fail("rate_limit", "prompt is too long for your context window quota"))
    await talk.turns(7, tokens=FULL)
    before = await talk.history()
    assert not await talk.after()
    assert await talk.history() == before
    assert (await talk.store.transcript(KEY)).tokens == FULL


async def test_an_answer_that_is_no_summary_changes_nothing(talk: Talk) -> None:
    talk.script("What a lovely boat!")
    await talk.turns(7, tokens=FULL)
    before = await talk.history()
    assert not await talk.after()
    assert await talk.history() == before
    assert not talk.events


async def test_whatever_breaks_the_turn_goes_on(talk: Talk) -> None:
    def broken(request: object) -> str:
        raise RuntimeError("this model is broken")

    talk.script(broken)
    await talk.turns(7, tokens=FULL)
    assert not await talk.preflight()


async def test_a_summary_that_takes_too_long_is_given_up(
    talk: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compaction, "SUMMARY_S", 0.05)

    class Stuck(ScriptedModel):
        async def stream(self, request):  # type: ignore[no-untyped-def,override]
            await anyio.sleep_forever()
            yield

    talk.model = Stuck(context=WINDOW)
    talk.route = Route([Hop(name="model", provider=talk.model)], clock=talk.clock)
    await talk.turns(7, tokens=FULL)
    assert not await talk.after()
    with pytest.raises(CompactionError, match="within"):
        await talk.now()


@pytest.mark.parametrize("when", ["preflight", "after", "now"])
async def test_no_summary_is_asked_for_that_may_not_be(talk: Talk, when: str) -> None:
    model = talk.script(SUMMARY)
    for number in range(6):
        await talk.turn(tokens=FULL if number == 5 else None)
    asked: list[tuple[str, str]] = []

    async def admit(provider: str, model: str) -> None:
        asked.append((provider, model))
        raise BudgetError("The budget is used up.")

    if when == "now":
        with pytest.raises(BudgetError):
            await talk.compactor.now(KEY, talk.route, admit=admit)
    else:
        compact = getattr(talk.compactor, when)
        assert not await compact(KEY, talk.route, talk.emit, admit=admit)
    assert asked == [("model", "")]
    assert model.requests == []


async def test_a_cancelled_host_is_no_failure(talk: Talk) -> None:
    class Stuck(ScriptedModel):
        async def stream(self, request):  # type: ignore[no-untyped-def,override]
            await anyio.sleep_forever()
            yield

    talk.model = Stuck(context=WINDOW)
    talk.route = Route([Hop(name="model", provider=talk.model)], clock=talk.clock)
    await talk.turns(7, tokens=FULL)
    with anyio.move_on_after(0.05) as scope:
        await talk.after()
    assert scope.cancelled_caught
    talk.script(SUMMARY)
    assert await talk.after()


async def test_two_at_once_make_it_shorter_once(talk: Talk) -> None:
    model = talk.script(SUMMARY, SUMMARY)
    await talk.turns(7, tokens=FULL)
    done: list[bool] = []

    async def run() -> None:
        done.append(await talk.after())

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run)
        tasks.start_soon(run)
    assert sorted(done) == [False, True]
    assert len(model.requests) == 1


async def test_a_conversation_that_begins_anew_meanwhile_gets_no_summary(talk: Talk) -> None:
    async def anew() -> None:
        await talk.store.new_epoch(KEY, now=3.0)

    class Slow(ScriptedModel):
        async def stream(self, request):  # type: ignore[no-untyped-def,override]
            await anew()
            async for event in super().stream(request):
                yield event

    talk.model = Slow([SUMMARY], context=WINDOW)
    talk.route = Route([Hop(name="model", provider=talk.model)], clock=talk.clock)
    await talk.turns(7, tokens=FULL)
    assert not await talk.after()
    assert await talk.history() == []


async def test_when_a_person_asks_it_is_done_long_before_the_threshold(talk: Talk) -> None:
    talk.script(SUMMARY)
    await talk.turns(3, tokens=2_000)
    assert await talk.now() == compaction.DONE
    said = await talk.history()
    assert said[1] == "They paint a boat."
    assert said[2].startswith("request 3")


async def test_when_a_person_asks_a_backoff_does_not_count(talk: Talk) -> None:
    talk.script(Fail("bad_request", "no"), SUMMARY)
    await talk.turns(7, tokens=FULL)
    assert not await talk.after()
    assert await talk.now() == compaction.DONE


async def test_when_a_person_asks_and_there_is_little_it_says_so(talk: Talk) -> None:
    assert await talk.now() == compaction.NOTHING
    await talk.turn(words=1, tokens=100)
    await talk.turn(words=1, tokens=100)
    assert await talk.now() == compaction.NOTHING


async def test_when_a_person_asks_a_failure_is_told(talk: Talk) -> None:
    talk.script(Fail("auth", "the key is wrong"), "no summary")
    await talk.turns(3, tokens=FULL)
    with pytest.raises(ProviderError, match="the key is wrong"):
        await talk.now()
    with pytest.raises(CompactionError, match="no summary"):
        await talk.now()


async def test_calls_and_results_survive_the_way_through_the_store(talk: Talk) -> None:
    talk.script(SUMMARY)
    step = (
        Message.of("user", "look"),
        Message("assistant", calls=(ToolCall("c1", "look", "{}"), ToolCall("c2", "look", "{}"))),
        tool_message([CallResult(id, "look", (Text("seen"),)) for id in ("c1", "c2")]),
        Message.of("assistant", "a boat"),
    )
    for _ in range(3):
        await talk.turn(words=1_200)
    await talk.turn(*step, tokens=FULL)
    assert await talk.after()
    turns = past_turns((await talk.store.transcript(KEY)).turns)
    assert turns[-1].messages == step


async def test_the_chat_command_is_a_turn_of_its_conversation(talk: Talk) -> None:
    async def route(key: str) -> Route:
        assert key == KEY
        return talk.route

    talk.script(SUMMARY)
    await talk.turns(3, tokens=2_000)
    changed: list[str] = []
    command = CompactCommand(compactor=talk.compactor, route=route, changed=changed.append)
    assert not command.bypass, "else a turn might run meanwhile"
    assert command.operator

    class Here:
        key = KEY

    call = CommandCall(
        argument="",
        caller=Caller(trust="operator"),
        message=InboundMessage(channel="chat", chat="1", sender="ann", text="/compact"),
        conversation=Here(),  # type: ignore[arg-type]
    )
    commands = ChatCommands([command])
    written = commands.parse("/compact", call.caller)
    assert written is not None
    said = await commands.run(written, call.caller, call.message, call.conversation)
    assert said == compaction.DONE
    assert changed == [KEY]


async def test_a_guest_can_not_have_a_conversation_summarised(talk: Talk) -> None:
    async def route(key: str) -> Route:
        return talk.route

    command = CompactCommand(compactor=talk.compactor, route=route, changed=lambda key: None)
    commands = ChatCommands([command])
    written = commands.parse("/compact", Caller())
    assert written is not None
    message = InboundMessage(channel="chat", chat="1", sender="ann", text="/compact")
    said = await commands.run(written, Caller(), message, None)  # type: ignore[arg-type]
    assert said == "Only the owner can use /compact."
