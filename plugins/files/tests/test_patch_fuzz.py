"""Patches made of differences, applied here and by git; and patches that are broken at random."""

from __future__ import annotations

import contextlib
import difflib
import re
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from pegboard_files.patch_apply import ChunkError, apply_chunks
from pegboard_files.patch_format import PATHS, PatchSyntaxError, UpdateFile
from pegboard_files.patch_parser import parse_patch
from pegboard_files.patch_plan import paths_of

QUIET = settings(
    deadline=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
WORDS = st.sampled_from(["", "a", "  b", "\tc", "d ", "@@", "*** e", "+f", "-g", "é", "\u2028h"])
LINES = st.lists(WORDS, max_size=30)


@st.composite
def versions(draw: st.DrawFn) -> tuple[list[str], list[str]]:
    """Return the lines of a file before and after a change."""
    old = draw(LINES)
    new = list(old)
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(new)))
        stop = draw(st.integers(at, min(len(new), at + 3)))
        new[at:stop] = draw(st.lists(WORDS, max_size=3))
    return old, new


def chunks_of(old: list[str], new: list[str], context: int) -> list[str]:
    """Return a difference as the lines of a patch."""
    out: list[str] = []
    diff = difflib.unified_diff(old, new, n=context, lineterm="")
    for line in list(diff)[2:]:
        out.append("@@" if line.startswith("@@") else line)
    return out


def update(lines: list[str]) -> UpdateFile:
    text = "\n".join(["*** Begin Patch", "*** Update File: f", *lines, "*** End Patch"])
    (operation,) = parse_patch(text)
    assert isinstance(operation, UpdateFile)
    return operation


def text_of(lines: list[str], end: str = "\n") -> str:
    return "".join(f"{line}{end}" for line in lines)


@QUIET
@given(versions(), st.integers(1, 4))
def test_git_makes_the_same_of_a_difference(
    tmp_path: Path, pair: tuple[list[str], list[str]], context: int
) -> None:
    # every line is another one, so that each place is the only one
    old = [f"{number} {line}" for number, line in enumerate(pair[0])]
    new = [f"{number} {line}" for number, line in enumerate(pair[0])]
    for number, line in enumerate(pair[1]):
        if number < len(new) and pair[0][number] != line:
            new[number] = f"n{number} {line}"
    new.extend(f"n{number} {line}" for number, line in enumerate(pair[1][len(new) :]))
    assume(old and new and old != new)
    (tmp_path / "f").write_text(text_of(old), encoding="utf-8", newline="")
    diff = difflib.unified_diff(
        [f"{line}\n" for line in old], [f"{line}\n" for line in new], "a/f", "b/f", n=context
    )
    done = subprocess.run(
        ["git", "apply", "-"],
        input="".join(diff).encode(),
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    by_git = (tmp_path / "f").read_bytes().decode()
    ours = apply_chunks(text_of(old), update(chunks_of(old, new, context)).chunks)
    assert ours.text == by_git
    assert ours.notes == ()


@QUIET
@given(versions(), st.integers(0, 4))
def test_lines_that_are_there_twice_never_go_to_another_place_unsaid(
    pair: tuple[list[str], list[str]], context: int
) -> None:
    old, new = pair
    assume(old != new)
    lines = chunks_of(old, new, context)
    try:
        done = apply_chunks(text_of(old), update(lines).chunks)
    except (ChunkError, PatchSyntaxError):
        return
    if not done.notes and not any(line == "@@" for line in _bare(lines)):
        assert done.text == text_of(new)


def _bare(lines: list[str]) -> list[str]:
    """Return the `@@` lines of places without an old line: those go to the end of the file."""
    found: list[str] = []
    for place in "\n".join(lines).split("\n@@\n"):
        if not re.search(r"(?m)^[ -]", place.removeprefix("@@\n")):
            found.append("@@")
    return found


@QUIET
@given(versions(), st.integers(1, 4), st.booleans())
def test_line_ends_and_the_end_of_the_file_stay(
    pair: tuple[list[str], list[str]], context: int, final: bool
) -> None:
    old, new = pair
    assume(old != new)
    chunks = None
    with contextlib.suppress(PatchSyntaxError):
        chunks = update(chunks_of(old, new, context)).chunks
    assume(chunks is not None)
    results: list[str] = []
    for end in ("\n", "\r\n"):
        text = text_of(old, end)
        text = text if final else text.removesuffix(end)
        try:
            done = apply_chunks(text, chunks).text
        except ChunkError as error:
            done = error.code
        else:
            # an empty last line without an end can't be told from the end of the line before it
            if text and done and "" not in new:
                assert done.endswith("\n") == text.endswith("\n")
            if "\n" in text:
                assert done.count("\n") == done.count(end)
        results.append(done.replace("\r\n", "\n"))
    if "\n" in text_of(old)[:-1]:
        assert results[0] == results[1]


VALID = "\n".join(
    [
        "*** Begin Patch",
        "*** Update File: a/b.py",
        "*** Move to: c.py",
        "@@ def f():",
        "     x = 1",
        "-    y = 2",
        "+    y = 3",
        "*** End of File",
        "*** Add File: d",
        "+x",
        "*** Delete File: e",
        "*** End Patch",
    ]
)


@settings(deadline=None, max_examples=300)
@given(
    st.lists(
        st.tuples(
            st.integers(0, len(VALID)),
            st.integers(0, 12),
            st.sampled_from(
                ["", "\n", "\r\n", " ", "*** ", "@@", "+", "-", "***", "x", "*** Add File: ", "\\"]
            ),
        ),
        max_size=5,
    )
)
def test_a_broken_patch_is_read_or_refused_and_its_paths_are_known(
    changes: list[tuple[int, int, str]],
) -> None:
    text = VALID
    for at, length, new in changes:
        text = text[:at] + new + text[at + length :]
    try:
        operations = parse_patch(text)
    except PatchSyntaxError as error:
        assert error.message
        assert error.fix
        assert 0 <= error.line <= text.count("\n") + 1
        return
    # what policy is told of must be what will be written
    assert set(paths_of(operations)) <= set(re.findall(PATHS, text))


@settings(deadline=None, max_examples=200)
@given(st.text(max_size=200))
def test_any_text_is_refused(text: str) -> None:
    with pytest.raises(PatchSyntaxError):
        parse_patch(text)
