from __future__ import annotations

import json
import os
import resource
import stat
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

pytestmark = pytest.mark.anyio


def patch(*lines: str) -> str:
    return "\n".join(("*** Begin Patch", *lines, "*** End Patch"))


ALL = patch(
    "*** Add File: new/n.txt",
    "+one",
    "*** Update File: a.txt",
    "@@",
    "-a",
    "+A",
    "+B",
    "*** Delete File: d.txt",
    "*** Update File: m.txt",
    "*** Move to: moved/m.txt",
    "@@",
    "-m",
    "+M",
)


def put_all(desk) -> None:
    for name in "adm":
        desk.put(f"{name}.txt", f"{name}\n")


def files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


async def test_what_was_done_is_told(desk) -> None:
    put_all(desk)
    result = await desk.ok("apply_patch", patch=ALL)
    assert result.text.splitlines() == [
        "Changed 4 files.",
        "M a.txt (+2 -1)",
        "D d.txt",
        "R m.txt -> moved/m.txt (+1 -1)",
        "A new/n.txt (+1)",
    ]
    assert result.structured["files"][2] == {
        "path": "moved/m.txt",
        "change": "renamed",
        "moved_from": "m.txt",
        "added": 1,
        "removed": 1,
        "notes": [],
    }
    assert "@@ -1 +1,2 @@\n-a\n+A\n+B\n" in result.details["diff"]
    assert files(desk.folder) == {
        "a.txt": b"A\nB\n",
        "moved/m.txt": b"M\n",
        "new/n.txt": b"one\n",
    }


@pytest.mark.parametrize(
    "raw",
    [
        ALL,
        f"<<'EOF'\n{ALL}\nEOF",
        json.dumps(ALL),
        json.dumps({"patch": ALL}),
        json.dumps({"input": ALL}),
    ],
)
async def test_a_patch_comes_as_text_or_as_json(desk, raw: str) -> None:
    put_all(desk)
    result = await desk.running.call("apply_patch", raw)
    assert result.error is None, result.error
    assert (desk.folder / "a.txt").read_text() == "A\nB\n"
    assert ("repairs" in result.details) == ('"patch"' not in raw)


async def test_what_was_overlooked_is_told(desk) -> None:
    desk.put("f", "a \nb\nb\n")
    text = patch("*** Update File: f", "@@", "-a", "+c", "@@", "-b", "+d")
    result = await desk.ok("apply_patch", patch=text)
    assert result.structured["files"][0]["notes"] == [
        "chunk 1: blanks at line ends ignored",
        "chunk 2: applied at line 2, the first place; also fits line 3",
    ]
    assert "blanks at line ends ignored" in result.text


async def test_an_error_names_file_chunk_line_and_nearest_text(desk) -> None:
    desk.put("src/app.py", "def run():\n    return \u201cdone\u201d\n")
    text = patch("*** Update File: src/app.py", "@@ def run():", '-    return "gone"', "+    x")
    error = await desk.error("apply_patch", patch=text)
    assert error.code == "no_match"
    assert error.message.startswith("src/app.py, chunk 1 (line 3 of the patch): ")
    assert "return \u201cdone\u201d" in error.message
    assert "U+201C" in error.message
    assert "No file was changed" in error.fix


async def test_a_missing_file_is_named_with_what_is_near(desk) -> None:
    desk.put("config.toml", "x\n")
    text = patch("*** Update File: confg.toml", "@@", "-x", "+y")
    error = await desk.error("apply_patch", patch=text)
    assert error.code == "not_found"
    assert "confg.toml (line 2 of the patch) does not exist" in error.message
    assert "config.toml" in error.fix
    assert (await desk.error("apply_patch", patch=text)).message == error.message


@pytest.mark.parametrize(
    ("last", "code"),
    [
        (("*** Update File: gone", "@@", "-x", "+y"), "not_found"),
        (("*** Update File: a.txt", "@@", "-zz", "+y"), "no_match"),
        (("*** Delete File: gone",), "not_found"),
        (("*** Add File: a.txt", "+x"), "exists"),
        (("*** Update File: d.txt", "*** Move to: a.txt"), "exists"),
        (("*** Add File: ../x", "+x"), "sandbox_refused"),
        (("*** Add File: .git/config", "+x"), "sandbox_refused"),
        (("*** Add File: new", "+x"), "is_a_folder"),
        (("*** Update File: b.png", "@@", "-x", "+y"), "binary"),
        (("*** Update File: link", "*** Move to: other"), "is_a_link"),
        (("*** Delete File: link",), "is_a_link"),
        (("*** Delete File: m.txt", "*** Update File: m.txt", "@@", "-m", "+x"), "not_found"),
    ],
)
async def test_when_one_operation_fails_nothing_is_changed(desk, last, code: str) -> None:
    put_all(desk)
    desk.put("b.png", b"\x89PNG\0\0")
    desk.put("new/keep", "")
    (desk.folder / "link").symlink_to("a.txt")
    before = files(desk.folder)
    head = ("*** Update File: m.txt", "@@", "-m", "+M", "*** Add File: fresh/f", "+x")
    if last[0].endswith("m.txt"):
        head = head[4:]
    error = await desk.error("apply_patch", patch=patch(*head, *last))
    assert error.code == code
    assert files(desk.folder) == before
    assert not (desk.folder / "fresh").exists()


async def test_operations_build_on_one_another(desk) -> None:
    put_all(desk)
    text = patch(
        "*** Delete File: a.txt",
        "*** Add File: a.txt",
        "+x",
        "*** Update File: a.txt",
        "@@",
        "-x",
        "+y",
        "*** Update File: d.txt",
        "*** Move to: e.txt",
        "*** Update File: e.txt",
        "@@",
        "-d",
        "+e",
        "*** Add File: d.txt",
        "+new",
        "*** Add File: gone",
        "+x",
        "*** Delete File: gone",
    )
    result = await desk.ok("apply_patch", patch=text)
    assert [item["change"] for item in result.structured["files"]] == [
        "modified",
        "modified",
        "added",
    ]
    assert files(desk.folder) == {
        "a.txt": b"y\n",
        "d.txt": b"new\n",
        "e.txt": b"e\n",
        "m.txt": b"m\n",
    }


async def test_modes_stay_also_of_a_moved_file(desk) -> None:
    for name in ("u.sh", "m.sh"):
        desk.put(name, "x\n").chmod(0o755)
    await desk.ok(
        "apply_patch",
        patch=patch(
            "*** Update File: u.sh",
            "@@",
            "-x",
            "+y",
            "*** Update File: m.sh",
            "*** Move to: bin/m.sh",
            "@@",
            "-x",
            "+y",
        ),
    )
    for name in ("u.sh", "bin/m.sh"):
        assert stat.S_IMODE((desk.folder / name).stat().st_mode) == 0o755
        assert (desk.folder / name).read_text() == "y\n"


async def test_a_link_is_written_through(desk) -> None:
    desk.put("real", "a\n")
    (desk.folder / "link").symlink_to("real")
    text = patch("*** Update File: link", "@@", "-a", "+b", "*** Update File: real", "-b", "+c")
    await desk.ok("apply_patch", patch=text)
    assert (desk.folder / "link").is_symlink()
    assert (desk.folder / "real").read_text() == "c\n"


async def test_what_changes_nothing_is_an_error(desk) -> None:
    desk.put("f", "a\n")
    text = patch("*** Update File: f", "@@", "-a", "+a")
    assert (await desk.error("apply_patch", patch=text)).code == "no_change"


async def test_a_file_of_another_encoding_takes_what_it_can_hold(desk) -> None:
    path = desk.put("f", b"caf\xe9\nb\n")
    await desk.ok("apply_patch", patch=patch("*** Update File: f", "@@", " café", "-b", "+B"))
    assert path.read_bytes() == b"caf\xe9\nB\n"
    text = patch("*** Update File: f", "@@", "-B", "+é")
    assert (await desk.error("apply_patch", patch=text)).code == "encoding"
    text = patch("*** Update File: f", "@@", "-cafe", "+x")
    error = await desk.error("apply_patch", patch=text)
    assert error.message.encode()
    wide = desk.put("w", "a\r\nb\r\n".encode("utf-16"))
    await desk.ok("apply_patch", patch=patch("*** Update File: w", "@@", "-b", "+日"))
    assert wide.read_bytes() == "a\r\n日\r\n".encode("utf-16")


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """Let every write beyond `size` bytes of a file fail, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


TOO_LARGE = 3 << 20


def filling(name: str, size: int) -> str:
    rows = [f"+{'x' * 99}" for _ in range(size // 100)]
    return patch(
        "*** Update File: a.txt",
        "@@",
        "-a",
        "+A",
        "*** Add File: early/new.txt",
        "+n",
        "*** Update File: m.txt",
        "*** Move to: early/m.txt",
        "*** Delete File: d.txt",
        f"*** Add File: {name}",
        *rows,
    )


async def test_a_write_that_fails_takes_back_what_was_done(desk) -> None:
    put_all(desk)
    (desk.folder / "a.txt").chmod(0o700)
    before = files(desk.folder)
    with files_of_at_most(TOO_LARGE // 2):
        result = await desk.call("apply_patch", patch=filling("z/large.txt", TOO_LARGE))
    assert result.error is not None
    assert files(desk.folder) == before
    assert sorted(path.name for path in desk.folder.iterdir()) == ["a.txt", "d.txt", "m.txt"]
    assert stat.S_IMODE((desk.folder / "a.txt").stat().st_mode) == 0o700
    listed = await desk.ok("undo_changes")
    assert listed.structured["runs"] == []


async def test_a_full_disk_takes_back_what_was_done(desk) -> None:
    disk = desk.folder / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(disk)],
        capture_output=True,
        check=False,
    )
    if mounted.returncode != 0:
        pytest.skip("only root may mount a small disk")
    try:
        for name in "adm":
            (disk / f"{name}.txt").write_text(f"{name}\n")
        (disk / "fill").write_bytes(b"x" * 100_000)
        before = files(disk)
        text = filling("z/large.txt", 300_000)
        for name in ("a.txt", "early/new.txt", "m.txt", "early/m.txt", "d.txt", "z/large.txt"):
            text = text.replace(f": {name}\n", f": disk/{name}\n")
        result = await desk.call("apply_patch", patch=text)
        assert result.error is not None
        assert "space" in result.error.message
        assert files(disk) == before
    finally:
        subprocess.run(["umount", str(disk)], check=True)


async def test_removing_several_files_is_taken_back_with_their_modes(desk) -> None:
    for name in ("a.sh", "b.sh", "keep/c.sh"):
        desk.put(name, "x\n").chmod(0o755)
    text = patch("*** Delete File: a.sh", "*** Delete File: b.sh", "*** Delete File: keep/c.sh")
    folder = desk.folder / "keep"
    if os.geteuid() == 0:
        # root may write into any folder, but not into one that does not change
        changed = subprocess.run(["chattr", "+i", str(folder)], capture_output=True, check=False)
        if changed.returncode != 0:
            pytest.skip("this disk knows no folder that root can't change")
    else:
        folder.chmod(0o555)
    try:
        result = await desk.call("apply_patch", patch=text)
    finally:
        subprocess.run(["chattr", "-i", str(folder)], capture_output=True, check=False)
        folder.chmod(0o755)
    assert result.error is not None
    assert sorted(files(desk.folder)) == ["a.sh", "b.sh", "keep/c.sh"]
    assert stat.S_IMODE((desk.folder / "a.sh").stat().st_mode) == 0o755


async def test_policy_is_told_of_every_path_of_a_patch(host) -> None:
    rules = [{"action": "deny", "tool": "apply_patch", "arguments": {"patch": "secret/**"}}]
    async with host(
        "files", "sandbox-local", record=False, config={"policy.rules": rules}
    ) as running:
        fine = await running.call("apply_patch", patch=patch("*** Add File: a", "+x"))
        assert fine.error is None, fine.error
        for path in ("secret/a", "./secret/a", "x/../secret/a"):
            text = patch("*** Add File: b", "+x", f"  *** Add File:  {path}  ", "+x")
            result = await running.call("apply_patch", patch=text)
            assert result.error is not None, path
        assert not (running.workspace / "b").exists()
