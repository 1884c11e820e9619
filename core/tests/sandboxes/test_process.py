"""Real processes that misbehave in every way the tools have met."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from pathlib import Path

import anyio
import pytest

from pegboard.contracts.errors import SandboxError
from pegboard.contracts.sandbox import Command, Completed
from pegboard.sandboxes import Launch, command_environment, run_process

pytestmark = pytest.mark.anyio
GENEROUS_S = 30.0
"""No test measures speed; this only keeps a hang from lasting for ever."""


async def run(source: str, *, cwd: Path | None = None, sink=None, **limits) -> Completed:
    command = Command(argv=("bash", "-c", source), **limits)
    launch = Launch(argv=command.argv, cwd=str(cwd) if cwd else None, env=command_environment())
    with anyio.fail_after(GENEROUS_S):
        return await run_process(launch, command, on_output=sink)


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in ("Z", "X")


def open_descriptors() -> list[str]:
    return sorted(path.name for path in Path("/proc/self/fd").iterdir())


async def gone(pid: int) -> bool:
    """Wait a moment for the kernel to finish what was killed."""
    for _ in range(200):
        if not alive(pid):
            return True
        await anyio.sleep(0.01)
    return False


async def test_output_and_exit_code_come_back() -> None:
    done = await run("echo out; echo err >&2; exit 3")
    assert (done.exit_code, done.signal, done.timed_out) == (3, None, None)
    assert done.stdout.text() == "out\n"
    assert done.stderr.text() == "err\n"
    assert done.duration_s > 0
    assert not done.pipe_held


@pytest.mark.parametrize("code", [0, 1, 255])
async def test_every_exit_code_is_told(code: int) -> None:
    assert (await run(f"exit {code}")).exit_code == code


async def test_an_end_by_a_signal_is_told() -> None:
    done = await run("kill -SEGV $$")
    assert (done.exit_code, done.signal) == (None, signal.SIGSEGV)


async def test_standard_input_is_fed_and_otherwise_closed() -> None:
    data = b"x" * 300_000
    assert (await run("wc -c", stdin=data)).stdout.text().strip() == "300000"
    assert (await run("cat")).stdout.text() == ""
    assert (await run("exec 0<&-; echo done", stdin=data)).stdout.text() == "done\n"


async def test_a_child_left_in_the_background_does_not_keep_us_waiting() -> None:
    with anyio.fail_after(20):
        done = await run("sleep 60 & echo $!; exit 0")
    assert done.exit_code == 0
    assert done.pipe_held
    assert await gone(int(done.stdout.text()))


async def test_output_held_by_a_reader_of_its_own_does_not_keep_us_waiting(
    tmp_path: Path,
) -> None:
    done = await run("exec > >(tee -a log) 2>&1 && echo said && true", cwd=tmp_path)
    assert done.exit_code == 0


DAEMON = """
import os, signal, sys, time
if os.fork():
    os.waitpid(-1, os.WNOHANG)
    time.sleep(0.2)
    os._exit(0)
os.setsid()
for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
    signal.signal(number, signal.SIG_IGN)
if os.fork():
    os._exit(0)
with open(sys.argv[1], "w") as out:
    out.write(str(os.getpid()))
if len(sys.argv) > 2:
    for fd in (0, 1, 2):
        os.close(fd)
time.sleep(600)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
@pytest.mark.parametrize("quiet", [False, True])
async def test_a_daemon_that_left_the_group_and_ignores_signals_is_ended(
    quiet: bool, tmp_path: Path
) -> None:
    (tmp_path / "daemon.py").write_text(DAEMON)
    source = f"{sys.executable} daemon.py pid {'quiet' if quiet else ''}; echo started"
    done = await run(source, cwd=tmp_path)
    assert done.stdout.text() == "started\n"
    assert await gone(int((tmp_path / "pid").read_text()))


async def test_the_wall_limit_ends_the_whole_group_and_keeps_what_was_said() -> None:
    done = await run("echo $$; sleep 60 & sleep 60; echo never", timeout_s=1.5)
    assert done.timed_out == "wall"
    assert done.signal == signal.SIGTERM
    assert await gone(int(done.stdout.text()))


async def test_a_command_that_ignores_the_request_is_killed_after_the_grace() -> None:
    done = await run(
        "trap '' TERM INT HUP; echo up; while :; do sleep 1; done", timeout_s=1.5, grace_s=0.3
    )
    assert (done.timed_out, done.signal) == ("wall", signal.SIGKILL)
    assert done.stdout.text() == "up\n"


async def test_a_command_may_end_itself_in_the_grace() -> None:
    done = await run(
        "trap 'echo bye; exit 7' TERM; echo up; while :; do sleep 0.05; done",
        timeout_s=1.5,
        grace_s=20,
    )
    assert (done.timed_out, done.exit_code) == ("wall", 7)
    assert done.stdout.text() == "up\nbye\n"


async def test_a_stopped_command_is_ended() -> None:
    done = await run("kill -STOP $$; echo never", timeout_s=0.5, grace_s=5)
    assert done.timed_out == "wall"
    assert done.signal in (signal.SIGTERM, signal.SIGKILL)


async def test_silence_is_limited_on_its_own() -> None:
    done = await run("for i in 1 2 3; do echo $i; sleep 0.2; done; sleep 60", idle_s=1.5)
    assert done.timed_out == "idle"
    assert done.stdout.text() == "1\n2\n3\n"


async def test_a_flood_is_kept_in_bounds_and_counted() -> None:
    done = await run("yes | head -c 50000000", keep_head=1000, keep_tail=1000)
    assert done.exit_code == 0
    assert done.stdout.omitted == 50_000_000 - 2000
    assert len(done.stdout.head) == len(done.stdout.tail) == 1000


async def test_a_flood_past_the_output_limit_is_stopped() -> None:
    done = await run("yes", max_output=1_000_000)
    assert done.timed_out == "output"


async def test_one_line_without_an_end_is_no_trouble() -> None:
    done = await run("head -c 5000000 /dev/zero | tr '\\0' x")
    assert len(done.stdout.head) + len(done.stdout.tail) + done.stdout.omitted == 5_000_000


async def test_a_command_that_closes_its_output_is_still_waited_for() -> None:
    done = await run("exec 1>&- 2>&-; sleep 0.4; exit 5")
    assert (done.exit_code, done.pipe_held) == (5, False)


async def test_a_loop_behind_a_fifo_ends_with_the_limit(tmp_path: Path) -> None:
    source = "mkfifo p; (while :; do echo c; sleep 0.2; done) > p & cat p"
    done = await run(source, cwd=tmp_path, timeout_s=2.0)
    assert done.timed_out == "wall"
    assert done.stdout.text().startswith("c\n")


async def test_cancelling_ends_the_tree() -> None:
    pids: list[int] = []

    async def sink(stream: str, chunk: bytes) -> None:
        pids.append(int(chunk))
        scope.cancel()

    with anyio.CancelScope() as scope:
        await run("sleep 60 & echo $!; wait", sink=sink)
    assert scope.cancelled_caught
    assert await gone(pids[0])


async def test_output_can_be_followed_as_it_comes() -> None:
    seen: list[tuple[str, bytes]] = []

    async def sink(stream: str, chunk: bytes) -> None:
        seen.append((stream, chunk))

    await run("echo a; sleep 0.1; echo b >&2; sleep 0.1; echo c", sink=sink)
    assert seen == [("stdout", b"a\n"), ("stderr", b"b\n"), ("stdout", b"c\n")]


async def test_a_listener_that_fails_ends_the_command_and_is_told() -> None:
    async def sink(stream: str, chunk: bytes) -> None:
        raise RuntimeError("listener broke")

    with pytest.raises(RuntimeError, match="listener broke"):
        await run("echo a; sleep 60", sink=sink)


async def test_a_program_that_is_not_there_is_named(tmp_path: Path) -> None:
    def launch(program: str, cwd: Path) -> Launch:
        return Launch(argv=(program, "x"), cwd=str(cwd), env=command_environment())

    command = Command(argv=("x",))
    with pytest.raises(SandboxError, match="no program named no-such-program"):
        await run_process(launch("no-such-program", tmp_path), command)
    with pytest.raises(SandboxError, match="can't start in"):
        await run_process(launch("true", tmp_path / "gone"), command)
    (tmp_path / "plain").write_text("x")
    with pytest.raises(SandboxError, match="can't start"):
        await run_process(launch(str(tmp_path / "plain"), tmp_path), command)
    with pytest.raises(SandboxError, match="null byte"):
        await run_process(launch("a\0b", tmp_path), command)
    with pytest.raises(SandboxError, match="longer than this system allows"):
        huge = Launch(argv=("true", "x" * 3_000_000), cwd=None, env=command_environment())
        await run_process(huge, command)


async def test_no_process_and_no_descriptor_is_left() -> None:
    await run("true")
    before = open_descriptors()
    for _ in range(5):
        await run("echo x; sleep 30 & true")
    await run("sleep 30", timeout_s=0.1)
    assert open_descriptors() == before
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


def test_a_command_runs_from_a_loop_in_any_thread() -> None:
    results: list[Completed] = []

    def in_thread() -> None:
        results.append(asyncio.run(run("sleep 0.3; echo $PPID; exit 4")))

    thread = threading.Thread(target=in_thread)
    thread.start()
    thread.join(GENEROUS_S)
    assert [done.exit_code for done in results] == [4]


async def test_commands_run_side_by_side() -> None:
    results: dict[int, Completed] = {}

    async def one(number: int) -> None:
        results[number] = await run(f"sleep 0.2; echo {number}")

    async with anyio.create_task_group() as tasks:
        for number in range(8):
            tasks.start_soon(one, number)
    assert {key: done.stdout.text() for key, done in results.items()} == {
        number: f"{number}\n" for number in range(8)
    }
