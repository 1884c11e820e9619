"""What Landlock holds, what it says that it can't, and what the host keeps of its own rights."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
from pegboard_sandbox_bubblewrap.config import LandlockSettings
from pegboard_sandbox_bubblewrap.landlock_sandbox import LandlockBackend, LandlockSandbox
from pegboard_sandbox_bubblewrap.report import OFFLINE

from pegboard import Command, Grant, SandboxError, SandboxSpec
from pegboard.testing.contracts.sandbox_probes import python_grants, python_inside
from pegboard.testing.contracts.sandbox_suite import sh

pytestmark = pytest.mark.anyio
Opener = Callable[..., Awaitable[LandlockSandbox]]


@pytest.fixture
async def restricted(workspace: Path) -> AsyncIterator[Opener]:
    boxes: list[LandlockSandbox] = []

    async def make(*grants: Grant, protected: tuple[Path, ...] = (), **settings) -> LandlockSandbox:
        spec = SandboxSpec(workspace=workspace, grants=grants, protected=protected)
        boxes.append(await LandlockBackend(LandlockSettings(**settings)).open(spec))
        return boxes[-1]

    yield make
    for box in boxes:
        await box.aclose()


async def said(box: LandlockSandbox, source: str) -> str:
    return (await sh(box, f"exec 2>&1; {source}")).stdout.text().strip()


async def test_only_what_is_granted_is_read_and_changed(
    restricted: Opener, workspace: Path, tmp_path: Path
) -> None:
    for name in ("ro", "rw", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "f").write_text(name)
    box = await restricted(Grant(tmp_path / "ro", "ro"), Grant(tmp_path / "rw", "rw"))
    text = await said(
        box,
        f"cd {tmp_path}; cat ro/f rw/f other/f; echo n > ro/f; echo n > other/f; echo n > rw/f;"
        f" echo n > {workspace}/made; ls other /; cat /etc/passwd",
    )
    assert text.startswith("rorw")
    assert text.count("Permission denied") == 6
    assert (tmp_path / "rw/f").read_text() == (workspace / "made").read_text() == "n\n"
    assert (tmp_path / "ro/f").read_text() == "ro"


async def test_a_call_that_may_not_write_writes_nothing(
    restricted: Opener, workspace: Path
) -> None:
    (workspace / "f").write_text("old")
    box = (await restricted()).narrowed(frozenset({"read", "exec"}))
    assert "Permission denied" in await said(box, "cat f; echo x > f; touch new")
    assert sorted(path.name for path in workspace.iterdir()) == ["f"]
    assert (workspace / "f").read_text() == "old"
    with pytest.raises(SandboxError, match="may not run commands"):
        await sh(box.narrowed(frozenset({"read"})), "true")


async def test_there_is_no_network_and_the_answer_says_so(restricted: Opener) -> None:
    box = await restricted(*python_grants())
    with socket.create_server(("127.0.0.1", 0)) as server:
        source = f"import socket; socket.create_connection({server.getsockname()!r})"
        done = await box.run(Command(argv=(python_inside(), "-I", "-c", source)))
    assert done.exit_code == 1
    assert "Address family not supported" in done.stderr.text()
    assert done.notes == (OFFLINE,)


async def test_asyncio_and_children_run_without_any_socket_of_their_own(
    restricted: Opener,
) -> None:
    source = (
        "import asyncio, subprocess, threading\n"
        "threading.Thread(target=print, args=('thread',)).start()\n"
        "print(subprocess.check_output(['echo', 'child'], text=True).strip())\n"
        "asyncio.run(asyncio.sleep(0))\n"
    )
    box = await restricted(*python_grants())
    done = await box.run(Command(argv=(python_inside(), "-I", "-c", source)))
    assert sorted(done.stdout.text().split()) == ["child", "thread"], done.stderr.text()


async def test_the_host_and_its_threads_keep_their_rights(restricted: Opener) -> None:
    await sh(await restricted(), "true")
    names: list[list[str]] = []
    thread = threading.Thread(target=lambda: names.append(os.listdir("/")))  # noqa: PTH208
    thread.start()
    thread.join()
    assert names and Path("/etc/passwd").read_text()
    status = Path("/proc/self/status").read_text()
    assert "NoNewPrivs:\t0" in status
    socket.socket().close()
    assert threading.active_count() < 20


async def test_what_it_can_not_hide_it_does_not_run_beside(
    restricted: Opener, workspace: Path
) -> None:
    (workspace / "state").mkdir()
    box = await restricted(protected=(workspace / "state",))
    await box.write("f", b"files work")
    with pytest.raises(SandboxError, match=f"can't hide {workspace}/state") as caught:
        await sh(box, "true")
    assert "install bubblewrap" in (caught.value.fix or "")


async def test_what_it_can_not_keep_from_being_changed_it_does_not_run_beside(
    restricted: Opener, workspace: Path
) -> None:
    (workspace / "fixed").mkdir()
    box = await restricted(Grant(workspace / "fixed", "ro"))
    with pytest.raises(SandboxError, match=r"can't keep commands from changing .*/fixed"):
        await sh(box, "true")
    reader = box.narrowed(frozenset({"read", "exec"}))
    assert (await sh(reader, "echo > fixed/f; echo end")).stdout.text() == "end\n"


async def test_what_a_command_may_not_leave_behind_is_moved_aside(
    restricted: Opener, workspace: Path
) -> None:
    done = await sh(await restricted(), "echo evil > .envrc")
    assert (workspace / ".envrc.held").exists()
    assert ".envrc decides what programs run" in done.notes[0]


async def test_temporary_files_have_a_folder_of_their_own_that_goes(restricted: Opener) -> None:
    box = await restricted()
    text = await said(box, 'echo x > "$TMPDIR/f"; echo "$TMPDIR"; [ "$HOME" = "$TMPDIR" ] && ls')
    folder = Path(text.splitlines()[0])
    assert (folder / "f").read_text() == "x\n"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert (await said(box, 'cat "$TMPDIR/f"; touch /tmp/x')).startswith("x\n")
    await box.aclose()
    assert not folder.exists()


async def test_limits_are_set_and_other_processes_are_left_alone(restricted: Opener) -> None:
    box = await restricted(max_file_mb=1, max_open_files=64)
    text = await said(
        box, f"ulimit -n; ulimit -c; kill -0 {os.getpid()}; head -c 2000000 /dev/zero > b"
    )
    assert "not permitted" in text
    assert text.splitlines()[:2] == ["64", "0"]
    assert (box.workspace / "b").stat().st_size == 1 << 20


async def test_a_program_that_is_not_granted_does_not_start(
    restricted: Opener, tmp_path: Path
) -> None:
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\necho hi\n")
    program.chmod(0o755)
    box = await restricted()
    with pytest.raises(SandboxError, match="can't start"):
        await box.run(Command(argv=(str(program),)))
    with pytest.raises(SandboxError, match="no program named no-such-program"):
        await box.run(Command(argv=("no-such-program",)))
    done = await box.run(Command(argv=("sh", "-c", "echo prlimit: nosuch >&2; exit 127")))
    assert done.exit_code == 127  # what the command itself says is its own


async def test_no_descriptor_is_left_open(restricted: Opener) -> None:
    def open_now() -> list[str]:
        return sorted(path.name for path in Path("/proc/self/fd").iterdir())

    box = await restricted()
    await sh(box, "true")
    before = open_now()
    for _ in range(3):
        await sh(box, "true")
    assert open_now() == before


async def test_it_says_what_it_can_not_do(restricted: Opener) -> None:
    report = (await restricted()).explain()
    assert report.enforced["fs_read"] == report.enforced["net"] == "yes"
    assert report.enforced["fs_write"] == report.enforced["tree_kill"] == "partial"
    notes = " ".join(report.notes)
    for gap in ("modes, owners and times", ".git, .envrc", "which other processes", "outlives"):
        assert gap in notes


@pytest.mark.parametrize(("version", "why"), [(0, "no Landlock"), (2, "too old")])
def test_an_unfit_kernel_is_told(version: int, why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from pegboard_sandbox_bubblewrap import landlock_thread

    monkeypatch.setattr(landlock_thread, "version", lambda: version)
    said = landlock_thread.why_not.__wrapped__()
    assert said is not None and why in said and "Linux 6.2" in said
