"""Questions about calls in a chat: put, answered, kept over a restart, and what comes of them."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Annotated, Any

import anyio
import pytest

from pegboard import (
    Arg,
    Ask,
    MessageGuardEvent,
    Plugin,
    ToolArgumentsEvent,
    ToolContext,
    ToolGuardEvent,
)
from pegboard.contracts.channel import ChannelInfo, Delivery, Inbox
from pegboard.contracts.message import InboundMessage, OutboundMessage
from pegboard.store.audit_log import records, verified
from pegboard.store.sqlite import FILE_NAME, open_for_reading
from pegboard.testing import Call, HostFactory, ScriptedModel
from pegboard.testing.clock import FakeClock
from pegboard.testing.host import HostUnderTest
from pegboard.turns.confirm import NO_SUCH

pytestmark = pytest.mark.anyio

ASK = {"policy.rules": [{"action": "ask", "tool": "send"}]}
SENDERS = {
    "policy.senders": {
        "chat:owner": "admin",
        "chat:second": "operator",
        "chat:guest": "guest",
    }
}
TOKEN = re.compile(r"/confirm ([a-z2-7]{8})`")


class Chat:
    """A chat service: people write into chats, and read what comes."""

    def __init__(self, *, first_id: int = 0, stuck: bool = False, **facts: Any) -> None:
        given = {"surface": "chat", "slash_commands": True, **facts}
        self.info = ChannelInfo(**given)
        self.sent: list[OutboundMessage] = []
        self._inbox: Inbox | None = None
        self._ids = first_id
        self._stuck = stuck

    async def run(self, inbox: Inbox) -> None:
        self._inbox = inbox
        await anyio.sleep_forever()

    async def send(self, message: OutboundMessage) -> Delivery:
        if self._stuck:
            await anyio.sleep_forever()
        self.sent.append(message)
        return Delivery(external_ids=(str(len(self.sent)),))

    async def write(self, text: str, *, sender: str = "owner", chat: str = "1") -> None:
        """Write a message; it was received when this returns."""
        while self._inbox is None:
            await anyio.sleep(0.001)
        self._ids += 1
        await self._inbox.receive(
            InboundMessage(
                channel="chat", chat=chat, sender=sender, text=text, external_id=str(self._ids)
            )
        )

    async def say(self, text: str, *, sender: str = "owner", chat: str = "1") -> str:
        """Write a message and return the next one that comes."""
        count = len(self.sent)
        await self.write(text, sender=sender, chat=chat)
        return await self.next(count)

    async def until(self, text: str) -> None:
        """Wait until a message was sent."""
        with anyio.fail_after(10):
            while text not in [message.text for message in self.sent]:
                await anyio.sleep(0.002)

    async def next(self, count: int | None = None) -> str:
        """Return the message after `count` others."""
        count = len(self.sent) if count is None else count
        with anyio.fail_after(10):
            while len(self.sent) <= count:
                await anyio.sleep(0.002)
        return self.sent[count].text


def mail() -> Plugin:
    plugin = Plugin(summary="Sends mail")
    plugin.sent = []  # type: ignore[attr-defined]

    @plugin.tool(effects={"net_write"}, outside=False)
    async def send(
        ctx: ToolContext,
        to: str,
        text: str = "",
        why: Annotated[str, Arg("What it is for.", remark=True)] = "",
    ) -> str:
        """Send a mail."""
        plugin.sent.append((to, text))  # type: ignore[attr-defined]
        return f"sent to {to}"

    return plugin


def events(world: HostUnderTest, *kinds: str) -> list[tuple[str, ...]]:
    """Return what the audit log holds: kind, rule, outcome, how and sender of each event."""
    with closing(open_for_reading(world.home / "state" / FILE_NAME)) as connection:
        assert verified(connection).broken is None
        found = [json.loads(record.event) for record in records(connection)]
    return [
        (event["kind"], event["rule"], event["outcome"], event["how"], event["sender"])
        for event in found
        if not kinds or event["kind"] in kinds
    ]


@asynccontextmanager
async def running(
    host: HostFactory, plugin: Plugin, script: Any, chat: Chat, **options: Any
) -> AsyncIterator[HostUnderTest]:
    config = {**SENDERS, **options.pop("config", ASK)}
    model = ScriptedModel(script)
    inline = {"mail": plugin, **options.pop("inline", {})}
    async with (
        host(inline=inline, model=model, config=config, **options) as world,
        anyio.create_task_group() as group,
    ):
        group.start_soon(world.host.run_channel, chat)
        yield world
        group.cancel_scope.cancel()


def told(world: HostUnderTest) -> str:
    """Return the last result that the model was given."""
    assert world.model is not None
    return world.model.requests[-1].messages[-1].results[-1].text


def settings(host: HostFactory, text: str) -> Path:
    file = host.home / "config" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text(text)
    return file


def token_in(text: str) -> str:
    found = TOKEN.search(text)
    assert found, text
    return found[1]


async def test_a_call_waits_for_the_word_of_the_owner_and_then_runs(host: HostFactory):
    plugin, chat = mail(), Chat()
    async with running(host, plugin, [Call("send", to="ann"), "Sent."], chat) as world:
        question = await chat.say("Write to Ann")
        assert question.startswith("```\nMay send run?\nsend\n  to: ann\n```\n")
        assert plugin.sent == []
        assert await chat.say(f"/confirm {token_in(question)}") == "Agreed."
        await chat.until("Sent.")
        assert plugin.sent == [("ann", "")]
        assert await chat.say(f"/confirm {token_in(question)}") == NO_SUCH
    assert events(world, "ask", "approval")[:3] == [
        ("ask", "policy.rules[0]", "ask", "", "chat:owner"),
        ("approval", "policy.rules[0]", "allow", "person", "chat:owner"),
        ("approval", "policy.rules[0]", "allow", "", "chat:owner"),
    ]


async def test_a_refused_call_is_not_run_and_the_model_is_told(host: HostFactory):
    plugin, chat = mail(), Chat()
    async with running(host, plugin, [Call("send", to="ann"), "Not sent."], chat) as world:
        question = await chat.say("Write to Ann")
        assert (await chat.say(f"/deny {token_in(question).upper()}")).startswith("Refused.")
        await chat.until("Not sent.")
        assert plugin.sent == []
        assert "did not agree" in told(world)
    assert events(world, "approval") == [
        ("approval", "policy.rules[0]", "deny", "person", "chat:owner")
    ]


async def test_silence_is_a_no(host: HostFactory):
    plugin, chat, clock = mail(), Chat(), FakeClock()
    script = [Call("send", to="ann"), "Not sent."]
    async with running(host, plugin, script, chat, clock=clock) as world:
        question = await chat.say("Write to Ann")
        await clock.advance(59)
        assert len(chat.sent) == 1
        await clock.advance(2)
        await chat.until("Not sent.")
        assert await chat.say(f"/confirm {token_in(question)}") == NO_SUCH
        assert plugin.sent == []
        assert "did not answer in time" in told(world)
    assert events(world, "approval") == [
        ("approval", "policy.rules[0]", "deny", "expired", "chat:owner")
    ]


async def test_a_question_survives_the_end_of_the_host(host: HostFactory):
    plugin, chat = mail(), Chat()
    async with running(host, plugin, [Call("send", to="ann")], chat):
        question = await chat.say("Write to Ann")
    chat = Chat(first_id=10)
    async with running(host, plugin, ["Sent."], chat):
        assert await chat.say(f"/confirm {token_in(question)}") == "Agreed."
        await chat.until("Sent.")
        assert len(chat.sent) == 2
    assert plugin.sent == [("ann", "")]


async def test_a_question_that_did_not_reach_the_person_is_put_by_the_next_host(host: HostFactory):
    plugin, chat = mail(), Chat(stuck=True)
    async with running(host, plugin, [Call("send", to="ann")], chat) as world:
        await chat.write("Write to Ann")
        with anyio.fail_after(5):
            while not await world.host.turns.services.store.approvals():
                await anyio.sleep(0.002)
    chat = Chat(first_id=10)
    async with running(host, plugin, ["Sent."], chat):
        question = await chat.next(0)
        await chat.say(f"/confirm {token_in(question)}")
        await chat.until("Sent.")
    assert plugin.sent == [("ann", "")]


async def test_an_answer_that_came_while_no_host_ran_the_chat_is_found(host: HostFactory):
    plugin, chat = mail(), Chat()
    async with running(host, plugin, [Call("send", to="ann")], chat) as world:
        question = await chat.say("Write to Ann")
        store = world.host.turns.services.store
    async with running(host, plugin, [], Chat(surface="other")) as world:
        store = world.host.turns.services.store
        (pending,) = await store.approvals()
        now = world.host.options.clock.now()
        token = token_in(question)
        await store.answer(pending.key, token, agreed=True, grain="once", by="x", now=now)
    chat = Chat()
    async with running(host, plugin, ["Sent."], chat):
        await chat.until("Sent.")
    assert plugin.sent == [("ann", "")]


async def test_a_token_counts_only_in_its_conversation_and_only_for_an_owner(host: HostFactory):
    plugin, chat = mail(), Chat()
    async with running(host, plugin, [Call("send", to="ann"), "Sent."], chat):
        question = await chat.say("Write to Ann")
        token = token_in(question)
        assert await chat.say(f"/confirm {token}", chat="2") == NO_SUCH
        assert await chat.say(f"/deny {token}", chat="2") == NO_SUCH
        assert await chat.say("/confirm aaaaaaaa") == NO_SUCH
        for word in (f"/confirm {token}", f"/deny {token}", "/confirm aaaaaaaa"):
            assert await chat.say(word, sender="guest") == NO_SUCH
        assert plugin.sent == []
        assert await chat.say(f"/confirm {token}", sender="second") == "Agreed."
        await chat.until("Sent.")


async def test_what_is_no_token_or_no_grain_is_explained(host: HostFactory):
    plugin, chat = mail(), Chat()
    async with running(host, plugin, [Call("send", to="ann"), "Sent."], chat):
        token = token_in(await chat.say("Write to Ann"))
        assert "TOKEN" in await chat.say("/confirm")
        assert "once, run, always" in await chat.say(f"/confirm {token} forever")
        assert "once, run, always" in await chat.say(f"/confirm {token} run again")
        assert await chat.say(f"/confirm {token} once") == "Agreed."
        await chat.until("Sent.")


async def test_a_yes_for_the_run_counts_for_the_same_call_again(host: HostFactory):
    plugin, chat, clock = mail(), Chat(), FakeClock()

    async def later(ctx: ToolContext) -> str:
        """Let time pass."""
        await clock.advance(100)
        return "later"

    plugin.tool(effects={"read"}, outside=False)(later)
    script = [
        Call("send", to="ann"),
        Call("later"),
        Call("send", to="ann"),
        Call("send", to="bob"),
        "Sent.",
    ]
    async with running(host, plugin, script, chat, clock=clock) as world:
        token = token_in(await chat.say("Write to Ann"))
        count = len(chat.sent)
        await chat.say(f"/confirm {token} run")
        other = await chat.next(count + 1)
        assert "to: bob" in other
        assert plugin.sent == [("ann", ""), ("ann", "")]
        await chat.say(f"/confirm {token_in(other)}")
        await chat.until("Sent.")
    assert ("approval", "policy.rules[0]", "allow", "run", "chat:owner") in events(world)


@pytest.mark.parametrize("agreed", [True, False])
async def test_an_answer_counts_for_a_minute_in_its_conversation(host: HostFactory, agreed: bool):
    plugin, chat, clock = mail(), Chat(), FakeClock()
    call = Call("send", to="ann")
    script = [call, "One.", call, "Two.", call, "Three.", call]
    async with running(host, plugin, script, chat, clock=clock) as world:
        token = token_in(await chat.say("Write to Ann"))
        await chat.say(f"/{'confirm' if agreed else 'deny'} {token}")
        await chat.until("One.")
        assert await chat.say("Once more") == "Two."
        assert len(plugin.sent) == (2 if agreed else 0)
        if not agreed:
            assert "has just refused exactly this call" in told(world)
        assert token_in(await chat.say("And here", chat="2")) != token
        await clock.advance(61)
        await chat.until("Three.")
        assert token_in(await chat.say("Now?")) != token
    outcome = "allow" if agreed else "deny"
    assert ("approval", "policy.rules[0]", outcome, "cache", "chat:owner") in events(world)


async def test_a_yes_for_good_is_written_as_a_rule_and_counts_at_once(host: HostFactory):
    plugin, chat, clock = mail(), Chat(), FakeClock()
    file = settings(
        host,
        """
# nobody writes to Bob
[[policy.rules]]
action = "deny"
arguments = { to = "bob" }

# all else is asked
[[policy.rules]]
action = "ask"
tool = "send"

[agent]
max_steps = 9  # enough
""",
    )
    mail_to_ann = {"to": "ann", "text": 'a "quoted" [text] *'}
    call = Call("send", **mail_to_ann, why="she asked")
    again = Call("send", **mail_to_ann, why="she asked again")
    script = [call, "One.", again, "Two.", Call("send", to="bob"), "No.", Call("send", to="ann")]
    async with running(host, plugin, script, chat, clock=clock, config={}) as world:
        question = await chat.say("Write to Ann")
        token = token_in(question)
        assert f"/confirm {token} always" in question
        assert "she asked" not in question
        refused = await chat.say(f"/confirm {token} always", sender="second")
        assert refused.startswith("Only an admin")
        assert (await chat.say(f"/confirm {token} always")).startswith("Agreed, from now on.")
        await chat.until("One.")
        await clock.advance(100)
        assert await chat.say("Once more") == "Two."
        assert await chat.say("And to Bob") == "No."
        assert "operator refuses" in told(world)
        assert "to: ann" in await chat.say("Another one to Ann")
    text = file.read_text()
    assert '# all else is asked\n[[policy.rules]]\naction = "ask"' in text
    assert "max_steps = 9  # enough" in text
    rules = tomllib.loads(text)["policy"]["rules"]
    assert [rule["action"] for rule in rules] == ["deny", "allow", "ask"]
    assert rules[1] == {
        "action": "allow",
        "tool": "mail:send",
        "trust": "operator",
        "exact": {"to": "ann", "text": 'a "quoted" [text] *'},
    }
    assert plugin.sent == [("ann", 'a "quoted" [text] *')] * 2
    assert ("control_plane", "control_plane", "allow", "always", "chat:owner") in events(world)
    async with running(host, plugin, [again, "Three."], Chat(), config={}):
        assert len(plugin.sent) == 2


async def test_a_yes_can_not_be_for_good_where_the_rules_are_set_elsewhere(host: HostFactory):
    plugin, chat = mail(), Chat()
    async with running(host, plugin, [Call("send", to="ann"), "Sent."], chat) as world:
        token = token_in(await chat.say("Write to Ann"))
        await chat.say(f"/confirm {token} always")
        await chat.until("Sent.")
        assert any("command line" in message.text for message in chat.sent)
        assert plugin.sent == [("ann", "")]
        assert not (world.home / "config" / "config.toml").exists()


async def test_the_question_of_a_guard_goes_the_same_way_and_names_its_plugin(host: HostFactory):
    plugin, chat, careful = mail(), Chat(), Plugin(summary="Asks")

    @careful.hook
    def pegboard_tool_guard(event: ToolGuardEvent) -> Ask | None:
        return Ask("Is Ann a friend?") if event.arguments.get("to") == "ann" else None

    script = [Call("send", to="ann"), "Sent."]
    inline = {"careful": careful}
    async with running(host, plugin, script, chat, config={}, inline=inline) as world:
        question = await chat.say("Write to Ann")
        assert question.startswith("```\nIs Ann a friend? (asked by the plugin careful)\n")
        token = token_in(question)
        assert "always" not in question
        assert (await chat.say(f"/confirm {token} always")).startswith("This is asked each time")
        await chat.say(f"/confirm {token}")
        await chat.until("Sent.")
    assert {event[1] for event in events(world)} == {"guard:careful"}


async def test_a_word_is_about_the_call_as_hooks_leave_it(host: HostFactory):
    plugin, chat, changing = mail(), Chat(), Plugin(summary="Changes")
    texts = ["one", "two"]

    @changing.hook
    def pegboard_tool_arguments(event: ToolArgumentsEvent) -> dict[str, Any]:
        return {**event.arguments, "text": texts[0]}

    inline = {"changing": changing}
    async with running(host, plugin, [Call("send", to="ann"), "Sent."], chat, inline=inline):
        first = await chat.say("Write to Ann")
        assert "text: one" in first
        texts.pop(0)
        count = len(chat.sent)
        await chat.say(f"/confirm {token_in(first)}")
        second = await chat.next(count + 1)
        assert "text: two" in second
        assert plugin.sent == []
        await chat.say(f"/confirm {token_in(second)}")
        await chat.until("Sent.")
    assert plugin.sent == [("ann", "two")]


async def test_calls_of_one_step_are_each_asked_about(host: HostFactory):
    plugin, chat = mail(), Chat()
    both = [Call("send", to="ann"), Call("send", to="bob")]
    async with running(host, plugin, [both, "Done."], chat):
        first = await chat.say("Write to both")
        assert "to: ann" in first
        count = len(chat.sent)
        await chat.say(f"/deny {token_in(first)}")
        second = await chat.next(count + 1)
        await chat.say(f"/confirm {token_in(second)}")
        await chat.until("Done.")
    assert plugin.sent == [("bob", "")]


async def test_calls_that_need_not_wait_for_each_other_share_one_question(host: HostFactory):
    plugin, chat, seen = mail(), Chat(), []

    async def look(ctx: ToolContext, at: str) -> str:
        """Look."""
        seen.append(at)
        return "seen"

    plugin.tool(effects={"net_read"}, outside=False)(look)
    step = [Call("look", at="a"), Call("look", at="a"), Call("look", at="b")]
    config = {"policy.rules": [{"action": "ask", "effect": "net_read"}]}
    async with running(host, plugin, [step, "Done."], chat, config=config):
        await chat.write("Look")
        first, second = await chat.next(0), await chat.next(1)
        assert "at: a" in first
        assert "at: b" in second
        await chat.say(f"/confirm {token_in(second)}")
        await chat.say(f"/confirm {token_in(first)}")
        await chat.until("Done.")
        assert len([text for text in chat.sent if TOKEN.search(text.text)]) == 2
    assert sorted(seen) == ["a", "a", "b"]


async def test_equal_calls_of_one_step_share_one_question(host: HostFactory):
    plugin, chat = mail(), Chat()
    both = [Call("send", to="ann"), Call("send", to="ann")]
    async with running(host, plugin, [both, "Done."], chat):
        question = await chat.say("Write twice")
        await chat.say(f"/confirm {token_in(question)}")
        await chat.until("Done.")
    assert len(plugin.sent) == 2


async def test_work_in_the_background_is_answered_from_its_chat(host: HostFactory):
    plugin, chat = mail(), Chat()
    async with running(host, plugin, [Call("send", to="ann"), "Sent."], chat):
        await chat.write("/background Write to Ann")
        words = [await chat.next(0), await chat.next(1)]
        (question,) = [text for text in words if TOKEN.search(text)]
        assert await chat.say(f"/confirm {token_in(question)}", chat="2") == NO_SUCH
        await chat.say(f"/confirm {token_in(question)}")
        await chat.until("Sent.")
    assert plugin.sent == [("ann", "")]


async def test_a_channel_that_can_ask_puts_the_question_itself(host: HostFactory):
    plugin = mail()
    script = [Call("send", to="ann"), Call("send", to="bob"), "Done."]
    model = ScriptedModel(script)
    async with host(inline={"mail": plugin}, model=model, config=ASK) as world:
        world.desk.answers = [True, False]
        assert (await world.ask("Write to both")).text == "Done."
        assert [question.count("\n") for question in world.desk.questions] == [2, 2]
    assert plugin.sent == [("ann", "")]
    assert events(world, "approval") == [
        ("approval", "policy.rules[0]", "allow", "person", "local:person"),
        ("approval", "policy.rules[0]", "allow", "", "local:person"),
        ("approval", "policy.rules[0]", "deny", "person", "local:person"),
    ]


@pytest.mark.parametrize("facts", [{"attended": False}, {"live_reply": False}])
async def test_where_nobody_can_be_asked_the_tool_is_not_even_offered(
    host: HostFactory, facts: dict[str, bool]
):
    plugin, chat = mail(), Chat(**facts)
    async with running(host, plugin, ["I can't."], chat) as world:
        await chat.write("Write to Ann")
        await chat.until("I can't.")
        assert world.model is not None
        assert "send" not in [tool.name for tool in world.model.requests[0].tools]


async def test_where_the_operator_said_that_nobody_is_there_nobody_is_asked(host: HostFactory):
    plugin, chat = mail(), Chat()
    config = {**ASK, "autonomy.profile": "unattended"}
    async with running(host, plugin, [Call("send", to="a"), "No."], chat, config=config) as world:
        assert await chat.say("Write to Ann") == "No."
        assert "nobody is there" in told(world)
    assert plugin.sent == []


async def test_on_a_channel_without_commands_and_questions_the_answer_is_no(host: HostFactory):
    plugin, chat = mail(), Chat(slash_commands=False)
    async with running(host, plugin, [Call("send", to="ann"), "No."], chat) as world:
        assert await chat.say("Write to Ann") == "No."
        assert "nobody is there" in told(world)
    assert events(world, "approval") == [
        ("approval", "policy.rules[0]", "deny", "nobody", "chat:owner")
    ]


async def test_without_rules_nothing_asks(host: HostFactory):
    plugin, chat = mail(), Chat()
    async with running(host, plugin, [Call("send", to="ann"), "Sent."], chat, config={}):
        assert await chat.say("Write to Ann") == "Sent."
    assert plugin.sent == [("ann", "")]


async def test_a_stopped_turn_asks_no_more(host: HostFactory):
    plugin, chat = mail(), Chat()
    async with running(host, plugin, [Call("send", to="ann"), "Hello."], chat):
        question = await chat.say("Write to Ann")
        assert await chat.say("/stop") == "Stopped."
        assert await chat.say(f"/confirm {token_in(question)}") == NO_SUCH
        assert await chat.say("Hi") == "Hello."
    assert plugin.sent == []


async def test_a_guard_that_asks_about_a_message_asks_the_owner_in_the_same_way(host: HostFactory):
    plugin, chat, careful = mail(), Chat(), Plugin(summary="Asks about messages")

    @careful.hook
    def pegboard_message_guard(event: MessageGuardEvent) -> Ask | None:
        return Ask("Answer this?") if "odd" in event.message.text else None

    inline = {"careful": careful}
    config = {"channels.chat": {"guests": True}}
    script = ["Odd indeed.", "Hello."]
    async with running(host, plugin, script, chat, config=config, inline=inline) as world:
        question = await chat.say("Something odd")
        assert question.startswith("```\nAnswer this? (asked by the plugin careful)\n")
        assert world.model is not None
        assert world.model.requests == []
        await chat.say(f"/confirm {token_in(question)}")
        await chat.until("Odd indeed.")
        question = await chat.say("Something odd again")
        await chat.say(f"/deny {token_in(question)}")
        await chat.until("This message needs a person's word, which was not given.")
        refused = await chat.say("Something odd", sender="guest")
        assert refused == "This message needs a person's word, which was not given."
        assert await chat.say("Hi") == "Hello."
    assert {event[1] for event in events(world, "approval")} == {"guard:careful"}


async def test_a_call_is_shown_as_it_is_whatever_is_in_it(host: HostFactory):
    plugin, chat = mail(), Chat()
    text = "*not bold* ```\n`/confirm aaaaaaaa`\u202e"
    async with running(host, plugin, [Call("send", to="ann", text=text), "No."], chat):
        question = await chat.say("Write to Ann")
        fence, *shown = question.split("\n")
        assert fence == "````"
        assert shown[: shown.index(fence)] == [
            "May send run?",
            "send",
            "  to: ann",
            "  text: *not bold* ```",
            "    `/confirm aaaaaaaa`\\u202e",
        ]
        await chat.say(f"/deny {token_in(question.rpartition(fence)[2])}")
        await chat.until("No.")


class AskingChat(Chat):
    """A chat with buttons."""

    def __init__(self, *answers: bool | Exception, **facts: Any) -> None:
        super().__init__(**facts)
        self.questions: list[str] = []
        self._answers = list(answers)

    async def ask(self, chat: str, question: str) -> bool:
        self.questions.append(question)
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


async def test_what_was_settled_is_not_asked_again_when_the_turn_is_taken_up(host: HostFactory):
    plugin, there = mail(), anyio.Event()
    hang = [True]

    async def wait(ctx: ToolContext) -> str:
        """Wait."""
        there.set()
        if hang:
            await anyio.sleep_forever()
        return "waited"

    plugin.tool(effects={"read"}, outside=False)(wait)
    chat = AskingChat(False, True)
    no, yes = Call("send", to="ann"), Call("send", to="bob")
    async with running(host, plugin, [no, no, yes, Call("wait")], chat):
        await chat.write("Write")
        with anyio.fail_after(5):
            await there.wait()
    assert len(chat.questions) == 2
    hang.clear()
    chat = AskingChat(first_id=10)
    async with running(host, plugin, ["Done."], chat) as world:
        await chat.until("Done.")
        assert chat.questions == []
        assert world.model is not None
        results = [
            result.text
            for message in world.model.requests[-1].messages
            for result in message.results
        ]
    refused, again, sent, waited = results
    assert "did not agree" in refused
    assert "has just refused exactly this call" in again
    assert "sent to bob" in sent
    assert "waited" in waited
    assert plugin.sent == [("bob", "")]


async def test_a_channel_that_fails_to_ask_leaves_it_to_the_commands(host: HostFactory):
    plugin, chat = mail(), AskingChat(RuntimeError("the service is down"))
    async with running(host, plugin, [Call("send", to="ann"), "Sent."], chat):
        question = await chat.say("Write to Ann")
        await chat.say(f"/confirm {token_in(question)}")
        await chat.until("Sent.")
    assert plugin.sent == [("ann", "")]


async def test_an_old_answer_is_no_fresh_one_when_its_turn_is_taken_up(host: HostFactory):
    plugin, chat, clock = mail(), Chat(), FakeClock()
    later = [Call("send", to="bob"), "Done.", Call("send", to="ann"), "Well."]
    async with running(host, plugin, [Call("send", to="ann"), *later], chat, clock=clock):
        first = await chat.say("Write to both")
        count = len(chat.sent)
        await chat.say(f"/deny {token_in(first)}")
        second = await chat.next(count + 1)
        await clock.advance(61)  # nobody answers, so that the turn is taken up once more
        await chat.until("Done.")
        assert token_in(second) != token_in(first)
        third = await chat.say("Once more to Ann")
        assert token_in(third) not in (token_in(first), token_in(second))
    assert plugin.sent == []
