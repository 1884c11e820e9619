"""The tools that look for and read files, against ripgrep and against counting line ends."""

from __future__ import annotations

import os
import random
import resource
import shutil
import statistics
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from resource import RUSAGE_CHILDREN, RUSAGE_SELF
from typing import Any

import anyio
from pegboard_files.ripgrep import RipgrepQuery, command_line
from pegboard_files.ripgrep_pattern import for_ripgrep

from pegboard import ToolResult
from pegboard.testing import HostFactory, HostUnderTest

FILES = 50_000
PER_FOLDER = 100
LIMIT = 200
ROUNDS = 7
SEARCHES = 21  # short, and what else the machine does weighs more
LINES_OF_A_GIGABYTE = 18_000_000
WORDS = ("alpha", "beta", "gamma", "delta", "return", "import", "class", "def", "value", "result")
WORDS += ("buffer", "handle", "stream", "reader", "writer", "token", "parse", "model", "config")
IGNORED = "*.log\nnode_modules/\n/build/\n__pycache__\n*.py[co]\n.env*\n!keep.log\nmod01?/file00*\n"
RARE, CAPPED = "the_rare_needle", "the_needle_of_many"


def measure(row: Any, peers_python: Any) -> Iterator[Any]:
    # CPU time of this process and of those it starts: both sides wait for ripgrep
    rows = (
        row("content_search, 50,000 files", "ms", 1.15, "the same rg command"),
        row("content_search, stopped at its cap", "ms", 1.15, "the same rg command, same cap"),
        row("glob_search, 50,000 files", "ms", 2.5, "rg --files --no-ignore"),
        row("glob_search, with .gitignore", "ms", 2.5, "rg --files"),
    )
    pages = (
        row("file_read, deep in 1 GB, first page", "ms", 1.3, "counting line ends up to there"),
        row("file_read, the next page", "ms", 0.05, "counting line ends up to there"),
    )
    with tempfile.TemporaryDirectory() as folder:
        anyio.run(_measure, Path(folder), rows, pages)
    yield from (*rows, *pages)


async def _measure(folder: Path, rows: tuple[Any, ...], pages: tuple[Any, ...]) -> None:
    factory = HostFactory(folder)
    grow(factory.workspace / "tree")
    write_gigabyte(factory.workspace / "large.log")
    async with factory("files", "sandbox-local", record=False) as host:
        for _ in range(SEARCHES + 1):
            await searching(host, rows)
        for number in range(ROUNDS):
            await reading(host, pages, number)
    for row in rows:  # the first of each loads what the others find
        del row.ours[0], row.reference[0]


async def searching(host: HostUnderTest, rows: tuple[Any, ...]) -> None:
    tree = host.workspace / "tree"
    for row, pattern in zip(rows[:2], (RARE, CAPPED), strict=True):
        spent, found = await called(host, "content_search", pattern=pattern, path="tree")
        assert found.details["chosen_by"] == "rg"
        assert found.structured["truncated"] == (pattern == CAPPED)
        row.ours.append(spent)
        row.reference.append(bare_ripgrep(tree, pattern))
    for row, ignore in zip(rows[2:], (False, True), strict=True):
        spent, found = await called(
            host, "glob_search", pattern="**/file099.*", path="tree", gitignore=ignore, limit=5000
        )
        assert len(found.structured["paths"]) == FILES // PER_FOLDER
        row.ours.append(spent)
        row.reference.append(bare_listing(tree, ignore))


async def reading(host: HostUnderTest, pages: tuple[Any, ...], number: int) -> None:
    path = host.workspace / "large.log"
    line = LINES_OF_A_GIGABYTE - 1000 * (number + 1)
    os.utime(path)  # another version, of which nothing is known
    first, found = await called(host, "file_read", path="large.log", offset=line, limit=100)
    following, _ = await called(
        host, "file_read", path="large.log", offset=found.structured["next_offset"], limit=100
    )
    counted = counting(path, line)
    for row, spent in zip(pages, (first, following), strict=True):
        row.ours.append(spent)
        row.reference.append(counted)


async def called(host: HostUnderTest, tool: str, **arguments: Any) -> tuple[float, ToolResult]:
    """Call a tool and return the CPU milliseconds it took."""
    started = spent_ms()
    result = await host.call(f"files:{tool}", **arguments)
    spent = spent_ms() - started
    assert result.error is None, result.error
    return spent, result


def bare_ripgrep(tree: Path, pattern: str) -> float:
    """Run the command that the tool runs, up to the same number of matches."""
    expression = for_ripgrep(pattern, literal=False, ignore_case=False)
    argv = command_line(str(shutil.which("rg")), RipgrepQuery(str(expression)))
    started = spent_ms()
    with subprocess.Popen(argv, cwd=tree, stdout=subprocess.PIPE, env={}) as process:
        assert process.stdout is not None
        for count, _ in enumerate(process.stdout, 1):
            if count > LIMIT:
                process.kill()
                break
        process.stdout.read()
    return spent_ms() - started


def spent_ms() -> float:
    """Return the CPU milliseconds of this process and of those it waited for."""
    own, others = (resource.getrusage(who) for who in (RUSAGE_SELF, RUSAGE_CHILDREN))
    return 1e3 * (own.ru_utime + own.ru_stime + others.ru_utime + others.ru_stime)


def bare_listing(tree: Path, ignore: bool) -> float:
    rules = ["--no-require-git"] if ignore else ["--no-ignore"]
    argv = ["rg", "--files", "--no-config", "--hidden", "--glob=!**/.git/", *rules]
    started = spent_ms()
    subprocess.run(argv, cwd=tree, capture_output=True, check=True)
    return spent_ms() - started


def counting(path: Path, line: int) -> float:
    """Return the milliseconds it takes to count line ends up to a line, the plain way."""
    samples = []
    for _ in range(3):
        started, count = spent_ms(), 0
        with path.open("rb", buffering=0) as file:
            while count < line and (piece := file.read(1 << 20)):
                count += piece.count(b"\n")
        samples.append(spent_ms() - started)
    return statistics.median(samples)


def grow(tree: Path) -> None:
    """Make 50,000 files of about 4 KB: 150 hold the rare word, one in 90 the other."""
    chance = random.Random(1)
    blocks = ["\n".join(" ".join(chance.choices(WORDS, k=9)) for _ in range(32)) for _ in range(50)]
    for number in range(FILES):
        place, name = divmod(number, PER_FOLDER)
        folder = tree / f"pkg{place % 20:02}" / f"mod{place:03}"
        if not name:
            folder.mkdir(parents=True)
        words = [RARE] * (number % 333 == 0) + [CAPPED] * (number % 90 == 0)
        text = "\n".join([chance.choice(blocks), *words, chance.choice(blocks), ""])
        ending = "py" if name % 2 else "txt"
        (folder / f"file{name:03}.{ending}").write_text(text, encoding="ascii")
    (tree / ".gitignore").write_text(IGNORED, encoding="ascii")


def write_gigabyte(path: Path) -> None:
    block = "".join(
        f"{number:08} a line of a log that says something here and now\n"
        for number in range(100_000)
    )
    with path.open("w", encoding="ascii") as file:
        for _ in range(LINES_OF_A_GIGABYTE // 100_000):
            file.write(block)
