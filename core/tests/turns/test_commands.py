from __future__ import annotations

from dataclasses import replace

import anyio
import pytest

from pegboard.contracts.errors import UsageError
from pegboard.contracts.stream import TurnFinished, TurnStarted
from pegboard.testing.model import Call
from pegboard.turns.commands import ChatCommand, Prompt

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("/help", ChatCommand("help")),
        ("  /new \n", ChatCommand("new")),
        ("/why file_read", ChatCommand("why", "file_read")),
        ("/why  files:file_read ", ChatCommand("why", "files:file_read")),
        ("/file_read path=x", None),
        ("/helper", None),
        ("/Help", None),
        ("/", None),
        ("/ help", None),
        ("/etc/hosts", None),
        ("say /help", None),
        ("", None),
    ],
)
async def test_only_known_words_are_commands(bench, owner, text: str, command) -> None:
    assert bench.runner.commands.parse(text, owner) == command


def says(bench, live_channel):
    async def say(text, **facts):
        await bench.run(text, channel=live_channel(slash_commands=True), **facts)
        return "\n".join(bench.channel.texts)

    return say


@pytest.fixture
def say(bench, live_channel):
    return says(bench, live_channel)


async def test_help_lists_what_the_caller_may_use(bench, say, guest) -> None:
    owner_help = await say("/help")
    assert all(f"/{name}" in owner_help for name in bench.runner.commands.names)
    guest_help = await say("/help", caller=guest)
    assert "/tools" in guest_help
    assert "/plugins" not in guest_help


async def test_tools_lists_the_callers_own(say, guest) -> None:
    assert await say("/tools") == "- `file_read`: Read a file.\n- `shell`: Run a command."
    assert await say("/tools", caller=guest) == "- `file_read`: Read a file."


async def test_plugins_shows_states_and_reasons(say) -> None:
    assert await say("/plugins") == "- `files`: active\n- `web`: missing-need (no network)"
    assert await say("/rescan") == "- added: git"


async def test_why_needs_a_name(say) -> None:
    assert await say("/why shell") == "shell is allowed for operator: trust.class"
    assert await say("/why") == "Write /why NAME."


async def test_a_command_with_words_too_many_does_nothing(bench, say) -> None:
    bench.script("Hello!")
    await say("Hi")
    assert await say("/new york trip") == "/new takes nothing after it. Send /new alone."
    assert await bench.history() != []


@pytest.mark.parametrize("text", ["/new", "/stop", "/plugins", "/rescan", "/why shell"])
async def test_a_guest_may_not_use_what_is_the_owners(bench, say, guest, text) -> None:
    bench.script("Hello!")
    await say("Hi")
    assert await say(text, caller=guest) == f"Only the owner can use {text.split()[0]}."
    assert await bench.history() != []


async def test_new_forgets_the_conversation(bench, say) -> None:
    bench.script("Hello!", "Again!")
    await say("Hi")
    assert await say("/new") == "A new conversation begins here."
    assert await bench.history() == []
    await say("Hi again")
    assert len(bench.model.requests[1].messages) == 3


async def test_no_command_asks_the_model(bench, say, owner) -> None:
    for command in bench.runner.commands.of(owner):
        if command.name != "background":
            await say(f"/{command.name}")
    assert bench.model.requests == []
    assert await bench.history() == []


async def test_a_channel_without_commands_gets_none(bench, live_channel) -> None:
    bench.script("What do you mean?")
    await bench.run("/help", channel=live_channel())
    assert bench.channel.texts == ["What do you mean?"]


async def test_a_command_begins_and_ends_like_a_turn(bench, say) -> None:
    await say("/help")
    started, finished = bench.channel.events
    assert isinstance(started, TurnStarted)
    assert isinstance(finished, TurnFinished)
    assert (finished.status, finished.steps) == ("done", 0)


async def test_stop_does_not_wait_for_the_turn_it_stops(bench, live_channel) -> None:
    there = anyio.Event()

    async def wait(turn):
        there.set()
        await anyio.sleep_forever()

    bench.tools = {"wait": wait}
    bench.script(Call("wait"))
    channel = live_channel(slash_commands=True)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: bench.run("Go", channel=channel))
        await there.wait()
        await bench.run("/stop", channel=channel)
    assert channel.texts == ["Stopped."]
    await bench.run("/stop", channel=channel)
    assert channel.texts[-1] == "Nothing is running here."


async def test_new_stops_the_running_turn_first(bench, live_channel) -> None:
    there = anyio.Event()

    async def wait(turn):
        there.set()
        await anyio.sleep_forever()

    bench.tools = {"wait": wait}
    bench.script(Call("wait"))
    channel = live_channel(slash_commands=True)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: bench.run("Go", channel=channel))
        await there.wait()
        await bench.run("/new", channel=channel)
    assert await bench.history() == []


async def test_a_command_that_crashes_says_so_without_its_cause(bench, say, caplog) -> None:
    async def broken():
        raise RuntimeError("secret")

    bench.data.plugins = broken
    assert "secret" not in await say("/plugins")
    assert bench.channel.events[-1].error["code"] == "internal"
    assert "secret" in caplog.text


# ---- what the conversation is told of itself


async def test_status_tells_what_is_going_on(bench, live_channel, chat_channel, say) -> None:
    assert await say("/status") == "- provider: main (m1)\n- open turns: none"
    lost = chat_channel()
    lost.raises = ConnectionError("the line went dead")
    bench.script("The answer that may be lost.")
    await bench.run(channel=lost)
    there = anyio.Event()

    async def wait(turn):
        there.set()
        await anyio.sleep_forever()

    bench.tools = {"wait": wait}
    bench.script(Call("wait"))
    channel = live_channel(slash_commands=True)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: bench.run("Go", channel=channel))
        await there.wait()
        tasks.start_soon(lambda: bench.run("Next", channel=channel))
        await bench.until(lambda: _open(bench, 2))
        status = await say("/status")
        tasks.cancel_scope.cancel()
    # showing it is not telling it: the next turn still does
    assert status.splitlines() == [
        "- provider: main (m1)",
        "- open turns: 1 running, 1 queued",
    ]
    assert "may not have reached you" in await _doubt(bench, chat_channel, say)


async def _open(bench, count: int) -> bool:
    return len(await bench.store.open_turns()) == count


async def _doubt(bench, chat_channel, say) -> str:
    lost = chat_channel()
    lost.raises = ConnectionError("the line went dead")
    bench.script("Another answer that may be lost.")
    await bench.run(channel=lost)
    return await say("/status")


async def test_whoami_tells_whom_the_host_takes_one_for(say, owner, guest) -> None:
    assert await say("/whoami") == (
        "- trust: owner and administrator\n- agent: main\n- sender: me\n- channel: chat\n"
        "- surface: unknown"
    )
    stamped = replace(guest, sender="chat:9", surface="chat", agent="research")
    assert await say("/whoami", caller=stamped) == (
        "- trust: guest\n- agent: research\n- sender: chat:9\n- channel: chat\n- surface: chat"
    )


async def test_status_tells_who_works_for_this_conversation(say) -> None:
    assert await say("/status", chat="7") == (
        "- provider: main (m1)\n- open turns: none\n- at work for this conversation: 1\n"
        "  - research: Find the paper"
    )


async def test_clear_is_new_by_another_name(bench, say) -> None:
    bench.script("Hello!")
    await say("Hi")
    assert await say("/clear") == "A new conversation begins here."
    assert await bench.history() == []


async def test_a_request_in_the_background_can_be_stopped_by_its_name(
    bench, live_channel, say
) -> None:
    there = anyio.Event()

    async def wait(turn):
        there.set()
        await anyio.sleep_forever()

    bench.tools = {"wait": wait}
    bench.script(Call("wait"))
    channel = live_channel(slash_commands=True)
    with bench.channels.named("chat", channel):
        told = await say("/background Count to a million")
        await there.wait()
        assert "Count to a million" in await say("/tasks")
        name = told.split("`")[-2]
        assert await say("/stop nothing-like-it") == "There is no request nothing-like-it."
        assert await say("/stop") == "Nothing is running here."
        assert await say(f"/stop {name}") == "Stopped."
        await bench.idle()
    assert await say("/tasks") == "Nothing is being done in the background."
    assert channel.texts == []


async def test_a_background_request_that_has_not_begun_can_be_stopped(bench, say) -> None:
    bench.everything = False
    told = await say("/background Later")
    name = told.split("`")[-2]
    assert await say(f"/stop {name}") == "Stopped."
    assert await bench.store.open_turns() == []


# ---- commands that others bring


class Shout:
    """A command that is a turn of the conversation, in order with the others."""

    name = "shout"
    summary = "say it loud"
    operator = False
    argument = "TEXT"
    bypass = False
    everywhere = False

    def __init__(self) -> None:
        self.calls = []

    async def run(self, call) -> str:
        self.calls.append(call)
        return call.argument.upper()


class Deep:
    """A command that makes a request of itself."""

    name = "deep"
    summary = "think hard"
    operator = True
    argument = "[TEXT]"
    bypass = False
    everywhere = False

    async def run(self, call) -> Prompt:
        return Prompt(text=f"Deeply: {call.argument}", run_profile="ultra")


@pytest.fixture
def shout() -> Shout:
    return Shout()


async def test_a_queued_command_is_kept_and_answered_in_its_turn(
    make_bench, live_channel, shout
) -> None:
    bench = make_bench(further=[shout])
    bench.script(lambda request: f"re {request.messages[-1].text}", "re three")
    channel = live_channel(slash_commands=True)
    with bench.channels.named("chat", channel):
        receipts = [
            await bench.receive(text, channel=channel) for text in ("one", "/shout two", "three")
        ]
        bench.serve()
        await bench.idle()
    assert channel.texts == ["re one", "TWO", "re three"]
    assert [receipt.ref.seq for receipt in receipts] == [1, 2, 3]
    (call,) = shout.calls
    assert (call.argument, call.conversation.key, call.message.text) == (
        "two",
        "chat/1",
        "/shout two",
    )
    said = [text for _, text in await bench.history()]
    assert said == ["one", "re one", "three", "re three"]


async def test_what_is_wrong_with_a_queued_command_is_told_at_once(
    make_bench, live_channel, shout
) -> None:
    bench = make_bench(further=[shout])
    receipt = await bench.receive("/shout", channel=live_channel(slash_commands=True))
    assert receipt.ref.seq == 0
    assert bench.channel.texts == ["Write /shout TEXT."]


async def test_a_command_may_become_a_request(make_bench, live_channel) -> None:
    bench = make_bench(further=[Deep()])
    model = bench.script("Deep.")
    outcome = await bench.run("/deep why", channel=live_channel(slash_commands=True))
    assert outcome.text == "Deep."
    assert model.requests[0].messages[-1].text == "Deeply: why"
    assert bench.turns[0].caller.run_profile == "ultra"
    assert await bench.history() == [("user", "Deeply: why"), ("assistant", "Deep.")]


async def test_two_commands_of_one_name_are_an_error(make_bench, shout) -> None:
    with pytest.raises(UsageError, match="/shout"):
        make_bench(further=[shout, Shout()])
