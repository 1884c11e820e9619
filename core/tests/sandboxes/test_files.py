from __future__ import annotations

import errno
import os
import re
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from pegboard.contracts.errors import SandboxError
from pegboard.contracts.sandbox import Grant, SandboxSpec
from pegboard.sandboxes import GrantTable, SandboxFiles

pytestmark = pytest.mark.anyio
Opener = Callable[..., SandboxFiles]
AS_ROOT = os.geteuid() == 0
OPEN = Path("/proc/self/fd")


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


async def test_reads_can_be_ranged(workspace: Path, files: SandboxFiles) -> None:
    (workspace / "f").write_bytes(b"0123456789")
    assert await files.read("f") == b"0123456789"
    assert await files.read("f", offset=3, limit=4) == b"3456"
    assert await files.read("f", offset=99) == b""
    assert await files.read("f", limit=0) == b""


async def test_a_large_and_a_sparse_file_are_read_where_asked(
    workspace: Path, files: SandboxFiles
) -> None:
    data = os.urandom(3 * (1 << 20) + 17)
    (workspace / "big").write_bytes(data)
    assert await files.read("big") == data
    with (workspace / "sparse").open("wb") as out:
        out.truncate(1 << 40)
    assert await files.read("sparse", offset=1 << 39, limit=5) == b"\0" * 5


@pytest.mark.parametrize(
    "path", ["../out/secret", "/etc/passwd", "//etc/passwd", "a/../../x", "~/x"]
)
async def test_a_path_outside_the_grants_is_refused(
    path: str, workspace: Path, files: SandboxFiles
) -> None:
    with pytest.raises(SandboxError, match="outside the granted roots") as caught:
        await files.read(path)
    assert str(workspace) in str(caught.value)
    assert caught.value.fix


async def test_a_refusal_names_the_command_that_grants_the_folder_and_keeps_the_other_grants(
    tmp_path: Path, opened: Opener
) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    (tmp_path / "two/f").write_text("x")
    files = opened(Grant(tmp_path / "one", "ro"))
    with pytest.raises(SandboxError) as caught:
        await files.read(str(tmp_path / "two/f"))
    assert caught.value.fix == f"pegboard grant {tmp_path}/two"
    with pytest.raises(SandboxError) as caught:
        await files.write(str(tmp_path / "one/f"), b"x")
    assert caught.value.fix == f"pegboard grant {tmp_path}/one --write"


async def test_no_command_is_offered_for_a_folder_that_can_not_be_granted(
    files: SandboxFiles,
) -> None:
    with pytest.raises(SandboxError) as caught:
        await files.write("/etc/passwd", b"")
    assert caught.value.fix == "/etc can't be granted: it is a folder of the operating system."


async def test_a_file_is_offered_where_its_folder_can_not_be_granted(
    home: Path, files: SandboxFiles
) -> None:
    for name, mode in (("notes", 0o644), ("private", 0o600), (".netrc", 0o644), (".bashrc", 0o644)):
        (home / name).touch()
        (home / name).chmod(mode)
    for path, write, fix in (
        (home / "notes", False, f"pegboard grant {home}/notes"),
        (home / "private", False, f"{home} can't be granted: .*, but the file alone can be."),
        (home / ".netrc", False, f"{home} can't be granted: .*, but the file alone can be."),
        (home / "none", False, f"{home} can't be granted: it is your home directory."),
        (home / "notes", True, f"pegboard grant {home}/notes --write"),
        (home / ".bashrc", False, f"pegboard grant {home}/.bashrc"),
        (home / ".bashrc", True, f"{home} can't be granted: .*, but the file alone can be."),
        (Path("/etc/passwd"), False, "pegboard grant /etc/passwd"),
        (Path("/etc/passwd"), True, "/etc can't be granted: it is a folder of the .* system."),
    ):
        with pytest.raises(SandboxError) as refused:
            files.resolve(str(path), write=write)
        assert re.fullmatch(fix, refused.value.fix or ""), refused.value.fix


async def test_a_sibling_folder_with_the_same_beginning_is_outside(
    workspace: Path, files: SandboxFiles
) -> None:
    other = workspace.with_name("ws-secret")
    other.mkdir()
    (other / "f").write_text("x")
    with pytest.raises(SandboxError, match="outside the granted roots"):
        await files.read(str(other / "f"))


async def test_a_fifo_a_socket_and_a_device_are_refused_at_once(
    workspace: Path, files: SandboxFiles
) -> None:
    os.mkfifo(workspace / "fifo")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(workspace / "socket"))
        with anyio.fail_after(5):
            for name in ("fifo", "socket"):
                with pytest.raises(SandboxError, match=rf"not a regular file: {name} \({name}\)"):
                    await files.read(name)
                with pytest.raises(SandboxError, match="not a regular file"):
                    await files.write(name, b"x")
    assert stat.S_ISFIFO((workspace / "fifo").stat().st_mode)


@pytest.mark.skipif(not AS_ROOT, reason="only root makes devices")
async def test_a_device_is_refused(workspace: Path, files: SandboxFiles) -> None:
    try:
        os.mknod(workspace / "null", stat.S_IFCHR | 0o666, os.makedev(1, 3))
    except PermissionError:
        pytest.skip("this container makes no devices")
    with pytest.raises(SandboxError, match="character device"):
        await files.read("null")


async def test_a_refusal_shows_a_path_as_short_as_the_agent_knows_it(
    workspace: Path, files: SandboxFiles
) -> None:
    os.mkfifo(workspace / "fifo")
    with pytest.raises(SandboxError) as refused:
        await files.read(str(workspace / "fifo"))
    assert str(refused.value).startswith("not a regular file: fifo (fifo)")
    with pytest.raises(FileNotFoundError) as missing:
        await files.read(str(workspace / "none"))
    assert missing.value.filename == "none"
    for path in ("/x" * 4000, "a/" * 4000 + "b", "y" * 4000, "xx://" + "z" * 4000, "~root/" * 900):
        with pytest.raises(SandboxError) as refused:
            await files.read(path)
        assert "characters ...]" in str(refused.value)
        assert len(f"{refused.value} {refused.value.fix}") < 1_000


async def test_a_name_that_looks_like_a_home_is_listed_as_it_is_to_be_written(
    workspace: Path, files: SandboxFiles
) -> None:
    for name in ("~", "~root", "~$lock"):
        (workspace / name).write_text(name)
    listed = [item.path for item in await files.list_dir(".")]
    assert listed == ["./~", "~$lock", "./~root"]
    assert [await files.read(path) for path in listed] == [b"~", b"~$lock", b"~root"]


async def test_a_folder_is_no_file(workspace: Path, files: SandboxFiles) -> None:
    (workspace / "d").mkdir()
    for path in ("d", ".", "d/"):
        with pytest.raises(IsADirectoryError):
            await files.read(path)
        with pytest.raises(IsADirectoryError):
            await files.write(path, b"")


@pytest.mark.skipif(not AS_ROOT, reason="only root gives files away")
async def test_a_second_name_of_somebody_elses_file_is_not_read(
    workspace: Path, home: Path, files: SandboxFiles
) -> None:
    (home / "theirs").write_text("SECRET")
    os.chown(home / "theirs", 4242, 4242)
    os.link(home / "theirs", workspace / "name")
    with pytest.raises(SandboxError, match="belongs to somebody else"):
        await files.read("name")


async def test_a_write_to_one_of_several_names_leaves_the_others(
    workspace: Path, home: Path, files: SandboxFiles
) -> None:
    (home / "outside").write_text("old")
    os.link(home / "outside", workspace / "inside")
    await files.write("inside", b"new")
    assert (home / "outside").read_text() == "old"
    assert (workspace / "inside").read_text() == "new"


async def test_a_write_makes_folders_and_honours_the_umask(
    workspace: Path, files: SandboxFiles
) -> None:
    before = os.umask(0o027)
    try:
        await files.write("a/b/f", b"x")
    finally:
        os.umask(before)
    assert (workspace / "a/b/f").read_bytes() == b"x"
    assert stat.S_IMODE((workspace / "a/b/f").stat().st_mode) == 0o640
    assert stat.S_IMODE((workspace / "a").stat().st_mode) == 0o750
    with pytest.raises(FileNotFoundError):
        await files.write("c/f", b"x", parents=False)
    assert not (workspace / "c").exists()


async def test_mode_owner_and_attributes_of_a_file_survive_a_write(
    workspace: Path, files: SandboxFiles
) -> None:
    path = workspace / "f"
    path.write_text("old")
    path.chmod(0o754)
    if AS_ROOT:
        os.chown(path, 4242, 4243)
    try:
        os.setxattr(path, "user.note", b"kept")
        marked = True
    except OSError:
        marked = False
    await files.write("f", b"new")
    found = path.stat()
    assert stat.S_IMODE(found.st_mode) == 0o754
    if AS_ROOT:
        assert (found.st_uid, found.st_gid) == (4242, 4243)
    if marked:
        assert os.getxattr(path, "user.note") == b"kept"


async def test_rights_of_a_program_do_not_survive_a_change_of_content(
    workspace: Path, files: SandboxFiles
) -> None:
    path = workspace / "program"
    path.write_text("old")
    path.chmod(0o4755)
    await files.write("program", b"new")
    assert stat.S_IMODE(path.stat().st_mode) == 0o755


async def test_must_be_new_never_replaces(workspace: Path, files: SandboxFiles) -> None:
    await files.write("f", b"one", must_be_new=True)
    with pytest.raises(FileExistsError):
        await files.write("f", b"two", must_be_new=True)
    assert (workspace / "f").read_bytes() == b"one"
    assert names(workspace) == ["f"]


async def test_a_name_of_the_longest_length_can_be_written(
    workspace: Path, files: SandboxFiles
) -> None:
    name = "ü" * 127
    await files.write(name, b"x")
    await files.write(name, b"y")
    assert names(workspace) == [name]


async def test_a_full_disk_leaves_the_old_file_and_nothing_else(
    workspace: Path, files: SandboxFiles
) -> None:
    import resource

    (workspace / "f").write_text("old")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        for path in ("f", "made/for/it"):
            with pytest.raises(SandboxError, match="File too large") as refused:
                await files.write(path, b"x" * 10_000)
            assert refused.value.fix == "Write less to it."
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert (workspace / "f").read_text() == "old"
    assert names(workspace) == ["f"]


KILLED_WRITING = """
import asyncio, resource, signal, sys
from pathlib import Path
from pegboard.contracts.effects import ALL_EFFECTS
from pegboard.contracts.sandbox import SandboxSpec
from pegboard.sandboxes import GrantTable, SandboxFiles
files = SandboxFiles(GrantTable.open(SandboxSpec(workspace=Path(sys.argv[1]))), ALL_EFFECTS)
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)  # the kernel kills who writes more
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
asyncio.run(files.write(sys.argv[2], b"x" * 10_000))
"""


@pytest.mark.skipif(not hasattr(os, "O_TMPFILE"), reason="this system names files at once")
@pytest.mark.parametrize("name", ["old", "new"])
def test_who_is_killed_while_writing_leaves_nothing_beside(workspace: Path, name: str) -> None:
    (workspace / "old").write_text("old")
    done = subprocess.run([sys.executable, "-c", KILLED_WRITING, str(workspace), name], check=False)
    assert done.returncode == -signal.SIGXFSZ
    assert names(workspace) == ["old"]
    assert (workspace / "old").read_text() == "old"


async def test_a_file_system_without_unnamed_files_is_written_all_the_same(
    workspace: Path, files: SandboxFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pegboard.sandboxes.replace._UNNAMED", 0)
    await written_twice(workspace, files)


async def test_a_file_system_without_links_is_written_all_the_same(
    workspace: Path, files: SandboxFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))

    monkeypatch.setattr(os, "link", refused)
    await written_twice(workspace, files)


async def written_twice(workspace: Path, files: SandboxFiles) -> None:
    for content in (b"one", b"two"):
        await files.write("f", content, new_mode=0o640)
        assert (workspace / "f").read_bytes() == content
    assert (workspace / "f").stat().st_mode & 0o777 == 0o640
    assert names(workspace) == ["f"]


@pytest.mark.skipif(not AS_ROOT, reason="only root gives a folder any group")
async def test_a_file_keeps_its_group_in_a_folder_that_gives_its_own(
    workspace: Path, files: SandboxFiles
) -> None:
    (workspace / "f").write_text("old")
    os.chown(workspace, -1, 4321)
    workspace.chmod(0o2775)
    await files.write("f", b"new")
    await files.write("new", b"new")
    assert (workspace / "f").stat().st_gid == os.getegid()
    assert (workspace / "new").stat().st_gid == 4321


AS_SOMEBODY_ELSE = """
import asyncio, os, sys
from pathlib import Path
from pegboard.contracts.effects import ALL_EFFECTS
from pegboard.contracts.sandbox import SandboxSpec
from pegboard.sandboxes import GrantTable, SandboxFiles
table = GrantTable.open(SandboxSpec(workspace=Path(sys.argv[1])), home=Path("/nonexistent"))
files = SandboxFiles(table, ALL_EFFECTS)
async def main():
    for path in ("readonly", "shut/f", "shut/new"):
        try:
            await files.write(path, b"new")
        except Exception as error:
            print(type(error).__name__, error)
    try:
        await files.read("secret")
    except Exception as error:
        print(type(error).__name__)
asyncio.run(main())
"""


@pytest.mark.skipif(not AS_ROOT, reason="starts a process as somebody else")
async def test_what_may_not_be_written_is_left_and_the_reason_said() -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as name:
        workspace = Path(name)
        workspace.chmod(0o777)
        (workspace / "readonly").write_text("old")
        (workspace / "readonly").chmod(0o444)
        (workspace / "shut").mkdir()
        (workspace / "shut/f").write_text("old")
        (workspace / "shut/f").chmod(0o666)
        (workspace / "shut").chmod(0o555)
        (workspace / "secret").write_text("x")
        (workspace / "secret").chmod(0o600)
        done = subprocess.run(
            ["/usr/bin/env", "setpriv", "--reuid=4242", "--regid=4242", "--clear-groups",
             sys.executable, "-c", AS_SOMEBODY_ELSE, name],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode != 0 and "ModuleNotFound" not in done.stderr and not done.stdout:
            pytest.skip(f"can't become somebody else here: {done.stderr[-200:]}")
        assert done.stdout.splitlines() == [
            "SandboxError cannot replace readonly: it is not writable",
            "SandboxError cannot replace shut/f: its folder is not writable",
            "SandboxError cannot replace shut/new: its folder is not writable",
            "PermissionError",
        ]
        assert (workspace / "readonly").read_text() == "old"


async def test_a_folder_is_listed_by_name_and_links_are_links(
    workspace: Path, files: SandboxFiles
) -> None:
    (workspace / "b").mkdir()
    (workspace / "a").write_text("12345")
    (workspace / "c").symlink_to("b")
    (workspace / ".hidden").write_text("")
    found = await files.list_dir(".")
    assert [(item.path, item.kind) for item in found] == [
        (".hidden", "file"),
        ("a", "file"),
        ("b", "dir"),
        ("c", "symlink"),
    ]
    assert found[1].size == 5
    with pytest.raises(NotADirectoryError):
        await files.list_dir("a")
    assert [item.path for item in await files.list_dir("c")] == []


async def test_a_walk_yields_whole_paths_in_order_and_follows_no_link(
    workspace: Path, files: SandboxFiles
) -> None:
    for name in ("a.txt", "a/z", "a/b/c", "a-b", "skip/me", "z/.hidden/f"):
        path = workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    (workspace / "self").symlink_to(".")
    (workspace / "etc").symlink_to("/etc")
    os.mkfifo(workspace / "fifo")
    found = [item.path async for item in files.walk(".", skip=frozenset({"skip"}))]
    assert found == sorted(found)
    assert found == ["a-b", "a.txt", "a/b/c", "a/z", "etc", "self", "z/.hidden/f"]
    assert [item.path async for item in files.walk("a")] == ["a/b/c", "a/z"]
    assert [item.path async for item in files.walk("a/z")] == ["a/z"]
    with pytest.raises(FileNotFoundError):
        _ = [item async for item in files.walk("nothing")]


async def test_a_walk_over_many_files_comes_in_pieces_and_can_be_left(
    workspace: Path, files: SandboxFiles
) -> None:
    for number in range(1300):
        (workspace / f"{number:05}").touch()
    found = [item.path async for item in files.walk(".")]
    assert found == [f"{number:05}" for number in range(1300)]
    async for item in files.walk("."):
        assert item.path == "00000"
        break


async def test_rename_never_replaces(workspace: Path, files: SandboxFiles) -> None:
    (workspace / "a").write_text("a")
    (workspace / "b").write_text("b")
    with pytest.raises(FileExistsError):
        await files.rename("a", "b")
    await files.rename("a", "c")
    assert (workspace / "c").read_text() == "a"
    with pytest.raises(FileNotFoundError):
        await files.rename("a", "d")


async def test_a_folder_that_holds_a_read_only_grant_can_not_be_moved_away_from_it(
    workspace: Path, opened: Opener
) -> None:
    (workspace / "mid/inner").mkdir(parents=True)
    files = opened(Grant(workspace / "mid/inner", "ro"))
    with pytest.raises(SandboxError, match="holds a granted or protected place"):
        await files.rename("mid", "other")


async def test_folders_are_made_and_removed_when_empty(
    workspace: Path, files: SandboxFiles
) -> None:
    await files.make_dir("a/b")
    await files.make_dir("a/b")
    (workspace / "f").touch()
    with pytest.raises(FileExistsError):
        await files.make_dir("f")
    with pytest.raises(SandboxError, match="not empty"):
        await files.remove("a")
    await files.remove("a/b")
    await files.remove("a")
    await files.remove("f")
    assert names(workspace) == []
    with pytest.raises(SandboxError, match="granted folder and stays"):
        await files.remove(".")


async def test_fewer_effects_refuse_what_they_lack(workspace: Path, files: SandboxFiles) -> None:
    (workspace / "f").write_text("x")
    reading = files.narrowed(frozenset({"read"}))
    assert await reading.read("f") == b"x"
    for work in (
        lambda: reading.write("f", b""),
        lambda: reading.make_dir("d"),
        lambda: reading.remove("f"),
        lambda: reading.rename("f", "g"),
    ):
        with pytest.raises(SandboxError, match=r"may not write files \(it may: read\)"):
            await work()
    nothing = reading.narrowed(frozenset({"fs_write"}))
    with pytest.raises(SandboxError, match=r"may not read files \(it may: nothing\)"):
        await nothing.read("f")
    assert nothing.narrowed(frozenset({"read"})).effects == frozenset()


async def test_resolve_gives_the_place_with_links_resolved(
    workspace: Path, files: SandboxFiles
) -> None:
    (workspace / "a").mkdir()
    (workspace / "l").symlink_to("a")
    assert files.resolve("l/new", write=True) == str(workspace / "a/new")
    assert files.resolve("l") == str(workspace / "a")
    assert files.resolve("no/such/f") == str(workspace / "no/such/f")
    assert files.display(str(workspace / "a/f")) == "a/f"
    assert files.display(str(workspace)) == "."
    assert files.display("/etc/x") == "/etc/x"
    with pytest.raises(SandboxError):
        files.resolve("../x")


async def test_a_granted_file_opens_that_file_alone(
    home: Path, workspace: Path, opened: Opener
) -> None:
    (home / "one.txt").write_text("1")
    (home / "two.txt").write_text("2")
    files = opened(Grant(home / "one.txt", "rw"))
    assert await files.read(str(home / "one.txt")) == b"1"
    await files.write(str(home / "one.txt"), b"11")
    assert (home / "one.txt").read_text() == "11"
    with pytest.raises(SandboxError):
        await files.read(str(home / "two.txt"))
    with pytest.raises(NotADirectoryError):
        await files.read(str(home / "one.txt/x"))


def test_a_missing_grant_is_left_out_with_a_note(home: Path, workspace: Path) -> None:
    spec = SandboxSpec(workspace=workspace, grants=(Grant(home / "gone"),))
    table = GrantTable.open(spec, home=home)
    assert table.notes == (f"The granted place {home}/gone does not exist.",)
    assert len(table.grants) == 1
    table.close()


def test_a_missing_workspace_and_an_unsafe_one_are_refused(home: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for bad in (tmp_path / "gone", tmp_path / "file"):
        with pytest.raises(SandboxError, match="is no folder"):
            GrantTable.open(SandboxSpec(workspace=bad), home=home)
    with pytest.raises(SandboxError, match=f"refusing to grant {home}: it is your home directory"):
        GrantTable.open(SandboxSpec(workspace=home), home=home)
    link = tmp_path / "link"
    link.symlink_to("/etc")
    with pytest.raises(SandboxError, match="refusing to grant") as refused:
        GrantTable.open(SandboxSpec(workspace=link), home=home)
    assert "Nothing can grant it" in (refused.value.fix or "")
    (tmp_path / "a b").mkdir()
    os.mkfifo(tmp_path / "a b/fifo")
    spec = SandboxSpec(workspace=tmp_path / "a b", grants=(Grant(tmp_path / "a b/fifo", "ro"),))
    with pytest.raises(SandboxError, match="neither a folder nor a file") as refused:
        GrantTable.open(spec, home=home)
    assert refused.value.fix == f"pegboard revoke '{tmp_path}/a b/fifo'"


async def test_a_closed_sandbox_refuses_and_gives_its_descriptors_back(
    home: Path, workspace: Path
) -> None:
    (workspace / "f").touch()
    before = len(names(OPEN))
    table = GrantTable.open(SandboxSpec(workspace=workspace), home=home)
    files = SandboxFiles(table, frozenset({"read"}))
    await files.read("f")
    table.close()
    table.close()
    assert len(names(OPEN)) == before
    with pytest.raises(SandboxError, match="the sandbox is closed"):
        await files.read("f")


async def test_errors_leak_no_descriptors(workspace: Path, home: Path, files: SandboxFiles) -> None:
    (workspace / "out").symlink_to(home / "x")
    (workspace / "loop").symlink_to("loop")
    os.mkfifo(workspace / "fifo")
    before = names(OPEN)
    for path in ("out", "loop", "fifo", "none", "none/x", ".", "../x", "fifo/x"):
        for work in (files.read, files.stat, files.list_dir, files.remove, files.make_dir):
            try:
                await work(path)
            except (SandboxError, OSError):
                continue
            finally:
                (workspace / "fifo").exists() or os.mkfifo(workspace / "fifo")
    assert names(OPEN) == before
