"""However a command ends, or its host does, nothing that it started is left."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio
import pytest
from pegboard_sandbox_bubblewrap.sandbox import BubblewrapBackend, BubblewrapSandbox

from pegboard import Command, SandboxSpec
from pegboard.testing.contracts.sandbox_suite import sh

pytestmark = pytest.mark.anyio
Opener = Callable[..., Awaitable[BubblewrapSandbox]]
DAEMON = "trap '' HUP TERM; (setsid sh -c 'trap \"\" HUP TERM; exec sleep {tag}' >/dev/null 2>&1 &)"
HOST = """
import anyio, sys
from pathlib import Path
from pegboard import Command, SandboxSpec
from pegboard_sandbox_bubblewrap.sandbox import BubblewrapBackend

async def main():
    box = await BubblewrapBackend().open(SandboxSpec(workspace=Path(sys.argv[1])))
    await box.run(Command(argv=("sh", "-c", sys.argv[2])))

anyio.run(main)
"""
FLOOD = """
import anyio, json, sys
from pathlib import Path
from pegboard import Command, SandboxSpec
from pegboard_sandbox_bubblewrap.sandbox import BubblewrapBackend

def peak():  # of this program alone: what getrusage says begins with that of who started it
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024

async def main():
    box = await BubblewrapBackend().open(SandboxSpec(workspace=Path(sys.argv[1])))
    await box.run(Command(argv=("true",)))
    before = peak()
    whole = await box.run(
        Command(argv=("head", "-c", "1000000000", "/dev/zero"), max_output=2_000_000_000)
    )
    capped = await box.run(Command(argv=("yes",)))
    await box.aclose()
    print(json.dumps([whole.stdout.omitted, capped.timed_out, peak() - before]))

anyio.run(main)
"""
_TAGS = iter(range(7_000, 8_000))


@pytest.fixture
def tag() -> str:
    """Seconds that nobody else sleeps: by them a process is found on the host."""
    return f"{next(_TAGS)}.{os.getpid()}"


def sleepers(tag: str) -> list[int]:
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                words = (folder / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if tag.encode() in words:
                found.append(int(folder.name))
    return found


def open_descriptors() -> list[str]:
    return sorted(path.name for path in Path("/proc/self/fd").iterdir())


async def is_up(tag: str) -> None:
    with anyio.fail_after(20):
        while not sleepers(tag):
            await anyio.sleep(0.01)


async def test_a_daemon_ends_with_the_command_that_started_it(opened: Opener, tag: str) -> None:
    done = await sh(await opened(), DAEMON.format(tag=tag) + "; sleep 0.2; echo over")
    assert done.stdout.text() == "over\n"
    assert sleepers(tag) == []


async def test_a_daemon_ends_when_the_command_is_stopped(opened: Opener, tag: str) -> None:
    box = await opened()
    done = await sh(box, DAEMON.format(tag=tag) + "; sleep 60", timeout_s=0.6, grace_s=0.1)
    assert done.timed_out == "wall"
    assert sleepers(tag) == []


async def test_a_daemon_ends_when_the_call_is_cancelled(opened: Opener, tag: str) -> None:
    box = await opened()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(sh, box, DAEMON.format(tag=tag) + "; sleep 60")
        await is_up(tag)
        tasks.cancel_scope.cancel()
    assert sleepers(tag) == []


async def test_everything_ends_when_the_host_is_killed(workspace: Path, tag: str) -> None:
    source = DAEMON.format(tag=tag) + "; sleep 60"
    host = subprocess.Popen([sys.executable, "-c", HOST, str(workspace), source])
    await is_up(tag)
    host.send_signal(signal.SIGKILL)
    host.wait()
    with anyio.fail_after(5):
        while sleepers(tag):
            await anyio.sleep(0.01)


async def test_term_comes_first_and_a_command_may_end_in_its_own_way(
    opened: Opener, workspace: Path
) -> None:
    source = "trap 'echo bye; echo x > ended; exit 7' TERM; echo up; while :; do sleep 0.05; done"
    done = await sh(await opened(), source, timeout_s=0.6)
    assert (done.timed_out, done.exit_code) == ("wall", 7)
    assert done.stdout.text() == "up\nbye\n"
    assert (workspace / "ended").exists()


async def test_a_command_that_stops_itself_is_ended(opened: Opener) -> None:
    done = await sh(await opened(), "kill -STOP $$", timeout_s=0.5, grace_s=0.1)
    assert done.timed_out == "wall"


async def test_a_fork_bomb_is_ended(opened: Opener, tag: str) -> None:
    # bounded, for root has no limit: it doubles a few times, and each copy waits
    bomb = f"f() {{ [ $1 -gt 0 ] && {{ f $(($1-1)) & f $(($1-1)) & }}; sleep {tag}; }}; f 6"
    done = await sh(await opened(max_processes=60), bomb, timeout_s=1.0, grace_s=0.1)
    assert done.timed_out == "wall" or b"fork" in done.stderr.head
    assert sleepers(tag) == []


async def test_a_signal_is_told_as_a_shell_tells_it(opened: Opener) -> None:
    done = await sh(await opened(), "kill -9 $$")
    assert (done.exit_code, done.timed_out) == (137, None)


def test_a_command_lives_in_a_loop_of_a_short_lived_thread(workspace: Path) -> None:
    """bwrap dies with the thread that started it, which must live as long as the command."""
    answers = []

    async def run() -> None:
        box = await BubblewrapBackend().open(SandboxSpec(workspace=workspace))
        answers.append(await sh(box, "sleep 0.3; echo done"))
        await box.aclose()

    def body() -> None:
        anyio.run(run)

    thread = threading.Thread(target=body)
    thread.start()
    thread.join()
    assert answers[0].stdout.text() == "done\n"


async def test_a_thread_that_ends_meanwhile_takes_no_command_with_it(opened: Opener) -> None:
    box = await opened()
    async with anyio.create_task_group() as tasks:

        async def command() -> None:
            assert (await sh(box, "sleep 0.5; echo done")).stdout.text() == "done\n"

        tasks.start_soon(command)
        for _ in range(20):
            thread = threading.Thread(target=time.sleep, args=(0.02,))
            thread.start()
            await anyio.to_thread.run_sync(thread.join)


async def test_no_descriptor_is_left_open(opened: Opener) -> None:
    box = await opened()
    await sh(box, "true")
    before = open_descriptors()
    for source in ("true", "exit 3", "kill -9 $$"):
        await sh(box, source)
    await sh(box, "sleep 9", timeout_s=0.2, grace_s=0.1)
    assert open_descriptors() == before


async def test_none_of_our_descriptors_reaches_the_command(opened: Opener) -> None:
    done = await sh(await opened(), "ls /proc/self/fd | wc -l")
    assert done.stdout.text() == "4\n"  # three streams, and the folder that is listed


def test_a_gigabyte_of_output_takes_little_memory(workspace: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", FLOOD, str(workspace)], capture_output=True, text=True, check=True
    )
    omitted, stopped, grown_mb = json.loads(ran.stdout)
    assert omitted == 1_000_000_000 - 2 * 16_384
    assert stopped == "output"
    assert grown_mb < 64


async def test_input_of_any_size_is_fed(opened: Opener) -> None:
    done = await (await opened()).run(Command(argv=("wc", "-c"), stdin=b"x" * 3_000_000))
    assert done.stdout.text().strip() == "3000000"
