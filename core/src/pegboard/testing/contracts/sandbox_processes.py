"""The laws of commands that go on: in the background, in a terminal, beyond a killed host."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import Final

import anyio
import pytest

from pegboard.contracts.errors import SandboxError
from pegboard.contracts.process import Process, TerminalSize, start_process
from pegboard.contracts.sandbox import Ability, Command, Sandbox
from pegboard.testing.contracts.sandbox_commands import BEAT, assert_still, wait_for
from pegboard.testing.contracts.sandbox_suite import SandboxSuite, sh
from pegboard.testing.contracts.suite import LIMIT_S

_LONG_S: Final = 300.0
_HOST: Final = """
import sys
from pathlib import Path

import anyio

from pegboard import Command, SandboxSpec, start_process

{source}

async def main():
    box = await backend.open(SandboxSpec(workspace=Path(sys.argv[1])))
    commands = [Command(argv=("sh", "-c", text), timeout_s=300.0) for text in sys.argv[2:]]
    await start_process(box, commands[0])
    await box.run(commands[1])

anyio.run(main)
"""


class ProcessLaws(SandboxSuite):
    """Laws of started commands, for sandboxes whose `info.abilities` say that they have them.

    Attributes:
        backend_source: Python source that sets `backend` to a fresh backend, for the law that needs
            a second host, which is killed; "" = that law is not checked.
    """

    backend_source: str = ""

    async def test_a_started_command_is_read_written_and_waited_for(self, tmp_path: Path) -> None:
        """Output is there as it comes, from any offset; input reaches it until it is closed."""
        async with self.opened(tmp_path) as sandbox:
            if not able(sandbox, "background"):
                return
            source = "echo up; while read x; do echo got:$x; done; echo err >&2; exit 7"
            process = await _start(sandbox, source)
            await _says(process, b"up\n")
            assert process.ended is None
            assert await process.wait(0.05) is None
            assert await process.write(b"one\n") == 4
            await _says(process, b"up\ngot:one\n")
            assert (await process.output(3)).data == b"got:one\n"
            assert (await process.output(-4)).data == b"one\n"
            await process.close_input()
            done = await process.wait(20)
            assert done is not None
            assert done.exit_code == 7
            assert done.stderr.head == b"err\n"
            assert (await process.output()).data == b"up\ngot:one\nerr\n"
            assert not await process.signal(signal.SIGTERM)
            with pytest.raises(SandboxError):
                await process.write(b"late\n")

    async def test_a_started_command_outlives_the_call_that_started_it(
        self, tmp_path: Path
    ) -> None:
        """Cancelling, or leaving, what started it does not end it; `stop` ends the whole tree."""
        async with self.opened(tmp_path) as sandbox:
            if not able(sandbox, "background"):
                return
            with anyio.CancelScope() as scope:
                process = await _start(sandbox, f"trap '' TERM; ({BEAT}) & {BEAT}", grace_s=0.2)
                scope.cancel()
            await wait_for(sandbox.workspace / "beat")
            assert await process.wait(0.5) is None
            assert await process.stop() is not None
            await assert_still(sandbox)

    async def test_a_signal_reaches_the_whole_tree(self, tmp_path: Path) -> None:
        """What it started gets the signal as well."""
        async with self.opened(tmp_path) as sandbox:
            if not able(sandbox, "background"):
                return
            child = "trap 'echo child; exit' USR1; while :; do sleep 0.05; done"
            own = f"trap 'echo own' USR1; sh -c \"{child}\" & echo up; while :; do sleep 0.05; done"
            process = await _start(sandbox, own)
            await _says(process, b"up\n")
            await anyio.sleep(0.2)  # until the child has set its trap
            assert await process.signal(signal.SIGUSR1)
            await _holds(process, b"own\n", b"child\n")

    async def test_a_long_output_keeps_both_ends(self, tmp_path: Path) -> None:
        """What is dropped is counted, and the rest is read in pieces that fit together."""
        async with self.opened(tmp_path) as sandbox:
            if not able(sandbox, "background"):
                return
            source = "printf start; head -c 20000000 /dev/zero | tr '\\0' x; printf end"
            process = await _start(sandbox, source)
            assert await process.wait(30) is not None
            first = await process.output()
            assert first.total == 20_000_008
            assert first.data[:5] == b"start"
            assert (await process.output(-3)).data == b"end"
            kept, lost, at = 0, 0, 0
            while at < first.total:
                piece = await process.output(at, limit=1 << 20)
                kept, lost, at = kept + len(piece.data), lost + piece.lost, piece.end
            assert kept + lost == first.total
            assert lost > 0, "everything is kept: there is no bound"

    async def test_its_limits_hold_in_the_background(self, tmp_path: Path) -> None:
        """Time and output are bounded as for any command."""
        async with self.opened(tmp_path) as sandbox:
            if not able(sandbox, "background"):
                return
            late = await start_process(sandbox, Command(argv=("sleep", "60"), timeout_s=0.2))
            flood = await start_process(sandbox, Command(argv=("yes",), max_output=1_000_000))
            for process, reason in ((late, "wall"), (flood, "output")):
                done = await process.wait(20)
                assert done is not None and done.timed_out == reason

    async def test_closing_ends_started_commands(self, tmp_path: Path) -> None:
        """After `aclose` none of them runs, and each can say that it has ended."""
        async with self.opened(tmp_path) as sandbox:
            if not able(sandbox, "background"):
                return
            process = await _start(sandbox, BEAT)
            await wait_for(sandbox.workspace / "beat")
            await sandbox.aclose()
            await assert_still(sandbox)
            with pytest.raises(SandboxError):
                await process.wait(20)

    async def test_a_program_in_a_terminal_has_one(self, tmp_path: Path) -> None:
        """Its size is what was asked for, and changes; Ctrl-C interrupts; it ends as it ends."""
        async with self.opened(tmp_path) as sandbox:
            if not able(sandbox, "terminal"):
                return
            source = (
                "trap 'echo interrupted' INT; [ -t 0 ] && [ -t 1 ] && [ -t 2 ] && echo tty; "
                "stty size; echo ready; read x; stty size; echo got:$x; sleep 30; exit 5"
            )
            process = await _start(sandbox, source, terminal=TerminalSize(rows=10, columns=60))
            await _holds(process, b"tty", b"10 60", b"ready")
            await process.resize(TerminalSize(rows=30, columns=100))
            await process.write(b"hello\n")
            await _holds(process, b"30 100", b"got:hello")
            await process.write(b"\x03")
            done = await process.wait(20)
            assert done is not None and done.exit_code == 5
            await _holds(process, b"interrupted")

    async def test_everything_ends_with_a_killed_host(self, tmp_path: Path) -> None:
        """SIGKILL to the host ends what runs in its sandboxes, started or waited for."""
        if not self.backend_source:
            return
        async with self.opened(tmp_path) as sandbox:
            program = _HOST.format(source=self.backend_source)
            away = f"(setsid sh -c '{BEAT.replace('beat', 'beat2')}' &) ; {BEAT}"
            argv = [sys.executable, "-c", program, str(sandbox.workspace), away, "sleep 60"]
            host = subprocess.Popen(argv)
            try:
                await wait_for(sandbox.workspace / "beat", sandbox.workspace / "beat2")
            finally:
                host.kill()
                host.wait()
            await _goes_still(sandbox, "beat", "beat2")
            assert (await sh(sandbox, "true")).exit_code == 0


def able(sandbox: Sandbox, ability: Ability) -> bool:
    """Tell whether a sandbox says that it can do this."""
    return ability in sandbox.info.abilities


async def _start(
    sandbox: Sandbox,
    source: str,
    *,
    terminal: TerminalSize | None = None,
    grace_s: float = 2.0,
) -> Process:
    command = Command(argv=("sh", "-c", source), timeout_s=_LONG_S, grace_s=grace_s)
    return await start_process(sandbox, command, terminal=terminal)


async def _goes_still(sandbox: Sandbox, *names: str) -> None:
    """Wait until these loops of `BEAT` do not go on: what ends them has to notice first."""
    with anyio.fail_after(LIMIT_S / 2):
        while True:
            before = [(sandbox.workspace / name).stat().st_size for name in names]
            await anyio.sleep(0.5)
            if before == [(sandbox.workspace / name).stat().st_size for name in names]:
                return


async def _says(process: Process, text: bytes) -> None:
    """Wait until a process has written exactly this."""
    while (seen := (await process.output()).data) != text:
        assert text.startswith(seen), seen
        await anyio.sleep(0.02)


async def _holds(process: Process, *texts: bytes) -> None:
    """Wait until a process has written each of these."""
    while True:
        seen = (await process.output()).data
        if all(text in seen for text in texts):
            return
        assert process.ended is None, seen
        await anyio.sleep(0.02)
