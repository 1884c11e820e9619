"""Every example of the README and of docs/ is run, in order, page by page, in a folder of its own.

A block is run when an HTML comment stands on the line before it: `<!-- run -->` before a `console`
block (lines that begin with `$ ` are commands, the lines after them the expected output, where
`...` stands for anything), and `<!-- file: PATH -->` before a block that becomes that file.
"""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
BLOCK = re.compile(
    r"^<!-- (?P<mark>run|file: (?P<file>\S+)) -->\n```(?P<lang>\w+)[^\n]*\n(?P<body>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
PAGES = sorted([REPOSITORY / "README.md", *REPOSITORY.glob("docs/**/*.md")])
RUNNABLE = [page for page in PAGES if page.is_file() and BLOCK.search(page.read_text("utf-8"))]


@dataclass(frozen=True)
class Step:
    command: str
    expected: tuple[str, ...]


def steps(body: str) -> list[Step]:
    found: list[Step] = []
    for line in body.splitlines():
        if line.startswith("$ "):
            found.append(Step(line[2:], ()))
        elif found:
            last = found.pop()
            found.append(Step(last.command, (*last.expected, line)))
    return found


def matches(expected: tuple[str, ...], output: str) -> bool:
    text = "\n".join(line.rstrip() for line in expected).strip()
    pattern = re.escape(text).replace(re.escape("..."), ".*")
    got = "\n".join(line.rstrip() for line in output.splitlines()).strip()
    return re.fullmatch(pattern, got, re.DOTALL) is not None


def test_there_are_examples_to_run() -> None:
    assert REPOSITORY / "README.md" in RUNNABLE
    assert REPOSITORY / "docs" / "tutorial" / "first-plugin.md" in RUNNABLE


@pytest.mark.parametrize("page", RUNNABLE, ids=lambda page: page.relative_to(REPOSITORY).as_posix())
def test_the_examples_of_a_page_do_what_it_says(page: Path, overlay, tmp_path: Path) -> None:
    work = tmp_path / "work"
    shutil.copytree(REPOSITORY / "examples" / "demo", work)
    for block in BLOCK.finditer(page.read_text("utf-8")):
        if block["file"]:
            target = work / block["file"]
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(block["body"], encoding="utf-8")
            continue
        for step in steps(block["body"]):
            ran = overlay.run("bash", "-c", step.command, cwd=work)
            output = ran.stdout + ran.stderr
            shown = any("Traceback" in line for line in step.expected)
            assert shown or "Traceback" not in output, f"$ {step.command}\n{output}"
            assert matches(step.expected, output), (
                f"$ {step.command}\nexpected:\n" + "\n".join(step.expected) + f"\ngot:\n{output}"
            )
