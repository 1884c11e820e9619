from __future__ import annotations

import random
import stat

import pytest

pytestmark = pytest.mark.anyio


async def test_a_new_file_is_created_with_its_folders(desk) -> None:
    result = await desk.ok("file_write", path="a/b/notes.md", content="# Title\n\nText")
    assert result.text == "Created a/b/notes.md (3 lines, 13 B)."
    assert result.structured == {
        "path": "a/b/notes.md",
        "created": True,
        "line_count": 3,
        "bytes": 13,
    }
    assert (desk.folder / "a/b/notes.md").read_bytes() == b"# Title\n\nText"


async def test_an_existing_file_is_replaced_and_keeps_its_mode(desk) -> None:
    path = desk.put("run.sh", "old\n")
    path.chmod(0o755)
    result = await desk.ok("file_write", path="run.sh", content="new\n")
    assert result.text == "Replaced run.sh (1 line, 4 B)."
    assert not result.structured["created"]
    assert result.details["diff"] == "--- run.sh\n+++ run.sh\n@@ -1 +1 @@\n-old\n+new\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o755


async def test_content_is_written_as_it_is(desk) -> None:
    content = "\ufeff\u201cHi\u201d\r\nx\r🧩\n\n"
    await desk.ok("file_write", path="f", content=content)
    assert (desk.folder / "f").read_bytes() == content.encode()
    await desk.ok("file_write", path="f", content="")
    assert (desk.folder / "f").read_bytes() == b""


async def test_a_binary_file_can_be_replaced(desk) -> None:
    desk.put("f", b"\xff\x00" * 10)
    result = await desk.ok("file_write", path="f", content="x")
    assert "diff" not in result.details


@pytest.mark.parametrize("path", ["../x", "/etc/x", "a/../../x", ".git/config", ".envrc", "d/"])
async def test_where_nothing_may_be_written_nothing_is(path: str, desk) -> None:
    before = sorted(desk.folder.parent.rglob("x"))
    await desk.error("file_write", path=path, content="evil")
    assert list(desk.folder.iterdir()) == []
    assert sorted(desk.folder.parent.rglob("x")) == before


async def edit(desk, data: bytes, old: str, new: str, **options) -> bytes:
    path = desk.put("f.txt", data)
    await desk.ok("file_edit", path="f.txt", old_string=old, new_string=new, **options)
    return path.read_bytes()


@pytest.mark.parametrize(
    ("data", "old", "new", "after"),
    [
        (b"\xef\xbb\xbfTitle\n", "Title", "Name", b"\xef\xbb\xbfName\n"),
        (b"\xef\xbb\xbfTitle\n", "\ufeffTitle", "\ufeffName", b"\xef\xbb\xbfName\n"),
        (b"\xef\xbb\xbfa\r\nb\nc", "b", "B", b"\xef\xbb\xbfa\r\nB\nc"),
        (b"foo\r\nbar\r\n", "foo\nbar", "FOO\nbar", b"FOO\r\nbar\r\n"),
        (b"a\r\nb\r\n", "a\nb", f"a\n{' ' * 16}b", b"a\r\n" + b" " * 16 + b"b\r\n"),
        (b"x", "x", "\u201cHi\u201d", "\u201cHi\u201d".encode()),
        (b"caf\xe9 one\n", "one", "two", b"caf\xe9 two\n"),
        (b"caf\xe9 one\n", "café one", "café two", b"caf\xe9 two\n"),
        (b"\xff\xfea\x00\xe9\x00", "é", "ü", b"\xff\xfea\x00\xfc\x00"),
        (b"\xfe\xff\x00a\x00b", "b", "日", b"\xfe\xff\x00a\x65\xe5"),
        (b"a\x0cb\x0bc\n", "c", "d", b"a\x0cb\x0bd\n"),
    ],
)
async def test_nothing_else_changes(data: bytes, old: str, new: str, after: bytes, desk) -> None:
    assert await edit(desk, data, old, new) == after


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "shift_jis", "utf-16-le", "euc-kr"])
async def test_a_named_encoding_is_kept(encoding: str, desk) -> None:
    words = {"shift_jis": ("日本", "東京"), "euc-kr": ("한국", "서울")}.get(encoding, ("é", "ü"))
    data = f"a {words[0]} b\r\n".encode(encoding)
    result = await edit(desk, data, words[0], words[1], encoding=encoding)
    assert result == f"a {words[1]} b\r\n".encode(encoding)


async def test_what_can_not_be_written_is_an_error_and_the_file_stays(desk) -> None:
    path = desk.put("f", b"caf\xe9 one\n")
    error = await desk.error("file_edit", path="f", old_string="one", new_string="eins é")
    assert error.code == "encoding"
    error = await desk.error(
        "file_edit", path="f", old_string="one", new_string="日", encoding="latin-1"
    )
    assert "U+65E5" in error.message
    error = await desk.error(
        "file_edit", path="f", old_string="one", new_string="x", encoding="utf-8"
    )
    assert error.code == "encoding"
    error = await desk.error(
        "file_edit", path="f", old_string="one", new_string="x", encoding="no-such"
    )
    assert error.code == "invalid_arguments"
    assert path.read_bytes() == b"caf\xe9 one\n"


async def test_what_was_done_is_told(desk) -> None:
    desk.put("f", "a\nx\nb\nx\n")
    result = await desk.ok("file_edit", path="f", old_string="x", new_string="y", replace_all=True)
    assert result.text == "Replaced 2 places in f (lines 2, 4)."
    assert result.structured == {"path": "f", "replacements": 2, "lines": [2, 4], "bytes": 8}
    assert result.details["diff"].endswith("@@ -1,4 +1,4 @@\n a\n-x\n+y\n b\n-x\n+y\n")


async def test_several_places_are_named(desk) -> None:
    desk.put("f", "x\n" * 30)
    error = await desk.error("file_edit", path="f", old_string="x", new_string="y")
    assert error.message.startswith("old_string is in f 30 times (lines 1, 2, 3,")
    assert error.message.endswith("and 10 more).")
    assert "replace_all" in error.fix


async def test_what_is_not_found_shows_the_nearest_text(desk) -> None:
    desk.put("f", "one\nprint(\u201chello\u201d)\nthree\n")
    error = await desk.error("file_edit", path="f", old_string='print("hello")', new_string="x")
    assert error.code == "no_match"
    assert "begins at line 2" in error.message
    assert "print(\u201chello\u201d)" in error.message
    assert "U+201C" in error.message


async def test_a_huge_file_is_not_edited(desk) -> None:
    desk.put("f", b"x" * (10 << 20) + b"yz")
    assert (
        await desk.error("file_edit", path="f", old_string="y", new_string="z")
    ).code == "too_large"


@pytest.mark.parametrize("seed", range(25))
async def test_any_file_comes_back_the_same_outside_the_place(seed: int, desk) -> None:
    rng = random.Random(seed)
    encoding = rng.choice(["utf-8", "utf-8-sig", "utf-16", "latin-1"])
    ends = rng.choice([["\n"], ["\r\n"], ["\n", "\r\n"]])
    words = ["a", "bé", " ", "\t", "ü", "x\x0c"]

    def text(count: int) -> str:
        return "".join("".join(rng.choices(words, k=4)) + rng.choice(ends) for _ in range(count))

    before, after = text(5), text(5)
    old, new = "<" + text(2) + ">", "[" + text(1) + "]"
    whole = (before + old + after).encode(encoding)
    options = {"encoding": "latin-1"} if encoding == "latin-1" else {}
    result = await edit(
        desk, whole, old.replace("\r\n", "\n"), new.replace("\r\n", "\n"), **options
    )
    decoded = result.decode(encoding)
    assert decoded.startswith(before)
    assert decoded.endswith(after)
    middle = decoded[len(before) : len(decoded) - len(after)]
    assert middle.replace("\r\n", "\n") == new.replace("\r\n", "\n")
    assert decoded.encode(encoding) == result
