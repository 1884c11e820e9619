"""Long conversations and long runs in a real host."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pegboard import ChannelInfo, OutputLimits, Plugin
from pegboard.contracts.channel import Delivery
from pegboard.contracts.message import InboundMessage
from pegboard.testing import Call, ScriptedModel

pytestmark = pytest.mark.anyio

SUMMARY = "<summary>They paint a boat.</summary>"
RECORD = "The record, one JSON object a line"
PAGE = "\n".join(f"line {number} of the page" for number in range(120))


class Counting(ScriptedModel):
    """A model that counts all that it reads, as a provider does."""

    def _done(self, request, text, calls):
        done = super()._done(request, text, calls)
        read = sum(len(result.text) for item in request.messages for result in item.results)
        return replace(done, usage=replace(done.usage, input=done.usage.input + read // 4))


class Chat:
    """A channel that shows no events."""

    def __init__(self) -> None:
        self.info = ChannelInfo(surface="chat", local=True, slash_commands=True)
        self.texts: list[str] = []

    async def run(self, inbox) -> None:
        return None

    async def send(self, message) -> Delivery:
        self.texts.append(message.text)
        return Delivery()


def pages() -> Plugin:
    plugin = Plugin(summary="Pages")

    @plugin.tool(effects={"read"})
    async def page(number: int) -> str:
        """Return a page."""
        return f"page {number}\n{PAGE}"

    return plugin


def asked(model: ScriptedModel, place: int) -> str:
    return "\n".join(message.text for message in model.requests[place].messages)


def summing(context: int = 3_000) -> ScriptedModel:
    """Return a model that writes a summary when it is asked for one."""

    def answer(request) -> str:
        return SUMMARY if RECORD in request.messages[-1].text else "answer"

    return ScriptedModel([answer], repeat=True, context=context)


def summaries(model: ScriptedModel) -> int:
    return sum(RECORD in request.messages[-1].text for request in model.requests)


async def test_a_long_conversation_goes_on_from_its_summary(host) -> None:
    # a turn takes about 450 tokens, and the system message some as well
    model = summing()
    async with host("sandbox-local", model=model) as running:
        for number in range(7):
            await running.ask(f"request {number} " + "word " * 350)
        assert summaries(model) == 1
        last = asked(model, -1)
        assert "They paint a boat." in last
        assert "request 0" not in last
        assert "request 5" in last
        notices = [event for event in running.recorder.stream if event.type == "notice"]
        assert [event.code for event in notices] == ["compacted"]


async def test_where_no_events_are_shown_one_line_tells_of_it(host) -> None:
    model, chat = summing(), Chat()
    async with host("sandbox-local", model=model) as running:
        for number in range(7):
            text = f"request {number} " + "word " * 350
            message = InboundMessage(channel="chat", chat="1", sender="ann", text=text)
            await running.host.submit(message, chat)
        await running.host.drain(5.0)
    assert summaries(model) == 1
    assert chat.texts.count("answer") == 7
    (notice,) = [text for text in chat.texts if text != "answer"]
    assert "replaced by a summary" in notice


async def test_a_person_has_a_conversation_made_shorter(host) -> None:
    model = ScriptedModel(["answer"] * 3 + [SUMMARY, "Blue."])
    chat = Chat()
    async with host("sandbox-local", model=model) as running:

        async def say(text: str) -> str:
            message = InboundMessage(channel="chat", chat="1", sender="ann", text=text)
            await running.host.submit(message, chat)
            return chat.texts[-1]

        assert "There is not enough" in await say("/compact")
        for number in range(3):
            await say(f"request {number} " + "word " * 350)
        (kept,) = await running.host.parts.store.conversations()
        assert kept.title.startswith("request 0 word")  # and not the command
        assert "was made shorter" in await say("/compact")
        await say("What colour?")
        assert "They paint a boat." in asked(model, 4)
        assert "request 0" not in asked(model, 4)
        assert "/compact" in await say("/help")


async def test_summaries_can_be_switched_off(host) -> None:
    model = ScriptedModel(["answer"] * 8, context=3_000)
    config = {"compaction.enabled": False}
    async with host("sandbox-local", model=model, config=config) as running:
        for number in range(8):
            await running.ask(f"request {number} " + "word " * 350)
    assert len(model.requests) == 8


async def test_a_long_run_reads_back_what_was_shortened(host) -> None:
    def recall(request) -> Call:
        shortened = [
            result
            for message in request.messages
            for result in message.results
            if result.text.startswith("[Shortened by the host")
        ]
        assert shortened
        return Call("tool_result_recall", call_id=shortened[0].call_id, query="line 77 ")

    calls = [Call("page", number=number) for number in range(6)]
    model = Counting([*calls, recall, "done"], context=4_000)
    # no more than it takes: the tools that are declared count as well
    config = {"tools.allowed": ["page", "tool_result_recall"]}
    async with host("sandbox-local", inline={"pages": pages()}, model=model, config=config) as it:
        outcome = await it.ask("Read all of them.")
    assert (outcome.status, outcome.text) == ("done", "done")
    last = model.requests[-1].messages[-1].results[0]
    assert "line 77 of the page" in last.text
    assert "<<<outside" in last.text, "it came from outside, and is marked again"


def printing() -> Plugin:
    plugin = Plugin(summary="Prints more than a model reads")

    @plugin.tool(effects={"read"}, limits=OutputLimits(chars=500, keep="head"))
    async def long() -> str:
        """Return a long text."""
        return PAGE

    return plugin


async def recalled(running, model: ScriptedModel, call_id: str, **caller) -> str:
    def recall(request) -> Call:
        return Call("tool_result_recall", call_id=call_id, query="line 77 ")

    model._script.extend([recall, "done"])
    message = InboundMessage(channel="test", chat="test", sender="person", text="Look again.")
    who = replace(running.host.local_caller(), **caller)
    await running.host.submit(message, running.desk, caller=who)
    return model.requests[-1].messages[-1].results[0].text


async def test_a_later_turn_reads_back_what_an_earlier_one_was_shown_in_part(host) -> None:
    model = ScriptedModel([Call("long"), "done"])
    async with host("sandbox-local", inline={"printing": printing()}, model=model) as running:
        await running.ask("Print it.")
        (shown,) = model.requests[-1].messages[-1].results
        assert "line 77" not in shown.text
        assert "line 77 of the page" in await recalled(running, model, shown.call_id)
        assert "No shortened result" in await recalled(running, model, "call-99")


async def test_after_a_restart_it_is_still_there(host) -> None:
    model = ScriptedModel([Call("long"), "done"])
    inline = {"printing": printing()}
    async with host("sandbox-local", inline=inline, model=model) as running:
        await running.ask("Print it.")
        (shown,) = model.requests[-1].messages[-1].results
    async with host("sandbox-local", inline=inline, model=model) as running:
        assert "line 77 of the page" in await recalled(running, model, shown.call_id)


async def test_a_digest_of_an_earlier_turn_is_read_back_from_its_record(host) -> None:
    calls = [Call("page", number=number) for number in range(6)]
    model = Counting([*calls, "done"], context=4_000)
    config = {"tools.allowed": ["page", "tool_result_recall"]}
    async with host("sandbox-local", inline={"pages": pages()}, model=model, config=config) as it:
        await it.ask("Read all of them.")
        history = model.requests[-1].messages
        digest = next(
            result
            for message in history
            for result in message.results
            if result.text.startswith("[Shortened by the host")
        )
        text = await recalled(it, model, digest.call_id)
    assert "line 77 of the page" in text
    assert "<<<outside" in text


async def test_a_guest_reads_back_nothing_of_earlier_turns(host) -> None:
    model = ScriptedModel([Call("long"), "done"])
    inline, config = {"printing": printing()}, {"policy.guest_tools": ["tool_result_recall"]}
    async with host("sandbox-local", inline=inline, model=model, config=config) as running:
        await running.ask("Print it.")
        (shown,) = model.requests[-1].messages[-1].results
        text = await recalled(running, model, shown.call_id, trust="guest", admin=False)
        assert "No shortened result" in text
