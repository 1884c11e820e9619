"""The laws of a sandbox's commands: how they end, what they see, what outlives them."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Final

import anyio
import pytest

from pegboard.contracts.errors import SandboxError
from pegboard.contracts.sandbox import Command, Sandbox
from pegboard.testing.contracts.sandbox_suite import SandboxSuite, sh
from pegboard.testing.contracts.suite import PROMPT_S

BEAT: Final = "i=0; while [ $i -lt 400 ]; do echo x >> beat; sleep 0.05; i=$((i+1)); done"
"""A shell loop that a test can see running, in whatever namespace it runs. It ends by itself, so
that a sandbox which lets it go does not leave it running for good."""


class CommandLaws(SandboxSuite):
    """Laws of running commands."""

    async def test_a_command_ends_as_it_ends(self, tmp_path: Path) -> None:
        """Exit status, signal and both streams are reported, apart."""
        async with self.opened(tmp_path) as sandbox:
            ended = await sh(sandbox, "echo out; echo err >&2; exit 3")
            assert (ended.exit_code, ended.signal) == (3, None)
            assert (ended.stdout.head, ended.stderr.head) == (b"out\n", b"err\n")
            assert ended.timed_out is None
            killed = await sandbox.run(Command(argv=("sh", "-c", "kill -9 $$")))
            assert killed.exit_code != 0, "a killed command did not succeed"

    async def test_arguments_are_no_shell(self, tmp_path: Path) -> None:
        """`argv` reaches the program as it is."""
        async with self.opened(tmp_path) as sandbox:
            ended = await sandbox.run(Command(argv=("echo", "$HOME; *")))
            assert ended.stdout.head == b"$HOME; *\n"

    async def test_a_missing_program_is_an_error(self, tmp_path: Path) -> None:
        """It is refused or not found; nothing pretends that it ran."""
        async with self.opened(tmp_path) as sandbox:
            try:
                ended = await sandbox.run(Command(argv=("no-such-program-here",)))
            except (SandboxError, FileNotFoundError):
                return
            assert ended.exit_code not in (0, None)

    async def test_what_no_system_can_start_is_refused(self, tmp_path: Path) -> None:
        """NUL bytes, text that is none, and variables without a name are refusals, no crash."""
        bad: tuple[tuple[tuple[str, ...], dict[str, str]], ...] = (
            ((), {}),
            (("echo", "a\0b"), {}),
            (("echo", "\ud800"), {}),
            (("env",), {"A": "b\0c"}),
            (("env",), {"A": "\ud800"}),
            (("env",), {"A=B": "c"}),
            (("env",), {"": "c"}),
            (("env",), {"-i": "c"}),
        )
        async with self.opened(tmp_path) as sandbox:
            for argv, env in bad:
                with pytest.raises(SandboxError) as refused:
                    await sandbox.run(Command(argv=argv, env=env))
                assert refused.value.fix, (argv, env)

    async def test_it_starts_in_the_workspace(self, tmp_path: Path) -> None:
        """`cwd` is the workspace or a folder below; another one is refused."""
        async with self.opened(tmp_path) as sandbox:
            await sandbox.make_dir("below")
            assert await _first_line(sandbox, "pwd -P") == str(sandbox.workspace.resolve())
            below = await sandbox.run(Command(argv=("sh", "-c", "pwd -P"), cwd="below"))
            assert below.stdout.text().strip().endswith("/below")
            with pytest.raises(SandboxError):
                await sandbox.run(Command(argv=("true",), cwd="../outside"))

    async def test_standard_input_is_what_was_given(self, tmp_path: Path) -> None:
        """Bytes are fed and the end follows; without any, a reader does not wait."""
        async with self.opened(tmp_path) as sandbox:
            with anyio.fail_after(PROMPT_S):
                fed = await sandbox.run(Command(argv=("cat",), stdin=b"hello"))
                empty = await sandbox.run(Command(argv=("cat",)))
            assert (fed.stdout.head, empty.stdout.head) == (b"hello", b"")

    async def test_the_environment_is_scrubbed(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A command sees the variables that were named and set, and none of the host's others."""
        monkeypatch.setenv("PEGBOARD_SUITE_KEY", "hidden-value")
        monkeypatch.setenv("PEGBOARD_SUITE_SHOWN", "shown-value")
        async with self.opened(tmp_path, env=("PEGBOARD_SUITE_SHOWN",)) as sandbox:
            ended = await sandbox.run(Command(argv=("env",), env={"SET_HERE": "set-value"}))
        seen = ended.stdout.text()
        assert "hidden-value" not in seen, "a variable of the host reached the command"
        assert "PEGBOARD_SUITE_SHOWN=shown-value" in seen
        assert "SET_HERE=set-value" in seen
        assert "PATH=" in seen

    async def test_output_is_shown_as_it_comes(self, tmp_path: Path) -> None:
        """`on_output` receives every byte, before the command has ended."""
        chunks: list[bytes] = []

        async def keep(stream: str, data: bytes) -> None:
            assert stream == "stdout"
            chunks.append(data)

        async with self.opened(tmp_path) as sandbox:
            command = Command(argv=("sh", "-c", "printf a; sleep 0.3; printf b"))
            await sandbox.run(command, on_output=keep)
        assert b"".join(chunks) == b"ab"
        assert len(chunks) > 1, "the output came all at once, at the end"

    async def test_a_flood_is_stopped(self, tmp_path: Path) -> None:
        """Head and tail are kept, the rest is counted, and too much ends the command."""
        async with self.opened(tmp_path) as sandbox:
            long = "printf start; head -c 500000 /dev/zero | tr '\\0' x; printf end"
            kept = Command(argv=("sh", "-c", long), keep_head=1_000, keep_tail=1_000)
            ended = await sandbox.run(kept)
            assert ended.stdout.head[:5] == b"start"
            assert ended.stdout.tail[-3:] == b"end"
            assert len(ended.stdout.head) + len(ended.stdout.tail) <= 2_000
            assert ended.stdout.omitted == 500_008 - 2_000
            flood = await sandbox.run(Command(argv=("yes",), max_output=1_000_000))
            assert flood.timed_out == "output"

    async def test_a_held_pipe_is_not_waited_for(self, tmp_path: Path) -> None:
        """A child that keeps the output open does not keep the call open."""
        async with self.opened(tmp_path) as sandbox:
            with anyio.fail_after(PROMPT_S):
                ended = await sh(sandbox, "sleep 30 & echo started")
            assert ended.stdout.head == b"started\n"
            assert ended.exit_code == 0
            # a sandbox may have ended the child with its namespace: then nothing held the pipe
            assert ended.pipe_held or sandbox.explain().enforced["pids"] == "yes"

    async def test_a_timeout_ends_the_whole_tree(self, tmp_path: Path) -> None:
        """What a command started ends with it, and what it said so far is kept."""
        async with self.opened(tmp_path) as sandbox:
            source = f"echo begun; ({BEAT}) & {BEAT}"
            ended = await sh(sandbox, source, timeout_s=self.starts_within_s, grace_s=0.2)
            assert ended.timed_out == "wall"
            assert ended.stdout.head == b"begun\n"
            await assert_still(sandbox)

    async def test_a_daemon_ends_with_the_tree(self, tmp_path: Path) -> None:
        """A child in a session of its own ends too, where the sandbox says `tree_kill: yes`."""
        async with self.opened(tmp_path) as sandbox:
            if sandbox.explain().enforced["tree_kill"] != "yes":
                return
            source = f"setsid sh -c '{BEAT}' & sleep 30"
            await sh(sandbox, source, timeout_s=self.starts_within_s, grace_s=0.2)
            await assert_still(sandbox)

    async def test_silence_ends_a_command(self, tmp_path: Path) -> None:
        """`idle_s` without output stops it; output starts the count again."""
        async with self.opened(tmp_path) as sandbox:
            ended = await sh(sandbox, "echo a; sleep 0.2; echo b; sleep 30", idle_s=1.0)
            assert ended.timed_out == "idle"
            assert ended.stdout.head == b"a\nb\n"

    async def test_cancelling_ends_the_whole_tree(self, tmp_path: Path) -> None:
        """A cancelled call returns at once and leaves nothing running, TERM ignored or not."""
        async with self.opened(tmp_path) as sandbox:
            source = f"trap '' TERM; ({BEAT}) & {BEAT}"
            with anyio.fail_after(PROMPT_S), anyio.move_on_after(self.starts_within_s) as scope:
                await sh(sandbox, source, grace_s=0.2)
            assert scope.cancelled_caught
            await assert_still(sandbox)

    async def test_closing_ends_what_runs(self, tmp_path: Path) -> None:
        """After `aclose` nothing of the sandbox runs."""
        async with self.opened(tmp_path) as sandbox:
            with anyio.fail_after(PROMPT_S):
                async with anyio.create_task_group() as group:
                    group.start_soon(_run_to_any_end, sandbox)
                    await wait_for(sandbox.workspace / "beat")
                    await sandbox.aclose()
                    await assert_still(sandbox)
                    group.cancel_scope.cancel()

    async def test_a_confined_command_stays_inside(self, tmp_path: Path) -> None:
        """Where commands are said to be confined, they reach no file outside."""
        target = tmp_path / "outside" / "made.txt"
        async with self.opened(tmp_path) as sandbox:
            if not sandbox.info.confines_commands:
                return
            await sh(sandbox, f"echo x > {target}; echo x > ../outside/kept.txt")
        assert not target.exists()
        assert (tmp_path / "outside" / "kept.txt").read_text() == "kept"


async def _first_line(sandbox: Sandbox, source: str) -> str:
    return (await sh(sandbox, source)).stdout.text().partition("\n")[0]


async def _run_to_any_end(sandbox: Sandbox) -> None:
    """Run until the sandbox is closed: the call may return, or say that it was closed."""
    with suppress(SandboxError):
        await sh(sandbox, BEAT)


async def assert_still(sandbox: Sandbox, name: str = "beat") -> None:
    """Fail when the loop of `BEAT` goes on."""
    beat = sandbox.workspace / name
    assert beat.exists(), "the command never ran"
    await anyio.sleep(0.1)
    size = beat.stat().st_size
    await anyio.sleep(0.4)
    assert beat.stat().st_size == size, "a process outlived its command"


async def wait_for(*paths: Path) -> None:
    """Wait until there are files of these names."""
    while not all(path.exists() for path in paths):
        await anyio.sleep(0.02)
