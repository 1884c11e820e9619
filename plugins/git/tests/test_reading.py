"""What `git_read` tells of real repositories."""

from __future__ import annotations

import os
import re

import pytest

pytestmark = pytest.mark.anyio


async def test_every_sandbox_reads_and_writes_a_repository(anywhere) -> None:
    anywhere.put("a.txt", "one\ntwo\nthree\n")
    anywhere.put("new.txt", "new\n")
    status = (await anywhere.read("status")).structured
    assert [item["path"] for item in status["unstaged"]] == ["a.txt"]
    assert status["untracked"] == ["new.txt"]
    await anywhere.write("add", paths=["."])
    made = await anywhere.write("commit", message="Third")
    assert made.text.endswith(": Third (2 files)")
    assert made.structured["commit"]["author"] == "Ann Author"
    await anywhere.write("switch", branch="fix/one", create=True)
    anywhere.put("a.txt", "changed\n")
    await anywhere.write("stash_push")
    await anywhere.write("stash_pop")
    await anywhere.write("restore", paths=["a.txt"])
    await anywhere.write("switch", branch="main")
    await anywhere.write("branch_delete", branch="fix/one")
    assert (await anywhere.read("status")).structured["clean"]
    assert anywhere.git("log", "-1", "--format=%s %an") == "Third Ann Author"
    anywhere.git("fsck", "--strict")


async def test_status_tells_branch_and_each_kind_of_change(bench) -> None:
    bench.put("a.txt", "one\ntwo\nthree\n")
    bench.git("mv", "sub/b.txt", "sub/c.txt")
    bench.put("line\nbreak.txt", "x")
    (bench.folder / os.fsdecode(b"not-utf8-\xff")).write_text("x")
    found = await bench.read("status")
    assert found.text.startswith("On branch main\n")
    assert "renamed: sub/c.txt (was sub/b.txt)" in found.text
    assert found.structured["untracked"] == ["line\\nbreak.txt", "not-utf8-\\xff"]
    assert found.structured["root"] == "."


async def test_status_says_where_there_is_more(bench) -> None:
    for number in range(5):
        bench.put(f"new{number}", "x")
    found = await bench.read("status", limit=3)
    assert found.structured["more"] and len(found.structured["untracked"]) == 3


async def test_log_is_parsed_and_says_how_to_go_on(bench) -> None:
    found = await bench.read("log", limit=1)
    (commit,) = found.structured["commits"]
    assert (commit["subject"], commit["body"]) == ("Second", "With a body.")
    assert commit["refs"] == ["HEAD -> main"]
    assert found.structured["more"] and "skip 1" in found.text
    rest = await bench.read("log", skip=1, limit=1)
    assert [item["subject"] for item in rest.structured["commits"]] == ["First"]
    assert not rest.structured["more"]
    assert (await bench.read("log", text="first")).structured["count"] == 1
    assert (await bench.read("log", author="nobody")).structured["count"] == 0
    assert (await bench.read("log", ref="HEAD~1..HEAD")).structured["count"] == 1
    assert "+two" in (await bench.read("log", form="patch", limit=1)).text


async def test_diff_and_show_tell_files_and_lines(bench) -> None:
    bench.put("a.txt", "one\n2\n")
    found = await bench.read("diff")
    assert "-two\n+2" in found.text
    assert found.structured["files"] == [{"path": "a.txt", "added": 1, "deleted": 1}]
    assert (await bench.read("diff", staged=True)).text == "[no differences]"
    shown = await bench.read("show", ref="HEAD")
    assert "    Second" in shown.text and "+two" in shown.text
    assert shown.structured["files"] == [{"path": "a.txt", "added": 1, "deleted": 0}]
    first = await bench.read("show", ref="HEAD~1", form="names", paths=["sub"])
    assert first.text.endswith("A\tsub/b.txt")


async def test_files_lines_and_matches_are_found(bench) -> None:
    assert (await bench.read("file", ref="HEAD~1", paths=["a.txt"])).text == "one"
    blamed = (await bench.read("blame", paths=["a.txt"])).structured["lines"]
    assert [item["text"] for item in blamed] == ["one", "two"]
    assert blamed[0]["hash"] != blamed[1]["hash"]
    hit = (await bench.read("grep", pattern="^t.o$")).structured["matches"]
    assert hit == [{"path": "a.txt", "line": 2, "text": "two"}]
    old = await bench.read("grep", pattern="one", ref="HEAD~1")
    assert old.text == "a.txt:1:one"
    near = await bench.read("grep", pattern="two", context=1)
    assert near.text == "a.txt-1-one\na.txt:2:two"
    assert (await bench.read("grep", pattern="nothing at all")).text == "[no match]"


async def test_names_are_listed(bench) -> None:
    bench.git("branch", "other", "HEAD~1")
    bench.git("tag", "-am", "The first", "v1", "HEAD~1")
    bench.git("remote", "add", "origin", "https://me:token@example.org/x.git")
    branches = (await bench.read("branch")).structured
    assert branches["current"] == "main"
    assert [item["name"] for item in branches["branches"]] == ["main", "other"]
    assert (await bench.read("tag")).structured["tags"][0]["subject"] == "The first"
    assert (await bench.read("remote")).text == "origin https://me:***@example.org/x.git"
    assert (await bench.read("rev_parse", ref="v1")).structured["type"] == "tag"
    assert (await bench.read("ls_files")).structured["files"] == ["a.txt", "sub/b.txt"]
    bench.put("a.txt", "changed")
    bench.git("stash")
    listed = await bench.read("stash")
    assert listed.structured["entries"][0]["subject"].startswith("WIP on main")
    assert "+changed" in (await bench.read("stash", index=0)).text


REFUSED = (
    ("log", {"ref": "gone"}, "unknown_revision"),
    ("log", {"ref": "--output=x"}, "invalid_arguments"),
    ("diff", {"ref": "-O/etc/passwd"}, "invalid_arguments"),
    ("show", {"ref": "a..b"}, "invalid_arguments"),
    ("file", {"paths": ["gone.txt"]}, "path_not_found"),
    ("file", {"paths": ["a.txt", "b"]}, "invalid_arguments"),
    ("blame", {"paths": ["gone.txt"]}, "path_not_found"),
    ("blame", {"paths": ["a.txt"], "start": 9}, "past_the_end"),
    ("diff", {"paths": ["../outside"]}, "invalid_arguments"),
    ("diff", {"paths": ["/etc/passwd"]}, "invalid_arguments"),
    ("ls_files", {"paths": [".git/config"]}, "invalid_arguments"),
    ("grep", {}, "invalid_arguments"),
    ("status", {"pattern": "x"}, "invalid_arguments"),
    ("stash", {"index": 3}, "stash_empty"),
    ("status", {"repo": "gone"}, "not_found"),
    ("status", {"repo": "/etc"}, "sandbox_refused"),
)


async def test_what_makes_no_sense_is_refused(bench) -> None:
    for action, arguments, code in REFUSED:
        error = await bench.error("git_read", action, **arguments)
        assert error.code == code, (action, arguments, error)
    assert not (bench.folder / "x").exists()


async def test_patterns_are_names_and_no_patterns(bench) -> None:
    assert (await bench.read("ls_files", paths=["*.txt"])).structured["files"] == []
    assert (await bench.read("ls_files", paths=[":(top)a.txt"])).structured["files"] == []
    assert (await bench.read("ls_files", paths=["-x"])).structured["files"] == []


async def test_a_line_of_a_commit_with_a_time_of_no_calendar_is_told(bench):
    commit = bench.git("cat-file", "commit", "HEAD")
    odd = re.sub(r"(author .*> )\d+", r"\g<1>999999999999999", commit)
    made = bench.git("hash-object", "-t", "commit", "-w", "--stdin", data=f"{odd}\n".encode())
    bench.git("reset", "-q", "--hard", made)
    found = await bench.read("blame", paths=["a.txt"])
    assert [line["date"][:10] for line in found.structured["lines"]][1:] == ["@999999999"]


async def test_trees_moves_and_people_are_told(bench) -> None:
    bench.put("odd\nname", "x")
    (bench.folder / "link").symlink_to("a.txt")
    await bench.write("add", paths=["."])
    await bench.write("commit", message="Third")
    top = await bench.read("ls_tree")
    assert "sub/" in top.text.splitlines() and "odd\\nname (1 byte)" in top.text
    kinds = {item["path"]: item["kind"] for item in top.structured["entries"]}
    assert kinds == {"a.txt": "file", "link": "link", "odd\\nname": "file", "sub": "folder"}
    inside = await bench.read("ls_tree", paths=["sub"], ref="HEAD~1")
    assert [item["path"] for item in inside.structured["entries"]] == ["sub/b.txt"]
    assert (await bench.read("ls_tree", recursive=True, limit=1)).structured["more"]
    moves = (await bench.read("reflog", limit=2)).structured
    assert moves["entries"][0]["what"] == "commit: Third" and moves["more"]
    assert (await bench.read("reflog", skip=2)).structured["entries"][0]["index"] == 2
    bench.git("branch", "old", "HEAD~2")
    base = (await bench.read("merge_base", other="old")).structured
    assert base["bases"] == [bench.git("rev-parse", "old")]
    assert (base["ahead"], base["behind"]) == (2, 0)
    people = (await bench.read("shortlog")).structured["authors"]
    assert people[0] == {"commits": 2, "author": "Old Author", "email": "old@example.org"}
    for action, arguments, code in (
        ("ls_tree", {"paths": ["gone"]}, "path_not_found"),
        ("ls_tree", {"ref": "gone"}, "unknown_revision"),
        ("file", {"paths": ["sub"]}, "not_a_file"),
        ("merge_base", {}, "invalid_arguments"),
        ("merge_base", {"other": "gone"}, "unknown_revision"),
        ("reflog", {"ref": "gone"}, "unknown_revision"),
        ("shortlog", {"ref": "-x"}, "invalid_arguments"),
    ):
        error = await bench.error("git_read", action, **arguments)
        assert error.code == code, (action, arguments, error)


UNBORN = (
    *(("git_read", action, {}) for action in ("log", "show", "ls_tree", "reflog", "shortlog")),
    ("git_read", "diff", {"ref": "HEAD"}),
    ("git_read", "rev_parse", {}),
    ("git_read", "file", {"paths": ["a"]}),
    ("git_read", "merge_base", {"other": "x"}),
    ("git_write", "reset", {"mode": "hard"}),
    ("git_write", "cherry_pick", {"ref": "HEAD"}),
    ("git_write", "branch_create", {"branch": "x"}),
    ("git_write", "tag_create", {"tag": "x"}),
    ("git_write", "merge", {"ref": "HEAD"}),
    ("git_write", "commit", {"message": "x", "amend": True}),
)


async def test_a_branch_without_a_commit_is_said_to_be_one(opened) -> None:
    async with opened("local") as bench:
        await bench.write("init")
        for tool, action, arguments in UNBORN:
            error = await bench.error(tool, action, **arguments)
            assert error.code == "no_commits", (action, error)
        for action in ("status", "diff", "branch", "tag", "stash", "ls_files", "remote"):
            await bench.read(action)


async def test_a_new_commit_of_a_submodule_is_seen_and_recorded(bench, repository) -> None:
    inner = repository(bench.folder / "inner")
    await bench.write("add", paths=["inner"])
    await bench.write("commit", message="With a module")
    (inner / "a.txt").write_text("not committed there\n")
    assert (await bench.read("status")).structured["clean"]
    bench.git("-C", "inner", "commit", "-qam", "Third")
    assert (await bench.read("status")).structured["unstaged"][0]["path"] == "inner"
    assert "+Subproject commit" in (await bench.read("diff")).text
    await bench.write("add", paths=["inner"])
    await bench.write("commit", message="Newer")
    assert bench.git("rev-parse", "HEAD:inner") == bench.git("-C", "inner", "rev-parse", "HEAD")
    assert (await bench.error("git_read", "file", paths=["inner"])).code == "not_a_file"


async def test_what_can_not_be_done_now_is_named(bench) -> None:
    bench.git("worktree", "add", "-q", "tree", "-b", "elsewhere")
    error = await bench.error("git_write", "switch", branch="elsewhere")
    assert error.code == "in_use"
    bench.git("bisect", "start")
    error = await bench.error("git_write", "abort")
    assert error.code == "not_in_progress" and "bisect" in error.message
    (bench.folder / ".git/index").write_bytes(b"junk" * 10)
    assert (await bench.error("git_read", "status")).code == "corrupt"
