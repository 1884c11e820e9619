from __future__ import annotations

import os
import random
import re
import shutil
import stat
import sys
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path

import pytest
from pegboard_files.matcher import Matcher
from pegboard_files.ripgrep import (
    RipgrepFailed,
    RipgrepQuery,
    command_line,
    files_with_matches,
    find_ripgrep,
)
from pegboard_files.ripgrep_pattern import for_ripgrep
from pegboard_files.search import Where, search_files
from pegboard_files.search_output import search_result
from pegboard_files.window import Search
from pegboard_sandbox_local.sandbox import LocalBackend

from pegboard import Sandbox, SandboxSpec, ToolFailure, ToolResult

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(shutil.which("rg") is None, reason="needs ripgrep"),
]

WORDS = ("alpha", "beta", "Gamma", "straße", "İstanbul", "naïve", "x9", "a_b", "foo.bar", "")
STRAYS = (
    b"caf\xe9",
    b"\xff",
    b"\xe2\x82",
    b"\r",
    b"\t",
    b"\xc5\xbf",
    b"\xc4\xb0s",
    b"\xe2\x84\xaa",
)
PIECES = (*(word.encode() for word in WORDS), *STRAYS)
ENDS = (b"\n", b"\n", b"\r\n")
PATTERNS = (
    "alpha",
    "^alpha",
    "bar$",
    "^$",
    "a.p",
    "caf. ",
    "caf..",
    "[^a-z ]a",
    r"\w+\s\d",
    r"\W\W",
    r"\bfoo",
    r"\balpha\b",
    r"\bis|\bk|s\b",
    r"ta\b",
    r"\b(alpha|beta)\b",
    "(alpha|beta) (foo|Gamma)",
    "stra.e",
    "[a-z]9{1,2}",
    r"foo\.bar",
    "x?9*$",
    r"[\w.]+\.b",
    "na.ve",
    "İ",
    r"\S\t",
    "a-_b|a[-_]b",
    "(?<=al)pha",  # only ours
    "(a|b)+?e",
    "(^|a)(lpha|$)",
    r"a$|\bfoo\b|^$",
    "$^",  # only ours, and the next three
    r"a$\b",
    "(a|$)^",
    r"(?:\ba$)+",
    " $",
    ".",
)


async def opened(folder: Path) -> Sandbox:
    return await LocalBackend().open(SandboxSpec(workspace=folder))


async def found(
    box: Sandbox, pattern: str, *, by: str, path: str = ".", **options: object
) -> ToolResult:
    matcher = Matcher(
        pattern,
        literal=bool(options.pop("literal", False)),
        ignore_case=bool(options.pop("ignore_case", False)),
        remaining=lambda: 60.0,
    )
    gitignore = bool(options.pop("gitignore", True))
    search = Search(matcher, **{"limit": 2000, **options})  # type: ignore[arg-type]
    where = Where(path, gitignore=gitignore)
    chosen = await search_files(box, search, where, ripgrep=by == "rg")
    if by == "walk":
        assert chosen == "walk"
    return search_result(search, where, seconds=60.0, by=chosen)


async def same(box: Sandbox, pattern: str, **options: object) -> str:
    """Search with ripgrep and without, and return what chose the files with it."""
    fast = await found(box, pattern, by="rg", **options)
    slow = await found(box, pattern, by="walk", **options)
    assert fast.output == slow.output, (pattern, options)
    assert fast.structured == slow.structured
    chosen = str(fast.details["chosen_by"])
    literal, ignore_case = bool(options.get("literal")), bool(options.get("ignore_case"))
    portable = for_ripgrep(pattern, literal=literal, ignore_case=ignore_case) is not None
    assert chosen == ("rg" if portable else "walk"), pattern
    return chosen


def grow(folder: Path, seed: int) -> None:
    """Make a tree of odd names, ignore files, links and bytes that are no text."""
    chance = random.Random(seed)
    folders = ["", "a/", "a-b/", "a.b/", "a/deep/", ".hidden/", "node_modules/", ".git/", "é/"]
    for name in folders:
        (folder / name).mkdir(parents=True, exist_ok=True)
    for name in folders:
        for file in ("f.py", "f.txt", "g", "-e", "z z.md", "é.py"):
            if chance.random() < 0.6:
                lines = [
                    b" ".join(chance.choices(PIECES, k=chance.randrange(5))) + chance.choice(ENDS)
                    for _ in range(chance.randrange(12))
                ]
                (folder / name / file).write_bytes(b"".join(lines))
    (folder / "bom").write_bytes(b"\xef\xbb\xbfalpha\r\nfoo.bar\r\n")
    (folder / "wide").write_bytes(b"\xff\xfe" + "alpha\nstraße\n".encode("utf-16-le"))
    (folder / "wider").write_bytes(b"\xff\xfe\0\0" + "alpha\n".encode("utf-32-le"))
    (folder / "wider-be").write_bytes(b"\0\0\xfe\xff" + "alpha\n".encode("utf-32-be"))
    (folder / "wide-be").write_bytes(b"\xfe\xff" + "alpha\nfoo.bar\r\n".encode("utf-16-be"))
    (folder / "wide-odd").write_bytes(b"\xff\xfe" + b"a\0l\0\0\xd8a\0\n\0x")
    (folder / "binary").write_bytes(b"alpha\n\0\n")
    (folder / "late").write_bytes(b"alpha\n" + b"x" * 9000 + b"\0\nalpha\n")
    (folder / "link").symlink_to("bom")
    (folder / "out").symlink_to("/etc")
    os.mkfifo(folder / "fifo")
    (folder / os.fsdecode(b"stray\xff")).write_bytes(b"alpha\n")
    (folder / "two\nlines").write_bytes(b"alpha\n")
    (folder / ".gitignore").write_text("node_modules\n*.md\n!a/z z.md\n/a-b/f.*\n")
    (folder / "a/.gitignore").write_text(chance.choice(["*.txt\n", "deep/\n!*.md\n", "/g\n"]))
    (folder / "a/deep/.git").mkdir()  # a repository within: what is above still counts


@pytest.mark.parametrize("seed", range(4))
async def test_ripgrep_and_the_walk_find_the_same(seed: int, tmp_path: Path) -> None:
    grow(tmp_path, seed)
    box = await opened(tmp_path)
    for pattern in PATTERNS:
        await same(box, pattern, ignore_case=seed % 2 == 1)
    assert await same(box, "alpha", gitignore=False) == "rg"
    assert await same(box, "foo.bar", literal=True, path="a", before=2, after=1) == "rg"
    assert await same(box, "a", limit=3) == "rg"
    assert await same(box, "a", limit=3, mode="count") == "rg"
    assert await same(box, "beta", mode="files_with_matches", path="a/deep") == "rg"
    await box.aclose()


async def test_utf_32_is_searched_only_where_the_file_is_named(tmp_path: Path) -> None:
    for name, encoding in (("le", "utf-32-le"), ("be", "utf-32-be")):
        (tmp_path / name).write_bytes("\ufeffneedle\né\n".encode(encoding))
    box = await opened(tmp_path)
    for pattern in ("needle", "e", "."):
        assert await same(box, pattern) == "rg"
        assert (await found(box, pattern, by="rg")).structured["files"] == 0
        for name in ("le", "be"):
            result = await found(box, pattern, by="rg", path=name)
            assert f"{name}:1:needle" in result.output
    await box.aclose()


async def test_a_cap_is_right_when_most_of_what_ripgrep_names_does_not_count(
    tmp_path: Path,
) -> None:
    for number in range(120):
        data = b"needle\n\0" if number % 10 else b"needle\nneedle\n"
        (tmp_path / f"{number:03}").write_bytes(data)
    box = await opened(tmp_path)
    for limit in (1, 2, 3, 7, 11, 12, 23, 24, 25):
        assert await same(box, "needle", limit=limit) == "rg"
        assert await same(box, "needle", limit=limit, mode="count") == "rg"
    await box.aclose()


def test_most_patterns_are_ripgreps_and_the_others_are_known() -> None:
    def known(pattern: str) -> bool:
        return for_ripgrep(pattern, literal=False, ignore_case=False) is not None

    only_ours = ["(?<=al)pha", "$^", r"a$\b", "(a|$)^", r"(?:\ba$)+"]
    assert [pattern for pattern in PATTERNS if not known(pattern)] == only_ours
    for pattern in (
        *(r"\1", r"(?i)a", r"(?P<n>a)", r"a++", r"a{2}{3}", r"^*", r"\Aa", r"\Ba", r"[[:alpha:]]"),
        *("[a&&b]", "[é-í]", "a{,3}", "a{", "]", r"\x41", r"\N", "a\ufffd", r"[\W]", "(?#c)a"),
    ):
        assert not known(pattern), pattern


@pytest.mark.parametrize("seed", range(3))
def test_a_rewritten_pattern_is_valid_and_no_text_of_a_pattern_is_read_as_an_option(
    seed: int,
) -> None:
    chance = random.Random(seed)
    alphabet = "ab.*+?|()[]{}^$-\\wWsbd 1,&~éi"
    for _ in range(2000):
        pattern = "".join(chance.choices(alphabet, k=chance.randrange(1, 9)))
        try:
            Matcher(pattern, literal=False, ignore_case=False, remaining=lambda: 1.0)
        except ToolFailure:
            continue
        for_ripgrep(pattern, literal=False, ignore_case=bool(seed % 2))


async def test_random_patterns_find_the_same(tmp_path: Path) -> None:
    grow(tmp_path, 7)
    box = await opened(tmp_path)
    chance = random.Random(11)
    tokens = (*"ab.x9", r"\w", r"\W", r"\s", r"\S", r"\b", "[^a]", "[a-f]", "*", "+?", "{1,2}", "|")
    done = 0
    while done < 60:
        pattern = "".join(chance.choices(tokens, k=chance.randrange(2, 7)))
        try:
            re.compile(pattern)
        except re.error:
            continue
        await same(box, pattern, ignore_case=done % 3 == 0)
        done += 1
    await box.aclose()


async def test_a_program_that_a_run_could_have_written_is_not_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = tmp_path / "ws"
    (workspace / "bin").mkdir(parents=True)
    fake = workspace / "bin/rg"
    fake.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    fake.chmod(fake.stat().st_mode | stat.S_IXUSR)
    outside = tmp_path / "elsewhere"
    outside.mkdir()
    (outside / "rg").symlink_to(fake)
    box = await opened(workspace)
    for folder in (workspace / "bin", outside):
        monkeypatch.setenv("PATH", str(folder))
        program = find_ripgrep(box)
        assert program is None or Path(program).resolve() != fake
        await found(box, "x", by="rg")
    assert not (tmp_path / "ran").exists()
    await box.aclose()


async def test_ripgrep_is_ended_when_it_has_named_enough(tmp_path: Path) -> None:
    for number in range(2000):
        (tmp_path / f"{number:0100}").write_text("needle")
    program = str(shutil.which("rg"))
    argv = command_line(program, RipgrepQuery("needle"))
    named = await all_named(argv, tmp_path, enough=3)
    # it can't have written more than its pipe holds
    assert 3 <= len(named) < 1000
    assert named == [f"{number:0100}" for number in range(len(named))]
    assert len(await all_named(argv, tmp_path, enough=5000)) == 2000


async def test_what_was_named_is_given_before_more_comes_and_the_program_ends_with_the_reader(
    tmp_path: Path,
) -> None:
    program = (
        "import os, time; print(f'./{os.getpid()}\\0001', flush=True); "
        "print('x\\000', end='', flush=True); time.sleep(600)"
    )
    argv = [sys.executable, "-c", program]
    found = files_with_matches(
        argv, str(tmp_path), enough=9, remaining=lambda: 60.0, passed_over=list
    )
    async with aclosing(found):
        first = await anext(found)
    assert len(first) == 1
    with pytest.raises(ProcessLookupError):
        os.kill(int(first[0]), 0)


async def test_a_program_that_fails_or_takes_too_long_is_told_from_one_that_finds(
    tmp_path: Path,
) -> None:
    failing = "import sys; print('a\\0001', flush=True); sys.exit('boom')"
    with pytest.raises(RipgrepFailed, match="boom"):
        await all_named([sys.executable, "-c", failing], tmp_path, enough=9)
    # what comes behind the last that was wanted is nobody's
    assert await all_named([sys.executable, "-c", failing], tmp_path, enough=1) == ["a"]
    with pytest.raises(RipgrepFailed):
        await all_named([str(tmp_path / "missing")], tmp_path, enough=1)
    with pytest.raises(TimeoutError):
        await all_named([sys.executable, "-c", failing], tmp_path, enough=9, remaining=0.0)


async def all_named(
    argv: list[str], folder: Path, *, enough: int, remaining: float = 60.0
) -> list[str]:
    groups = files_with_matches(
        argv, str(folder), enough=enough, remaining=lambda: remaining, passed_over=list
    )
    async with aclosing(groups):
        return [name async for group in groups for name in group]


async def test_settings_of_the_user_do_not_reach_ripgrep(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ws").mkdir()
    (tmp_path / "ws/a").write_text("needle\n")
    (tmp_path / "rc").write_text("--pre=/bin/false\n--glob=!a\n")
    monkeypatch.setenv("RIPGREP_CONFIG_PATH", str(tmp_path / "rc"))
    box = await opened(tmp_path / "ws")
    result = await found(box, "needle", by="rg")
    assert result.details["chosen_by"] == "rg"
    assert result.structured["files"] == 1
    await box.aclose()


async def test_files_that_are_elsewhere_are_found_through_the_sandbox(tmp_path: Path) -> None:
    grow(tmp_path, 3)
    box = await opened(tmp_path)
    here = {pattern: await found(box, pattern, by="walk") for pattern in ("alpha", "a.p", "^$")}
    box.info = replace(box.info, files_here=False)
    assert find_ripgrep(box) is None
    for pattern, expected in here.items():
        there = await found(box, pattern, by="rg")
        assert there.details["chosen_by"] == "walk"
        assert there.output == expected.output
    await box.aclose()
