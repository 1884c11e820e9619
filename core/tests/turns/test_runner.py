from __future__ import annotations

from dataclasses import replace

import anyio
import pytest

from pegboard.agent.prompt import PromptBase
from pegboard.contracts.blob import BlobRef
from pegboard.contracts.channel import DeliveryError
from pegboard.contracts.errors import NoProviderError
from pegboard.contracts.hook_events import ModelCalled, TurnBegan, TurnEnded
from pegboard.contracts.message import Attachment, Message, OutboundMessage
from pegboard.contracts.result import Image, Suspend, Terminate, ToolResult
from pegboard.contracts.stream import Noticed, TurnFinished, TurnStarted
from pegboard.contracts.verdict import Ask, Deny
from pegboard.conversations.key import ConversationKey
from pegboard.testing.model import Call, Fail, ScriptedModel

pytestmark = pytest.mark.anyio
KEY = ConversationKey("chat", "1")


async def test_a_message_is_answered_delivered_and_kept(bench) -> None:
    bench.script("Hello!")
    outcome = await bench.run("Hi", thread="t1")
    assert (outcome.text, outcome.status, outcome.steps, outcome.error) == (
        "Hello!", "done", 1, None,
    )  # fmt: skip
    (sent,) = bench.channel.sent
    assert sent == OutboundMessage(chat="1", thread="t1", text="Hello!", in_reply_to="m1")
    assert [text for _, text in await bench.history(thread="t1")] == ["Hi", "Hello!"]


async def test_the_model_reads_base_date_history_and_message_in_this_order(bench) -> None:
    bench.script("One.", "Two.")
    await bench.run("First?")
    await bench.run("Second?")
    messages = bench.model.requests[1].messages
    assert [m.role for m in messages] == ["system", "system", "user", "assistant", "user"]
    assert messages[1].text.startswith("Today is ")
    assert [m.text for m in messages[2:]] == ["First?", "One.", "Second?"]


async def test_the_date_is_fresh_and_the_base_is_not(bench) -> None:
    bench.script("One.", "Two.")
    await bench.run()
    await bench.clock.advance(3 * 86_400)
    await bench.run()
    first, second = (request.messages for request in bench.model.requests)
    assert first[0] == second[0]
    assert first[1] != second[1]


async def test_calls_and_their_results_are_kept_with_the_turn(bench) -> None:
    bench.tools = {"count": lambda turn: "7"}
    bench.script([Call("count")], "Seven.")
    outcome = await bench.run()
    assert (outcome.steps, outcome.tool_calls, outcome.tool_failures) == (2, 1, 0)
    roles = [role for role, _ in await bench.history()]
    assert roles == ["user", "assistant", "tool", "assistant"]


async def test_a_turn_begins_and_ends_exactly_once(bench, live_channel) -> None:
    bench.script("Hello!")
    await bench.run(channel=live_channel())
    assert bench.channel.types() == [
        "turn_started", "step_started", "text", "usage", "turn_finished",
    ]  # fmt: skip
    started, finished = bench.channel.events[0], bench.channel.events[-1]
    assert started == TurnStarted(turn="turn-1", provider="main", model="m1", trust="operator")
    assert (finished.turn, finished.status, finished.text) == ("turn-1", "done", "Hello!")


async def test_observers_hear_of_the_turn_and_of_every_request(bench) -> None:
    bench.script(Fail("server"), "Hello!")
    await bench.run()
    kinds = [type(event) for event in bench.hooks.observed]
    assert kinds == [TurnBegan, ModelCalled, ModelCalled, TurnEnded]
    began, failed, called, ended = bench.hooks.observed
    assert (began.turn, began.conversation, began.caller.trust) == ("turn-1", "chat/1", "operator")
    assert (failed.provider, failed.error, called.error) == ("main", "server", None)
    assert (ended.status, ended.steps) == ("done", 1)
    assert ended.usage.output > 0


async def test_events_go_to_the_given_sink_too(bench, live_channel) -> None:
    events = []

    async def emit(event) -> None:
        events.append(event)

    bench.script("Hello!")
    await bench.run(channel=live_channel(), emit=emit)
    assert events == bench.channel.events


async def test_a_channel_that_fails_to_show_events_does_not_break_the_turn(bench, live_channel):
    class Broken(live_channel):
        async def stream(self, chat, event):
            self.events.append(event)
            raise RuntimeError("no display")

    bench.script("Hello!")
    outcome = await bench.run(channel=Broken())
    assert outcome.status == "done"
    assert len(bench.channel.events) == 1


# ---- what comes in


async def test_a_hook_changes_the_message_but_not_who_wrote_it(make_bench, make_hooks) -> None:
    def shout(event):
        return replace(event.message, text=event.message.text.upper(), sender="boss", chat="9")

    bench = make_bench(hooks=make_hooks(pegboard_message_in=shout))
    bench.script("Hello!")
    await bench.run("hi")
    (turn,) = bench.turns
    assert (turn.message.text, turn.message.sender, turn.message.chat) == ("HI", "me", "1")
    assert (await bench.history())[0] == ("user", "HI")


async def test_a_guard_judges_the_message_as_the_hooks_left_it(make_bench, make_hooks) -> None:
    judged = []

    def guard(event):
        judged.append(event.message.text)
        return Deny("No shouting.", fix="Write in lower case.")

    hooks = make_hooks(
        pegboard_message_in=lambda event: replace(event.message, text="HI"),
        pegboard_message_guard=guard,
    )
    bench = make_bench(hooks=hooks)
    outcome = await bench.run("hi")
    assert judged == ["HI"]
    assert (outcome.status, outcome.error["code"]) == ("failed", "denied")
    assert bench.channel.texts == ["No shouting. Write in lower case."]
    assert bench.model.requests == []
    assert await bench.history() == []


@pytest.mark.parametrize(("says", "status"), [(True, "done"), (False, "failed")])
async def test_a_guard_may_ask_the_person(make_bench, make_hooks, live_channel, says, status):
    hooks = make_hooks(pegboard_message_guard=lambda event: Ask("Really?"))
    bench = make_bench(hooks=hooks)
    bench.script("Hello!")
    outcome = await bench.run(channel=live_channel(says=says))
    assert bench.channel.questions == ["Really?"]
    assert outcome.status == status


async def test_where_nobody_can_be_asked_a_guards_question_is_a_no(make_bench, make_hooks) -> None:
    bench = make_bench(hooks=make_hooks(pegboard_message_guard=lambda event: Ask("Really?")))
    assert (await bench.run()).error["code"] == "denied"


async def test_an_empty_message_is_answered_without_a_model(bench) -> None:
    outcome = await bench.run("  \n")
    assert outcome.error["code"] == "empty_message"
    assert bench.model.requests == []
    assert await bench.history() == []


async def test_attachments_alone_are_a_message(bench) -> None:
    image = Image(BlobRef("b1", "image/png", 10))
    bench.script("A cat.")
    outcome = await bench.run("", attachments=(Attachment(part=image),))
    assert outcome.text == "A cat."
    assert bench.model.requests[0].messages[-1] == Message("user", (image,))


async def test_a_slash_word_that_is_no_command_reaches_the_model_unchanged(bench, live_channel):
    bench.script("Read.")
    await bench.run("/file_read path=README.md", channel=live_channel(slash_commands=True))
    assert bench.model.requests[0].messages[-1].text == "/file_read path=README.md"


# ---- what goes out


async def test_a_hook_changes_the_reply_but_not_where_it_goes(make_bench, make_hooks) -> None:
    def sign(event):
        return replace(event.message, text=event.message.text + " -- P", chat="9", thread="x")

    bench = make_bench(hooks=make_hooks(pegboard_message_out=sign))
    bench.script("Hello!")
    outcome = await bench.run()
    assert outcome.text == "Hello! -- P"
    assert [(m.text, m.chat, m.thread) for m in bench.channel.sent] == [("Hello! -- P", "1", "")]


async def test_a_hook_changes_the_request(make_bench, make_hooks) -> None:
    hooks = make_hooks(pegboard_model_request=lambda event: replace(event.request, effort="low"))
    bench = make_bench(hooks=hooks)
    bench.script("Hello!")
    await bench.run()
    assert bench.model.requests[0].effort == "low"


async def test_a_long_reply_is_cut_for_the_channel(bench, chat_channel) -> None:
    bench.script("word " * 100)
    await bench.run(channel=chat_channel(max_chars=120))
    assert len(bench.channel.sent) > 4
    assert all(len(text) <= 120 for text in bench.channel.texts)


async def test_attachments_go_with_the_last_piece(make_bench, make_hooks, chat_channel) -> None:
    attachment = Attachment(part=Image(BlobRef("b1", "image/png", 10)))
    hooks = make_hooks(
        pegboard_message_out=lambda event: replace(event.message, attachments=(attachment,))
    )
    bench = make_bench(hooks=hooks)
    bench.script("word " * 30)
    await bench.run(channel=chat_channel(max_chars=100))
    assert [m.attachments for m in bench.channel.sent] == [(), (attachment,)]


async def test_a_reply_that_can_not_be_delivered_is_not_kept_as_an_answer(bench, chat_channel):
    channel = chat_channel()
    channel.raises = DeliveryError("The chat is gone.", kind="gone")
    bench.script("Hello!")
    outcome = await bench.run(channel=channel)
    assert (outcome.status, outcome.error["code"]) == ("failed", "delivery_failed")
    (_, user), (_, marker) = await bench.history()
    assert user == "Hi"
    assert "could not be delivered" in marker


# ---- what goes wrong


async def test_without_a_provider_the_person_reads_what_to_install(bench) -> None:
    bench.refuse = NoProviderError("No provider.", fix="pip install pegboard-provider-offline")
    outcome = await bench.run()
    assert outcome.error == {
        "code": "no_provider",
        "message": "No provider.",
        "fix": "pip install pegboard-provider-offline",
        "exit_code": 5,
    }
    assert bench.channel.texts == ["No provider. pip install pegboard-provider-offline"]
    assert await bench.history() == []


async def test_a_crash_tells_the_person_nothing_of_its_cause_and_the_log_everything(
    bench, caplog
) -> None:
    bench.refuse = RuntimeError("password=hunter2")
    outcome = await bench.run()
    assert (outcome.status, outcome.error["code"]) == ("failed", "internal")
    assert bench.channel.texts == [
        "Something went wrong inside Pegboard, so there is no answer. The log says what."
    ]
    assert "hunter2" not in str(outcome)
    assert "hunter2" in caplog.text
    assert "Traceback" in caplog.text


async def test_a_crash_after_a_tool_ran_keeps_what_was_done(bench, caplog) -> None:
    def broken(turn):
        raise RuntimeError("bug")

    bench.tools = {"send": lambda turn: "sent", "broken": broken}
    bench.script([Call("send"), Call("broken")])
    await bench.run()
    roles = [role for role, _ in await bench.history()]
    assert roles == ["user", "assistant", "tool", "assistant"]
    assert "ended without an answer" in (await bench.history())[-1][1]


async def test_a_usage_limit_is_a_sentence_and_the_cause_stays_visible(bench) -> None:
    bench.script(Fail("rate_limit", retry_after=1806))
    outcome = await bench.run()
    assert bench.channel.texts == [
        "You have reached the usage limit of Scripted model. Try again in about 31 min."
    ]
    assert outcome.error["kind"] == "rate_limit"
    assert outcome.error["cause"]


async def test_an_overflow_is_not_kept_so_that_the_conversation_can_go_on(bench) -> None:
    bench.script(Fail("context_overflow"))
    await bench.run()
    assert await bench.history() == []
    assert "/new" in bench.channel.texts[0]


async def test_a_channel_that_shows_events_learns_of_a_failure_from_them(bench, live_channel):
    bench.script(Fail("auth", "Wrong key."))
    outcome = await bench.run(channel=live_channel())
    assert bench.channel.sent == []
    (finished,) = [e for e in bench.channel.events if isinstance(e, TurnFinished)]
    assert "Wrong key." in finished.error["message"]
    assert (finished.text, outcome.text) == ("", "")


async def test_the_step_limit_is_told_and_the_work_is_kept(bench) -> None:
    bench.tools = {"count": lambda turn, n: str(n)}
    bench.script(*[Call("count", n=n) for n in range(9)])
    outcome = await bench.run()
    assert (outcome.status, outcome.error["code"], outcome.steps) == ("failed", "step_limit", 5)
    assert "step limit (5 steps)" in bench.channel.texts[0]
    assert (await bench.history())[0] == ("user", "Hi")


# ---- empty and silent turns


async def test_an_empty_completion_is_one_sentence_and_never_stored(bench) -> None:
    bench.script("", "Hello!")
    outcome = await bench.run()
    assert outcome.error["code"] == "empty_completion"
    assert bench.channel.texts == ["I got no answer from the model. Please try again."]
    await bench.run("Again")
    sent = [m.text for m in bench.model.requests[1].messages if m.role == "assistant"]
    assert all(text.strip() for text in sent)


async def test_after_something_was_sent_beside_an_empty_completion_closes_silently(bench) -> None:
    async def send(turn):
        await turn.reply.send(turn.reply.message("A picture."))
        return "sent"

    bench.tools = {"send": send}
    bench.script(Call("send"), "")
    outcome = await bench.run()
    assert (outcome.status, outcome.text, outcome.error) == ("done", "", None)
    assert bench.channel.texts == ["A picture."]
    marker = "[Answered by an action beside this conversation.]"
    assert (await bench.history())[-1] == ("assistant", marker)


async def test_a_tool_that_ends_the_turn_was_the_reply(bench) -> None:
    bench.tools = {"react": lambda turn: ToolResult("ok", control=Terminate())}
    bench.script(Call("react"))
    outcome = await bench.run()
    assert (outcome.status, outcome.text, outcome.steps) == ("done", "", 1)
    assert bench.channel.sent == []
    assert len(await bench.history()) == 4


async def test_what_is_sent_beside_stays_in_this_chat(bench) -> None:
    async def send(turn):
        await turn.reply.send(OutboundMessage(chat="elsewhere", text="psst"))
        return "sent"

    bench.tools = {"send": send}
    bench.script(Call("send"), "Done.")
    await bench.run()
    assert [m.chat for m in bench.channel.sent] == ["1", "1"]


# ---- approvals


def needs_word(turn):
    return ToolResult(control=Suspend("Delete it?"))


async def test_the_present_person_is_asked_and_a_no_does_not_run_it(bench, live_channel) -> None:
    bench.tools = {"delete": needs_word}
    bench.script(Call("delete"), "As you wish.")
    await bench.run(channel=live_channel(says=False))
    assert bench.channel.questions == ["Delete it?"]
    assert "approval_asked" in bench.channel.types()


async def test_nobody_is_asked_for_an_unattended_caller(bench, live_channel, guest) -> None:
    bench.tools = {"delete": needs_word}
    bench.script(Call("delete"), "I may not.")
    outcome = await bench.run(channel=live_channel(), caller=guest)
    assert bench.channel.questions == []
    assert outcome.tool_failures == 1


async def test_silence_is_a_no(make_bench, live_channel) -> None:
    class Silent(live_channel):
        async def ask(self, chat, question):
            await anyio.sleep_forever()

    bench = make_bench(ask_timeout_s=0.05)
    bench.tools = {"delete": needs_word}
    bench.script(Call("delete"), "I may not.")
    outcome = await bench.run(channel=Silent())
    assert (outcome.text, outcome.tool_failures) == ("I may not.", 1)


# ---- order and stopping


async def test_turns_of_a_conversation_run_in_order_and_others_beside_them(bench) -> None:
    running, most, order = 0, 0, []

    async def work(turn):
        nonlocal running, most
        running += 1
        most = max(most, running)
        order.append((turn.message.chat, turn.message.text))
        await anyio.sleep(0.01)
        running -= 1
        return "ok"

    bench.tools = {"work": work}
    bench.model = ScriptedModel(
        [lambda r: Call("work") if r.messages[-1].role == "user" else "Done."] * 20
    )
    async with anyio.create_task_group() as tasks:
        for n in range(5):
            for chat in ("1", "2"):
                tasks.start_soon(lambda n=n, chat=chat: bench.run(str(n), chat=chat))
    for chat in ("1", "2"):
        assert [text for c, text in order if c == chat] == list("01234")
    assert most == 2


async def blocked(bench):
    """Start a turn whose second tool never ends; return when it got there."""
    there = anyio.Event()

    async def wait(turn):
        there.set()
        await anyio.sleep_forever()

    bench.tools = {"send": lambda turn: "sent", "wait": wait}
    bench.script([Call("send"), Call("wait")], "never")
    return there


async def test_stopping_a_turn_suppresses_its_reply_and_closes_its_history(
    bench, live_channel
) -> None:
    there = await blocked(bench)
    channel, outcomes = live_channel(), []

    async def run() -> None:
        outcomes.append(await bench.run("Send it", channel=channel))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run)
        await there.wait()
        assert bench.runner.active == (KEY,)
        assert await bench.runner.stop(KEY)
    assert outcomes[0].status == "cancelled"
    assert channel.sent == []
    assert [e.type for e in channel.events if e.type.startswith("turn_")] == [
        "turn_started",
        "turn_finished",
    ]
    roles = [role for role, _ in await bench.history()]
    assert roles == ["user", "assistant", "tool", "assistant"]
    assert "was stopped" in (await bench.history())[-1][1]
    assert bench.runner.active == ()
    assert not await bench.runner.stop(KEY)


async def test_the_next_turn_knows_what_a_stopped_one_did(bench) -> None:
    there = await blocked(bench)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(bench.run, "Send it")
        await there.wait()
        await bench.runner.stop(KEY)
    model = bench.script("It was sent.")
    await bench.run("And?")
    (tool,) = [m for m in model.requests[0].messages if m.role == "tool"]
    assert [r.text for r in tool.results] == ["sent", "Cancelled"]


async def test_cancelling_the_submitter_cancels_the_turn(bench, live_channel) -> None:
    there = await blocked(bench)
    channel = live_channel()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: bench.run("Send it", channel=channel))
        await there.wait()
        tasks.cancel_scope.cancel()
    assert channel.sent == []
    finished = [e for e in channel.events if isinstance(e, TurnFinished)]
    assert [e.status for e in finished] == ["cancelled"]
    assert "was stopped" in (await bench.history())[-1][1]
    ended = [e for e in bench.hooks.observed if isinstance(e, TurnEnded)]
    assert [e.status for e in ended] == ["cancelled"]


async def test_a_turn_stopped_before_delivery_sends_nothing(make_bench, make_hooks) -> None:
    def stop(event):
        bench.runner._live.get("turn-1").scope.cancel()

    bench = make_bench(hooks=make_hooks(pegboard_message_out=stop))
    bench.script("Hello!")
    outcome = await bench.run()
    assert (outcome.status, bench.channel.sent) == ("cancelled", [])
    assert "was stopped" in (await bench.history())[-1][1]


async def test_the_turn_after_a_stopped_one_runs(bench) -> None:
    there = await blocked(bench)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(bench.run, "Send it")
        await there.wait()
        await bench.runner.stop(KEY)
        bench.script("Fine.")
        tasks.start_soon(bench.run, "Next")
    assert bench.channel.texts == ["Fine."]


async def test_a_message_that_gives_up_waiting_never_becomes_a_turn(bench) -> None:
    there = await blocked(bench)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(bench.run, "Send it")
        await there.wait()
        with anyio.move_on_after(0.02):
            await bench.run("Waiting")
        await bench.runner.stop(KEY)
    assert [turn.message.text for turn in bench.turns] == ["Send it"]


# ---- the workspace and the length of a history


async def test_notices_about_the_workspace_come_once_a_conversation(bench, live_channel, tmp_path):
    (tmp_path / "AGENTS.md").write_bytes(b"x" * 40_000)
    bench.prompt = PromptBase(workspace=tmp_path, trusted=True)
    bench.script("One.", "Two.")
    first, second = live_channel(), live_channel()
    await bench.run(channel=first)
    await bench.run(channel=second)
    assert [e.code for e in first.events if isinstance(e, Noticed)] == ["workspace_docs"]
    assert [e for e in second.events if isinstance(e, Noticed)] == []


async def test_dropping_old_turns_is_told(make_bench, live_channel) -> None:
    bench = make_bench(history_limits={"max_messages": 2})
    bench.script("One.", "Two.")
    await bench.run()
    await bench.run(channel=live_channel())
    notices = [e.code for e in bench.channel.events if isinstance(e, Noticed)]
    assert notices == ["history_trimmed"]
    assert len(await bench.runner.history.messages("chat/1")) == 2
    assert len(await bench.history()) == 4  # nothing is lost of it


# ---- whose word counts


async def test_a_guest_is_not_asked_to_agree_to_their_own_message(
    make_bench, make_hooks, live_channel, guest
) -> None:
    bench = make_bench(hooks=make_hooks(pegboard_message_guard=lambda event: Ask("Really?")))
    present = replace(guest, attended=True, live_reply=True)
    outcome = await bench.run(channel=live_channel(), caller=present)
    assert outcome.error["code"] == "denied"
    assert bench.channel.questions == []


async def test_a_guest_is_not_asked_to_agree_to_a_call(bench, live_channel, guest) -> None:
    bench.tools = {"delete": needs_word}
    bench.script(Call("delete"), "I may not.")
    present = replace(guest, attended=True, live_reply=True)
    outcome = await bench.run(channel=live_channel(), caller=present)
    assert bench.channel.questions == []
    assert outcome.tool_failures == 1


async def test_the_results_of_a_turn_that_a_tool_ended_are_kept_though_nothing_was_delivered(
    bench, chat_channel
) -> None:
    channel = chat_channel()
    channel.raises = DeliveryError("The chat is gone.", kind="gone")
    bench.tools = {"react": lambda turn: ToolResult("reacted", control=Terminate())}
    bench.script(["Look:", Call("react")])
    await bench.run(channel=channel)
    messages = await bench.runner.history.messages("chat/1")
    assert [message.role for message in messages] == ["user", "assistant", "tool", "assistant"]
    assert messages[2].results[0].text == "reacted"


async def test_half_a_character_from_a_channel_reaches_no_provider(bench) -> None:
    bench.script("Hello!")
    await bench.run("half \udcff")
    assert bench.model.requests[0].messages[-1].text == "half \ufffd"
