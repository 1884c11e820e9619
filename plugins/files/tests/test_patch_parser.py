from __future__ import annotations

import re

import pytest
from pegboard_files.patch_format import PATHS, AddFile, DeleteFile, PatchSyntaxError, UpdateFile
from pegboard_files.patch_parser import parse_patch


def patch(*lines: str) -> str:
    return "\n".join(("*** Begin Patch", *lines, "*** End Patch"))


def test_all_operations_are_read_in_their_order() -> None:
    add, delete, update = parse_patch(
        patch(
            "*** Add File: a b.txt",
            "+x",
            "+",
            "*** Delete File: d",
            "*** Update File: u",
            "*** Move to: v",
            "@@ class A:",
            "@@   def f",
            " keep",
            "-old",
            "+new",
            "",
            "*** End of File",
        )
    )
    assert add == AddFile("a b.txt", ("x", ""), 2)
    assert delete == DeleteFile("d", 5)
    assert isinstance(update, UpdateFile)
    assert (update.path, update.move_to) == ("u", "v")
    (chunk,) = update.chunks
    assert chunk.anchors == ("class A:", "  def f")
    assert chunk.old == ("keep", "old", "")
    assert chunk.at_end
    assert chunk.line == 8


@pytest.mark.parametrize(
    "wrap",
    [
        "{}",
        "\n\n{}\n \n",
        "<<EOF\n{}\nEOF",
        "<<'EOF'\n{}\nEOF\n",
        '<<"PATCH"\n{}\nPATCH',
        "apply_patch <<'EOF'\n{}\nEOF",
        "```\n{}\n```",
        "```patch\n{}\n```\n",
        "\ufeff{}",
    ],
)
def test_what_models_put_around_a_patch_is_taken_off(wrap: str) -> None:
    text = patch("*** Add File: f", "+```", "+EOF")
    assert parse_patch(wrap.format(text)) == (AddFile("f", ("```", "EOF"), 2),)


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("", 1, "first line"),
        ("hello", 1, "`*** Begin Patch`, not `hello`"),
        ("*** Begin Patch", 1, "cut off"),
        ("*** Begin Patch\n*** Add File: f\n+x", 3, "cut off"),
        (patch(), 0, "changes no file"),
        (patch("", " "), 0, "changes no file"),
        (patch("*** Update File: f"), 2, "changes nothing"),
        (patch("*** Update File: f", "@@", " a"), 3, "changes nothing"),
        (patch("*** Update File: f", "@@ a"), 3, "changes nothing"),
        (patch("*** Update File: f", "x"), 3, "must begin with a blank, `+` or `-`"),
        (patch("*** Update File: f", "@@", "-a", "*** End of File", "-b"), 6, "`@@` before"),
        (patch("*** Add File:"), 2, "names no path"),
        (patch("*** Update File: f", "*** Move to: ", "-a"), 3, "names no path"),
        (patch("*** Add File: f", "x"), 3, "does not begin with `+`"),
        (patch("*** Add File: f", "+x", "", "+y"), 4, "does not begin with `+`"),
        (patch("*** Delete File: f", "-x"), 3, "where a file should begin"),
        (patch("*** Rename File: f"), 2, "where a file should begin"),
        (patch("*** Update File: f", "@@", "-a", "\\ No newline at end of file"), 5, "format"),
        ("*** begin patch\n*** end patch", 1, "first line"),
    ],
)
def test_what_is_no_patch_is_named_by_line(text: str, line: int, words: str) -> None:
    with pytest.raises(PatchSyntaxError) as caught:
        parse_patch(text)
    assert caught.value.line == line
    assert words in caught.value.message
    assert caught.value.fix


def test_empty_lines_between_files_are_nothing() -> None:
    found = parse_patch(patch("", "*** Add File: a", "+x", "", "  ", "*** Delete File: b", ""))
    assert [operation.path for operation in found] == ["a", "b"]


def test_a_patch_with_cr_lf_is_read_without_them() -> None:
    text = patch("*** Update File: f", "@@ a", "-b", "+c").replace("\n", "\r\n")
    (update,) = parse_patch(text)
    assert isinstance(update, UpdateFile)
    assert update.chunks[0].anchors == ("a",)
    assert [line.text for line in update.chunks[0].lines] == ["b", "c"]


def test_the_pattern_for_paths_finds_every_path() -> None:
    text = patch(
        "  *** Update File:  a b\t", "*** Move to: c", "@@", "-x", "*** Delete File: d", "+ no"
    ).replace("\n", "\r\n")
    assert re.findall(PATHS, text) == ["a b", "c", "d"]


@pytest.mark.parametrize("header", ["\r*** Delete File: f", " \r\t*** Delete File:\r f \r"])
def test_a_header_is_found_by_policy_however_it_is_padded(header: str) -> None:
    text = patch(header)
    assert parse_patch(text) == (DeleteFile("f", 2),)
    assert re.findall(PATHS, text) == ["f"]


def test_long_blanks_in_a_path_do_not_hold_policy_up() -> None:
    path = f"a{' ' * 200_000}b"
    assert re.findall(PATHS, patch(f"*** Delete File: {path}  ")) == [path]
