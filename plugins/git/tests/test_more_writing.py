"""Picking, taking back, resetting, renaming and removing, in real repositories."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.anyio


def two_sides(bench) -> None:
    """Give main and other a commit each that changes the same line."""
    bench.git("switch", "-qc", "other")
    bench.put("a.txt", "one\ntheirs\n")
    bench.git("commit", "-qam", "Theirs")
    bench.put("new.txt", "new\n")
    bench.git("add", ".")
    bench.git("commit", "-qm", "New")
    bench.git("switch", "-q", "main")
    bench.put("a.txt", "one\nours\n")
    bench.git("commit", "-qam", "Ours")


async def test_a_commit_is_picked_and_taken_back(anywhere) -> None:
    two_sides(anywhere)
    picked = await anywhere.write("cherry_pick", ref="other")
    assert picked.structured["commit"]["subject"] == "New"
    assert picked.structured["files"] == [{"path": "new.txt", "added": 1, "deleted": 0}]
    taken = await anywhere.write("revert", ref="HEAD")
    assert taken.structured["commit"]["subject"] == 'Revert "New"'
    assert anywhere.git("log", "-1", "--format=%an %cn") == "Ann Author Ann Author"
    assert not (anywhere.folder / "new.txt").exists()
    error = await anywhere.error("git_write", "cherry_pick", ref="gone")
    assert error.code == "unknown_revision"


@pytest.mark.parametrize(
    ("action", "ref", "operation"),
    [
        ("cherry_pick", "other~1", "cherry-pick"),
        ("revert", "HEAD~1", "revert"),
        ("merge", "other", "merge"),
        ("rebase", "other", "rebase"),
    ],
)
async def test_what_stopped_is_given_up(bench, action, ref, operation) -> None:
    two_sides(bench)
    before = bench.git("rev-parse", "HEAD")
    error = await bench.error("git_write", action, ref=ref)
    assert error.code == "conflict" and "a.txt" in error.message
    assert (await bench.read("status")).structured["in_progress"] == operation
    for refused, arguments, code in (
        ("continue", {}, "conflict"),
        ("merge", {"ref": "other"}, "in_progress"),
        ("reset", {"mode": "hard"}, "in_progress"),
    ):
        assert (await bench.error("git_write", refused, **arguments)).code == code
    await bench.write("abort")
    assert bench.git("rev-parse", "HEAD") == before


async def test_what_stopped_is_gone_on_with_or_skipped(bench) -> None:
    two_sides(bench)
    for code in ("conflict", "empty"):
        await bench.error("git_write", "cherry_pick", ref="other~1")
        bench.put("a.txt", "one\nboth\n")
        await bench.write("add", paths=["a.txt"])
        if code == "conflict":
            error = await bench.error("git_write", "continue", message="Own")
            assert error.code == "invalid_arguments"
            done = await bench.write("continue")
            assert done.structured["commit"]["subject"] == "Theirs"
    assert (await bench.error("git_write", "continue")).code == "empty"
    await bench.write("skip")
    bench.git("reset", "-q", "--hard", "HEAD~1")
    await bench.error("git_write", "rebase", ref="other")
    await bench.write("skip")
    assert (await bench.read("status")).structured["in_progress"] is None
    assert bench.git("rev-parse", "HEAD") == bench.git("rev-parse", "other")


async def test_nothing_in_progress_is_said(bench) -> None:
    for action in ("continue", "skip", "abort", "merge_abort", "rebase_abort", "rebase_continue"):
        assert (await bench.error("git_write", action)).code == "not_in_progress", action


async def test_a_reset_tells_how_to_get_back_and_loses_nothing(bench) -> None:
    last = bench.git("rev-parse", "HEAD")
    soft = await bench.write("reset", mode="soft", ref="HEAD~1")
    assert soft.structured["staged"] and soft.structured["was"] == last
    assert f"ref {last[:10]}" in soft.text
    await bench.write("reset", ref=last)
    bench.put("a.txt", "not committed\n")
    bench.put("own.txt", "not tracked\n")
    hard = await bench.write("reset", mode="hard", ref="HEAD~1")
    assert (bench.folder / "a.txt").read_text() == "one\n"
    assert "in the stash" in hard.text and hard.structured["stash"]
    assert (bench.folder / "own.txt").exists()
    await bench.write("reset", mode="hard", ref=last[:10])
    await bench.write("stash_pop")
    assert (bench.folder / "a.txt").read_text() == "not committed\n"


async def test_a_reset_does_not_write_over_what_is_not_tracked(bench) -> None:
    bench.put("later.txt", "committed\n")
    bench.git("add", ".")
    bench.git("commit", "-qm", "Later")
    last = bench.git("rev-parse", "HEAD")
    bench.git("reset", "-q", "--hard", "HEAD~1")
    bench.put("later.txt", "mine\n")
    error = await bench.error("git_write", "reset", mode="hard", ref=last)
    assert error.code == "would_overwrite" and "later.txt" in error.message
    assert (bench.folder / "later.txt").read_text() == "mine\n"


async def test_files_are_removed_and_renamed(anywhere) -> None:
    moved = await anywhere.write("mv", paths=["sub/b.txt"], to="deep/er/c.txt")
    (change,) = moved.structured["staged"]
    assert change == {"path": "deep/er/c.txt", "kind": "renamed", "old_path": "sub/b.txt"}
    anywhere.put("a.txt", "changed\n")
    assert (await anywhere.error("git_write", "rm", paths=["a.txt"])).code == "would_lose"
    await anywhere.write("rm", paths=["a.txt"], keep=True)
    assert (anywhere.folder / "a.txt").read_text() == "changed\n"
    await anywhere.write("commit", message="Moved")
    await anywhere.write("rm", paths=["deep"])
    assert not (anywhere.folder / "deep").exists()
    (anywhere.folder / "away").symlink_to("/usr/bin")
    await anywhere.write("add", paths=["away"])
    await anywhere.write("mv", paths=["away"], to="farther")
    assert (anywhere.folder / "farther").readlink().as_posix() == "/usr/bin"
    (anywhere.folder / "link").symlink_to("target")
    (anywhere.folder / "target").mkdir()
    (anywhere.folder / "out").symlink_to("/usr")
    for action, arguments, code in (
        ("rm", {"paths": ["gone"]}, "path_not_found"),
        ("rm", {"paths": ["."]}, "invalid_arguments"),
        ("rm", {}, "invalid_arguments"),
        ("mv", {"paths": ["a.txt"]}, "invalid_arguments"),
        ("mv", {"paths": ["a.txt"], "to": "../out"}, "invalid_arguments"),
        ("mv", {"paths": ["a.txt"], "to": ".git/hooks/x"}, "invalid_arguments"),
        ("mv", {"paths": ["a.txt"], "to": ".vscode/tasks.json"}, "sandbox_refused"),
        ("mv", {"paths": ["a.txt"], "to": "link/x"}, "invalid_arguments"),
        ("mv", {"paths": ["a.txt"], "to": "out/x"}, "sandbox_refused"),
    ):
        error = await anywhere.error("git_write", action, **arguments)
        assert error.code == code, (action, arguments, error)


async def test_nothing_is_replaced_by_a_renamed_file(bench) -> None:
    error = await bench.error("git_write", "mv", paths=["a.txt"], to="sub/b.txt")
    assert error.code == "exists"
    assert (bench.folder / "sub/b.txt").read_text() == "x\ny\n"


async def test_a_branch_gets_another_name(anywhere) -> None:
    anywhere.git("config", "branch.main.remote", "origin")
    anywhere.git("config", "branch.main.merge", "refs/heads/main")
    await anywhere.write("branch_rename", to="trunk")
    assert (await anywhere.read("branch")).structured["current"] == "trunk"
    anywhere.git("branch", "other")
    await anywhere.write("branch_rename", branch="other", to="fix/other")
    error = await anywhere.error("git_write", "branch_rename", branch="fix/other", to="trunk")
    assert error.code == "exists"
    error = await anywhere.error("git_write", "branch_rename", to="--force")
    assert error.code == "invalid_arguments"
    assert anywhere.git("reflog", "-1", "trunk")


async def test_a_merge_commit_is_picked_with_its_mainline(bench) -> None:
    two_sides(bench)
    bench.git("switch", "-qc", "joined", "HEAD~1")
    bench.git("merge", "-q", "--no-ff", "-m", "Joined", "other")
    bench.git("switch", "-qc", "third", "HEAD~1")
    assert (await bench.error("git_write", "cherry_pick", ref="joined")).code == "merge_commit"
    await bench.write("cherry_pick", ref="joined", mainline=1)
    assert (bench.folder / "new.txt").exists()
    error = await bench.error("git_write", "revert", ref="other", mainline=2)
    assert error.code == "merge_commit"
