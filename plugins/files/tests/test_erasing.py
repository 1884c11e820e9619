"""What is kept for undo goes with the conversation, the turn and the person that it is of."""

from __future__ import annotations

import zlib

import pytest

from pegboard import Plugin, RunSpec, ToolContext
from pegboard.store.embedded import open_store
from pegboard.testing import Call, ScriptedModel

pytestmark = pytest.mark.anyio
PLUGINS = ("files", "sandbox-local")


def kept_for_undo(running) -> bytes:
    """Return all bytes that the plugin keeps on the disk."""
    folder = running.host.config.paths.plugin_storage("files")
    return b"".join(path.read_bytes() for path in folder.iterdir())


async def test_old_contents_go_with_the_conversation(host) -> None:
    edits = [Call("file_edit", path="a", old_string="x", new_string="y"), "done"]
    model = ScriptedModel([*edits, *edits], repeat=False)
    async with host(*PLUGINS, model=model, record=False) as running:
        for chat in ("first", "second"):
            (running.workspace / "a").write_text(f"x {chat}\n")
            await running.ask("edit it", chat=chat)
        runs = (await running.call("undo_changes")).structured["runs"]
        assert len({run["conversation"] for run in runs}) == 2
        sessions = running.host.sessions
        assert await sessions.delete(runs[-1]["conversation"]) is not None
        left = (await running.call("undo_changes")).structured
        assert [run["run"] for run in left["runs"]] == [runs[0]["run"]]
        assert left["bytes"] > 0
        await sessions.delete(runs[0]["conversation"])
        left = (await running.call("undo_changes")).structured
        assert (left["runs"], left["bytes"]) == ([], 0)


async def test_what_a_child_run_did_goes_with_the_conversation_that_it_was_for(host) -> None:
    boss = Plugin(summary="Starts runs")

    @boss.tool(effects={"read", "fs_write"}, capability="orch:spawn")
    async def begin(ctx: ToolContext) -> str:
        """Start a run."""
        return (await ctx.runs.start(RunSpec(prompt="edit it", without=()))).text

    edit = Call("file_edit", path="a", old_string="x", new_string="y")
    model = ScriptedModel([Call("begin"), edit, "edited", "done"])
    async with host(*PLUGINS, inline={"boss": boss}, model=model, record=False) as running:
        (running.workspace / "a").write_text("x\n")
        await running.ask("work")
        assert (running.workspace / "a").read_text() == "y\n"
        (run,) = (await running.call("undo_changes")).structured["runs"]
        assert run["conversation"]
        await running.host.sessions.delete(run["conversation"])
        assert (await running.call("undo_changes")).structured["runs"] == []


async def test_what_a_host_that_died_left_undone_is_done_without_the_plugin(host) -> None:
    edit = Call("file_edit", path="a", old_string="line 7", new_string="row 7")
    model = ScriptedModel([edit, "done"])
    lines = "".join(f"line {number}\n" for number in range(10)).encode()
    async with host(*PLUGINS, model=model, record=False) as running:
        (running.workspace / "a").write_bytes(lines)
        await running.ask("write it")
        (run,) = (await running.call("undo_changes")).structured["runs"]
        assert zlib.compress(lines, 1) in kept_for_undo(running)
    store = await open_store(running.host.config.paths.state)
    await store.forget(run["conversation"])  # and here the host dies
    await store.aclose()
    async with host(record=False) as running:  # a host without the plugin
        await running.host.sessions.erase_elsewhere()
        assert list(await running.host.parts.archive.erasures()) == []
    assert zlib.compress(lines, 1) not in kept_for_undo(running)
    async with host(*PLUGINS, record=False) as running:
        assert (await running.call("undo_changes")).structured["runs"] == []


async def test_what_a_person_did_without_a_conversation_goes_with_them(host) -> None:
    async with host(*PLUGINS, record=False) as running:
        await running.call("file_write", path="a", content="1\n")
        (run,) = (await running.call("undo_changes")).structured["runs"]
        assert run["conversation"] == ""
        await running.host.sessions.delete_person(running.host.local_caller().sender)
        assert (await running.call("undo_changes")).structured["runs"] == []
