"""Plugins that want to know are told what was erased, and what can't be erased now is later."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pegboard import ConversationsErased, Owner, Plugin, ToolContext
from pegboard.contracts.archive import Erasure
from pegboard.contracts.errors import StoreError
from pegboard.host.erasure_backlog import ErasureBacklog
from pegboard.testing import Call, FakeClock, ScriptedModel

pytestmark = pytest.mark.anyio


def diary(told: list[ConversationsErased]) -> Plugin:
    plugin = Plugin(summary="Keeps a diary")

    @plugin.tool(effects={"state_write"})
    async def note(ctx: ToolContext, text: str) -> str:
        """Note something."""
        await ctx.plugin.storage.put("notes", ctx.plugin.new_id(), text, of=ctx.call.owner)
        await ctx.plugin.storage.put("last", "note", text, of=ctx.call.owner.lasting())
        return "noted"

    @plugin.tool(effects={"read"})
    async def notes(ctx: ToolContext) -> str:
        """List the notes."""
        found = [
            *await ctx.plugin.storage.list("notes"),
            *await ctx.plugin.storage.list("last"),
        ]
        return ", ".join(item.value for item in found)

    @plugin.hook(events=["conversations_erased"])
    async def pegboard_event(event: ConversationsErased) -> None:
        told.append(event)

    return plugin


def said(result) -> str:
    """Return what a tool said, without the lines that mark it as data."""
    return result.text.splitlines()[1]


async def test_what_a_tool_keeps_goes_with_its_conversation_and_plugins_are_told(host) -> None:
    told: list[ConversationsErased] = []
    model = ScriptedModel([Call("note", text="a tree"), "ok", Call("note", text="a mill"), "ok"])
    async with host(inline={"diary": diary(told)}, model=model, record=False) as running:
        await running.ask("note it", chat="one")
        await running.ask("note it", chat="two")
        keys = [item.key for item in await running.host.parts.store.conversations()]
        assert said(await running.call("notes")) == "a tree, a mill, a mill"
        await running.host.sessions.delete(keys[0])
        assert said(await running.call("notes")) == "a tree"
        await running.host.sessions.delete(keys[1])
        assert (await running.call("notes")).text == "(no output)"
    assert [event.conversations for event in told] == [(key,) for key in keys]
    assert [len(event.turns) for event in told] == [1, 1]


class Archive:
    def __init__(self, *erasures: Erasure) -> None:
        self.found = list(erasures)

    async def erasures(self):
        return self.found

    async def settle(self, erasures, *, now, left=()):
        files = {item: tuple(filter(item.concerns, left)) for item in erasures}
        self.found = [replace(item, left=files.get(item, ())) for item in self.found]
        self.found = [item for item in self.found if item.left]


async def test_what_can_not_be_erased_now_stays_for_later(tmp_path, caplog) -> None:
    gone = Erasure(number=1, kind="conversation", name="c1")
    late = Erasure(number=2, kind="turn", name="t1", again=True)
    archive = Archive(gone, late)
    told: list[ConversationsErased] = []

    async def tell(event: ConversationsErased) -> None:
        told.append(event)

    backlog = ErasureBacklog(archive, (tmp_path,), FakeClock(), tell)
    broken = tmp_path / "web" / "tables.db"
    broken.parent.mkdir()
    broken.write_bytes(b"no store" * 100)
    await backlog.catch_up()
    there = ("web/tables.db",)
    assert archive.found == [replace(gone, left=there), replace(late, left=there)]
    assert "erased later" in caplog.text
    assert told == []
    broken.unlink()
    await backlog.catch_up()
    assert archive.found == []
    assert told == [ConversationsErased(conversations=("c1",))]  # nobody is told twice of a turn


async def test_a_file_that_can_not_be_written_costs_nothing_in_the_others(host) -> None:
    """A conversation of the same name may begin anew before it can."""
    told: list[ConversationsErased] = []
    model = ScriptedModel([Call("note", text="a tree"), "ok", Call("note", text="a mill"), "ok"])

    async def tell(event: ConversationsErased) -> None:
        told.append(event)

    async with host(inline={"diary": diary([])}, model=model, record=False) as running:
        parts, storages = running.host.parts, running.host.config.paths.plugin_storages
        backlog = ErasureBacklog(parts.archive, (storages,), FakeClock(), tell)
        broken = storages / "web/tables.db"
        broken.parent.mkdir(parents=True)
        broken.write_bytes(b"no store" * 100)
        await running.ask("note it", chat="one")
        (item,) = await parts.store.conversations()
        await parts.store.forget(item.key)
        await backlog.catch_up()
        assert (await running.call("notes")).text == "(no output)"
        await running.ask("note it", chat="one")
        await backlog.catch_up()
        assert said(await running.call("notes")) == "a mill, a mill"
        left = await parts.archive.erasures()
        assert {erasure.left for erasure in left} == {("web/tables.db",)}
        assert told == []
        broken.unlink()
        await backlog.catch_up()
        assert said(await running.call("notes")) == "a mill, a mill"
        assert list(await parts.archive.erasures()) == []
    assert [event.conversations for event in told] == [(item.key,)]


async def test_a_store_that_fails_ends_nothing(tmp_path, caplog) -> None:
    class Broken(Archive):
        async def erasures(self):
            raise StoreError("The disk is gone.")

    async def tell(event: ConversationsErased) -> None:
        raise AssertionError(event)

    await ErasureBacklog(Broken(), (tmp_path,), FakeClock(), tell).try_to_catch_up()
    assert "The disk is gone" in caplog.text


async def test_a_shared_conversation_loses_what_an_erased_person_left_there(host) -> None:
    plugin = Plugin(summary="Keeps something")

    @plugin.tool(effects={"state_write"})
    async def fill(ctx: ToolContext) -> str:
        """Keep something of each kind."""
        storage = ctx.plugin.storage
        await storage.put("kept", "turn", 1, of=Owner(turn="t1"))
        await storage.put("kept", "lasting", 1, of=Owner(conversation="ours"))
        await storage.put("kept", "other", 1, of=Owner(conversation="ours", turn="t2"))
        return "done"

    @plugin.tool(effects={"read"})
    async def kept(ctx: ToolContext) -> str:
        """List it."""
        return ", ".join(item.key for item in await ctx.plugin.storage.list("kept"))

    async def nobody(event: ConversationsErased) -> None:
        """Nobody observes it here."""

    async with host(inline={"keeper": plugin}, record=False) as running:
        await running.call("fill")
        erasures = [
            Erasure(number=1, kind="turn", name="t1"),
            Erasure(number=2, kind="thinned", name="ours"),
        ]
        storages = running.host.config.paths.plugin_storages
        await ErasureBacklog(Archive(*erasures), (storages,), FakeClock(), nobody).catch_up()
        assert said(await running.call("kept")) == "other"
