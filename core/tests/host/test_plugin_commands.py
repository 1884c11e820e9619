"""Chat commands that plugins bring, in a running host."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from pegboard import ChannelInfo, Delivery, InboundMessage, Plugin, ToolContext, ToolResult
from pegboard.contracts.caller import Caller
from pegboard.host import Host
from pegboard.host.own_host import OwnHost
from pegboard.plugins.decision.chat_commands import OWN
from pegboard.testing import HostFactory, HostUnderTest, ScriptedModel
from pegboard.tools.fence import fenced
from pegboard.turns.person_call import shown

pytestmark = pytest.mark.anyio

CODE = '''
from pegboard import Plugin

plugin = Plugin(summary="Weather")


@plugin.tool(effects=[])
async def weather(city: str, unit: str = "C") -> str:
    """Report the weather."""
    return f"20 {unit} in {city}"


plugin.chat_command("warm", tool="weather", argument="city", arguments={"unit": "F"})
'''


class Chat:
    """A channel with chat commands, where nobody can be asked at once."""

    def __init__(self, inbox: Callable[[Any], Any] | None = None) -> None:
        self.info = ChannelInfo(surface="chat", local=True, slash_commands=True)
        self.texts: list[str] = []
        self._inbox = inbox

    async def run(self, inbox: Any) -> None:
        if self._inbox is not None:
            await self._inbox(inbox)

    async def send(self, message: Any) -> Delivery:
        self.texts.append(message.text)
        return Delivery()


def written(text: str, **facts: Any) -> InboundMessage:
    return InboundMessage(channel="chat", chat="1", sender="me", text=text, **facts)


def writer(host: Host) -> Caller:
    return replace(host.local_caller(), slash_commands=True)


async def says(host: Host, text: str, caller: Caller | None = None) -> str:
    chat = Chat()
    caller = replace(caller or host.local_caller(), slash_commands=True)
    await host.submit(written(text), chat, caller=caller)
    return chat.texts[-1]


async def test_it_comes_and_goes_with_its_package(installation, monkeypatch) -> None:
    model = ScriptedModel(["I know no such word."], repeat=True)
    monkeypatch.setitem(sys.modules, "the_model", type("M", (), {"model": model}))
    provider = (
        "from pegboard import Plugin\nplugin = Plugin(summary='Answers')\n\n\n"
        "@plugin.provider('answers')\ndef make(context, settings):\n"
        "    import the_model\n    return the_model.model\n"
    )
    installation.install("answers", code=provider, manifest=False)
    async with installation.host() as host:
        assert await says(host, "/warm Rome") == "I know no such word."
        assert model.requests[-1].messages[-1].text == "/warm Rome"
        assert "/warm" not in await says(host, "/help")
        installation.install("weather", code=CODE)
        await host.rescan()
        assert "- `/warm CITY`: Report the weather." in await says(host, "/help")
        assert host.activator.active("weather") is None, "it was imported to be listed"
        assert await says(host, "/warm New York") == "20 F in New York"
        assert await says(host, "/warm") == "Write /warm CITY."
        installation.uninstall("acme-weather")
        await host.rescan()
        assert await says(host, "/warm Rome") == "I know no such word."
    assert len(model.requests) == 2


async def test_a_command_line_learns_those_that_a_person_may_use(installation) -> None:
    code = CODE.replace("effects=[]", 'effects=["state_write"]')
    installation.install("weather", code=code)
    async with installation.host() as host:
        own = OwnHost(host)
        names = await own.command_names(own.local_caller())
        assert {"help", "new", "background", "warm"} <= set(names)
        assert "exit" not in names, "it is the terminal's own"
        guest = await own.command_names(own.local_caller(as_guest=True))
        assert "help" in guest
        assert not {"new", "background", "warm"} & set(guest)


async def test_a_disabled_plugin_has_none(installation) -> None:
    installation.install("weather", code=CODE)
    async with installation.host({"plugins.disabled": ["weather"]}) as host:
        assert "/warm" not in await says(host, "/help")
        assert host.commands.parse("/warm Rome", host.local_caller()) is None


def shop(did: list[str], gate: anyio.Event | None = None) -> Plugin:
    """Return a plugin whose commands look, change something, and may be used by the owner only."""
    plugin = Plugin(summary="A shop")

    @plugin.tool(effects={"read"})
    async def look(what: str = "all") -> str:
        """Look something up."""
        return f"{what}:\n  - 1 ```x```\n"

    @plugin.tool(effects={"state_write"})
    async def pay(ctx: ToolContext, what: str) -> str:
        """Pay for something."""
        did.append(f"{what} {ctx.call.attempt}")
        if gate is not None:
            await gate.wait()
        return f"paid for {what}"

    @plugin.tool(effects={"read"}, audience="owner")
    async def diary() -> str:
        """Read the diary."""
        return ""

    plugin.chat_command("look", tool="look", argument="what")
    plugin.chat_command("pay", tool="pay", argument="what")
    plugin.chat_command("diary", tool="diary", summary="read\n- `/all`: the diary")
    return plugin


async def test_who_may_not_use_the_tool_has_no_such_command(host: HostFactory) -> None:
    model = ScriptedModel(["I am only a model."], repeat=True)
    config = {"policy.guest_tools": ["shop:look"]}
    async with host(inline={"shop": shop([])}, model=model, config=config) as running:
        guest = running.host.local_caller(as_guest=True)
        listed = await says(running.host, "/help", guest)
        assert "- `/look [WHAT]`: Look something up." in listed
        assert "/pay" not in listed
        assert "/diary" not in listed
        assert await says(running.host, "/look", guest) == ("````\nall:\n  - 1 ```x```\n````")
        for text in ("/diary", "/pay rent"):
            assert await says(running.host, text, guest) == "I am only a model."
            assert model.requests[-1].messages[-1].text == text
        assert await says(running.host, "/diary") == "(no output)"
        assert "- `/diary`: read - `/all`: the diary" in await says(running.host, "/help")


async def test_what_only_looks_is_answered_while_a_turn_runs_and_what_writes_waits(
    host: HostFactory,
) -> None:
    did: list[str] = []
    gate, chat = anyio.Event(), Chat()
    async with (
        host(inline={"shop": shop(did, gate)}, model=ScriptedModel()) as running,
        anyio.create_task_group() as tasks,
    ):
        caller = writer(running.host)
        for text in ("/pay one", "/pay two"):
            tasks.start_soon(submitted, running, written(text), chat, caller)
            with anyio.fail_after(20):
                while not did:
                    await anyio.sleep(0.01)
        assert await says(running.host, "/look here") == "````\nhere:\n  - 1 ```x```\n````"
        assert did == ["one 1"]
        gate.set()
    assert chat.texts == ["paid for one", "paid for two"]
    assert did == ["one 1", "two 1"]


async def submitted(running: HostUnderTest, message: Any, chat: Chat, caller: Caller) -> None:
    await running.host.submit(message, chat, caller=caller)


async def test_a_call_that_was_cut_off_is_not_made_again(host: HostFactory) -> None:
    did: list[str] = []

    async def begins(inbox: Any) -> None:
        await inbox.receive(written("/pay rent", external_id="1"))
        while not did:
            await anyio.sleep(0.01)

    async def is_told(inbox: Any) -> None:
        while not later.texts:
            await anyio.sleep(0.01)

    first, later = Chat(begins), Chat(is_told)
    for chat in (first, later):
        inline = {"shop": shop(did, anyio.Event())}
        async with host(inline=inline, model=ScriptedModel()) as running:
            with anyio.fail_after(20):
                await running.host.run_channel(chat, caller=writer(running.host))
            await running.host.drain(0.0)
    assert did == ["rent 1"]
    assert first.texts == []
    assert "may have run" in later.texts[0]


async def test_a_call_that_needs_a_word_waits_for_it(host: HostFactory) -> None:
    did: list[str] = []
    config = {"policy.rules": [{"tool": "pay", "action": "ask"}]}
    chat = Chat()
    async with host(inline={"shop": shop(did)}, model=ScriptedModel(), config=config) as running:

        async def talk(inbox: Any) -> None:
            await inbox.receive(written("/pay rent", external_id="1"))
            while not chat.texts:
                await anyio.sleep(0.01)
            assert did == []
            token = chat.texts[0].partition("/confirm ")[2].split("`")[0].split()[0]
            await inbox.receive(written(f"/confirm {token}", external_id="2"))
            while "paid for rent" not in chat.texts:
                await anyio.sleep(0.01)

        chat._inbox = talk
        with anyio.fail_after(20):
            await running.host.run_channel(chat, caller=writer(running.host))
    assert did == ["rent 1"]


async def test_the_words_of_the_host_are_those_that_no_plugin_can_have(
    host: HostFactory, tmp_path: Path
) -> None:
    async with host(record=False) as running:
        assert set(running.host.commands.names) == OWN


def test_what_went_wrong_is_told_with_what_was_written_till_then() -> None:
    failed = ToolResult.failed("slow", fenced("It took too long.", "pay"), fix="Wait.")
    assert shown(failed) == "Error: It took too long. Wait."
    assert shown(replace(failed, output="a\nb\n")) == (
        "Error: It took too long. Wait.\n\n```\na\nb\n```"
    )
