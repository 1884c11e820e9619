from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio
import pytest
from pegboard_sandbox_local.config import LocalSettings
from pegboard_sandbox_local.plugin import local
from pegboard_sandbox_local.sandbox import LocalBackend, LocalSandbox

from pegboard import Command, Grant, Sandbox, SandboxBackend, SandboxError, SandboxSpec

pytestmark = pytest.mark.anyio
Opener = Callable[..., Awaitable[LocalSandbox]]


def bash(source: str, **limits) -> Command:
    return Command(argv=("bash", "-c", source), **limits)


async def test_it_keeps_the_contract(opened: Opener) -> None:
    assert isinstance(LocalBackend(), SandboxBackend)
    box = await opened()
    assert isinstance(box, Sandbox)
    assert isinstance(box.narrowed(frozenset({"read"})), Sandbox)
    assert await LocalBackend().probe() is None


async def test_files_work_below_the_grants(opened: Opener, tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    box = await opened(Grant(tmp_path / "more", "ro"))
    await box.write("a/f", b"x")
    assert await box.read("a/f") == b"x"
    with pytest.raises(SandboxError, match="granted only to be read"):
        await box.write(str(tmp_path / "more/f"), b"x")


async def test_commands_are_refused_and_the_line_that_allows_them_is_named(
    opened: Opener,
) -> None:
    box = await opened()
    with pytest.raises(SandboxError, match="commands are refused") as caught:
        await box.run(bash("touch made"))
    fix = caught.value.fix or ""
    assert "pegboard config set sandboxes.local.allow_unconfined_shell true" in fix
    assert not (box.workspace / "made").exists()


async def test_without_the_exec_effect_nothing_runs_even_where_commands_are_allowed(
    opened: Opener,
) -> None:
    box = (await opened(shell=True)).narrowed(frozenset({"read", "fs_write"}))
    with pytest.raises(SandboxError, match="may not run commands"):
        await box.run(bash("true"))


async def test_a_run_that_may_not_write_runs_no_command_for_nothing_could_keep_it_from_writing(
    opened: Opener,
) -> None:
    box = (await opened(shell=True)).narrowed(frozenset({"read", "exec"}))
    with pytest.raises(SandboxError, match="can't keep them from writing"):
        await box.run(bash("touch made"))
    assert not (box.workspace / "made").exists()


async def test_an_allowed_command_runs_in_the_workspace(opened: Opener, workspace: Path) -> None:
    box = await opened(shell=True)
    done = await box.run(bash("pwd; echo x > made"))
    assert done.stdout.text().strip() == str(workspace)
    assert (workspace / "made").exists()


async def test_a_command_starts_where_it_is_told_below_the_grants(
    opened: Opener, workspace: Path
) -> None:
    (workspace / "sub").mkdir()
    (workspace / "out").symlink_to("/etc")
    (workspace / "file").touch()
    box = await opened(shell=True)
    done = await box.run(Command(argv=("pwd",), cwd="sub"))
    assert done.stdout.text().strip() == str(workspace / "sub")
    for cwd in ("../..", "/etc", "out", "gone", "file", "a\0b"):
        with pytest.raises(SandboxError):
            await box.run(Command(argv=("pwd",), cwd=cwd))


async def test_secrets_of_the_host_do_not_reach_a_command(
    opened: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_API_KEY", "sk-secret")
    monkeypatch.setenv("BASH_ENV", "/tmp/evil")
    monkeypatch.setenv("LET_THROUGH", "yes")
    box = await opened(shell=True, env=("LET_THROUGH", "BASH_ENV"))
    text = (await box.run(Command(argv=("env",), env={"SET": "here"}))).stdout.text()
    assert "sk-secret" not in text
    assert "BASH_ENV" not in text
    assert "LET_THROUGH=yes" in text
    assert "SET=here" in text


async def test_closing_ends_what_runs(opened: Opener) -> None:
    box = await opened(shell=True)
    errors: list[SandboxError] = []
    began = anyio.Event()

    async def sink(stream: str, chunk: bytes) -> None:
        began.set()

    async def run() -> None:
        try:
            await box.run(bash("echo up; sleep 60"), on_output=sink)
        except SandboxError as error:
            errors.append(error)

    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run)
            await began.wait()
            await box.narrowed(frozenset({"read"})).aclose()
            assert not errors
            await box.aclose()
    assert "was closed while the command ran" in str(errors[0])
    with pytest.raises(SandboxError, match="the sandbox is closed"):
        await box.read("f")


async def test_it_says_what_it_enforces(opened: Opener, workspace: Path) -> None:
    closed = (await opened()).explain()
    assert set(closed.enforced.values()) == {"yes"}
    assert "allow_unconfined_shell true" in closed.notes[0]
    assert closed.grants == (Grant(workspace, "rw"),)
    unconfined = (await opened(shell=True)).explain()
    assert unconfined.enforced["net"] == "no"
    assert unconfined.enforced["fs_write"] == "partial"
    assert "UNCONFINED" in unconfined.notes[0]


async def test_an_unsafe_workspace_is_refused() -> None:
    with pytest.raises(SandboxError, match="refusing to grant"):
        await LocalBackend().open(SandboxSpec(workspace=Path("/etc")))


def test_settings_are_the_operators_word() -> None:
    backend = local(None, LocalSettings(allow_unconfined_shell=True))  # type: ignore[arg-type]
    assert backend.allow_unconfined_shell
    assert not LocalSettings().allow_unconfined_shell
    with pytest.raises(ValueError, match="allow_unconfined"):
        LocalSettings(allow_unconfined=True)  # type: ignore[call-arg]
