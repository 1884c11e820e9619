"""What one streamed event costs in the vendors' other dialects: Messages and generateContent."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from contextlib import asynccontextmanager
from importlib.util import find_spec
from typing import Any

from providers import EVENTS, ROUNDS, client, cpu_us, read_with_us, server

TARGET = 1.5
REFERENCE = "20 lines on httpx that parse JSON"


def measure(row: Any, peers_python: Any) -> Iterator[Any]:
    for name, (package, make, text_of) in DIALECTS.items():
        if find_spec(package):
            yield streamed(row, name, make, text_of)


def streamed(row: Any, name: str, make: Callable[[str], Any], text_of: Any) -> Any:
    """Return what one event costs from the socket through the provider and the host's laws."""
    result = row(f"one streamed event, {name}", "us", TARGET, REFERENCE)

    async def compare(url: str) -> None:
        async with opened(make(url)) as provider, client() as plain:
            for _ in range(ROUNDS):
                result.ours.append(await cpu_us(read_with_us(provider)))
                result.reference.append(await cpu_us(read_plainly(plain, url, text_of)))

    with server(EVENTS, 1, name) as url:
        asyncio.run(compare(url))
    return result


@asynccontextmanager
async def opened(provider: Any) -> Any:
    """Give a provider back at the end."""
    yield provider
    await provider.aclose()


def anthropic(url: str) -> Any:
    """Return the provider of Messages."""
    from pegboard_provider_anthropic.config import AnthropicSettings
    from pegboard_provider_anthropic.provider import AnthropicProvider

    from pegboard import SystemClock

    return AnthropicProvider(AnthropicSettings(base_url=url), "", SystemClock())


def gemini(url: str) -> Any:
    """Return the provider of generateContent."""
    from pegboard_provider_gemini.config import GeminiSettings
    from pegboard_provider_gemini.provider import GeminiProvider

    from pegboard import SystemClock

    return GeminiProvider(GeminiSettings(base_url=url), "", SystemClock(), lambda: "")


async def read_plainly(client: Any, url: str, text_of: Callable[[Any], str]) -> int:
    """Read a stream with as little as possible: split events, parse JSON, keep the text."""
    text = []
    async with client.stream("POST", url, json={"stream": True}) as response:
        rest = b""
        async for piece in response.aiter_raw():
            *events, rest = (rest + piece).split(b"\n\n")
            for event in events:
                for line in event.split(b"\n"):
                    if line.startswith(b"data: "):
                        text.append(text_of(json.loads(line[6:])))
    return len("".join(text))


def said_in_messages(event: Any) -> str:
    """Return the text of one event."""
    return str(event.get("delta", {}).get("text", ""))


def said_in_gemini(event: Any) -> str:
    """Return the text of one event."""
    parts = event["candidates"][0].get("content", {}).get("parts", ())
    return "".join(part["text"] for part in parts)


DIALECTS = {
    "messages": ("pegboard_provider_anthropic", anthropic, said_in_messages),
    "gemini": ("pegboard_provider_gemini", gemini, said_in_gemini),
}
