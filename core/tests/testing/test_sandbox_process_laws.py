"""Each law of started commands fails for a sandbox that breaks it."""

from __future__ import annotations

import inspect
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import anyio
import pytest

from pegboard import (
    Command,
    Completed,
    Output,
    SandboxBackend,
    SandboxError,
    SandboxInfo,
    SandboxReport,
    SandboxSpec,
    TerminalSize,
    start_process,
)
from pegboard.sandboxes import (
    Effects,
    GrantTable,
    Launch,
    LiveProcess,
    Runs,
    SandboxFiles,
    abilities,
    command_environment,
    run_process,
    start_live,
)
from pegboard.testing import SandboxContract
from pegboard.testing.contracts.sandbox_processes import ProcessLaws

pytestmark = pytest.mark.anyio
ITSELF = f"""
import importlib.util
spec = importlib.util.spec_from_file_location("laws", {__file__!r})
laws = importlib.util.module_from_spec(spec)
spec.loader.exec_module(laws)
backend = laws.Backend(laws.%s)
"""


class Plain(SandboxFiles):
    """A correct sandbox without confinement."""

    info = SandboxInfo(id="plain", confines_commands=False, abilities=abilities())
    process: ClassVar[type[LiveProcess]] = LiveProcess
    find_strays: ClassVar = True

    def __init__(self, spec: SandboxSpec) -> None:
        super().__init__(GrantTable.open(spec), spec.effects, durable=False)
        self.workspace = self.table.grants[0].path
        self.runs = Runs()

    async def run(
        self, command: Command, *, on_output: Any = None, live: LiveProcess | None = None
    ) -> Completed:
        launch = Launch(
            argv=tuple(command.argv),
            cwd=str(self.workspace),
            env=command_environment((), extra=command.env),
            find_strays=self.find_strays,
        )
        return await self.runs.run(
            lambda: run_process(launch, command, on_output=on_output, live=live)
        )

    async def start(self, command: Command, *, terminal: TerminalSize | None = None) -> Any:
        async def run(command: Command, keep: Any, live: LiveProcess) -> Completed:
            live.__class__ = self.process
            return await self.run(command, on_output=keep, live=live)

        return await start_live(self.runs, command, terminal, run)

    def narrowed(self, effects: Effects) -> Any:
        return self

    def explain(self) -> SandboxReport:
        return SandboxReport(sandbox="plain", enforced={}, grants=self.table.grants)

    async def aclose(self) -> None:
        await self.runs.end()
        self.table.close()


class Backend:
    info = Plain.info

    def __init__(self, kind: type[Plain] = Plain) -> None:
        self.kind = kind

    async def probe(self) -> str | None:
        return None

    async def open(self, spec: SandboxSpec) -> Any:
        return self.kind(spec)


class TestAPlainSandbox(ProcessLaws):
    backend_source = ITSELF % "Plain"

    def make_backend(self) -> SandboxBackend:
        return Backend()


class FromTheStart(LiveProcess):
    async def output(self, offset: int = 0, *, limit: int = 1) -> Output:
        return await super().output()


class Unending(LiveProcess):
    async def stop(self) -> Completed | None:
        return None


class Silent(LiveProcess):
    async def signal(self, number: int) -> bool:
        return self._tree is not None


class Boastful(LiveProcess):
    async def output(self, offset: int = 0, *, limit: int = 1 << 20) -> Output:
        return replace(await super().output(offset, limit=limit), lost=0)


class Rereading(Plain):
    process = FromTheStart


class Stubborn(Plain):
    process = Unending


class Unsignalled(Plain):
    process = Silent


class Uncounted(Plain):
    process = Boastful


class Short(Plain):
    async def start(self, command: Command, *, terminal: TerminalSize | None = None) -> Any:
        return await super().start(replace(command, timeout_s=0.05), terminal=terminal)


class Unlimited(Plain):
    async def start(self, command: Command, *, terminal: TerminalSize | None = None) -> Any:
        limitless = replace(command, timeout_s=900.0, max_output=1 << 50)
        return await super().start(limitless, terminal=terminal)


class Careless(Plain):
    async def aclose(self) -> None:
        self.table.close()


class Piped(Plain):
    async def start(self, command: Command, *, terminal: TerminalSize | None = None) -> Any:
        return await super().start(command)


class Abandoning(Plain):
    find_strays = False


BREAKS: list[tuple[str, type[Plain]]] = [
    ("a_started_command_is_read_written_and_waited_for", Rereading),
    ("a_started_command_outlives_the_call_that_started_it", Short),
    ("a_started_command_outlives_the_call_that_started_it", Stubborn),
    ("a_signal_reaches_the_whole_tree", Unsignalled),
    ("a_long_output_keeps_both_ends", Uncounted),
    ("its_limits_hold_in_the_background", Unlimited),
    ("closing_ends_started_commands", Careless),
    ("a_program_in_a_terminal_has_one", Piped),
    ("everything_ends_with_a_killed_host", Abandoning),
]


@pytest.mark.parametrize(("law", "kind"), BREAKS)
async def test_a_broken_sandbox_fails_the_law(
    law: str, kind: type[Plain], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pegboard.testing.contracts.sandbox_suite.LIMIT_S", 2.0)
    opened: list[Plain] = []

    class Kept(Backend):
        async def open(self, spec: SandboxSpec) -> Any:
            opened.append(await super().open(spec))
            return opened[-1]

    class Suite(ProcessLaws):
        backend_source = ITSELF % kind.__name__

        def make_backend(self) -> SandboxBackend:
            return Kept(kind)

    with pytest.raises((AssertionError, TimeoutError, SandboxError, pytest.fail.Exception)):
        await getattr(Suite(), f"test_{law}")(tmp_path)
    for sandbox in opened:
        await sandbox.runs.end()


def test_every_law_is_seen_to_fail() -> None:
    laws = {
        name.removeprefix("test_")
        for name, _ in inspect.getmembers(ProcessLaws, inspect.isfunction)
        if name.startswith("test_")
    }
    assert laws == {law for law, _ in BREAKS}
    assert issubclass(SandboxContract, ProcessLaws)


@pytest.mark.parametrize("terminal", [None, TerminalSize()])
async def test_what_a_sandbox_is_not_able_to_is_refused(
    terminal: TerminalSize | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Plain, "info", SandboxInfo(id="far", confines_commands=True))
    sandbox = Plain(SandboxSpec(workspace=tmp_path))
    with pytest.raises(SandboxError, match="the sandbox far can't"):
        await start_process(sandbox, Command(argv=("true",)), terminal=terminal)
    await sandbox.aclose()


async def test_a_command_that_can_not_begin_is_an_error_of_start(tmp_path: Path) -> None:
    sandbox = Plain(SandboxSpec(workspace=tmp_path))
    with anyio.fail_after(20), pytest.raises(SandboxError, match="no program named"):
        await start_process(sandbox, Command(argv=("no-such-program-here",)))
    await sandbox.aclose()
