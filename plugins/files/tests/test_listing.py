from __future__ import annotations

import pytest

pytestmark = pytest.mark.anyio


async def test_folders_links_and_sizes_are_marked(desk) -> None:
    desk.put("b/inner.txt", "x" * 2000)
    desk.put("a.txt", "12345")
    desk.put(".hidden", "")
    (desk.folder / "link").symlink_to("b")
    result = await desk.ok("list_dir")
    assert result.text == ".hidden  0 B\na.txt  5 B\nb/\nlink@"
    kinds = [(item["path"], item["kind"]) for item in result.structured["entries"]]
    assert kinds == [(".hidden", "file"), ("a.txt", "file"), ("b", "dir"), ("link", "symlink")]
    result = await desk.ok("list_dir", depth=2)
    assert result.text == ".hidden  0 B\na.txt  5 B\nb/\n  inner.txt  2.0 KiB\nlink@"
    assert (await desk.ok("list_dir", path="b")).text == "inner.txt  2.0 KiB"


async def test_an_empty_folder_and_a_full_one(desk) -> None:
    assert (await desk.ok("list_dir")).text == "[the folder is empty]"
    for number in range(12):
        desk.put(f"{number:02}", "")
    result = await desk.ok("list_dir", limit=10)
    assert result.structured["more"]
    assert result.text.endswith("[more than 10 entries]")
    assert not (await desk.ok("list_dir", limit=12)).structured["more"]


async def test_odd_names_are_shown_on_one_line(desk) -> None:
    desk.put("new\nline", "")
    (desk.folder / "bad\udcff").touch()
    lines = (await desk.ok("list_dir")).text.split("\n")
    assert lines[:2] == ["bad\\xff  0 B", "new\\nline  0 B"]
    assert lines[2].startswith("[1 name is not UTF-8")
