"""Commands behind a program that gives them a process space of their own (util-linux `unshare`)."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from pegboard.contracts.errors import SandboxError
from pegboard.contracts.sandbox import Command, Completed
from pegboard.sandboxes import Launch, Runs, run_process

pytestmark = pytest.mark.anyio
UNSHARE = ("unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child")
GENEROUS_S = 30.0


def _works() -> bool:
    if shutil.which("unshare") is None:
        return False
    return subprocess.run([*UNSHARE, "true"], capture_output=True, check=False).returncode == 0


needs_namespaces = pytest.mark.skipif(not _works(), reason="no user namespaces here")


async def run(source: str, *, launch: Launch | None = None, **limits) -> Completed:
    command = Command(argv=(*UNSHARE, "sh", "-c", source), **limits)
    base = Launch(argv=command.argv, cwd=None, env={"PATH": os.environ["PATH"]}, own_processes=True)
    with anyio.fail_after(GENEROUS_S):
        return await run_process(launch or base, command)


def sleepers(seconds: str) -> list[str]:
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                words = (folder / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if words[:2] == [b"sleep", seconds.encode()]:
                found.append(folder.name)
    return found


@needs_namespaces
async def test_term_reaches_the_processes_inside() -> None:
    done = await run("trap 'echo bye; exit 3' TERM; while :; do sleep 0.05; done", timeout_s=0.5)
    assert (done.timed_out, done.stdout.text(), done.exit_code) == ("wall", "bye\n", 3)


@needs_namespaces
async def test_a_daemon_that_ignores_everything_is_gone_when_the_call_returns() -> None:
    seconds = f"7100.{os.getpid()}"
    source = f"trap '' TERM HUP; setsid sh -c 'trap \"\" TERM HUP; exec sleep {seconds}' & sleep 60"
    done = await run(source, timeout_s=0.5, grace_s=0.1)
    assert done.timed_out == "wall"
    assert sleepers(seconds) == []


async def test_the_program_is_let_go_on_when_it_is_ready(tmp_path: Path) -> None:
    order: list[str] = []
    reading, writing = os.pipe()

    async def ready(pid: int) -> Callable[[], None]:
        assert Path(f"/proc/{pid}").exists()
        order.append("ready")
        await anyio.sleep(0.05)
        return lambda: os.close(writing)

    launch = Launch(
        argv=("bash", "-c", f"read line <&{reading}; echo over"),
        cwd=None,
        env={"PATH": os.environ["PATH"]},
        pass_fds=(reading,),
        own_processes=True,
        ready=ready,
    )
    done = await run("", launch=launch)
    os.close(reading)
    assert (done.stdout.text(), order) == ("over\n", ["ready"])


async def test_what_makes_it_ready_may_fail_and_the_program_ends() -> None:
    seconds = f"7101.{os.getpid()}"

    async def ready(pid: int) -> Callable[[], None]:
        raise SandboxError("not today")

    launch = Launch(
        argv=("sleep", seconds), cwd=None, env={"PATH": os.environ["PATH"]}, ready=ready
    )
    with pytest.raises(SandboxError, match="not today"):
        await run("", launch=launch)
    assert sleepers(seconds) == []
    with pytest.raises(SandboxError, match="not today"):
        await run("", launch=replace(launch, own_processes=True))
    assert sleepers(seconds) == []


async def test_time_runs_while_it_is_not_ready() -> None:
    async def ready(pid: int) -> Callable[[], None]:
        await anyio.sleep_forever()
        raise AssertionError

    launch = Launch(argv=("cat",), cwd=None, env={"PATH": os.environ["PATH"]}, ready=ready)
    assert (await run("", launch=launch, timeout_s=0.2, idle_s=None)).exit_code == 0


async def test_it_is_started_where_the_backend_says() -> None:
    import threading

    names: list[str] = []

    def start(begin: Callable[[], subprocess.Popen[bytes]]) -> subprocess.Popen[bytes]:
        made: list[subprocess.Popen[bytes]] = []
        thread = threading.Thread(target=lambda: made.append(begin()), name="apart")
        names.append(thread.name)
        thread.start()
        thread.join()
        return made[0]

    launch = Launch(argv=("echo", "hi"), cwd=None, env={"PATH": os.environ["PATH"]}, start=start)
    assert (await run("", launch=launch)).stdout.text() == "hi\n"
    assert names == ["apart"]


async def test_runs_end_what_runs() -> None:
    runs = Runs()
    errors: list[SandboxError] = []

    async def one() -> None:
        try:
            await runs.run(anyio.sleep_forever)
        except SandboxError as error:
            errors.append(error)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(one)
        await anyio.wait_all_tasks_blocked()
        await runs.end()
    assert "was closed while the command ran" in errors[0].message
    assert await runs.run(lambda: anyio.sleep(0)) is None
