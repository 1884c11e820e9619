"""The laws of a sandbox's files: what is read and written, and what is out of reach."""

from __future__ import annotations

import os
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest

from pegboard.contracts.effects import ALL_EFFECTS
from pegboard.contracts.errors import SandboxError
from pegboard.contracts.sandbox import Command, Grant, Sandbox
from pegboard.testing.contracts.sandbox_suite import SandboxSuite
from pegboard.testing.contracts.suite import PROMPT_S


class FileLaws(SandboxSuite):
    """Laws of reading and writing."""

    async def test_a_file_is_read_as_it_was_written(self, tmp_path: Path) -> None:
        """Bytes go in and come out, in folders that did not exist."""
        data = b"\x00\xff\r\n\xe4\xbf\xae"
        async with self.opened(tmp_path) as sandbox:
            await sandbox.write("a/b/c.bin", data)
            assert await sandbox.read("a/b/c.bin") == data
            assert (sandbox.workspace / "a" / "b" / "c.bin").read_bytes() == data

    async def test_a_part_is_read(self, tmp_path: Path) -> None:
        """`offset` and `limit` count bytes; past the end there is nothing."""
        async with self.opened(tmp_path) as sandbox:
            await sandbox.write("digits", b"0123456789")
            assert await sandbox.read("digits", offset=3, limit=4) == b"3456"
            assert await sandbox.read("digits", offset=10) == b""

    async def test_what_is_missing_is_not_found(self, tmp_path: Path) -> None:
        """`read` raises FileNotFoundError and `stat` returns None."""
        async with self.opened(tmp_path) as sandbox:
            assert await sandbox.stat("nothing") is None
            with pytest.raises(FileNotFoundError):
                await sandbox.read("nothing")

    async def test_must_be_new_keeps_an_existing_file(self, tmp_path: Path) -> None:
        """`must_be_new` refuses, and the file stays as it was."""
        async with self.opened(tmp_path) as sandbox:
            await sandbox.write("file", b"old")
            with pytest.raises(FileExistsError):
                await sandbox.write("file", b"new", must_be_new=True)
            assert await sandbox.read("file") == b"old"

    async def test_a_write_is_one_step(self, tmp_path: Path) -> None:
        """A reader sees the old file or the new one, never a part; nothing else is left behind."""
        old, new = b"o" * 3_000_000, b"n" * 3_000_000
        async with self.opened(tmp_path) as sandbox:
            await sandbox.write("file", old)
            with _reader(sandbox.workspace / "file") as seen:
                for data in (new, old, new):
                    await sandbox.write("file", data)
            assert seen.kinds <= {old, new}, "a reader saw half a file"
            assert _names(sandbox.workspace) == ["file"], "a temporary file was left"

    async def test_a_write_keeps_the_mode(self, tmp_path: Path) -> None:
        """Replacing a script leaves it executable."""
        async with self.opened(tmp_path) as sandbox:
            await sandbox.write("script", b"old")
            (sandbox.workspace / "script").chmod(0o750)
            await sandbox.write("script", b"new")
            stat = await sandbox.stat("script")
            assert stat is not None
            assert stat.mode & 0o777 == 0o750

    async def test_a_new_file_has_the_mode_that_is_asked_for(self, tmp_path: Path) -> None:
        """`new_mode` counts for a file that was not there, and never gives another's rights."""
        async with self.opened(tmp_path) as sandbox:
            await sandbox.write("script", b"x", must_be_new=True, new_mode=0o6750)
            await sandbox.write("script", b"y", new_mode=0o644)
            stat = await sandbox.stat("script")
            assert stat is not None
            assert stat.mode == 0o750

    async def test_only_regular_files_are_read(self, tmp_path: Path) -> None:
        """A pipe is refused, not waited for; a folder is no file."""
        async with self.opened(tmp_path) as sandbox:
            os.mkfifo(sandbox.workspace / "pipe")
            await sandbox.make_dir("folder")
            with anyio.fail_after(PROMPT_S), pytest.raises(SandboxError):
                await sandbox.read("pipe")
            with pytest.raises((IsADirectoryError, SandboxError)):
                await sandbox.read("folder")

    async def test_a_folder_is_listed_in_order(self, tmp_path: Path) -> None:
        """Entries come sorted by name, with what they are."""
        async with self.opened(tmp_path) as sandbox:
            for name in ("b", "a", "c/d"):
                await sandbox.write(name, b"x")
            found = [(entry.path, entry.kind) for entry in await sandbox.list_dir(".")]
            assert found == [("a", "file"), ("b", "file"), ("c", "dir")]

    async def test_walking_follows_no_link(self, tmp_path: Path) -> None:
        """`walk` yields a link and does not enter it, skips what it shall, and is sorted."""
        async with self.opened(tmp_path) as sandbox:
            for name in ("b/x", "a", "skipped/y"):
                await sandbox.write(name, b"x")
            (sandbox.workspace / "link").symlink_to(tmp_path / "outside")
            (sandbox.workspace / "b" / "round").symlink_to(sandbox.workspace)
            found = [entry.path async for entry in sandbox.walk(".", skip=frozenset({"skipped"}))]
            assert found == sorted(found)
            assert set(found) == {"a", "b/x", "b/round", "link"}

    async def test_rename_replaces_nothing(self, tmp_path: Path) -> None:
        """A file moves to a free name; an existing one stays."""
        async with self.opened(tmp_path) as sandbox:
            await sandbox.write("a", b"a")
            await sandbox.write("b", b"b")
            with pytest.raises(FileExistsError):
                await sandbox.rename("a", "b")
            assert await sandbox.read("b") == b"b"
            await sandbox.rename("a", "c")
            assert await sandbox.read("c") == b"a"
            assert await sandbox.stat("a") is None

    async def test_remove_spares_a_full_folder(self, tmp_path: Path) -> None:
        """A file goes, an empty folder goes, a folder with something in it stays."""
        async with self.opened(tmp_path) as sandbox:
            await sandbox.write("folder/file", b"x")
            with pytest.raises((OSError, SandboxError)):
                await sandbox.remove("folder")
            assert await sandbox.read("folder/file") == b"x"
            await sandbox.remove("folder/file")
            await sandbox.remove("folder")
            assert await sandbox.stat("folder") is None


class ReachLaws(SandboxSuite):
    """Laws of what can't be reached."""

    async def test_paths_outside_are_refused(self, tmp_path: Path) -> None:
        """However a path is written, it does not leave the workspace."""
        outside = tmp_path / "outside" / "kept.txt"
        async with self.opened(tmp_path) as sandbox:
            await sandbox.make_dir("a")
            for path in (
                "../outside/kept.txt",
                "a/../../outside/kept.txt",
                "./a/./../../outside/kept.txt",
                str(outside),
                f"{sandbox.workspace}/../outside/kept.txt",
            ):
                await _assert_out_of_reach(sandbox, path)
            assert outside.read_text() == "kept"

    async def test_links_out_are_refused(self, tmp_path: Path) -> None:
        """A link is judged by where it leads, absolute or relative, last or in between."""
        async with self.opened(tmp_path) as sandbox:
            (sandbox.workspace / "file").symlink_to(tmp_path / "outside" / "kept.txt")
            (sandbox.workspace / "folder").symlink_to("../outside")
            (sandbox.workspace / "chain").symlink_to("folder")
            (sandbox.workspace / "new").symlink_to(tmp_path / "outside" / "made.txt")
            for path in ("file", "folder/kept.txt", "chain/kept.txt", "new"):
                await _assert_no_content(sandbox, path)
            assert _names(tmp_path / "outside") == ["kept.txt"]
            assert (tmp_path / "outside" / "kept.txt").read_text() == "kept"

    async def test_protected_paths_are_refused(self, tmp_path: Path) -> None:
        """No grant opens what is protected, though it lies in the workspace."""
        state = tmp_path / "workspace" / "state"
        state.mkdir(parents=True)
        (state / "kept.txt").write_text("kept")
        async with self.opened(tmp_path, protected=(state,)) as sandbox:
            await _assert_no_content(sandbox, "state/kept.txt")
            with pytest.raises(SandboxError):
                await sandbox.list_dir("state")
            walked = [entry.path async for entry in sandbox.walk(".")]
            assert "state/kept.txt" not in walked
        assert (state / "kept.txt").read_text() == "kept"

    async def test_a_grant_opens_as_much_as_it_says(self, tmp_path: Path) -> None:
        """`ro` can be read and not written; `rw` both."""
        shared, given = tmp_path / "shared", tmp_path / "given"
        for folder in (shared, given):
            folder.mkdir()
            (folder / "file").write_text("old")
        grants = (Grant(shared, "ro"), Grant(given, "rw"))
        async with self.opened(tmp_path, grants=grants) as sandbox:
            assert await sandbox.read(str(shared / "file")) == b"old"
            with pytest.raises(SandboxError):
                await sandbox.write(str(shared / "file"), b"new")
            await sandbox.write(str(given / "file"), b"new")
        assert (shared / "file").read_text() == "old"
        assert (given / "file").read_text() == "new"

    async def test_a_refusal_says_what_would_allow_it(self, tmp_path: Path) -> None:
        """The message names the path, and the fix is a command or a config line."""
        path = str(tmp_path / "outside" / "kept.txt")
        async with self.opened(tmp_path) as sandbox:
            with pytest.raises(SandboxError) as caught:
                await sandbox.read(path)
        assert "kept.txt" in caught.value.message
        assert caught.value.fix, "a refusal without a way on"

    async def test_narrowing_takes_away_for_good(self, tmp_path: Path) -> None:
        """A narrowed sandbox refuses what it lost, can't regain it, and leaves the first alone."""
        async with self.opened(tmp_path) as sandbox:
            await sandbox.write("file", b"old")
            reader = sandbox.narrowed(frozenset({"read"}))
            assert await reader.read("file") == b"old"
            await _assert_refused(
                partial(reader.write, "file", b"new"),
                partial(reader.remove, "file"),
                partial(reader.rename, "file", "other"),
                partial(reader.make_dir, "folder"),
                partial(reader.run, Command(argv=("sh", "-c", "echo new > file"))),
            )
            assert reader.narrowed(ALL_EFFECTS).effects == frozenset({"read"})
            await sandbox.write("file", b"new")


def _names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


async def _assert_refused(*attempts: Callable[[], Awaitable[Any]]) -> None:
    for attempt in attempts:
        with pytest.raises(SandboxError):
            await attempt()


async def _assert_no_content(sandbox: Sandbox, path: str) -> None:
    with pytest.raises((SandboxError, PermissionError)):
        await sandbox.read(path)
    with pytest.raises((SandboxError, PermissionError)):
        await sandbox.write(path, b"changed")


async def _assert_out_of_reach(sandbox: Sandbox, path: str) -> None:
    await _assert_no_content(sandbox, path)
    folder = str(Path(path).parent)
    await _assert_refused(
        partial(sandbox.stat, path),
        partial(sandbox.list_dir, folder),
        partial(sandbox.make_dir, f"{folder}/made"),
        partial(sandbox.remove, path),
        partial(sandbox.rename, path, "inside"),
    )
    with pytest.raises(SandboxError):
        sandbox.resolve(path)
    with pytest.raises(SandboxError):
        [entry async for entry in sandbox.walk(folder)]


class _Reader(threading.Thread):
    """Reads a file again and again in a thread of its own, as another process would."""

    def __init__(self, path: Path) -> None:
        super().__init__(daemon=True)
        self.kinds: set[bytes] = set()
        self.ended = threading.Event()
        self._path = path

    def run(self) -> None:
        while not self.ended.is_set():
            self.kinds.add(self._path.read_bytes())


@contextmanager
def _reader(path: Path) -> Iterator[_Reader]:
    reader = _Reader(path)
    reader.start()
    try:
        yield reader
    finally:
        reader.ended.set()
        reader.join()
