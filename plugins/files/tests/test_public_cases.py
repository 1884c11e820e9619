"""Faults that other programs had with patches and edits, and what happens here instead."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.anyio


def patch(*lines: str) -> str:
    return "\n".join(("*** Begin Patch", *lines, "*** End Patch"))


def update(*lines: str) -> str:
    return patch("*** Update File: f", "@@", *lines)


@pytest.mark.parametrize(
    ("before", "text", "after"),
    [
        pytest.param(
            b"def a():\n    one = 1\n    two = 2\n",
            update("    one = 1", "-   two = 2", "+   two = 3"),
            b"def a():\n    one = 1\n    two = 3\n",
            id="context with an indent that is off by one keeps the file's own",
        ),
        pytest.param(
            "It\u2019s so  \nold\n".encode(),
            update(" It's so", "-old", "+new"),
            "It\u2019s so  \nnew\n".encode(),
            id="two blanks at the end of a line, and a curly apostrophe, stay",
        ),
        pytest.param(
            b"\xef\xbb\xbfa\r\nb\nc",
            update("-b", "+B"),
            b"\xef\xbb\xbfa\r\nB\nc",
            id="byte order mark, mixed line ends and no final one stay",
        ),
        pytest.param(
            b"\xef\xbb\xbfa\r\nb\nc",
            update("-a", "+A"),
            b"\xef\xbb\xbfA\r\nb\nc",
            id="the first line is found behind a byte order mark",
        ),
        pytest.param(
            b"foo\r\nbar\r\n", update("-foo", "+FOO"), b"FOO\r\nbar\r\n", id="cr lf stays"
        ),
        pytest.param(b"a\nb\n\n\n", update("-a", "+A"), b"A\nb\n\n\n", id="blank lines at the end"),
        pytest.param(
            b"old\n",
            patch("*** Delete File: f", "*** Add File: f", "+new"),
            b"new\n",
            id="delete, then add again",
        ),
        pytest.param(
            b"old\n",
            patch("*** Update File: f", "*** Move to: ./f", "@@", "-old", "+new"),
            b"new\n",
            id="a move to the same place deletes nothing",
        ),
    ],
)
async def test_a_patch_changes_what_it_says_and_no_other_byte(desk, before, text, after) -> None:
    path = desk.put("f", before)
    await desk.ok("apply_patch", patch=text)
    assert path.read_bytes() == after


@pytest.mark.parametrize(
    ("before", "text", "code"),
    [
        pytest.param(
            b"    x\n\ty\n",
            update("   x", "-  y", "+  z", "+      w"),
            "indentation",
            id="an indent that can't be told from the file",
        ),
        pytest.param(
            b"old\n", patch("*** Add File: f", "+new"), "exists", id="adding an existing file"
        ),
        pytest.param(
            b"old\n",
            patch(
                "*** Add File: g", "+x", "*** Update File: g", "*** Move to: f", "@@", "-x", "+y"
            ),
            "exists",
            id="moving onto an existing file",
        ),
        pytest.param(
            b"old\n",
            patch("*** Add File: g", "+x", "*** Update File: f", "@@", "-nothing", "+y"),
            "no_match",
            id="the second operation fails",
        ),
        pytest.param(
            b"old\n",
            patch("*** Update File: f", "*** Move to: ../f", "@@", "-old", "+new"),
            "sandbox_refused",
            id="out of the workspace",
        ),
    ],
)
async def test_what_a_patch_must_not_do_is_refused_and_changes_nothing(
    desk, before, text, code
) -> None:
    path = desk.put("f", before)
    assert (await desk.error("apply_patch", patch=text)).code == code
    assert [item.name for item in desk.folder.iterdir()] == ["f"]
    assert path.read_bytes() == before


async def test_an_update_of_a_missing_file_gets_the_same_clear_answer_every_time(desk) -> None:
    text = patch("*** Update File: gone.txt", "@@", "+new")
    first = await desk.error("apply_patch", patch=text)
    again = await desk.error("apply_patch", patch=text)
    assert first == again
    assert first.code == "not_found"
    assert "gone.txt" in first.message
    assert "`*** Add File:`" in first.fix


@pytest.mark.parametrize(
    ("before", "old", "new", "after"),
    [
        pytest.param(
            b"one\r\ntwo\r\nthree\r\n",
            "one\ntwo",
            "1\n2",
            b"1\r\n2\r\nthree\r\n",
            id="lf text in a cr lf file",
        ),
        pytest.param(
            b"\xef\xbb\xbfTitle\n", "Title", "Name", b"\xef\xbb\xbfName\n", id="behind the mark"
        ),
        pytest.param(b"Title\n", "Title", "Name", b"Name\n", id="no mark is added"),
        pytest.param(
            b"say\n", "say", "\u201cHi\u201d", "\u201cHi\u201d\n".encode(), id="curly quotes"
        ),
        pytest.param(
            b"if x:\r\n        y\r\n",
            "if x:\n        y",
            f"if x:\n        y\n{' ' * 16}z",
            b"if x:\r\n        y\r\n" + b" " * 16 + b"z\r\n",
            id="the indent of new text in a cr lf file is written as it is",
        ),
    ],
)
async def test_an_edit_changes_what_it_says_and_no_other_byte(
    desk, before, old, new, after
) -> None:
    path = desk.put("f", before)
    await desk.ok("file_edit", path="f", old_string=old, new_string=new)
    assert path.read_bytes() == after


async def test_a_link_to_nothing_is_called_one(desk) -> None:
    (desk.folder / "dangling").symlink_to("nothing")
    error = await desk.error("file_read", path="dangling")
    assert error.code == "not_found"
    assert error.message == "dangling is a link to what does not exist: nothing."


async def test_of_several_files_each_error_is_a_sentence_of_its_own(desk) -> None:
    desk.put("a", "x\n")
    text = (await desk.ok("read_many_files", paths=["a", "", "../b"])).text
    assert "Error: the path is empty. Name a file" in text
