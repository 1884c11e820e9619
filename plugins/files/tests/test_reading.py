from __future__ import annotations

import os

import pytest

from pegboard import Image, Text

pytestmark = pytest.mark.anyio


async def read(desk, data: bytes | str, **arguments):
    desk.put("f", data)
    return await desk.ok("file_read", path="f", **arguments)


async def test_lines_are_numbered_as_cat_does(desk) -> None:
    result = await read(desk, "one\n\nthree")
    assert result.text == "     1\tone\n     2\t\n     3\tthree"
    assert result.structured["lines"] == ["one", "", "three"]
    assert result.structured["total_lines"] == 3
    assert result.structured["next_offset"] is None


async def test_an_empty_file_is_said_to_be_empty(desk) -> None:
    result = await read(desk, "")
    assert result.text == "[the file is empty]"
    assert result.structured["total_lines"] == 0


async def test_a_long_file_comes_in_pages_and_says_how_to_go_on(desk) -> None:
    data = "".join(f"line {number}\n" for number in range(1, 5001))
    result = await read(desk, data)
    assert result.text.endswith("[lines 1-2000 of 5000; go on with offset=2001]")
    result = await read(desk, data, offset=2001)
    assert result.text.startswith("  2001\tline 2001\n")
    assert result.structured["next_offset"] == 4001
    result = await read(desk, data, offset=4990, limit=11)
    assert result.structured["line_count"] == 11
    assert result.structured["next_offset"] is None
    assert "go on" not in result.text


async def test_pages_are_bounded_in_characters_and_never_cut_by_the_output_limit(desk) -> None:
    data = "".join(f"{number:05} {'x' * 400}\n" for number in range(1, 1001))
    seen: list[str] = []
    offset = 1
    while offset:
        result = await read(desk, data, offset=offset)
        assert len(result.text) < 64_000
        seen += result.structured["lines"]
        offset = result.structured["next_offset"]
    assert seen == data.splitlines()


async def test_a_long_line_is_clipped_and_its_rest_counted(desk) -> None:
    result = await read(desk, "x" * 2500 + "\nshort\n")
    first, second = result.structured["lines"]
    assert first == "x" * 2000 + "… [+500 characters]"
    assert second == "short"
    result = await read(desk, "x" * 100_000_000 + "\nend")
    assert result.structured["lines"][0] == "x" * 2000 + "… [+99998000 bytes]"
    assert result.structured["lines"][1] == "end"


async def test_a_character_is_never_cut_in_two(desk) -> None:
    result = await read(desk, "日" * 3000)
    assert result.structured["lines"][0] == "日" * 2000 + f"… [+{1000 * 3} bytes]"
    result = await read(desk, "a" + "🧩" * 5000)
    assert result.structured["lines"][0].startswith("a" + "🧩" * 1999 + "…")


async def test_a_file_larger_than_a_piece_has_right_line_numbers(desk) -> None:
    lines = [os.urandom(20).hex() for _ in range(60_000)]
    data = "\n".join(lines)
    for offset in (1, 1598, 1599, 1600, 25_000, 59_999, 60_000):
        result = await read(desk, data, offset=offset, limit=2)
        assert result.structured["lines"] == lines[offset - 1 : offset + 1]
        assert result.structured["total_lines"] == 60_000


async def test_a_page_beyond_the_end_is_an_error(desk) -> None:
    desk.put("f", "one\ntwo\n")
    error = await desk.error("file_read", path="f", offset=3)
    assert error.code == "past_the_end"
    assert error.message == "f has 2 lines, so none from line 3 on."


async def test_huge_files_are_read_in_pieces(desk) -> None:
    path = desk.put("sparse", b"first\nsecond\n" + b"x" * 10_000)
    with path.open("r+b") as out:
        out.truncate(1 << 40)
    result = await desk.ok("file_read", path="sparse", limit=2)
    assert result.structured["lines"] == ["first", "second"]
    assert result.structured["total_lines"] is None
    assert "[lines 1-2; 1.0 TiB; go on with offset=3]" in result.text


@pytest.mark.parametrize(
    ("data", "encoding", "lines"),
    [
        (b"\xef\xbb\xbfTitle\n", "utf-8", ["Title"]),
        ("é\nx".encode("utf-16"), "utf-16-le", ["é", "x"]),
        (b"\xfe\xff" + "é\r\nx".encode("utf-16-be"), "utf-16-be", ["é", "x"]),
        ("é".encode("utf-32"), "utf-32-le", ["é"]),
        (b"caf\xe9\nplain\n", "unknown", ["café", "plain"]),
        ("日本\n".encode(), "utf-8", ["日本"]),
        (b"a\x0bb\x0cc\xc2\x85d\xe2\x80\xa8e\n", "utf-8", ["a\x0bb\x0cc\x85d\u2028e"]),
        (b"a\rb\n", "utf-8", ["a\rb"]),
    ],
)
async def test_encodings_are_told_by_their_mark_and_never_guessed(
    data: bytes, encoding: str, lines: list[str], desk
) -> None:
    result = await read(desk, data)
    assert result.structured["lines"] == lines
    assert result.structured["encoding"] == encoding


async def test_bytes_that_are_no_utf_8_are_shown_and_noted(desk) -> None:
    result = await read(desk, b"caf\xe9\nx\n")
    assert "[1 line not UTF-8, shown as Latin-1; the bytes are kept]" in result.text


async def test_line_ends_are_noted(desk) -> None:
    result = await read(desk, "a\r\nb\r\n")
    assert result.structured["lines"] == ["a", "b"]
    assert "[lines end in CR LF]" in result.text


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"\x7fELF\0\0", "ELF program"),
        (b"PK\x03\x04\0", "ZIP archive"),
        ("hello there".encode("utf-16-le"), "UTF-16 text without a byte order mark"),
        (b"x" * 8191 + b"\0", "unknown kind"),
    ],
)
async def test_a_binary_file_is_refused_with_its_kind(data: bytes, words: str, desk) -> None:
    desk.put("f", data)
    error = await desk.error("file_read", path="f")
    assert error.code == "binary"
    assert words in error.message


async def test_a_nul_past_the_first_bytes_does_not_make_a_file_binary(desk) -> None:
    result = await read(desk, b"x" * 8192 + b"\0" + b"\nnext\n", offset=2)
    assert result.structured["lines"] == ["next"]


async def test_a_missing_file_names_what_is_near(desk) -> None:
    desk.put("src/main.py", "")
    desk.put("README.md", "")
    assert (await desk.error("file_read", path="src/mian.py")).fix == "Did you mean src/main.py?"
    assert (await desk.error("file_read", path="readme.MD")).fix == "Did you mean README.md?"
    assert (await desk.error("file_read", path="scr/main.py")).fix == "Did you mean src?"
    error = await desk.error("file_read", path="src/zzzzzzzz")
    assert error.fix == "Use list_dir on src, or glob_search."


async def test_a_folder_points_to_list_dir(desk) -> None:
    desk.put("src/main.py", "")
    assert "list_dir" in (await desk.error("file_read", path="src")).fix


async def test_a_link_is_read_through(desk) -> None:
    path = desk.put("a", "x\n" * 60_000)
    (desk.folder / "link").symlink_to(path)
    result = await desk.ok("file_read", path="link", offset=59_999)
    assert result.structured["lines"] == ["x", "x"]
    assert result.structured["size"] == 120_000


async def test_many_files_are_read_under_their_names(desk) -> None:
    desk.put("a.txt", "one\n")
    desk.put("b/c.txt", "two\n")
    desk.put("[odd].txt", "odd\n")
    result = await desk.ok("read_many_files", paths=["a.txt", "**/c.*", "gone", "[odd].txt"])
    assert result.text == (
        "=== a.txt ===\n     1\tone\n"
        "=== b/c.txt ===\n     1\ttwo\n"
        "=== gone ===\nError: gone does not exist. Use list_dir on ., or glob_search.\n"
        "=== [odd].txt ===\n     1\todd"
    )
    assert [item["path"] for item in result.structured["files"]] == [
        "a.txt",
        "b/c.txt",
        "gone",
        "[odd].txt",
    ]


async def test_what_does_not_fit_is_named(desk) -> None:
    for number in range(5):
        desk.put(f"f{number}", f"{'x' * 1000}\n" * 20)
    result = await desk.ok("read_many_files", paths=["f*"])
    assert len(result.text) < 64_000
    assert "[not shown, read them with file_read: f3, f4]" in result.text
    assert result.structured["left_out"] == ["f3", "f4"]


async def test_guests_never_learn_of_the_tools_that_read(desk) -> None:
    desk.put("f", "secret")
    for tool, arguments in (
        ("file_read", {"path": "f"}),
        ("read_many_files", {"paths": ["f"]}),
        ("list_dir", {}),
        ("glob_search", {"pattern": "*"}),
        ("content_search", {"pattern": "s"}),
        ("file_write", {"path": "f", "content": ""}),
    ):
        result = await desk.running.call(f"files:{tool}", as_guest=True, **arguments)
        assert result.error is not None
        assert "secret" not in result.text
    assert (desk.folder / "f").read_text() == "secret"


PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 20


async def test_an_image_is_shown_as_an_image_whatever_its_name(desk) -> None:
    desk.put("photo.txt", PNG)
    result = await desk.ok("file_read", path="photo.txt")
    text, image = result.output
    assert isinstance(text, Text)
    assert text.text == "photo.txt: image/png, 28 B"
    assert isinstance(image, Image)
    assert (image.blob.media_type, image.blob.size, image.blob.name) == (
        "image/png",
        28,
        "photo.txt",
    )
    desk.put("large.png", PNG + b"\0" * (5 << 20))
    assert (await desk.error("file_read", path="large.png")).code == "too_large"


def pdf(*pages: str) -> bytes:
    """Return a document with one line of text on each page."""
    kids = " ".join(f"{4 + 2 * n} 0 R" for n in range(len(pages)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for number, text in enumerate(pages):
        drawn = f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET"
        objects += [
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents "
            f"{5 + 2 * number} 0 R /Resources << /Font << /F1 3 0 R >> >> >>",
            f"<< /Length {len(drawn)} >>\nstream\n{drawn}\nendstream",
        ]
    data, places = b"%PDF-1.4\n", []
    for number, item in enumerate(objects, 1):
        places.append(len(data))
        data += f"{number} 0 obj\n{item}\nendobj\n".encode()
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    end = f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}"
    trailer = f"trailer << /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{len(data)}\n%%EOF"
    return data + end.encode() + trailer.encode()


async def test_a_pdf_is_read_page_by_page(desk) -> None:
    desk.put("a.pdf", pdf(*(f"Page number {number}" for number in range(1, 26)), ""))
    result = await desk.ok("file_read", path="a.pdf", pages="2-3")
    assert result.text == (
        "=== page 2 of 26 ===\nPage number 2\n=== page 3 of 26 ===\nPage number 3\n"
        "[go on with pages=4-23]"
    )
    result = await desk.ok("file_read", path="a.pdf")
    assert result.structured["page_count"] == 20
    assert result.structured["next_page"] == 21
    result = await desk.ok("file_read", path="a.pdf", pages="26")
    assert "they may be scanned" in result.text
    assert (await desk.error("file_read", path="a.pdf", pages="27-")).code == "past_the_end"
    assert (await desk.error("file_read", path="a.pdf", pages="x")).code == "invalid_arguments"
    assert (await desk.error("file_read", path="a.pdf", pages="3-2")).code == "invalid_arguments"
    desk.put("b.pdf", b"%PDF-1.7\nnonsense")
    assert (await desk.error("file_read", path="b.pdf")).code == "broken"


async def test_pages_of_a_large_file_are_right_whatever_was_read_before(desk) -> None:
    count = 400_000
    numbers = range(1, count + 1)
    file = desk.put("large", "".join(f"line {number} {'x' * 20}\n" for number in numbers))
    for offset in (300_000, 300_010, 299_999, 150_000, 1, 399_999, 350_000):
        result = await desk.ok("file_read", path="large", offset=offset, limit=2)
        names = [line.split()[1] for line in result.structured["lines"]]
        assert names == [str(offset), str(offset + 1)]
        assert result.structured["total_lines"] == count
    error = await desk.error("file_read", path="large", offset=count + 1)
    assert f"{count} lines" in error.message
    # what is remembered is of this version of the file alone
    file.write_text("".join(f"new {number} {'x' * 20}\n" for number in reversed(numbers)))
    result = await desk.ok("file_read", path="large", offset=300_000, limit=1)
    assert result.structured["lines"][0].startswith("new 100001 ")


async def test_what_is_no_file_is_refused_at_once(desk) -> None:
    os.mkfifo(desk.folder / "fifo")
    assert (await desk.error("file_read", path="fifo")).code == "sandbox_refused"
    (desk.folder / "null").symlink_to("/dev/null")
    assert (await desk.error("file_read", path="null")).code == "sandbox_refused"


@pytest.mark.parametrize(
    ("arguments", "first", "last"),
    [
        ({"offset": 0}, 1, 9),
        ({"end_line": 3}, 1, 3),
        ({"offset": 4, "end_line": 6}, 4, 6),
        ({"offset": 4, "end_line": 99}, 4, 9),
        ({"offset": 4, "end_line": -1}, 4, 9),
        ({"offset": 4, "end_line": 8, "limit": 2}, 4, 5),
        ({"view_range": [2, 3]}, 2, 3),
        ({"view_range": [8, -1]}, 8, 9),
        ({"view_range": [0, 1]}, 1, 1),
    ],
)
async def test_a_page_can_be_named_by_its_last_line(desk, arguments, first, last) -> None:
    desk.put("f", "".join(f"line {number}\n" for number in range(1, 10)))
    facts = (await desk.ok("file_read", path="f", **arguments)).structured
    assert facts["lines"] == [f"line {number}" for number in range(first, last + 1)]


async def test_a_last_line_before_the_first_is_refused(desk) -> None:
    desk.put("f", "a\nb\nc\n")
    for arguments in ({"offset": 3, "end_line": 2}, {"view_range": [2, -2]}, {"end_line": 0}):
        error = await desk.error("file_read", path="f", **arguments)
        assert error.code == "invalid_arguments"
        assert "before" in error.message


async def test_empty_lines_take_room_as_others_do(desk) -> None:
    desk.put("f", "\n" * 200_000)
    facts = (await desk.ok("file_read", path="f", limit=10**9)).structured
    assert facts["next_offset"] == facts["line_count"] + 1 == 50_001
