"""What is not tracked is not written over, not even where git itself would do so without a word."""

from __future__ import annotations

from pathlib import Path

import pytest

pytestmark = pytest.mark.anyio

MINE = "mine alone\n"


@pytest.fixture
def crossed(bench):
    """A branch `other` that tracks what `main` ignores, and what is a file there is a folder."""
    bench.git("switch", "-qc", "other")
    for name in ("settings", "folder/deep/file"):
        bench.put(name, "theirs\n")
    bench.git("add", ".")
    bench.git("commit", "-qm", "Theirs")
    bench.git("switch", "-q", "main")
    bench.put("own.txt", "own\n")
    bench.git("add", ".")
    bench.git("commit", "-qm", "Own")
    exclude = bench.folder / ".git/info/exclude"
    exclude.parent.mkdir(exist_ok=True)
    exclude.write_text("settings\nfolder\n")
    return bench


def files(folder: Path) -> dict[str, str]:
    found = (path for path in folder.rglob("*") if ".git" not in path.parts and path.is_file())
    return {str(path.relative_to(folder)): path.read_text() for path in found}


EVERY = (
    ("switch", {"branch": "other"}),
    ("switch", {"ref": "other", "detach": True}),
    ("switch", {"branch": "new", "create": True, "ref": "other"}),
    ("merge", {"ref": "other"}),
    ("rebase", {"ref": "other"}),
    ("cherry_pick", {"ref": "other"}),
    ("cherry_pick", {"ref": "other~1..other"}),
    ("reset", {"ref": "other", "mode": "hard"}),
)


@pytest.mark.parametrize("name", ["settings", "folder", "folder/deep", "settings/x"])
async def test_an_ignored_file_is_in_the_way_of_what_another_branch_has(crossed, name) -> None:
    crossed.put(name, MINE)
    before = files(crossed.folder)
    for action, arguments in EVERY:
        error = await crossed.error("git_write", action, **arguments)
        assert error.code == "would_overwrite", (action, error)
        assert "which is not tracked" in error.message
        assert files(crossed.folder) == before, action
    assert crossed.git("status", "--porcelain") == ""


async def test_what_is_beside_is_in_nobodys_way(crossed) -> None:
    crossed.put("folder/deep/beside", MINE)
    await crossed.write("switch", branch="other")
    await crossed.write("switch", branch="main")
    await crossed.write("merge", ref="other")
    assert files(crossed.folder)["folder/deep/beside"] == MINE
    assert files(crossed.folder)["folder/deep/file"] == "theirs\n"


async def test_what_a_revert_brings_back_is_not_written_over(crossed) -> None:
    crossed.git("switch", "-q", "other")
    crossed.git("rm", "-q", "settings")
    crossed.git("commit", "-qm", "Without settings")
    crossed.put("settings", MINE)
    error = await crossed.error("git_write", "revert", ref="HEAD")
    assert error.code == "would_overwrite"
    assert files(crossed.folder)["settings"] == MINE


async def test_what_is_dropped_says_how_to_get_it_back(bench) -> None:
    bench.put("a.txt", MINE)
    await bench.write("stash_push")
    entry = bench.git("rev-parse", "stash@{0}")
    dropped = await bench.write("stash_drop")
    assert f"branch_create, ref {entry[:10]}" in dropped.text
    await bench.write("branch_create", branch="kept", ref=entry[:10])
    assert bench.git("show", "kept:a.txt") == MINE.strip()
    bench.git("tag", "-am", "One", "v1")
    tag = bench.git("rev-parse", "v1")
    assert f"it was at {tag[:10]}" in (await bench.write("tag_delete", tag="v1")).text


@pytest.mark.parametrize("action", ["abort", "rebase_abort", "skip"])
async def test_a_rebase_is_not_given_up_over_what_was_changed_since(bench, action) -> None:
    bench.git("switch", "-qc", "other", "HEAD~1")
    bench.put("a.txt", "other\n")
    bench.git("commit", "-qam", "Other")
    stopped = await bench.error("git_write", "rebase", ref="main")
    assert stopped.code == "conflict"
    bench.put("a.txt", "half resolved\n")
    bench.put("sub/b.txt", MINE)
    error = await bench.error("git_write", action)
    assert error.code == "would_lose" and "sub/b.txt" in error.message
    assert files(bench.folder)["sub/b.txt"] == MINE
    await bench.write("restore", paths=["sub/b.txt"])
    await bench.write(action)
    assert (await bench.read("status")).structured["in_progress"] is None
