from __future__ import annotations

import anyio
import pytest

from pegboard.contracts.stream import TurnFinished, TurnStarted
from pegboard.conversations.key import ConversationKey
from pegboard.testing.model import Call
from pegboard.turns.commands import COMMAND_NAMES, ChatCommand, parse_command

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
def test_only_known_words_are_commands(text: str, command: ChatCommand | None) -> None:
    assert parse_command(text) == command


def says(bench, live_channel):
    async def say(text, **facts):
        await bench.run(text, channel=live_channel(slash_commands=True), **facts)
        return "\n".join(bench.channel.texts)

    return say


@pytest.fixture
def say(bench, live_channel):
    return says(bench, live_channel)


async def test_help_lists_what_the_caller_may_use(say, guest) -> None:
    owner_help = await say("/help")
    assert all(f"/{name}" in owner_help for name in COMMAND_NAMES)
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
    assert bench.history() != []


@pytest.mark.parametrize("text", ["/new", "/stop", "/plugins", "/rescan", "/why shell"])
async def test_a_guest_may_not_use_what_is_the_owners(bench, say, guest, text) -> None:
    bench.script("Hello!")
    await say("Hi")
    assert await say(text, caller=guest) == f"Only the owner can use {text.split()[0]}."
    assert bench.history() != []


async def test_new_forgets_the_conversation(bench, say) -> None:
    bench.script("Hello!", "Again!")
    await say("Hi")
    assert await say("/new") == "A new conversation begins here."
    assert bench.history() == []
    await say("Hi again")
    assert len(bench.model.requests[1].messages) == 3


async def test_no_command_asks_the_model(bench, say) -> None:
    for name in COMMAND_NAMES:
        await say(f"/{name}")
    assert bench.model.requests == []
    assert bench.history() == []


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
    assert bench.runner.history.messages(ConversationKey("chat", "1")) == ()


async def test_a_command_that_crashes_says_so_without_its_cause(bench, say, caplog) -> None:
    async def broken():
        raise RuntimeError("secret")

    bench.runner._commands._data.plugins = broken
    assert "secret" not in await say("/plugins")
    assert bench.channel.events[-1].error["code"] == "internal"
    assert "secret" in caplog.text
