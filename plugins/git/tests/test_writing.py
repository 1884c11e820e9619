"""What `git_write` does to real repositories."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.anyio


def conflicting(bench) -> None:
    """Give the branches main and other a commit each that changes the same line."""
    bench.git("switch", "-qc", "other")
    bench.put("a.txt", "one\ntheirs\n")
    bench.git("commit", "-qam", "Theirs")
    bench.git("switch", "-q", "main")
    bench.put("a.txt", "one\nours\n")
    bench.git("commit", "-qam", "Ours")


async def test_a_repository_is_made_and_used(host, opened) -> None:
    async with opened() as bench:
        assert (await bench.error("git_read", "status")).code == "not_a_repository"
        made = await bench.write("init", branch="trunk")
        assert "sandbox:" not in made.text
        assert not (bench.folder / ".git/hooks").exists()
        assert (await bench.error("git_read", "log")).code == "no_commits"
        bench.put("a", "x")
        await bench.write("add", paths=["a"])
        await bench.write("unstage", paths=["a"])
        assert (await bench.read("status")).structured["untracked"] == ["a"]
        await bench.write("add", paths=["."])
        await bench.write("commit", message="First\n\n# kept")
        assert bench.git("log", "-1", "--format=%b") == "# kept"
        assert (await bench.read("status")).text == "On branch trunk\nNothing has changed."
        assert (await bench.error("git_write", "init")).code == "exists"
        await bench.write("init", repo="inner/deep")
        assert (bench.folder / "inner/deep/.git/HEAD").exists()


async def test_commits_are_made_and_amended(bench) -> None:
    assert (await bench.error("git_write", "commit", message="x")).code == "nothing_to_commit"
    bench.put("a.txt", "all\n")
    await bench.write("commit", message="All", all=True)
    await bench.write("commit", message="Amended", amend=True)
    assert bench.git("log", "--format=%s") == "Amended\nSecond\nFirst"
    assert (await bench.error("git_write", "commit")).code == "invalid_arguments"


async def test_a_commit_needs_somebody(host, opened, repository) -> None:
    repository(host.workspace)
    async with opened(author_name="", author_email="") as bench:
        bench.put("a.txt", "x")
        error = await bench.error("git_write", "commit", message="x", all=True)
        assert error.code == "identity_missing"
        assert "plugins.git.author_name" in error.fix
        bench.git("config", "user.name", "Own")
        bench.git("config", "user.email", "own@example.org")
        await bench.write("commit", message="x", all=True)
        assert bench.git("log", "-1", "--format=%an") == "Own"


async def test_branches_and_tags_are_made_and_deleted(bench) -> None:
    await bench.write("branch_create", branch="old", ref="HEAD~1")
    await bench.write("tag_create", tag="v1", message="One")
    await bench.write("tag_create", tag="v2", ref="old")
    assert bench.git("tag", "-l", "--format=%(objecttype)") == "tag\ncommit"
    await bench.write("tag_delete", tag="v2")
    await bench.write("checkout", branch="old")
    assert (bench.folder / "a.txt").read_text() == "one\n"
    bench.put("a.txt", "mine\n")
    error = await bench.error("git_write", "switch", branch="main")
    assert error.code == "would_overwrite"
    await bench.write("commit", message="Mine", all=True)
    await bench.write("switch", branch="main")
    assert (await bench.error("git_write", "branch_delete", branch="old")).code == "not_merged"
    await bench.write("branch_delete", branch="old", force=True)
    assert (await bench.error("git_write", "switch", branch="old")).code == "unknown_revision"
    found = await bench.write("switch", ref="HEAD~1", detach=True)
    assert found.structured["detached"]
    assert (await bench.error("git_write", "pull")).code == "detached"


async def test_a_conflict_lists_files_and_is_resolved(bench) -> None:
    conflicting(bench)
    error = await bench.error("git_write", "merge", ref="other")
    assert error.code == "conflict" and "a.txt" in error.message
    status = await bench.read("status")
    assert status.structured["in_progress"] == "merge"
    assert status.structured["conflicts"] == [{"path": "a.txt", "kind": "changed by both"}]
    assert (await bench.error("git_write", "commit", message="x")).code == "conflict"
    assert (await bench.error("git_write", "switch", branch="other")).code == "in_progress"
    bench.put("a.txt", "one\nboth\n")
    await bench.write("add", paths=["a.txt"])
    await bench.write("commit")
    assert bench.git("log", "-1", "--format=%s") == "Merge branch 'other'"
    assert bench.git("log", "-1", "--format=%p").count(" ") == 1
    assert (await bench.error("git_write", "merge_abort")).code == "not_in_progress"


async def test_a_merge_is_given_up_or_only_forward(bench) -> None:
    conflicting(bench)
    assert (
        await bench.error("git_write", "merge", ref="other", strategy="ff_only")
    ).code == "diverged"
    await bench.error("git_write", "merge", ref="other")
    await bench.write("merge_abort")
    assert (await bench.read("status")).structured["clean"]
    await bench.write("branch_create", branch="ahead")
    assert (await bench.write("merge", ref="ahead")).text == "Already up to date."


async def test_a_rebase_stops_goes_on_and_is_given_up(bench) -> None:
    conflicting(bench)
    assert (await bench.error("git_write", "rebase", ref="other")).code == "conflict"
    await bench.write("rebase_abort")
    assert bench.git("log", "-1", "--format=%s") == "Ours"
    await bench.error("git_write", "rebase", ref="other")
    assert (await bench.error("git_write", "rebase_continue")).code == "conflict"
    bench.put("a.txt", "one\nboth\n")
    await bench.write("add", paths=["a.txt"])
    await bench.write("rebase_continue")
    assert bench.git("log", "--format=%s").splitlines()[:2] == ["Ours", "Theirs"]
    assert (await bench.error("git_write", "rebase_continue")).code == "not_in_progress"


async def test_a_rebase_that_would_run_a_command_is_not_gone_on_with(bench) -> None:
    conflicting(bench)
    await bench.error("git_write", "rebase", ref="other")
    with (bench.folder / ".git/rebase-merge/git-rebase-todo").open("a") as todo:
        todo.write("exec touch evil\n")
    bench.put("a.txt", "x")
    await bench.write("add", paths=["a.txt"])
    error = await bench.error("git_write", "rebase_continue")
    assert error.code == "unsafe_configuration" and "touch evil" in error.message
    assert not (bench.folder / "evil").exists()


async def test_the_stash_keeps_changes(bench) -> None:
    assert (await bench.error("git_write", "stash_push")).code == "nothing_to_stash"
    bench.put("a.txt", "changed\n")
    bench.put("new", "x")
    await bench.write("stash_push", untracked=True, message="Later")
    assert (await bench.read("status")).structured["stashes"] == 1
    assert not (bench.folder / "new").exists()
    await bench.write("stash_apply")
    assert (bench.folder / "new").exists()
    await bench.write("stash_drop")
    assert (await bench.error("git_write", "stash_pop")).code == "stash_empty"
    await bench.write("stash_push", paths=["a.txt"])
    bench.put("a.txt", "another\n")
    bench.git("commit", "-qam", "Another")
    error = await bench.error("git_write", "stash_pop")
    assert error.code == "conflict" and "stash_drop" in error.fix


async def test_nothing_is_pushed(bench) -> None:
    error = await bench.error("git_write", "push")
    assert error.code == "push_refused" and "git push" in error.fix


async def test_a_locked_index_is_told(bench) -> None:
    (bench.folder / ".git/index.lock").touch()
    bench.put("a.txt", "x")
    error = await bench.error("git_write", "add", paths=["a.txt"])
    assert error.code == "locked" and error.retryable


async def test_a_folder_that_is_only_read_is_not_written(host, repository, tmp_path) -> None:
    other = repository(tmp_path / "other")
    config = {"sandbox": {"grants": [{"path": str(other)}]}}
    async with host("git", "sandbox-bubblewrap", config=config, record=False) as running:
        read = await running.call("git_read", action="log", repo=str(other))
        assert read.error is None
        result = await running.call("git_write", action="add", paths=["."], repo=str(other))
        assert result.error.code == "sandbox_refused"
        assert f"pegboard grant {other} --write" in result.error.fix


async def test_branches_of_a_repository_that_is_only_read_are_not_written(
    host, repository, git, tmp_path
) -> None:
    """The workspace is a second working tree of it, in a sandbox that confines no program."""
    other = repository(tmp_path / "other")
    git(other, "worktree", "add", "-q", "-f", "-b", "side", str(host.workspace))
    config = {
        "sandbox": {"grants": [{"path": str(other)}]},
        "sandboxes.local": {"allow_unconfined_shell": True},
    }
    async with host("git", "sandbox-local", config=config, record=False) as running:
        result = await running.call("git_write", action="branch_create", branch="new")
        assert result.error.code == "sandbox_refused"
        read = await running.call("git_read", action="log")
        assert read.error is None
    assert "new" not in git(other, "branch")


REFUSED = (
    ("switch", {"branch": "--orphan"}),
    ("switch", {"branch": "a..b", "create": True}),
    ("branch_create", {"branch": "HEAD"}),
    ("branch_create", {"branch": "x.lock"}),
    ("branch_create", {}),
    ("tag_create", {"tag": "-d"}),
    ("merge", {"ref": "-s"}),
    ("merge", {}),
    ("rebase", {"ref": "--exec=x"}),
    ("add", {"paths": ["../x"]}),
    ("add", {}),
    ("restore", {}),
    ("commit", {"message": " "}),
    ("commit", {"message": "x", "branch": "y"}),
    ("fetch", {"remote": "../x"}),
)


async def test_what_makes_no_sense_is_refused(bench) -> None:
    for action, arguments in REFUSED:
        error = await bench.error("git_write", action, **arguments)
        assert error.code == "invalid_arguments", (action, arguments, error)


async def test_only_the_top_folder_names_what_is_changed(bench):
    """By the name of a folder in it a call would change files that no rule is asked about."""
    bench.put("a.txt", "changed")
    error = await bench.error("git_write", "restore", repo="sub", paths=["a.txt"])
    assert error.code == "not_the_top"
    assert (bench.folder / "a.txt").read_text() == "changed"
