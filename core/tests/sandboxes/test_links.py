"""Every way out of the grants, tried with the one system call and with the walk."""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pegboard.contracts.errors import SandboxError
from pegboard.contracts.sandbox import Grant
from pegboard.sandboxes import SandboxFiles, lookup

pytestmark = pytest.mark.anyio
Opener = Callable[..., SandboxFiles]


@pytest.fixture(params=["kernel", "walk"], autouse=True)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Without openat2, as on macOS, on old kernels and under filters, the walk does it alone."""
    if request.param == "walk":
        monkeypatch.setattr(lookup, "open_below", lambda *_: None)
    return str(request.param)


@pytest.fixture
def tree(workspace: Path, home: Path) -> Path:
    (workspace / "a/b/c").mkdir(parents=True)
    (workspace / "a/b/c/f").write_text("inside")
    (workspace / "top").write_text("top")
    out = home / "out"
    out.mkdir()
    (out / "secret").write_text("SECRET")
    return workspace


LINKS_OUT = {
    "absolute out": "{out}/secret",
    "relative out": "../out/secret",
    "up and down": "a/b/c/../../../../out/secret",
    "root of a process": "/proc/self/root{out}/secret",
    "a device": "/dev/stdin",
    "system file": "/etc/passwd",
    "folder": "../out",
}


@pytest.mark.parametrize("kind", LINKS_OUT)
async def test_a_link_that_leads_out_is_refused_and_both_ends_are_named(
    kind: str, tree: Path, home: Path, files: SandboxFiles
) -> None:
    target = LINKS_OUT[kind].format(out=home / "out")
    (tree / "link").symlink_to(target)
    path = "link/secret" if kind == "folder" else "link"
    with pytest.raises(SandboxError) as caught:
        await files.read(path)
    assert str(caught.value) == (f"symbolic link leads outside the granted roots: link -> {target}")
    granted = f"pegboard grant {home}/out"
    can_be = kind not in ("root of a process", "a device", "system file")
    if can_be:
        assert caught.value.fix == granted
    elif kind == "system file":
        assert caught.value.fix == "pegboard grant /etc/passwd"
    else:
        assert "can't be granted" in str(caught.value.fix)
    with pytest.raises(SandboxError) as caught:
        await files.write(path, b"changed")
    assert not can_be or caught.value.fix == f"{granted} --write"
    assert (home / "out/secret").read_text() == "SECRET"


@pytest.mark.parametrize(
    ("target", "content"),
    [
        ("{ws}/top", b"top"),
        ("a/b/../b/c/f", b"inside"),
        ("../ws/top", b"top"),
        ("a/./b//c/f", b"inside"),
    ],
)
async def test_a_link_that_stays_inside_is_followed(
    target: str, content: bytes, tree: Path, files: SandboxFiles
) -> None:
    (tree / "link").symlink_to(target.format(ws=tree))
    assert await files.read("link") == content


async def test_a_link_into_another_grant_is_followed(
    tree: Path, home: Path, opened: Opener
) -> None:
    (tree / "link").symlink_to(home / "out")
    files = opened(Grant(home / "out", "ro"))
    assert await files.read("link/secret") == b"SECRET"
    with pytest.raises(SandboxError, match="granted only to be read"):
        await files.write("link/secret", b"x")


async def test_a_read_only_grant_inside_the_workspace_holds_through_links(
    tree: Path, opened: Opener
) -> None:
    (tree / "link").symlink_to("a/b")
    files = opened(Grant(tree / "a/b", "ro"))
    for path in ("a/b/c/f", "link/c/f", "a/b/new"):
        with pytest.raises(SandboxError, match="granted only to be read"):
            await files.write(path, b"x")


async def test_links_that_go_in_a_circle_are_refused(tree: Path, files: SandboxFiles) -> None:
    (tree / "loop").symlink_to("loop")
    (tree / "one").symlink_to("two/x")
    (tree / "two").symlink_to("one/x")
    for path in ("loop", "one", "two/y"):
        with pytest.raises(SandboxError, match="too many symbolic links"):
            await files.read(path)


async def test_a_dangling_link_is_missing_and_a_write_goes_to_its_target(
    tree: Path, files: SandboxFiles
) -> None:
    (tree / "dangling").symlink_to("a/new")
    with pytest.raises(FileNotFoundError):
        await files.read("dangling")
    await files.write("dangling", b"made")
    assert (tree / "a/new").read_bytes() == b"made"
    assert (tree / "dangling").is_symlink()


async def test_a_write_through_a_link_keeps_the_link(tree: Path, files: SandboxFiles) -> None:
    (tree / "link").symlink_to("top")
    await files.write("link", b"new")
    assert (tree / "link").is_symlink()
    assert (tree / "top").read_bytes() == b"new"


async def test_removing_and_renaming_a_link_touch_the_link_alone(
    tree: Path, home: Path, files: SandboxFiles
) -> None:
    (tree / "out").symlink_to(home / "out/secret")
    await files.rename("out", "moved")
    assert (tree / "moved").is_symlink()
    await files.remove("moved")
    assert not (tree / "moved").is_symlink()
    assert (home / "out/secret").read_text() == "SECRET"


async def test_stat_shows_a_link_as_a_link(tree: Path, home: Path, files: SandboxFiles) -> None:
    (tree / "out").symlink_to(home / "out/secret")
    found = await files.stat("out")
    assert found is not None
    assert found.kind == "symlink"


@pytest.mark.parametrize("path", ["a/b/c/f/", "top/.", "top/x", "a/b/c/f/x/y"])
async def test_a_file_is_no_folder(path: str, tree: Path, files: SandboxFiles) -> None:
    with pytest.raises(NotADirectoryError):
        await files.read(path)


@pytest.mark.parametrize("path", ["nothing", "nothing/at/all", "a/nothing"])
async def test_what_does_not_exist_is_not_found(path: str, tree: Path, files: SandboxFiles) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        await files.read(path)
    assert caught.value.filename == path
    assert await files.stat(path) is None


@pytest.mark.parametrize("path", ["a" * 256, "a/" * 2100 + "f"])
async def test_a_path_longer_than_the_system_allows_is_an_error_not_a_crash(
    path: str, tree: Path, files: SandboxFiles
) -> None:
    with pytest.raises((SandboxError, FileNotFoundError)):
        await files.read(path)
    with pytest.raises(SandboxError):
        await files.write("a" * 256, b"")


async def test_a_name_of_other_bytes_works(tree: Path, files: SandboxFiles) -> None:
    await files.write("x\udcff", b"bytes")
    assert Path(os.fsdecode(os.fsencode(tree) + b"/x\xff")).read_bytes() == b"bytes"
    assert await files.read("x\udcff") == b"bytes"


@pytest.fixture
def flipping(tree: Path, home: Path) -> Iterator[None]:
    """Swap a folder with a link that leads out, as fast as the kernel can."""
    libc = ctypes.CDLL(None, use_errno=True)
    if not hasattr(libc, "renameat2"):
        pytest.skip("needs renameat2")
    (tree / "real").mkdir()
    (tree / "real/secret").write_text("inside")
    (tree / "evil").symlink_to(home / "out")
    stop = threading.Event()

    def flip() -> None:
        one, two = os.fsencode(tree / "real"), os.fsencode(tree / "evil")
        while not stop.is_set():
            libc.renameat2(-100, one, -100, two, ctypes.c_uint(2))

    thread = threading.Thread(target=flip)
    thread.start()
    yield
    stop.set()
    thread.join()


async def test_a_folder_swapped_for_a_link_during_the_open_never_leads_out(
    flipping: None, tree: Path, home: Path, files: SandboxFiles
) -> None:
    seen: set[bytes] = set()
    for _ in range(1500):
        try:
            seen.add(await files.read("real/secret"))
        except (SandboxError, FileNotFoundError, NotADirectoryError):
            seen.add(b"refused")
    assert b"SECRET" not in seen
    assert b"inside" in seen


async def test_a_folder_swapped_for_a_link_during_a_write_never_leads_out(
    flipping: None, tree: Path, home: Path, files: SandboxFiles
) -> None:
    for _ in range(300):
        try:
            await files.write("real/secret", b"inside")
        except (SandboxError, FileNotFoundError, NotADirectoryError):
            continue
    assert (home / "out/secret").read_text() == "SECRET"
    assert [path.name for path in (home / "out").iterdir()] == ["secret"]
