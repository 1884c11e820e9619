"""What a command is given inside, and what it may do to the kernel."""

from __future__ import annotations

import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from pegboard_sandbox_bubblewrap.sandbox import BubblewrapSandbox

from pegboard import Command, Grant, SandboxError
from pegboard.testing.contracts.sandbox_probes import python_grants, python_inside
from pegboard.testing.contracts.sandbox_suite import sh

pytestmark = pytest.mark.anyio
Opener = Callable[..., Awaitable[BubblewrapSandbox]]
WORK = frozenset({"read", "fs_write", "exec"})


async def said(box: BubblewrapSandbox, source: str) -> str:
    """Return both streams, in the order in which they were written."""
    return (await sh(box, f"exec 2>&1; {source}")).stdout.text().strip()


async def test_the_environment_is_short_and_the_hosts_does_not_reach_bwrap(
    opened: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_API_KEY", "sk-secret")
    monkeypatch.setenv("LET_THROUGH", "yes")
    monkeypatch.setenv("PATH", f"/opt/evil:{os.environ['PATH']}")
    box = (await opened(env=("LET_THROUGH",))).narrowed(WORK)
    done = await box.run(Command(argv=("env",), env={"SET": "here", "LD_PRELOAD": "/nowhere.so"}))
    found = dict(line.split("=", 1) for line in done.stdout.text().splitlines())
    assert found["LET_THROUGH"] == "yes" and found["SET"] == "here"
    assert found["HOME"] == found["TMPDIR"] == "/tmp"
    assert "MY_API_KEY" not in found and "http_proxy" not in found
    assert "/opt/evil" not in found["PATH"]
    # the variable reaches the command, whose loader complains, and not the program around it
    assert "bwrap" not in done.stderr.text()


async def test_only_its_own_account_is_told(opened: Opener) -> None:
    text = await said(await opened(), "id -u; wc -l < /etc/passwd; hostname; whoami")
    lines = text.splitlines()
    assert lines[:3] == [str(os.getuid()), "1", "sandbox"]


async def test_programs_inside_a_grant_are_found_by_path(
    opened: Opener, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "greet").write_text("#!/bin/sh\necho hello\n")
    (tools / "greet").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
    box = await opened(Grant(tools, "ro"))
    assert (await box.run(Command(argv=("greet",)))).stdout.text() == "hello\n"
    with pytest.raises(SandboxError, match="no program named greet in the sandbox") as caught:
        await (await opened()).run(Command(argv=("greet",)))
    assert "pegboard grant" in (caught.value.fix or "")


async def test_what_can_not_be_started_is_told(opened: Opener, workspace: Path) -> None:
    (workspace / "plain").write_text("no program")
    box = await opened()
    with pytest.raises(SandboxError, match="Permission denied"):
        await box.run(Command(argv=("./plain",)))
    for argv in ((), ("echo", "a\0b")):
        with pytest.raises(SandboxError):
            await box.run(Command(argv=argv))
    for cwd in ("../..", "/etc", "gone", "plain"):
        with pytest.raises(SandboxError):
            await box.run(Command(argv=("true",), cwd=cwd))


async def test_a_command_of_very_many_arguments_runs(opened: Opener) -> None:
    box = await opened()
    words = tuple(f"it's {number}\n" for number in range(12_000))
    done = await box.run(Command(argv=("printf", "%s", *words), keep_tail=10))
    assert done.exit_code == 0
    assert done.stdout.omitted + len(done.stdout.head) + len(done.stdout.tail) == len(
        "".join(words)
    )


async def test_more_grants_than_bwrap_takes_are_refused_in_words(
    opened: Opener, tmp_path: Path
) -> None:
    for number in range(3_100):
        (tmp_path / f"g{number}").mkdir()
    box = await opened(*(Grant(tmp_path / f"g{number}", "ro") for number in range(3_100)))
    with pytest.raises(SandboxError, match="too much is granted") as caught:
        await sh(box, "true")
    assert "pegboard revoke" in (caught.value.fix or "")


async def test_a_thousand_grants_work(opened: Opener, tmp_path: Path) -> None:
    for number in range(1_000):
        (tmp_path / f"g{number}").mkdir()
    box = await opened(*(Grant(tmp_path / f"g{number}", "ro") for number in range(1_000)))
    assert (await said(box, f"ls {tmp_path} | wc -l")) == "1001"


async def test_kernel_settings_can_not_be_written(opened: Opener) -> None:
    before = Path("/proc/sys/kernel/core_pattern").read_text()
    text = await said(
        await opened(), "echo evil > /proc/sys/kernel/core_pattern; umount /proc; ls /sys"
    )
    assert "Read-only file system" in text
    assert Path("/proc/sys/kernel/core_pattern").read_text() == before


async def test_mounts_are_read_only_and_small(opened: Opener) -> None:
    box = await opened(tmp_mb=4)
    text = await said(
        box,
        "touch /x; touch /dev/x; mkdir /etc/x; head -c 8000000 /dev/zero > /tmp/big;"
        " stat -c %s /tmp/big; grep -c . /proc/self/cgroup > /dev/null; echo end",
    )
    assert text.count("Read-only file system") == 3
    assert "No space left on device" in text
    assert str(4 << 20) in text


async def test_limits_are_set(opened: Opener) -> None:
    box = await opened(max_file_mb=1, max_open_files=64)
    text = await said(
        box,
        "ulimit -c; ulimit -n; grep processes /proc/self/limits; head -c 2000000 /dev/zero > big",
    )
    assert text.splitlines()[:2] == ["0", "64"]
    assert (box.workspace / "big").stat().st_size == 1 << 20
    if os.getuid() != 0:
        assert text.splitlines()[2].split()[2:4] == ["512", "512"]


async def test_threads_and_children_of_common_programs_run(opened: Opener) -> None:
    source = (
        "import asyncio, socket, subprocess, threading\n"
        "threading.Thread(target=print, args=('thread',)).start()\n"
        "print(subprocess.check_output(['echo', 'child'], text=True).strip())\n"
        "async def main():\n"
        "    server = await asyncio.start_server(lambda r, w: w.close(), '127.0.0.1', 0)\n"
        "    await asyncio.open_connection(*server.sockets[0].getsockname())\n"
        "    print(await asyncio.create_subprocess_exec('true') and 'loop')\n"
        "asyncio.run(main())\n"
    )
    box = await opened(*python_grants())
    done = await box.run(Command(argv=(python_inside(), "-I", "-c", source)))
    assert sorted(done.stdout.text().split()) == ["child", "loop", "thread"], done.stderr.text()


async def test_a_terminal_can_not_be_typed_into(tmp_path: Path, workspace: Path) -> None:
    """A command whose host has a terminal, as `pegboard chat` does, gets no hold of it."""
    inject = (
        "import fcntl, os, termios\n"
        "for name in ('/dev/tty', '/proc/self/fd/0', '/proc/self/fd/1'):\n"
        "    try:\n"
        "        fd = os.open(name, os.O_RDWR)\n"
        "        for byte in b'touch typed\\n': fcntl.ioctl(fd, termios.TIOCSTI, bytes([byte]))\n"
        "        print('TYPED')\n"
        "    except OSError as error: print(error)\n"
    )
    host = tmp_path / "host.py"
    host.write_text(
        "import anyio, sys\n"
        "from pathlib import Path\n"
        "from pegboard import Command, SandboxSpec\n"
        "from pegboard.testing.contracts.sandbox_probes import python_grants, python_inside\n"
        "from pegboard_sandbox_bubblewrap.sandbox import BubblewrapBackend\n"
        "async def main():\n"
        "    spec = SandboxSpec(workspace=Path(sys.argv[1]), grants=python_grants())\n"
        "    box = await BubblewrapBackend().open(spec)\n"
        f"    done = await box.run(Command(argv=(python_inside(), '-I', '-c', {inject!r})))\n"
        "    print(done.stdout.text(), done.stderr.text(), 'ENDED')\n"
        "    await box.aclose()\n"
        "anyio.run(main)\n"
    )
    pexpect = pytest.importorskip("pexpect")
    terminal = pexpect.spawn(sys.executable, [str(host), str(workspace)], timeout=30)
    terminal.expect("ENDED")
    assert b"TYPED" not in terminal.before
    terminal.close()


async def test_strict_shows_less(opened: Opener) -> None:
    strict = await opened(mode="strict")
    assert (await said(strict, "ls /etc/ssl 2>&1")).endswith("No such file or directory")
    assert "certs" in await said(await opened(), "ls /etc/ssl")


async def test_open_reads_the_machine_but_for_secrets_and_writes_no_more(
    opened: Opener, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = Path("/var/tmp") / f"pegboard-home-{os.getpid()}"
    (home / ".ssh").mkdir(parents=True)
    (home / ".ssh/id").write_text("secret")
    (home / "notes").write_text("notes")
    monkeypatch.setenv("HOME", str(home))
    try:
        box = await opened(mode="open", protected=(home / "state",))
        text = await said(
            box,
            f"cat {home}/notes; echo; cat {home}/.ssh/id; cat /etc/shadow; touch {home}/x;"
            "touch made; ls /run; echo $HOME; head -1 /etc/passwd",
        )
    finally:
        for name in (".ssh/id", "notes"):
            (home / name).unlink()
        (home / ".ssh").rmdir()
        home.rmdir()
    assert text.startswith("notes")
    assert "secret" not in text and "root:$" not in text and "root:*" not in text
    assert "Read-only file system" in text
    assert "root:x:0:0" in text
    assert f"\n{home}\n" in text
    assert box.explain().enforced["fs_read"] == "partial"
    assert box.explain().enforced["net"] == "partial"


async def test_it_says_what_it_enforces(opened: Opener, workspace: Path) -> None:
    report = (await opened(allow_hosts=["pypi.org"])).explain()
    assert set(report.enforced.values()) == {"yes"}
    assert report.grants == (Grant(workspace, "rw"),)
    notes = " ".join(report.notes)
    assert "reach pypi.org on ports 80 and 443" in notes
    assert ("as root" in notes) == (os.getuid() == 0)
    assert "No command has any network" in " ".join((await opened(mode="strict")).explain().notes)
