from __future__ import annotations

import errno
import os
import subprocess

import pytest
from pegboard_files.window import clip_around

pytestmark = pytest.mark.anyio


async def hits(desk, pattern: str, **arguments) -> list[tuple[str, int]]:
    result = await desk.ok("content_search", pattern=pattern, **arguments)
    return [(hit["path"], hit["line"]) for hit in result.structured["matches"]]


async def test_matches_are_file_line_content_sorted_by_path(desk) -> None:
    desk.put("b.py", "x = 1\ny = 2\nx = 3\n")
    desk.put("a/c.py", "\n\nx = 9")
    result = await desk.ok("content_search", pattern=r"^x = \d")
    assert result.text == "a/c.py:3:x = 9\nb.py:1:x = 1\nb.py:3:x = 3"
    assert result.structured["matches"][0] == {"path": "a/c.py", "line": 3, "text": "x = 9"}
    assert not result.structured["truncated"]


async def test_no_match_is_no_error_and_says_what_was_looked_at(desk) -> None:
    desk.put("a", "x")
    desk.put("b.png", b"\x89PNG\0")
    result = await desk.ok("content_search", pattern="zzz")
    assert result.text == (
        "[no match; binary files, .git, files that .gitignore names are left out]"
    )
    assert result.structured["matches"] == []


async def test_context_is_marked_and_shared_lines_are_shown_once(desk) -> None:
    desk.put("f", "".join(f"{number}\n" for number in range(1, 21)))
    desk.put("g", "x\n5\n")
    result = await desk.ok("content_search", pattern="^(5|7|15)$", context=1)
    assert result.text == (
        "f-4-4\nf:5:5\nf-6-6\nf:7:7\nf-8-8\n--\nf-14-14\nf:15:15\nf-16-16\n--\ng-1-x\ng:2:5"
    )
    assert result.structured["matches"][0]["before"] == ["4"]


async def test_a_filter_chooses_files(desk) -> None:
    for name in ("a.py", "d/b.py", "d/c.ts"):
        desk.put(name, "needle")
    assert await hits(desk, "needle", glob="*.py") == [("a.py", 1), ("d/b.py", 1)]
    assert await hits(desk, "needle", glob="d/*.ts") == [("d/c.ts", 1)]
    assert await hits(desk, "needle", path="d", glob="*.{py,ts}") == [("d/b.py", 1), ("d/c.ts", 1)]
    assert await hits(desk, "needle", path="d/c.ts") == [("d/c.ts", 1)]
    error = await desk.error("content_search", pattern="x", glob="[")
    assert error.code == "invalid_pattern"


async def test_the_cap_is_told_only_when_it_cut(desk) -> None:
    desk.put("f", "x\n" * 10)
    assert not (await desk.ok("content_search", pattern="x", limit=10)).structured["truncated"]
    result = await desk.ok("content_search", pattern="x", limit=9)
    assert result.structured["truncated"]
    assert result.text.endswith(
        "[more than 9 lines match; narrow the search, or go on with offset=9]"
    )


async def test_a_very_long_line_is_clipped_around_its_match(desk) -> None:
    desk.put("min.js", '"mcp"' + "x" * 70_000 + "needle" + "y" * 70_000)
    desk.put("other", "needle")
    result = await desk.ok("content_search", pattern="needle")
    first, second = result.structured["matches"]
    assert "needle" in first["text"]
    assert len(first["text"]) < 600
    assert second == {"path": "other", "line": 1, "text": "needle"}
    assert (await hits(desk, "mcp")) == [("min.js", 1)]


def test_a_clip_keeps_the_match_and_counts_the_rest() -> None:
    assert clip_around("short", 0, 500) == "short"
    assert clip_around("x" * 600, 0, 500) == "x" * 500 + "…[+100]"
    clipped = clip_around("x" * 1000 + "needle" + "y" * 1000, 1000, 500)
    assert "needle" in clipped
    assert clipped.startswith("[875+]…")
    assert clip_around("x" * 1000 + "needle", 1000, 500).endswith("needle")


async def test_bytes_that_are_no_text_do_not_stop_a_search(desk) -> None:
    desk.put("a", b"caf\xe9 needle\n")
    desk.put("b", b"\xff\xfe" + "needle é".encode("utf-16-le"))
    desk.put("c", b"\xef\xbb\xbfneedle\r\n")
    desk.put("d", b"needle\r\nx\r\n")
    assert await hits(desk, "needle") == [("a", 1), ("b", 1), ("c", 1), ("d", 1)]
    assert await hits(desk, "^needle$") == [("c", 1), ("d", 1)]
    result = await desk.ok("content_search", pattern="é", path="b")
    assert result.structured["count"] == 1


async def test_links_are_not_searched_and_closed_places_neither(desk) -> None:
    desk.put("a", "needle")
    desk.put(".git/config", "needle")
    desk.put("id_rsa", "-----BEGIN OPENSSH PRIVATE KEY-----\nneedle\n")
    (desk.folder / "link").symlink_to("a")
    (desk.folder / "loop").symlink_to(".")
    result = await desk.ok("content_search", pattern="needle")
    assert [hit["path"] for hit in result.structured["matches"]] == ["a"]
    assert "id_rsa" not in str(result.to_dict())


async def test_a_file_of_many_pieces_has_right_lines_and_context(desk) -> None:
    lines = [f"line {number} {'x' * 80}" for number in range(1, 120_001)]
    for number in (1, 45_000, 46_091, 46_092, 46_093, 92_183, 92_184, 120_000):
        lines[number - 1] = f"needle {number}"
    desk.put("big", "\n".join(lines))
    result = await desk.ok("content_search", pattern="needle", context=2)
    found = result.structured["matches"]
    assert [hit["text"] for hit in found] == [f"needle {hit['line']}" for hit in found]
    assert len(found) == 8
    for hit in found:
        first = max(0, hit["line"] - 3)
        assert hit.get("before", []) == lines[first : hit["line"] - 1]
        assert hit.get("after", []) == lines[hit["line"] : hit["line"] + 2]


async def test_one_line_of_many_pieces_is_one_hit(desk) -> None:
    desk.put("one", b"needle" + b"x" * (20 << 20) + b"needle\nneedle\n")
    assert await hits(desk, "needle") == [("one", 1), ("one", 2)]


async def test_many_small_files_are_searched(desk) -> None:
    for number in range(300):
        desk.put(f"d{number % 7}/{number:03}", f"needle {number}\n")
    assert len(await hits(desk, "needle", limit=300)) == 300
    result = await desk.ok("content_search", pattern="needle", limit=5)
    assert result.structured["truncated"]
    assert len(result.structured["matches"]) == 5


async def test_an_expression_that_runs_away_is_stopped(host) -> None:
    settings = {"plugins.files": {"search_seconds": 0.5}}
    async with host("files", "sandbox-local", config=settings, record=False) as running:
        (running.workspace / "f").write_text("a" * 4000 + "b")
        result = await running.call("files:content_search", pattern="(a|a)*$")
    assert result.error is not None
    assert result.error.code == "timeout"
    assert result.error.fix


async def test_a_plain_text_keeps_to_the_time_too(host) -> None:
    settings = {"plugins.files": {"search_seconds": 0.000001}}
    async with host("files", "sandbox-local", config=settings, record=False) as running:
        (running.workspace / "f").write_text("needle")
        result = await running.call("files:content_search", pattern="needle", literal=True)
    assert result.error is not None
    assert result.error.code == "timeout"


async def test_a_pattern_that_starts_with_a_hyphen_is_a_pattern(desk) -> None:
    desk.put("a", "-e x")
    assert await hits(desk, "-e") == [("a", 1)]


async def test_only_names_or_numbers_are_returned_when_they_are_wanted(desk) -> None:
    desk.put("a.py", "x\ny\nx\n")
    desk.put("b.md", "x\n")
    result = await desk.ok("content_search", pattern="x", output_mode="files_with_matches")
    assert (result.text, result.structured["paths"]) == ("a.py\nb.md", ["a.py", "b.md"])
    result = await desk.ok("content_search", pattern="x", output_mode="count")
    assert (result.text, result.structured["counts"]) == ("a.py:2\nb.md:1", {"a.py": 2, "b.md": 1})
    result = await desk.ok("content_search", pattern="x", output_mode="count", limit=1)
    assert (
        result.text == "a.py:2\n[more than 1 file match; narrow the search, or go on with offset=1]"
    )


async def test_files_are_chosen_by_type(desk) -> None:
    for name in ("a.py", "d/b.pyi", "c.ts", "Makefile"):
        desk.put(name, "needle")
    assert await hits(desk, "needle", type="py") == [("a.py", 1), ("d/b.pyi", 1)]
    assert await hits(desk, "needle", type="python", glob="d/*") == [("d/b.pyi", 1)]
    assert await hits(desk, "needle", type="make") == [("Makefile", 1)]
    error = await desk.error("content_search", pattern="x", type="pyton")
    assert error.code == "unknown_type"
    assert "python" in error.fix


async def test_a_match_goes_over_line_ends_when_it_may(desk) -> None:
    desk.put("a", "one\r\ndef f(\r\n    x,\r\n) -> int:\r\nlast\r\n")
    result = await desk.ok(
        "content_search", pattern=r"def f\([^)]*\)", multiline=True, before=1, after=1
    )
    assert result.text == "a-1-one\na:2:def f(\na:3:    x,\na:4:) -> int:\na-5-last"
    assert result.structured["matches"][0]["last_line"] == 4
    assert await hits(desk, "(\n    x,", literal=True, multiline=True) == [("a", 2)]
    assert (await desk.error("content_search", pattern="a\nb")).code == "invalid_pattern"


async def test_several_filters_count_together_and_some_leave_out(desk) -> None:
    for name in ("a.py", "d/b.ts", "d/c.md", "node/x/e.py", "node.py"):
        desk.put(name, "needle")
    assert await hits(desk, "needle", glob="*.py,*.ts") == [
        *(("a.py", 1), ("d/b.ts", 1), ("node/x/e.py", 1), ("node.py", 1)),
    ]
    assert await hits(desk, "needle", glob="*.py *.md !node") == [
        *(("a.py", 1), ("d/c.md", 1), ("node.py", 1)),
    ]
    assert await hits(desk, "needle", glob="!*.py") == [("d/b.ts", 1), ("d/c.md", 1)]
    assert await hits(desk, "needle", glob="!d/**", type="ts,md") == []
    assert await hits(desk, "needle", type="ts, *.md") == [("d/b.ts", 1), ("d/c.md", 1)]
    assert (await desk.error("content_search", pattern="x", glob="*.py,![")).code == (
        "invalid_pattern"
    )


async def test_a_pattern_that_can_not_match_says_what_to_do(desk) -> None:
    desk.put("a", "one\ntwo\n")
    for pattern in (r"one\ntwo", r"\\\r?\n"):
        result = await desk.ok("content_search", pattern=pattern)
        assert result.text.endswith("[a match goes over line ends only with multiline=true]")
    for arguments in ({"pattern": r"\\new"}, {"pattern": r"one\ntwo", "literal": True}):
        result = await desk.ok("content_search", **arguments)
        assert "multiline" not in result.text
    assert "multiline" in (await desk.error("content_search", pattern="one\ntwo")).fix
    assert "glob_search" in (await desk.error("content_search", pattern="")).fix


async def test_a_file_that_is_named_is_searched_whatever_the_patterns_say(desk) -> None:
    desk.put("d/c.ts", "needle")
    for arguments in ({"glob": "d/*.ts"}, {"glob": "*.py"}, {"type": "py"}):
        assert await hits(desk, "needle", path="d/c.ts", **arguments) == [("d/c.ts", 1)]


async def test_what_is_named_and_can_not_be_read_is_an_error_and_not_no_match(
    desk, monkeypatch
) -> None:
    desk.put("closed/a", "needle")
    desk.put("b", "needle")
    os.mkfifo(desk.folder / "pipe")
    assert (await desk.error("content_search", pattern="x", path="pipe")).code == "sandbox_refused"
    real_open = os.open

    def refusing(path, flags, *args, **kwargs):
        # the tests run as root, whom no mode keeps out
        if path in ("closed", "b", "a"):
            raise PermissionError(errno.EACCES, "denied", path)
        return real_open(path, flags, *args, **kwargs)

    monkeypatch.setattr(os, "open", refusing)
    for path in ("closed", "b"):
        error = await desk.error("content_search", pattern="n(?=eedle)", path=path)
        assert error.code == "permission"
    assert await hits(desk, "n(?=eedle)") == []


async def test_no_limit_is_the_largest_one(desk) -> None:
    desk.put("a", "x\n" * 2001)
    result = await desk.ok("content_search", pattern="x", limit=0)
    assert result.structured["count"] == 2000
    assert result.structured["truncated"]


async def test_names_that_models_use_are_understood(desk) -> None:
    desk.put("a.py", "Needle\nb\n")
    result = await desk.running.call(
        "grep", **{"query": "needle", "include": "*.py", "-i": True, "-A": 1, "head_limit": 3}
    )
    assert result.text == "a.py:1:Needle\na.py-2-b"
    result = await desk.running.call("glob", glob_pattern="*.py", directory=".")
    assert result.text == "a.py"
    result = await desk.running.call("cat", file_path="a.py", start_line=2, num_lines=1)
    assert "b" in result.text


@pytest.mark.parametrize("mode", ["content", "files_with_matches", "count"])
async def test_the_pages_of_a_search_hold_every_match_once(desk, mode) -> None:
    for number in range(7):
        desk.put(f"f{number}", "x\n" * (number % 3 + 1))
    whole = await desk.ok("content_search", pattern="x", output_mode=mode)
    lines: list[str] = []
    offset, pages = 0, 0
    while offset is not None:
        page = await desk.ok(
            "content_search", pattern="x", output_mode=mode, limit=3, offset=offset
        )
        pages += 1
        offset = page.structured["next_offset"]
        shown = page.text.split("\n")
        if offset is not None:
            assert f"go on with offset={offset}]" in shown.pop()
        lines += shown
    assert "\n".join(lines) == whole.text
    assert pages == (5 if mode == "content" else 3)


async def test_a_page_behind_the_last_says_how_many_there_are(desk) -> None:
    desk.put("f", "x\n" * 4)
    result = await desk.ok("content_search", pattern="x", offset=4)
    assert result.text == "[only 4 lines match; choose a smaller offset]"
    result = await desk.ok("content_search", pattern="x", offset=1, names_only=True)
    assert result.text == "[only 1 file match; choose a smaller offset]"
    result = await desk.ok("content_search", pattern="x", offset=1, limit=2)
    assert result.text.endswith(
        "[lines 2-3 of those that match; narrow the search, or go on with offset=3]"
    )


async def test_one_file_gives_no_more_lines_than_it_may(desk) -> None:
    desk.put("a", "x\n" * 5)
    desk.put("b", "x\n")
    result = await desk.ok("content_search", pattern="x", per_file=2)
    assert result.text == "a:1:x\na:2:x\nb:1:x"
    result = await desk.ok("content_search", pattern="x", per_file=2, offset=1)
    assert result.text == "a:2:x\nb:1:x"


async def test_what_is_excluded_is_not_looked_into(desk) -> None:
    for name in ("a.py", "a.min.js", "dist/b.py", "src/dist/c.py", "src/d.py"):
        desk.put(name, "x\n")
    for exclude in (["*.min.js", "dist"], ["*.min.js, dist/"], ["**/dist/**", "*.js"]):
        result = await desk.ok("content_search", pattern="x", exclude=exclude)
        assert result.text == "a.py:1:x\nsrc/d.py:1:x"


async def test_names_that_are_not_utf_8_are_told_with_what_to_do(desk) -> None:
    name = os.fsdecode(b"caf\xe9's.txt")
    desk.put(name, "x\n")
    command = "mv -- $'caf\\xe9\\'s.txt' NEW_NAME"
    for tool, arguments in (
        ("list_dir", {}),
        ("glob_search", {"pattern": "*"}),
        ("content_search", {"pattern": "x"}),
    ):
        text = (await desk.ok(tool, **arguments)).text
        assert "caf\\xe9's.txt" in text
        assert "1 name is not UTF-8" in text
        assert command in text
    error = await desk.error("file_read", path="caf\\xe9's.txt")
    assert command in error.fix
    assert "Did you mean" not in error.fix
    subprocess.run(["bash", "-c", command], cwd=desk.folder, check=True)
    assert (desk.folder / "NEW_NAME").read_text() == "x\n"
