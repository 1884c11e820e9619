from __future__ import annotations

import pytest
from pegboard_files.patch_apply import Applied, ChunkError, apply_chunks
from pegboard_files.patch_format import UpdateFile
from pegboard_files.patch_parser import parse_patch


def applied(text: str, *lines: str) -> Applied:
    whole = "\n".join(("*** Begin Patch", "*** Update File: f", *lines, "*** End Patch"))
    (update,) = parse_patch(whole)
    assert isinstance(update, UpdateFile)
    return apply_chunks(text, update.chunks)


def after(text: str, *lines: str) -> str:
    return applied(text, *lines).text


def refused(text: str, *lines: str) -> ChunkError:
    with pytest.raises(ChunkError) as caught:
        applied(text, *lines)
    assert caught.value.fix
    return caught.value


@pytest.mark.parametrize(
    ("text", "lines", "result"),
    [
        # context only locates: its bytes are the file's
        (
            "    if x:\n        y\n        z\n",
            ("@@", "    if x:", "-       y", "+       w", "        z"),
            "    if x:\n        w\n        z\n",
        ),
        ("It\u2019s  \nold\n", ("@@", " It's", "-old", "+new"), "It\u2019s  \nnew\n"),
        # byte for byte: mixed line ends, no final one
        ("a\r\nb\nc", ("@@", "-b", "+B"), "a\r\nB\nc"),
        ("foo\r\nbar\r\n", ("@@", "-foo", "+FOO"), "FOO\r\nbar\r\n"),
        ("a\r\nb\n", ("@@", " a", "+n"), "a\r\nn\r\nb\n"),
        ("a\r\nb\n", ("@@", " a", " b", "+n"), "a\r\nb\nn\n"),
        ("a\nb", ("@@", " b", "+c"), "a\nb\nc"),
        ("a\r\nb", ("@@", " b", "+c"), "a\r\nb\r\nc"),
        ("a\nb", ("@@", " a", "-b"), "a"),
        ("a", ("@@", "-a"), ""),
        ("a\n\n\n", ("@@", "-a", "+b"), "b\n\n\n"),
        # what is no line end in a file is a character of it
        ("a\x0bb\x0cc\x85d\u2028e\nf\n", ("@@", "-f", "+g"), "a\x0bb\x0cc\x85d\u2028e\ng\n"),
        ("a\rb\nc\n", ("@@", " a\rb", "-c", "+d"), "a\rb\nd\n"),
        # chunks go forward: the next equal lines are meant
        ("x\nx\nx\n", ("@@", "-x", "+1", "@@", "-x", "+2"), "1\n2\nx\n"),
        ("x\ny\nx\ny\n", ("@@ y", "-x", "+z"), "x\ny\nz\ny\n"),
        # context of two chunks may overlap
        (
            "a\nb\nc\nd\ne\n",
            ("@@", " a", "-b", "+B", " c", " d", "@@", " c", " d", "-e", "+E"),
            "a\nB\nc\nd\nE\n",
        ),
        ("a\nb\nc\n", ("@@", "-a", "+A", " b", "@@ b", "-c", "+C"), "A\nb\nC\n"),
        ("a\nb\nc\n", ("@@", "-a", "+A", " b", "@@ b", "+n"), "A\nb\nn\nc\n"),
        # lines for the end of the file don't end the way through it
        ("a\nb\n", ("@@", "+z", "@@", "-a", "+A"), "A\nb\nz\n"),
        ("a\nb", ("@@", "+y", "@@", "-b", "+B", "@@", "+z"), "a\nB\ny\nz"),
        # an empty line before the next chunk is no context
        ("a\nb\n", ("@@", "-a", "+A", "", "@@", "-b", "+B"), "A\nB\n"),
        # new lines are indented as the lines that they replace are
        ("\tif x:\n\t\ty\n", ("@@", "     if x:", "-        y", "+        z"), "\tif x:\n\t\tz\n"),
        ("   a\n", ("@@", "- a", "+ b", "+   c"), "   b\n     c\n"),
        ("a\n", ("@@", "-  a", "+  b", "+    c", "+"), "b\n  c\n\n"),
    ],
)
def test_a_text_becomes(text: str, lines: tuple[str, ...], result: str) -> None:
    assert after(text, *lines) == result


@pytest.mark.parametrize(
    ("text", "lines", "code", "words"),
    [
        ("a\n", ("@@", "-b", "+c"), "no_match", "nothing like it"),
        ("print(\u201chi\u201d)\n", ("@@", "-print('hi')", "+x"), "no_match", "U+201C"),
        ("def run(x):\n", ("@@ def run()", "-x", "+y"), "no_match", "`@@ def run()`"),
        ("a\nb\n", ("@@", "-b", "+c", "@@", "-a", "+d"), "out_of_order", "at line 1"),
        ("a \nx\na\t\n", ("@@", "-a", "+b"), "several_matches", "lines 1, 3"),
        ("end\nx\n", ("@@", "-end", "+e", "*** End of File"), "no_match", "end of the file"),
        ("  a\n\tb\n", ("@@", " a", "-b", "+b", "+ c"), "indentation", "' c'"),
        ("    a\n\tb\n", ("@@ x", "+c"), "no_match", "`@@ x`"),
    ],
)
def test_what_does_not_fit_is_refused(
    text: str, lines: tuple[str, ...], code: str, words: str
) -> None:
    error = refused(text, *lines)
    assert error.code == code
    assert words in error.message


def test_the_failing_chunk_is_named() -> None:
    error = refused("a\nb\n", "@@", "-a", "+A", "@@", "-zz", "+y")
    assert (error.chunk, error.line) == (2, 6)


def test_what_was_overlooked_is_told() -> None:
    assert applied("a \n", "@@", "-a", "+b").notes == ("chunk 1: blanks at line ends ignored",)
    assert applied("x\ny\nx\n", "@@", "-x", "+z").notes == (
        "chunk 1: applied at line 1, the first place; also fits line 3",
    )
    assert applied("a\nb\n", "@@", "-a", "+A").notes == ()
