"""Real `pegboard serve` processes, and clients of their control sockets."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pegboard.host.control.place import socket_to_use
from pegboard.testing import make_dist
from pegboard.testing.dists import built

CODE = '''
import json
import os
from pathlib import Path

import anyio

from pegboard import (
    Ask, ChannelInfo, Delivery, Done, InboundMessage, ModelCaps, Plugin, ProviderInfo, Start,
    TextDelta, ToolCall, ToolContext,
)

plugin = Plugin(summary="All that a test of a resident host needs")
FOLDER = Path(os.environ["SHOP_FOLDER"])


class Parrot:
    """Calls the tool that a message asks for (`call NAME {...}`), and repeats what it returned."""

    info = ProviderInfo(id="parrot", dialect="parrot", network="none", title="Parrot")

    def capabilities(self, model):
        return ModelCaps(context=100_000)

    async def models(self):
        return []

    async def aclose(self):
        pass

    async def stream(self, request):
        asked = [m for m in request.messages if m.role == "user"][-1]
        after = request.messages[request.messages.index(asked) + 1:]
        results = [result for message in after for result in message.results]
        yield Start(request.model or "parrot", "1")
        word, _, rest = asked.text.partition(" ")
        if word == "call" and not results:
            name, _, arguments = rest.partition(" ")
            yield Done(stop="tool_use", calls=(ToolCall("c1", name, arguments or "{}"),))
            return
        text = results[-1].text if results else f"{request.model}: {asked.text}"
        if word == "chatter":
            text = "x" * int(rest)
            for start in range(0, len(text), 10):
                yield TextDelta(text[start:start + 10])
                await anyio.sleep(0)
        else:
            yield TextDelta(text)
        yield Done(stop="end", text=text)


plugin.contribute("provider", "parrot", lambda context, settings: Parrot())


@plugin.tool(effects={"read"})
async def slow(ctx: ToolContext, seconds: float = 1.0) -> str:
    """Take a while."""
    with (FOLDER / "log").open("a") as log:
        log.write(f"slow {ctx.call.attempt}\\n")
    await ctx.progress("begun")
    await anyio.sleep(seconds)
    return "slept"


@plugin.tool(effects={"read"})
async def where(ctx: ToolContext) -> str:
    """Tell where it works."""
    await anyio.sleep(0.05)
    return str(ctx.call.workspace)


@plugin.tool(effects={"read"})
async def careful(ctx: ToolContext) -> str:
    """Run only when a person agrees."""
    return "it ran"


@plugin.hook
def pegboard_tool_guard(event):
    if event.tool.spec.name == "careful":
        return Ask("Run the careful tool?")


class Mail:
    """Hands in the lines of a file, and writes what it sends to another; fails as it is told."""

    def __init__(self):
        self.info = ChannelInfo(surface="chat", local=True, attended=False, live_reply=False)

    async def run(self, inbox):
        told = FOLDER / "fail"
        if told.exists():
            raise RuntimeError(told.read_text())
        if (FOLDER / "end").exists():
            return
        while True:
            given = (FOLDER / "in").read_text() if (FOLDER / "in").exists() else ""
            for line in given.splitlines():
                number, _, text = line.partition(" ")
                await inbox.receive(InboundMessage(
                    channel="mail", chat="1", sender="me", text=text, external_id=number
                ))
            await anyio.sleep(0.05)

    async def send(self, message):
        with (FOLDER / "out").open("a") as out:
            out.write(message.text + "\\n")
        return Delivery(external_ids=(message.id,))


plugin.contribute("channel", "mail", lambda context, settings: Mail())
'''


class Client:
    """A client of a control socket that does what the protocol says, and nothing more."""

    def __init__(self, path: Path) -> None:
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(20)
        self.socket.connect(str(path))
        self.lines = self.socket.makefile("rb")
        self.greeting = self.read()
        self.last = 0

    def read(self) -> dict[str, Any]:
        line = self.lines.readline()
        assert line, "the host has closed the connection"
        return json.loads(line)

    def send(self, verb: str, **arguments: Any) -> int:
        self.last += 1
        frame = {"id": self.last, "verb": verb, **arguments}
        self.socket.sendall(json.dumps(frame).encode() + b"\n")
        return self.last

    def until(self, id: int, seen: list[dict[str, Any]] | None = None) -> dict[str, Any]:
        """Read up to the answer to a request; `seen` gets all before it."""
        while True:
            frame = self.read()
            if frame.get("id") == id and ("ok" in frame or "error" in frame):
                return frame
            if seen is not None:
                seen.append(frame)

    def call(self, verb: str, **arguments: Any) -> dict[str, Any]:
        answer = self.until(self.send(verb, **arguments))
        assert "ok" in answer, answer
        return answer["ok"]

    def close(self) -> None:
        self.lines.close()
        self.socket.close()


class Serving:
    """A home, and hosts that serve it."""

    def __init__(self, folder: Path, plugins: Path) -> None:
        self.folder = folder
        self.home = folder / "home"
        self.state = self.home / "state"
        self.errors = folder / "errors"
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("PEGBOARD", "NOTIFY"))}
        self.env = kept | {
            "PEGBOARD_HOME": str(self.home),
            "PEGBOARD_PLUGINS": "shop",
            "PYTHONPATH": str(plugins),
            "SHOP_FOLDER": str(folder),
        }
        self.process: subprocess.Popen[bytes] | None = None
        self._clients: list[Client] = []

    def command(self, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "pegboard", *words],
            cwd=self.folder,
            env=self.env | env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def start(self, *words: str, wait: bool = True, **env: str) -> subprocess.Popen[bytes]:
        """Start `pegboard serve`, and wait until it is ready."""
        ready = self.folder / "ready"
        ready.unlink(missing_ok=True)
        with self.errors.open("w") as errors:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "pegboard", *words, "serve", "--ready-file", str(ready)],
                cwd=self.folder,
                env=self.env | env,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors,
            )
        if wait:
            self.wait_for(lambda: ready.exists() or self.process.poll() is not None)
            assert ready.exists(), self.errors.read_text()
        return self.process

    def end(self, number: int = signal.SIGTERM) -> tuple[int, str]:
        """Send a signal, and return exit code and standard error."""
        assert self.process is not None
        self.process.send_signal(number)
        return self.process.wait(30), self.errors.read_text()

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait(20)

    def client(self) -> Client:
        path = socket_to_use(self.state)
        assert path is not None
        client = Client(path)
        self._clients.append(client)
        return client

    def status(self) -> dict[str, Any]:
        ended = self.command("status", "--json")
        assert ended.returncode == 0, ended.stderr
        return json.loads(ended.stdout)

    def wait_for(self, true, seconds: float = 20.0) -> None:
        until = time.monotonic() + seconds
        while not true():
            assert time.monotonic() < until, "it does not come"
            time.sleep(0.02)

    def close(self) -> None:
        for client in self._clients:
            client.close()
        if self.process is not None and self.process.poll() is None:
            self.kill()


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the plugin, as an installer leaves it."""
    folder = tmp_path_factory.mktemp("shop")
    os.environ["SHOP_FOLDER"] = str(folder)
    try:
        built(make_dist(folder, "pegboard-shop", code=CODE))
    finally:
        del os.environ["SHOP_FOLDER"]
    return folder


@pytest.fixture
def serving(tmp_path: Path, shop: Path) -> Iterator[Serving]:
    made = Serving(tmp_path, shop)
    yield made
    made.close()


@pytest.fixture(scope="module")
def serving_once(tmp_path_factory: pytest.TempPathFactory, shop: Path) -> Iterator[Serving]:
    """One host for many questions that change nothing."""
    made = Serving(tmp_path_factory.mktemp("once"), shop)
    made.start()
    yield made
    made.close()


@pytest.fixture
def repository_docs() -> Path:
    return Path(__file__).resolve().parents[4] / "docs"
