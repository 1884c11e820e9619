from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import Popen

import pexpect
import pytest

from pegboard.testing import make_dist
from pegboard.testing.dists import built

CODE = '''
import os
import subprocess
import time

import anyio

from pegboard import Ask, Intent, Plugin, ToolContext, ToolFailure

plugin = Plugin(summary="Tools for tests of the terminal")


@plugin.tool(effects=(), intents=(Intent("echo {text:quoted}"),))
async def echo(text: str) -> str:
    """Return a text unchanged."""
    return text


plugin.chat_command("whisper", tool="echo", argument="text")


@plugin.tool(effects={"read"})
async def slow(ctx: ToolContext, seconds: float = 30.0) -> str:
    """Take a while."""
    await ctx.progress("half way", fraction=0.5)
    await anyio.sleep(seconds)
    return "slept"


@plugin.tool(effects={"read"})
async def blocking(ctx: ToolContext) -> str:
    """Hold up everything."""
    await ctx.progress("from now on")
    time.sleep(20)
    return "awake"


@plugin.tool(effects={"read"})
async def deaf(ctx: ToolContext) -> str:
    """Listen to nobody."""
    await ctx.progress("from now on")
    until = time.monotonic() + 20
    while time.monotonic() < until:
        try:
            await anyio.sleep(0.1)
        except anyio.get_cancelled_exc_class():
            time.sleep(0.1)
    return "done"


@plugin.tool(effects={"read"})
async def noisy() -> str:
    """Print what nobody asked for."""
    print("printed by a tool")
    os.write(1, b"written by a tool\\n")
    subprocess.run(["echo", "said by a child"], check=True)
    return "done"


@plugin.tool(effects={"read"})
async def broken() -> str:
    """Fail."""
    raise ToolFailure("The well is dry.", fix="Wait for rain.", code="dry")


@plugin.tool(effects={"read"})
async def wild() -> str:
    """Return what would steer a terminal."""
    return "\\x1b[2J\\x1b]0;owned\\x07 harmless"


@plugin.tool(effects={"read"})
async def careful() -> str:
    """Run only when a person agrees."""
    return "it ran"


@plugin.hook
def pegboard_tool_guard(event):
    if event.tool.spec.name == "careful":
        return Ask("Run the careful tool?")
'''


class Command:
    """Runs `pegboard` as a person does: a process, with a home and a folder of its own."""

    def __init__(self, folder: Path, plugins: Path) -> None:
        self.home = folder / "home"
        self.workspace = folder / "workspace"
        self.workspace.mkdir()
        kept = {k: v for k, v in os.environ.items() if not k.startswith("PEGBOARD")}
        self.env = kept | {
            "PEGBOARD_HOME": str(self.home),
            "PEGBOARD_PLUGINS": "terminal,provider-offline,odd",
            "PYTHONPATH": str(plugins),
            "TERM": "xterm-256color",
        }

    def argv(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "pegboard", *words]

    def run(
        self, *words: str, stdin: str | None = None, env: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.argv(*words),
            cwd=self.workspace,
            env=self.env | (env or {}),
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    @contextmanager
    def serving(self, *words: str, env: dict[str, str] | None = None) -> Iterator[Popen[str]]:
        """Run `pegboard serve` until the end of the block."""
        ready = self.home.parent / "ready"
        with Popen(
            self.argv(*words, "serve", "--ready-file", str(ready)),
            cwd=self.home.parent,
            env=self.env | (env or {}),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            try:
                until = time.monotonic() + 30
                while not ready.exists():
                    assert process.poll() is None, process.communicate()
                    assert time.monotonic() < until, "it does not get ready"
                    time.sleep(0.02)
                yield process
            finally:
                process.terminate()
                try:
                    process.communicate(timeout=20)
                except subprocess.TimeoutExpired:
                    process.kill()

    @contextmanager
    def on_terminal(self, *words: str, timeout: float = 30.0) -> Iterator[pexpect.spawn[str]]:
        """Run on a pseudo-terminal."""
        program, *arguments = self.argv(*words)
        child = pexpect.spawn(
            program,
            arguments,
            cwd=str(self.workspace),
            env=self.env,
            encoding="utf-8",
            dimensions=(24, 100),
            timeout=timeout,
        )
        try:
            yield child
        finally:
            child.close(force=True)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def odd_tools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a plugin whose tools behave oddly, as an installer leaves it."""
    folder = tmp_path_factory.mktemp("odd")
    built(make_dist(folder, "pegboard-odd", code=CODE))
    return folder


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "both_ways: run it alone, and beside a host that stays")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if metafunc.definition.get_closest_marker("both_ways") is not None:
        metafunc.parametrize("pegboard", ["alone", "resident"], indirect=True)


@pytest.fixture
def pegboard(request: pytest.FixtureRequest, tmp_path: Path, odd_tools: Path) -> Iterator[Command]:
    """The command; for tests that are marked `both_ways` also beside a host that stays."""
    command = Command(tmp_path, odd_tools)
    if getattr(request, "param", "alone") == "alone":
        yield command
        return
    with command.serving():
        yield command
