"""Each law of `SandboxContract` fails for a sandbox that breaks it.

The sandbox that is bent is the real one of this machine, without confinement.
"""

from __future__ import annotations

import inspect
import os
import shutil
import signal
import subprocess
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import anyio
import pytest

from pegboard import (
    Command,
    Completed,
    FileStat,
    SandboxBackend,
    SandboxError,
    SandboxInfo,
    SandboxReport,
    SandboxSpec,
)
from pegboard.sandboxes import (
    Effects,
    GrantTable,
    Launch,
    SandboxFiles,
    command_environment,
    lacks_effect,
    run_process,
)
from pegboard.testing import SandboxContract
from pegboard.testing.contracts.sandbox_processes import ProcessLaws

pytestmark = pytest.mark.anyio


class Plain(SandboxFiles):
    """A correct sandbox without confinement."""

    info = SandboxInfo(id="plain", confines_commands=False)
    enforced: ClassVar = {
        "fs_read": "partial",
        "fs_write": "partial",
        "net": "no",
        "signals": "no",
        "pids": "no",
        "tree_kill": "yes",
    }

    def __init__(self, files: SandboxFiles, spec: SandboxSpec) -> None:
        super().__init__(files.table, files.effects, durable=False)
        self.workspace = files.table.grants[0].path
        self.spec = spec
        self.scopes: set[anyio.CancelScope] = set()

    @classmethod
    async def opened(cls, spec: SandboxSpec) -> Plain:
        return cls(SandboxFiles(GrantTable.open(spec), spec.effects, durable=False), spec)

    def environment(self, command: Command) -> dict[str, str]:
        return command_environment(self.spec.env, extra=command.env)

    def folder(self, command: Command) -> str:
        return self.resolve(command.cwd) if command.cwd else str(self.workspace)

    async def run(self, command: Command, *, on_output: Any = None) -> Completed:
        if "exec" not in self.effects:
            raise lacks_effect("exec", self.effects)
        launch = Launch(
            argv=tuple(command.argv), cwd=self.folder(command), env=self.environment(command)
        )
        with anyio.CancelScope() as scope:
            self.scopes.add(scope)
            return await self.started(launch, command, on_output)
        raise SandboxError("closed", fix="Open another one.")

    async def started(self, launch: Launch, command: Command, on_output: Any) -> Completed:
        return await run_process(launch, command, on_output=on_output)

    def narrowed(self, effects: Effects) -> Plain:
        return type(self)(super().narrowed(effects), self.spec)

    def explain(self) -> SandboxReport:
        return SandboxReport(sandbox=self.info.id, enforced=self.enforced, grants=self.table.grants)

    async def aclose(self) -> None:
        for scope in self.scopes:
            scope.cancel()
        await anyio.sleep(0.1)
        self.table.close()


class Backend:
    info = Plain.info

    def __init__(self, kind: type[Plain] = Plain, unfit: str | None = None) -> None:
        self.kind = kind
        self.unfit = unfit

    async def probe(self) -> str | None:
        return self.unfit

    async def open(self, spec: SandboxSpec) -> Plain:
        return await self.kind.opened(spec)


class TestAPlainSandbox(SandboxContract):
    def make_backend(self) -> SandboxBackend:
        return Backend()


class Boasting(Plain):
    info = SandboxInfo(id="plain", confines_commands=True)


class Unsaid(Plain):
    enforced: ClassVar = {"fs_read": "yes"}


class Alike(Plain):
    async def write(self, path: str, data: bytes, **options: Any) -> None:
        await super().write(path, data, **{**options, "new_mode": None})


class Trusting(Plain):
    """Joins paths and looks at nothing."""

    def place(self, path: str) -> Path:
        return self.workspace / path

    def resolve(self, path: str, *, write: bool = False) -> str:
        return str(self.place(path))

    async def read(self, path: str, *, offset: int = 0, limit: int = 1 << 30) -> bytes:
        return self.place(path).read_bytes()

    async def write(
        self, path: str, data: bytes, *, parents: bool = True, must_be_new: bool = False
    ) -> None:
        self.place(path).parent.mkdir(parents=True, exist_ok=True)
        self.place(path).write_bytes(data)

    async def list_dir(self, path: str) -> list[FileStat]:
        return [await self.known(entry) for entry in self.place(path).iterdir()]

    async def known(self, path: Path) -> FileStat:
        stat = path.stat()
        kind = "dir" if path.is_dir() else "file"
        return FileStat(str(path.relative_to(self.workspace)), kind, 0, 0, stat.st_mode)  # type: ignore[misc]

    async def walk(
        self, path: str, *, skip: frozenset[str] = frozenset()
    ) -> AsyncIterator[FileStat]:
        for folder, _, names in os.walk(self.place(path), followlinks=False):
            for name in sorted(names):
                relative = os.path.relpath(Path(folder, name), self.workspace)
                yield FileStat(path=relative, kind="file", size=0, mtime_ns=0, mode=0)


class Text(Trusting):
    async def read(self, path: str, *, offset: int = 0, limit: int = 1 << 30) -> bytes:
        return (await super().read(path)).decode("utf-8", "replace").encode()


class Whole(Plain):
    async def read(self, path: str, *, offset: int = 0, limit: int = 1 << 30) -> bytes:
        return await super().read(path)


class Empty(Plain):
    async def read(self, path: str, *, offset: int = 0, limit: int = 1 << 30) -> bytes:
        return await super().read(path, offset=offset) if await self.stat(path) else b""


class Slow(Trusting):
    """Writes a file in pieces, each of them seen by everybody."""

    async def write(self, path: str, data: bytes, **options: Any) -> None:
        with self.place(path).open("wb") as file:
            for start in range(0, len(data), 100_000):
                file.write(data[start : start + 100_000])
                file.flush()
                await anyio.sleep(0.001)


class Littering(Plain):
    async def write(self, path: str, data: bytes, **options: Any) -> None:
        await super().write(path, data, **options)
        Path(self.workspace, path + ".tmp").touch()


class Forgetful(Plain):
    async def write(self, path: str, data: bytes, **options: Any) -> None:
        await super().write(path, data, **options)
        Path(self.resolve(path)).chmod(0o600)


class Obliging(Plain):
    async def write(self, path: str, data: bytes, **options: Any) -> None:
        await super().write(path, data)


class Silent(Trusting):
    """Reads a folder as nothing."""

    async def read(self, path: str, *, offset: int = 0, limit: int = 1 << 30) -> bytes:
        return b"" if not self.place(path).is_file() else await super().read(path)


class Unsorted(Plain):
    async def list_dir(self, path: str) -> list[FileStat]:
        return list(reversed(await super().list_dir(path)))


class Following(Plain):
    async def walk(
        self, path: str, *, skip: frozenset[str] = frozenset()
    ) -> AsyncIterator[FileStat]:
        async for entry in super().walk(path, skip=skip):
            yield entry
            if entry.kind == "symlink":
                yield replace(entry, path=f"{entry.path}/kept.txt")


class Replacing(Plain):
    async def rename(self, source: str, target: str) -> None:
        Path(self.resolve(source, write=True)).replace(self.resolve(target, write=True))


class Sweeping(Plain):
    async def remove(self, path: str) -> None:
        place = Path(self.resolve(path, write=True))
        shutil.rmtree(place) if place.is_dir() else place.unlink()


class Curt(Plain):
    async def read(self, path: str, *, offset: int = 0, limit: int = 1 << 30) -> bytes:
        try:
            return await super().read(path, offset=offset, limit=limit)
        except SandboxError as error:
            raise SandboxError("no") from error


class Wide(Plain):
    def narrowed(self, effects: Effects) -> Plain:
        return self


class Regaining(Plain):
    full: Effects = frozenset({"read", "fs_write", "exec"})

    def narrowed(self, effects: Effects) -> Plain:
        return type(self)(SandboxFiles(self.table, effects, durable=False), self.spec)


class Running(Plain):
    """Runs commands in its own way: whatever `change` makes of the command or its end."""

    async def started(self, launch: Launch, command: Command, on_output: Any) -> Completed:
        ended = await super().started(self.launch(launch), self.command(command), on_output)
        return self.ended(ended)

    def launch(self, launch: Launch) -> Launch:
        return launch

    def command(self, command: Command) -> Command:
        return command

    def ended(self, ended: Completed) -> Completed:
        return ended


class Successful(Running):
    def ended(self, ended: Completed) -> Completed:
        return replace(ended, exit_code=0, signal=None)


class Shell(Running):
    def launch(self, launch: Launch) -> Launch:
        return replace(launch, argv=("sh", "-c", " ".join(launch.argv)))


class Pretending(Plain):
    async def run(self, command: Command, *, on_output: Any = None) -> Completed:
        return Completed(exit_code=0)


class Unchecked(Plain):
    async def run(self, command: Command, *, on_output: Any = None) -> Completed:
        argv, env = list(command.argv) or ["true"], self.environment(command)
        return Completed(exit_code=(await anyio.run_process(argv, env=env)).returncode)


class Elsewhere(Running):
    def folder(self, command: Command) -> str:
        return str(self.workspace.parent)


class Deaf(Running):
    def command(self, command: Command) -> Command:
        return replace(command, stdin=b"")


class Leaking(Plain):
    def environment(self, command: Command) -> dict[str, str]:
        return {**os.environ, **command.env}


class Bare(Plain):
    def environment(self, command: Command) -> dict[str, str]:
        return dict(command.env)


class Late(Plain):
    async def started(self, launch: Launch, command: Command, on_output: Any) -> Completed:
        ended = await super().started(launch, command, None)
        if on_output is not None:
            await on_output("stdout", ended.stdout.head)
        return ended


class Endless(Running):
    def command(self, command: Command) -> Command:
        return replace(command, max_output=1 << 40, timeout_s=1.0)


class Uncounted(Running):
    def ended(self, ended: Completed) -> Completed:
        return replace(ended, stdout=replace(ended.stdout, omitted=0))


class Patient(Plain):
    """Waits until nobody holds the output any more."""

    async def started(self, launch: Launch, command: Command, on_output: Any) -> Completed:
        if "sleep 30" in " ".join(launch.argv):
            await anyio.sleep(6)
        return await super().started(launch, command, on_output)


class Leaving(Plain):
    """Starts processes, and leaves behind what they start."""

    async def started(self, launch: Launch, command: Command, on_output: Any) -> Completed:
        with subprocess.Popen(
            launch.argv,
            cwd=launch.cwd,
            env=dict(launch.env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            start_new_session=True,
        ) as process:
            KEPT.append(process)
            try:
                await anyio.sleep(min(command.timeout_s, 5))
            finally:
                process.kill()
        return Completed(exit_code=None, signal=9, timed_out="wall")


KEPT: list[subprocess.Popen[bytes]] = []


class Bored(Running):
    def command(self, command: Command) -> Command:
        return replace(command, idle_s=None, timeout_s=3.0)


class Careless(Plain):
    async def aclose(self) -> None:
        self.scopes.clear()


BREAKS: list[tuple[str, Callable[[], Any]]] = [
    ("it_works_on_this_machine", lambda: Backend(unfit="not here")),
    ("it_says_what_it_enforces", lambda: Backend(Unsaid)),
    ("it_says_what_it_enforces", lambda: Backend(Boasting)),
    ("a_file_is_read_as_it_was_written", lambda: Backend(Text)),
    ("a_part_is_read", lambda: Backend(Whole)),
    ("what_is_missing_is_not_found", lambda: Backend(Empty)),
    ("must_be_new_keeps_an_existing_file", lambda: Backend(Obliging)),
    ("a_write_is_one_step", lambda: Backend(Slow)),
    ("a_write_is_one_step", lambda: Backend(Littering)),
    ("a_write_keeps_the_mode", lambda: Backend(Forgetful)),
    ("a_new_file_has_the_mode_that_is_asked_for", lambda: Backend(Alike)),
    ("only_regular_files_are_read", lambda: Backend(Silent)),
    ("a_folder_is_listed_in_order", lambda: Backend(Unsorted)),
    ("walking_follows_no_link", lambda: Backend(Following)),
    ("rename_replaces_nothing", lambda: Backend(Replacing)),
    ("remove_spares_a_full_folder", lambda: Backend(Sweeping)),
    ("paths_outside_are_refused", lambda: Backend(Trusting)),
    ("links_out_are_refused", lambda: Backend(Trusting)),
    ("protected_paths_are_refused", lambda: Backend(Trusting)),
    ("a_grant_opens_as_much_as_it_says", lambda: Backend(Trusting)),
    ("a_refusal_says_what_would_allow_it", lambda: Backend(Curt)),
    ("narrowing_takes_away_for_good", lambda: Backend(Wide)),
    ("narrowing_takes_away_for_good", lambda: Backend(Regaining)),
    ("a_command_ends_as_it_ends", lambda: Backend(Successful)),
    ("arguments_are_no_shell", lambda: Backend(Shell)),
    ("a_missing_program_is_an_error", lambda: Backend(Pretending)),
    ("what_no_system_can_start_is_refused", lambda: Backend(Unchecked)),
    ("it_starts_in_the_workspace", lambda: Backend(Elsewhere)),
    ("standard_input_is_what_was_given", lambda: Backend(Deaf)),
    ("the_environment_is_scrubbed", lambda: Backend(Leaking)),
    ("the_environment_is_scrubbed", lambda: Backend(Bare)),
    ("output_is_shown_as_it_comes", lambda: Backend(Late)),
    ("a_flood_is_stopped", lambda: Backend(Endless)),
    ("a_flood_is_stopped", lambda: Backend(Uncounted)),
    ("a_held_pipe_is_not_waited_for", lambda: Backend(Patient)),
    ("a_timeout_ends_the_whole_tree", lambda: Backend(Leaving)),
    ("a_daemon_ends_with_the_tree", lambda: Backend(Leaving)),
    ("silence_ends_a_command", lambda: Backend(Bored)),
    ("cancelling_ends_the_whole_tree", lambda: Backend(Leaving)),
    ("closing_ends_what_runs", lambda: Backend(Careless)),
    ("a_confined_command_stays_inside", lambda: Backend(Boasting)),
]


@pytest.mark.parametrize(("law", "make"), BREAKS)
async def test_a_broken_sandbox_fails_the_law(
    law: str, make: Callable[[], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Suite(SandboxContract):
        def make_backend(self) -> SandboxBackend:
            return make()

    test = getattr(Suite(), f"test_{law}")
    needed = {"tmp_path": tmp_path, "monkeypatch": monkeypatch}
    given = {name: needed[name] for name in inspect.signature(test).parameters}
    broken = (AssertionError, pytest.fail.Exception, OSError, ValueError, ExceptionGroup)
    with pytest.raises(broken):
        await test(**given)
    for process in KEPT:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    KEPT.clear()


def test_every_law_is_seen_to_fail() -> None:
    laws = {
        name.removeprefix("test_")
        for name, _ in inspect.getmembers(SandboxContract, inspect.isfunction)
        # those of started commands are broken in a file of their own
        if name.startswith("test_") and not hasattr(ProcessLaws, name)
    }
    assert laws == {law for law, _ in BREAKS}
