from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from pegboard import Plugin, RunSpec, ToolContext
from pegboard.testing import Call, FakeClock, ScriptedModel

pytestmark = pytest.mark.anyio
PLUGINS = ("files", "sandbox-local")


def patch(*lines: str) -> str:
    return "\n".join(("*** Begin Patch", *lines, "*** End Patch"))


async def runs(desk) -> list[str]:
    listed = await desk.ok("undo_changes")
    return [item["run"] for item in listed.structured["runs"]]


async def actions(desk, run: str, **options) -> dict[str, str]:
    result = await desk.ok("undo_changes", run=run, **options)
    return {item["path"]: item["action"] for item in result.structured["files"]}


async def test_every_kind_of_change_is_taken_back(desk) -> None:
    data = b"\xef\xbb\xbfa\r\nb\nc"
    desk.put("edited", data)
    desk.put("gone.sh", "x\n")
    desk.put("old.sh", "m\n").chmod(0o755)
    text = patch(
        "*** Update File: edited",
        "@@",
        "-b",
        "+B",
        "*** Delete File: gone.sh",
        "*** Add File: n/new",
        "+x",
        "*** Update File: old.sh",
        "*** Move to: new.sh",
        "@@",
        "-m",
        "+M",
    )
    await desk.ok("apply_patch", patch=text)
    (run,) = await runs(desk)
    assert await actions(desk, run, dry_run=True) == {
        "edited": "restore",
        "gone.sh": "restore",
        "n/new": "remove",
        "new.sh": "remove",
        "old.sh": "restore",
    }
    assert (desk.folder / "n/new").exists()
    await desk.ok("undo_changes", run=run[:8])
    assert (desk.folder / "edited").read_bytes() == data
    assert (desk.folder / "gone.sh").read_bytes() == b"x\n"
    assert (desk.folder / "old.sh").read_bytes() == b"m\n"
    assert stat.S_IMODE((desk.folder / "old.sh").stat().st_mode) == 0o755
    assert not (desk.folder / "n/new").exists()
    assert not (desk.folder / "new.sh").exists()


async def test_undoing_can_be_undone(desk) -> None:
    path = desk.put("f", "one\n")
    await desk.ok("file_edit", path="f", old_string="one", new_string="two")
    first = (await runs(desk))[0]
    await desk.ok("undo_changes", run="last")
    assert path.read_text() == "one\n"
    second, also_first = await runs(desk)
    assert also_first == first
    await desk.ok("undo_changes", run=second)
    assert path.read_text() == "two\n"


async def test_a_run_is_taken_back_to_where_it_began(host) -> None:
    model = ScriptedModel(
        [
            Call("file_write", path="a", content="1\n"),
            Call("file_edit", path="a", old_string="1", new_string="2"),
            Call("file_edit", path="b", edits=[{"oldText": "x", "newText": "y"}]),
            "done",
        ]
    )
    async with host(*PLUGINS, model=model, record=False) as running:
        (running.workspace / "b").write_text("x\n")
        await running.ask("work")
        assert (running.workspace / "a").read_text() == "2\n"
        listed = await running.call("undo_changes")
        (run,) = listed.structured["runs"]
        assert run["files"] == 2
        assert run["conversation"]
        result = await running.call("undo_changes", run=run["run"])
        assert result.error is None
        assert not (running.workspace / "a").exists()
        assert (running.workspace / "b").read_text() == "x\n"
        again = await running.call("undo_changes", run=run["run"])
        assert {item["action"] for item in again.structured["files"]} == {"nothing"}


async def test_a_model_takes_back_only_what_its_own_conversation_did(host) -> None:
    model = ScriptedModel([Call("undo_changes", run="last"), "done"])
    async with host(*PLUGINS, model=model, record=False) as running:
        await running.call("file_write", path="a", content="1\n")
        await running.ask("undo it")
        assert (running.workspace / "a").read_text() == "1\n"


async def test_a_run_that_another_one_started_takes_nothing_back(host) -> None:
    """It has no conversation, so that none tells what is its own and what a person's."""
    boss = Plugin(summary="Starts runs")

    @boss.tool(effects={"read", "fs_write"}, capability="orch:spawn")
    async def begin(ctx: ToolContext) -> str:
        """Start a run."""
        return (await ctx.runs.start(RunSpec(prompt="undo it", without=()))).text

    model = ScriptedModel([Call("undo_changes", run="last"), "done"])
    async with host(*PLUGINS, inline={"boss": boss}, model=model, record=False) as running:
        await running.call("file_write", path="a", content="1\n")
        result = await running.call("boss:begin")
        assert "done" in result.text, result.error
        assert (running.workspace / "a").read_text() == "1\n"
        assert "takes nothing back" in str(model.requests[-1].messages[-1])


async def test_what_somebody_else_changed_since_is_refused_and_named(desk) -> None:
    mine, other = desk.put("mine", "1\n"), desk.put("other", "1\n")
    for name in ("mine", "other"):
        desk.put(name, "1\n")
    text = patch("*** Update File: mine", "-1", "+2", "*** Update File: other", "-1", "+2")
    await desk.ok("apply_patch", patch=text)
    (run,) = await runs(desk)
    other.write_text("3\n")
    result = await desk.ok("undo_changes", run=run)
    assert result.structured["refused"] == 1
    assert "refused: other (it was changed since, by somebody else)" in result.text
    assert (mine.read_text(), other.read_text()) == ("1\n", "3\n")
    await desk.ok("undo_changes", run=run, force=True)
    assert other.read_text() == "1\n"
    await desk.ok("undo_changes", run=(await runs(desk))[0])
    assert other.read_text() == "3\n"


async def test_another_run_that_changed_it_since_is_named(desk) -> None:
    path = desk.put("f", "1\n")
    await desk.ok("file_edit", path="f", old_string="1", new_string="2")
    (first,) = await runs(desk)
    await desk.ok("file_edit", path="f", old_string="2", new_string="3")
    second = (await runs(desk))[0]
    result = await desk.ok("undo_changes", run=first)
    assert f"by the run {second}" in result.text
    path.unlink()
    assert "removed since" in (await desk.ok("undo_changes", run=first)).text
    assert not path.exists()


async def test_a_removed_file_comes_back_with_its_mode(desk) -> None:
    path = desk.put("run.sh", "x\n")
    path.chmod(0o750)
    await desk.ok("apply_patch", patch=patch("*** Delete File: run.sh"))
    await desk.ok("undo_changes", run="last")
    assert stat.S_IMODE(path.stat().st_mode) == 0o750


async def test_folders_that_a_run_made_go_when_nothing_is_left_in_them(desk) -> None:
    (desk.folder / "mine").mkdir()
    desk.put("moved.sh", "m\n")
    text = patch(
        "*** Add File: mine/new",
        "+x",
        "*** Add File: a/b/one",
        "+x",
        "*** Add File: a/c/two",
        "+x",
        "*** Update File: moved.sh",
        "*** Move to: d/e/moved.sh",
        "@@",
        "-m",
        "+M",
    )
    await desk.ok("apply_patch", patch=text)
    desk.put("a/c/other", "somebody's")
    (run,) = await runs(desk)
    await desk.ok("undo_changes", run=run)
    there = {str(path.relative_to(desk.folder)) for path in desk.folder.rglob("*")}
    assert there >= {"mine", "a", "a/c", "a/c/other", "moved.sh"}
    assert not there & {"a/b", "a/c/two", "d", "d/e", "mine/new"}
    await desk.ok("undo_changes", run=(await runs(desk))[0])
    assert (desk.folder / "a/b/one").read_text() == "x\n"
    assert (desk.folder / "d/e/moved.sh").read_text() == "M\n"


async def test_what_is_unknown_is_an_error(desk) -> None:
    assert (await desk.error("undo_changes", run="nope")).code == "no_such_run"
    assert (await desk.error("undo_changes", run="last")).code == "no_such_run"
    await desk.ok("file_write", path="a", content="")
    await desk.ok("file_write", path="b", content="")
    one, other = await runs(desk)
    assert one[0] == other[0]
    assert (await desk.error("undo_changes", run=one[0])).code == "several_runs"


async def test_a_file_that_is_too_large_is_not_kept_and_that_is_said(host) -> None:
    config = {"plugins.files.history_file_mb": 1}
    async with host(*PLUGINS, record=False, config=config) as running:
        (running.workspace / "f").write_bytes(b"x" * (2 << 20))
        result = await running.call("file_write", path="f", content="y")
        assert "f was too large to be kept: this change can't be undone" in result.text
        result = await running.call("undo_changes", run="last")
        assert "too large to be kept" in result.text
        assert result.structured["refused"] == 1
        assert (running.workspace / "f").read_text() == "y"


async def test_the_history_is_bounded_in_size_and_says_so(host) -> None:
    config = {"plugins.files.history_mb": 1}
    async with host(*PLUGINS, record=False, config=config) as running:
        for number in range(4):
            (running.workspace / "f").write_bytes(os.urandom(400_000))
            await running.call("file_write", path="f", content=str(number))
        listed = await running.call("undo_changes")
        assert len(listed.structured["runs"]) == 2
        assert listed.structured["bytes"] <= 1 << 20
        assert "Kept for 30 days, 1.0 MiB at most" in listed.text


async def test_the_history_is_bounded_in_age(host) -> None:
    clock = FakeClock()
    async with host(*PLUGINS, record=False, clock=clock) as running:
        await running.call("file_write", path="a", content="1")
        await clock.advance(31 * 86_400)
        await running.call("file_write", path="b", content="1")
        listed = await running.call("undo_changes")
        assert len(listed.structured["runs"]) == 1


def pegboard(home: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    env = {
        **os.environ,
        "PEGBOARD_HOME": str(home),
        "PEGBOARD_PLUGINS": "files,sandbox-local",
        "PEGBOARD_SANDBOX__USE": "local",
    }
    return subprocess.run(
        [sys.executable, "-m", "pegboard", *arguments],
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_command_lists_shows_and_takes_back(tmp_path: Path) -> None:
    home, work, elsewhere = tmp_path / "home", tmp_path / "work", tmp_path / "elsewhere"
    work.mkdir()
    elsewhere.mkdir()
    (work / "f").write_text("old\n")
    done = pegboard(home, work, "tools", "call", "file_write", "path=f", "content=new")
    assert done.returncode == 0, done.stderr
    listed = json.loads(pegboard(home, elsewhere, "undo", "--json").stdout)
    (run,) = listed["runs"]
    assert run["workspace"] == str(work)
    assert f"\nTake one back: pegboard undo {run['run']}\n" in pegboard(home, work, "undo").stdout
    (work / "f").write_text("mine\n")
    unknown = pegboard(home, elsewhere, "undo", "nope")
    assert (unknown.returncode, unknown.stderr.splitlines()[1]) == (1, "  Fix: pegboard undo")
    refused = pegboard(home, elsewhere, "undo", run["run"])
    assert (refused.returncode, (work / "f").read_text()) == (1, "mine\n")
    assert "refused: f (it was changed since, by somebody else)" in refused.stdout
    assert f"lose what was changed since: pegboard undo {run['run']} --force" in refused.stdout
    forced = pegboard(home, elsewhere, "undo", run["run"], "--force")
    assert (forced.returncode, (work / "f").read_text()) == (0, "old\n"), forced.stderr
