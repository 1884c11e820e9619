from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.anyio

TREE = (
    "a.log", "keep.log", "src/a.log", "src/main.py", "src/build/out.o", "build/out.o",
    "docs/build", "docs/x.tmp", "docs/keep/x.tmp", "node_modules/m/i.js", "a b.txt", "#x", "!y",
    "deep/one/two/three.txt", "deep/one/other.txt", "lib/foo/bar/baz.c", "lib/baz.c", "vendor/x/y",
)  # fmt: skip
IGNORE = r"""
# comment
*.log
!keep.log
build/
/docs/*.tmp
node_modules
a\ b.txt
\#x
\!y
deep/**/three.txt
lib/**/baz.c
[z
vendor/*
!vendor/x/y
"""


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
async def test_it_ignores_what_git_ignores(desk) -> None:
    for name in TREE:
        desk.put(f"r/{name}", "x")
    desk.put("r/.gitignore", IGNORE)
    desk.put("r/src/.gitignore", "*.py\r\n!a.log\r\n")
    root: Path = desk.folder / "r"
    subprocess.run(["git", "init", "-q", "."], cwd=root, check=True)
    listed = subprocess.run(
        ["git", "ls-files", "--others", "--exclude-standard", "-z"],
        cwd=root, check=True, capture_output=True, text=True,
    )  # fmt: skip
    expected = sorted(f"r/{name}" for name in listed.stdout.split("\0") if name)
    result = await desk.ok("glob_search", pattern="r/**", gitignore=True)
    assert result.structured["paths"] == expected
    result = await desk.ok("glob_search", pattern="**", path="r", gitignore=True)
    assert result.structured["paths"] == expected
    below = [name for name in expected if name.startswith("r/src/")]
    result = await desk.ok("glob_search", pattern="**", path="r/src", gitignore=True)
    assert result.structured["paths"] == below


async def test_it_works_outside_a_repository_and_only_when_asked(desk) -> None:
    desk.put(".gitignore", "*.log\n")
    desk.put("a.log", "needle")
    desk.put("b.txt", "needle")
    assert (await desk.ok("glob_search", pattern="*")).structured["paths"] == [
        ".gitignore",
        "a.log",
        "b.txt",
    ]
    found = await desk.ok("content_search", pattern="needle")
    assert [hit["path"] for hit in found.structured["matches"]] == ["b.txt"]
    found = await desk.ok("content_search", pattern="needle", gitignore=False)
    assert [hit["path"] for hit in found.structured["matches"]] == ["a.log", "b.txt"]
    # a file that is named is searched whatever the rules say
    found = await desk.ok("content_search", pattern="needle", path="a.log")
    assert found.structured["count"] == 1


async def test_a_rule_that_could_run_away_does_not(desk) -> None:
    desk.put(".gitignore", "*a" * 60 + "b\n")
    desk.put("a" * 200, "")
    result = await desk.ok("glob_search", pattern="*", gitignore=True)
    assert len(result.structured["paths"]) == 2
