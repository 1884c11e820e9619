"""Providers: what importing one costs, and what each streamed event does, in time and memory."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Iterator
from contextlib import aclosing, asynccontextmanager, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from boot import cpu_ms

HERE = Path(__file__).resolve().parent
MODULES = (
    "pegboard_provider_openai.chat",
    "pegboard_provider_openai.responses",
    "pegboard_provider_anthropic.provider",
    "pegboard_provider_gemini.provider",
    "pegboard_provider_local.provider",
    "pegboard_provider_scripted.provider",
)
"""What a host imports to ask a model: each provider, without the model of its settings."""
EVENTS = 10_000
CHARACTERS = 5
PACKED = {1: 1.5, 100: 1.75}
"""Events in one HTTP chunk -> target; model servers send one."""
ROUNDS = 9
IMPORTS = 9
SHORT, LONG = 7_000, 175_000
"""Events of a stream of 2 MB, and of one of 50 MB."""


def measure(row: Any, peers_python: Any) -> Iterator[Any]:
    for module in MODULES:
        if find_spec(module.partition(".")[0]):
            yield imported(row, module)
    for packed, target in PACKED.items():
        yield streamed(row, packed, target)
    yield held(row)


def imported(row: Any, module: str) -> Any:
    result = row(f"import {module}", "ms", 1.5, "import httpx")
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    ours = [sys.executable, "-c", f"import {module}"]
    reference = [sys.executable, "-c", "import httpx"]
    cpu_ms(ours, environment), cpu_ms(reference, environment)  # warm the byte code
    for _ in range(IMPORTS):
        result.ours.append(cpu_ms(ours, environment))
        result.reference.append(cpu_ms(reference, environment))
    return result


def streamed(row: Any, packed: int, target: float) -> Any:
    """Return what one event costs from the socket through the provider and the host's laws."""
    name = "one streamed event" if packed == 1 else f"one streamed event, {packed} in a chunk"
    result = row(name, "us", target, "20 lines on httpx that parse JSON")

    async def compare(url: str) -> None:
        async with provider_at(url) as provider, client() as plain:
            for _ in range(ROUNDS):
                result.ours.append(await cpu_us(read_with_us(provider)))
                result.reference.append(await cpu_us(read_plainly(plain, url)))

    with server(EVENTS, packed) as url:
        asyncio.run(compare(url))
    return result


def held(row: Any) -> Any:
    """Return the peak memory of a process that reads a stream of 50 MB, against one of 2 MB."""
    result = row("peak memory, stream of 50 MB", "MB", 1.2, "stream of 2 MB")
    for _ in range(3):
        for events, samples in ((LONG, result.ours), (SHORT, result.reference)):
            with server(events, 1) as url:
                argv = [sys.executable, str(HERE / "stream_reader.py"), url]
                samples.append(float(subprocess.check_output(argv, text=True)))
    return result


async def cpu_us(reading: Awaitable[int]) -> float:
    """Return the CPU microseconds of one event, of this thread alone."""
    begun = time.thread_time()
    characters = await reading
    spent = time.thread_time() - begun
    assert characters == EVENTS * CHARACTERS, characters
    return spent / EVENTS * 1e6


@asynccontextmanager
async def provider_at(url: str) -> AsyncIterator[Any]:
    """Open a provider."""
    from pegboard_provider_openai.chat import ChatProvider
    from pegboard_provider_openai.config import CompatibleSettings

    from pegboard import SystemClock

    settings = CompatibleSettings(server="other", base_url=f"{url}/v1", model="m")
    provider = ChatProvider(settings, "", SystemClock())
    yield provider
    await provider.aclose()


async def read_with_us(provider: Any) -> int:
    """Read a stream as a host does and return the length of its text."""
    from pegboard import ChatRequest, Message
    from pegboard.providers.collect import StreamFold, lawful

    fold = StreamFold(provider.info)
    request = ChatRequest(messages=(Message.of("user", "Hi"),))
    async with aclosing(lawful(provider.stream(request), fold)) as events:
        async for _ in events:
            pass
    return len(fold.end().text)


def client() -> Any:
    """Return the client of the reference."""
    import httpx

    return httpx.AsyncClient(trust_env=False)


async def read_plainly(client: Any, url: str) -> int:
    """Read a stream with as little as possible: split events, parse JSON, keep the text."""
    text = []
    path = f"{url}/v1/chat/completions"
    async with client.stream("POST", path, json={"stream": True}) as response:
        rest = b""
        async for piece in response.aiter_raw():
            *events, rest = (rest + piece).split(b"\n\n")
            for event in events:
                data = event.removeprefix(b"data: ")
                if data == b"[DONE]":
                    break
                for choice in json.loads(data)["choices"]:
                    text.append(choice["delta"].get("content", ""))
    return len("".join(text))


@contextmanager
def server(events: int, packed: int, dialect: str = "chat") -> Iterator[str]:
    """Run the server of the streams in a process of its own."""
    argv = [sys.executable, str(HERE / "stream_server.py")]
    process = subprocess.Popen(
        [*argv, str(events), str(packed), str(CHARACTERS), dialect],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        yield f"http://127.0.0.1:{int(process.stdout.readline())}"
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
