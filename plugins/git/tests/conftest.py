from __future__ import annotations

import os
import subprocess
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from pegboard import ToolResult
from pegboard.testing import HostFactory, HostUnderTest

AUTHOR = {"author_name": "Ann Author", "author_email": "ann@example.org"}
SANDBOXES: Mapping[str, tuple[str, dict[str, Any]]] = {
    "bubblewrap": ("sandbox-bubblewrap", {"sandbox": {"use": "bubblewrap"}}),
    "landlock": ("sandbox-bubblewrap", {"sandbox": {"use": "landlock"}}),
    "local": ("sandbox-local", {"sandboxes.local": {"allow_unconfined_shell": True}}),
}
PLAIN = {
    "PATH": os.environ["PATH"],
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_AUTHOR_NAME": "Old Author",
    "GIT_AUTHOR_EMAIL": "old@example.org",
    "GIT_COMMITTER_NAME": "Old Author",
    "GIT_COMMITTER_EMAIL": "old@example.org",
}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def _no_identity(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever runs the tests may have set these."""
    for name in ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL"):
        monkeypatch.delenv(name, raising=False)


def run_git(folder: Path, *arguments: str, data: bytes = b"") -> str:
    """Run git as a person would, outside of everything that is tested."""
    done = subprocess.run(
        ["git", "-c", "init.defaultBranch=main", "-c", "protocol.file.allow=always", *arguments],
        cwd=folder,
        env=PLAIN,
        input=data,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, (arguments, done.stderr.decode())
    return done.stdout.decode("utf-8", "replace").strip()


def make_repository(folder: Path) -> Path:
    """Make a repository with two commits and three files."""
    folder.mkdir(parents=True, exist_ok=True)
    run_git(folder, "init", "-q")
    (folder / "a.txt").write_text("one\n")
    (folder / "sub").mkdir()
    (folder / "sub/b.txt").write_text("x\ny\n")
    run_git(folder, "add", ".")
    run_git(folder, "commit", "-qm", "First")
    (folder / "a.txt").write_text("one\ntwo\n")
    run_git(folder, "commit", "-qam", "Second\n\nWith a body.")
    return folder


class Bench:
    """The git tools in a real host, and the repository they work on."""

    def __init__(self, running: HostUnderTest) -> None:
        self.running = running
        self.folder: Path = running.workspace

    async def read(self, action: str, **arguments: Any) -> ToolResult:
        return await self.ok("git_read", action, arguments)

    async def write(self, action: str, **arguments: Any) -> ToolResult:
        return await self.ok("git_write", action, arguments)

    async def ok(self, tool: str, action: str, arguments: Mapping[str, Any]) -> ToolResult:
        result = await self.running.call(f"git:{tool}", action=action, **arguments)
        assert result.error is None, result.error.text()
        return result

    async def error(self, tool: str, action: str, **arguments: Any):
        result = await self.running.call(f"git:{tool}", action=action, **arguments)
        assert result.error is not None, result.text
        assert result.error.fix, result.error
        return result.error

    def git(self, *arguments: str, data: bytes = b"") -> str:
        return run_git(self.folder, *arguments, data=data)

    def put(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


Opener = Callable[..., AbstractAsyncContextManager[Bench]]


@pytest.fixture
def opened(host: HostFactory) -> Opener:
    """Open the workspace in one of the sandboxes, bubblewrap unless told."""

    @asynccontextmanager
    async def opener(
        sandbox: str = "bubblewrap",
        *,
        secrets: Mapping[str, str] | None = None,
        grants: Sequence[Path] = (),
        **settings: Any,
    ) -> AsyncIterator[Bench]:
        plugin, config = SANDBOXES[sandbox]
        config = {**config, "plugins.git": {**AUTHOR, **settings}}
        if grants:
            opened = [{"path": str(path)} for path in grants]
            config["sandbox"] = {**config.get("sandbox", {}), "grants": opened}
        async with host(
            "git", plugin, config=config, secrets=secrets or {}, record=False
        ) as running:
            report = await running.host.sandbox_report()
            if report.sandbox != sandbox and not os.environ.get("PEGBOARD_CI"):
                pytest.skip(f"{sandbox} does not work here: {report.notes}")
            assert report.sandbox == sandbox, report.notes
            yield Bench(running)

    return opener


@pytest.fixture
def git() -> Callable[..., str]:
    return run_git


@pytest.fixture
def repository() -> Callable[[Path], Path]:
    return make_repository


@pytest.fixture
async def bench(host: HostFactory, opened: Opener) -> AsyncIterator[Bench]:
    """A repository in bubblewrap."""
    make_repository(host.workspace)
    async with opened() as made:
        yield made


@pytest.fixture(params=SANDBOXES)
async def anywhere(
    request: pytest.FixtureRequest, host: HostFactory, opened: Opener
) -> AsyncIterator[Bench]:
    """A repository in each of the sandboxes."""
    make_repository(host.workspace)
    async with opened(request.param) as made:
        yield made
