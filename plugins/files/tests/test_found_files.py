from __future__ import annotations

import os

import pytest

pytestmark = pytest.mark.anyio


@pytest.fixture
def tree(desk):
    for name in (
        "a.py", "A.PY", ".hid.py", "src/b.py", "src/.h/c.py", "src/sub/d.py", "[x].py", "é.py",
        ".git/config.py", ".github/w.yml", "a/b/c/x.ts", "-rf", "we ird.py",
    ):  # fmt: skip
        desk.put(name, "")
    (desk.folder / "etc").symlink_to("/etc")
    (desk.folder / "self").symlink_to(".")
    (desk.folder / "link.py").symlink_to("a.py")
    (desk.folder / "out.py").symlink_to("/etc/passwd")
    (desk.folder / "dangling.py").symlink_to("nothing")
    os.mkfifo(desk.folder / "fifo.py")
    return desk


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("*.py", [".hid.py", "[x].py", "a.py", "link.py", "we ird.py", "é.py"]),
        ("src/**/*.py", ["src/.h/c.py", "src/b.py", "src/sub/d.py"]),
        ("src/*.py", ["src/b.py"]),
        ("*/*.py", ["src/b.py"]),
        ("**/*.{ts,yml}", [".github/w.yml", "a/b/c/x.ts"]),
        ("**/.h/**", ["src/.h/c.py"]),
        ("[[]x].py", ["[x].py"]),
        ("*.PY", ["A.PY"]),
        ("-rf", ["-rf"]),
        (".git/*", [".git/config.py"]),
        ("**/.git/**", [".git/config.py"]),
        ("etc/pass*", []),
        ("etc/**", []),
        ("nothing/**", []),
        ("a.py/*", []),
        ("a.py/**", []),
        ("{src,a}/**", ["a/b/c/x.ts", "src/.h/c.py", "src/b.py", "src/sub/d.py"]),
    ],
)
async def test_it_finds(pattern: str, found: list[str], tree) -> None:
    result = await tree.ok("glob_search", pattern=pattern)
    assert result.structured["paths"] == found
    if found:
        assert result.text == "\n".join(found)


async def test_everything_is_found_once_and_no_link_is_entered(tree) -> None:
    result = await tree.ok("glob_search", pattern="**")
    paths = result.structured["paths"]
    assert paths == sorted(set(paths))
    assert len(paths) == 13
    assert not any(path.startswith(("self/", "etc/", ".git/")) for path in paths)


async def test_a_search_starts_where_it_is_told(tree) -> None:
    result = await tree.ok("glob_search", pattern="*.py", path="src")
    assert result.structured["paths"] == ["src/b.py"]
    result = await tree.ok("glob_search", pattern="**/*.py", path=str(tree.folder / "src"))
    assert result.structured["paths"] == ["src/.h/c.py", "src/b.py", "src/sub/d.py"]
    result = await tree.ok("glob_search", pattern="b*", path="self/src")
    assert result.structured["paths"] == ["src/b.py"]
    error = await tree.error("glob_search", pattern="*", path="etc")
    assert "leads outside" in error.message


async def test_more_is_said_only_when_there_is_more(desk) -> None:
    for number in range(10):
        desk.put(f"{number}.x", "")
    for pattern in ("*.x", "**/*.x", "{0,1,2,3,4,5,6,7,8,9}.x"):
        result = await desk.ok("glob_search", pattern=pattern, limit=10)
        assert not result.structured["more"]
        result = await desk.ok("glob_search", pattern=pattern, limit=9)
        assert result.structured["more"]
        assert len(result.structured["paths"]) == 9
        assert result.text.endswith("[more than 9 files match; narrow the pattern]")


async def test_nothing_found_says_what_looks_deeper(desk) -> None:
    result = await desk.ok("glob_search", pattern="*.rs")
    assert result.text == "[no file matches *.rs; **/*.rs looks in all folders]"
