"""A model that the host runs itself: what it tells, and how it begins and ends."""

from __future__ import annotations

import json
import os
import signal
import struct
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path

import anyio
import pytest
from counterparts import ECHO, ask, asking, shown_twice
from pegboard_provider_local.provider import LocalProvider

from pegboard import TextDelta
from pegboard.providers import ModelFiles
from pegboard.testing import HostFactory

pytestmark = pytest.mark.anyio
Make = Callable[..., LocalProvider]
TEMPLATE = Path(__file__).parents[3] / "tests" / "counterparts" / "tools.jinja"
HELLO = asking("Say hello", max_output=8)


def running(provider: LocalProvider) -> list[tuple[str, int, str, str]]:
    """Return name, process, address and key of each model that is loaded."""
    found = [(name, item.server) for name, item in provider._running.items()]
    return [(name, server._process.pid, server.url, server.key) for name, server in found]


async def busy(provider: LocalProvider) -> bool:
    ((_, _, url, key),) = running(provider)
    request = urllib.request.Request(f"{url}/slots", headers={"authorization": f"Bearer {key}"})
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with await anyio.to_thread.run_sync(direct.open, request) as response:
        return any(slot["is_processing"] for slot in json.loads(response.read()))


async def test_a_small_model_says_once_what_not_to_expect_of_it(local: Make, weights: Path) -> None:
    provider = local(weights)
    first, second = await ask(provider, HELLO), await ask(provider, HELLO)
    assert first.text and second.text
    assert (first.notices, second.notices) == (["small_model"], [])
    assert not provider.capabilities("").tools
    assert len(running(provider)) == 1


async def test_a_tool_is_called_where_the_settings_say_so(local: Make, weights: Path) -> None:
    provider = local(weights, tools=True, chat_template=TEMPLATE)
    found = await ask(provider, asking(*shown_twice(), "Echo hello", tools=(ECHO,), max_output=60))
    (call,) = found.done.calls
    assert (call.name, call.arguments) == ("echo", '{"text": "hello"}')
    assert found.done.stop == "tool_use"
    assert found.notices == ["small_model"]


async def test_a_small_model_is_held_to_a_call_where_one_is_required(
    local: Make, weights: Path
) -> None:
    provider = local(weights)
    request = asking("Echo the word hello", tools=(ECHO,), max_output=60, tool_choice="required")
    found = await ask(provider, request)
    (call,) = found.done.calls
    assert call.name == "echo"
    assert isinstance(json.loads(call.arguments)["text"], str)
    assert (found.text, found.done.stop) == ("", "tool_use")


async def test_the_window_is_what_the_settings_say_and_an_overflow_is_told_as_one(
    local: Make, weights: Path
) -> None:
    provider = local(weights, context=512)
    failed = (await ask(provider, asking("word " * 600))).failed
    assert failed.kind == "context_overflow"
    assert "512" in failed.message
    assert (await ask(provider, HELLO)).text, "an overflow costs one request"


async def test_leaving_a_stream_frees_the_model(local: Make, weights: Path) -> None:
    provider = local(weights)
    long = asking("Write a very long story about the sea", max_output=1_000)
    async with aclosing(provider.stream(long)) as events:
        async for event in events:
            if isinstance(event, TextDelta):
                assert await busy(provider)
                break
    with anyio.fail_after(30):
        while await busy(provider):
            await anyio.sleep(0.05)


async def test_a_request_that_is_given_up_while_the_model_loads_leaves_no_process(
    local: Make, weights: Path
) -> None:
    provider = local(weights)
    with anyio.move_on_after(0.05):
        await ask(provider, HELLO)
    assert running(provider) == []
    assert (await ask(provider, HELLO)).text


async def test_a_process_that_was_killed_is_named_and_begun_anew(
    local: Make, weights: Path
) -> None:
    provider = local(weights)
    long = asking("Write a very long story about the sea", max_output=1_000)
    seen = []
    with pytest.raises(Exception, match="ended by SIGKILL"):
        async for event in provider.stream(long):
            if isinstance(event, TextDelta) and not seen:
                ((_, pid, _, _),) = running(provider)
                os.kill(pid, signal.SIGKILL)
                seen.append(pid)
    assert (await ask(provider, HELLO)).text
    assert [pid for _, pid, _, _ in running(provider)] != seen


async def test_a_model_that_nobody_asks_makes_room_for_the_next(
    local: Make, weights: Path, tmp_path: Path
) -> None:
    files = ModelFiles(tmp_path)
    files.add("small", lambda to: os.link(weights, to) if not to.unlink() else None, source="x")
    provider = local(weights)
    await ask(provider, HELLO)
    await ask(provider, asking("Say hello", model="small", max_output=8))
    assert [name for name, *_ in running(provider)] == ["small"]
    assert [model.id for model in await provider.models()] == [str(weights), "small"]


async def test_the_process_gets_no_key_and_ends_with_the_provider(
    local: Make, weights: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "sk-very-secret")
    provider = local(weights)
    await ask(provider, HELLO)
    ((_, pid, url, key),) = running(provider)
    if Path("/proc/self/environ").exists():
        told = Path(f"/proc/{pid}/environ").read_bytes() + Path(f"/proc/{pid}/cmdline").read_bytes()
        assert b"sk-very-secret" not in told
        assert key.encode() not in told
    with pytest.raises(Exception, match="401"):
        urllib.request.build_opener(urllib.request.ProxyHandler({})).open(f"{url}/slots")
    await provider.aclose()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
async def test_the_process_ends_when_its_host_is_killed(weights: Path, tmp_path: Path) -> None:
    program = f"""
import anyio
from pathlib import Path
from pegboard import ChatRequest, Message, SystemClock
from pegboard_provider_local.config import LocalSettings
from pegboard_provider_local.provider import LocalProvider

async def main():
    settings = LocalSettings(model={str(weights)!r}, context=512, threads=1)
    provider = LocalProvider(settings, Path({str(tmp_path)!r}), SystemClock())
    request = ChatRequest(messages=(Message.of("user", "Hello"),), max_output=2)
    async for _ in provider.stream(request):
        pass
    ((_, running),) = provider._running.items()
    print(running.server._process.pid, flush=True)
    await anyio.sleep_forever()

anyio.run(main)
"""
    host = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    with host:
        assert host.stdout is not None
        pid = int(await anyio.to_thread.run_sync(host.stdout.readline))
        os.kill(pid, 0)
        host.kill()
    with anyio.fail_after(30):
        while Path(f"/proc/{pid}/stat").exists() and "Z" not in _state(pid):
            await anyio.sleep(0.05)


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text("utf-8").split()[2]
    except OSError:
        return "Z"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (None, "There is no model file"),
        (b"PK\x03\x04", "not a GGUF file"),
        (b"GGUF", "cut off"),
        (b"", "not a GGUF file"),
    ],
)
async def test_a_file_that_is_no_model_is_told(
    local: Make, tmp_path: Path, content: bytes | None, says: str
) -> None:
    file = tmp_path / "m.gguf"
    if content is not None:
        file.write_bytes(content)
    failed = (await ask(local(file), HELLO)).failed
    assert says in failed.message
    assert str(file) in failed.message
    assert failed.kind == "not_found"
    assert failed.fix


async def test_a_model_that_llama_cpp_refuses_is_told(
    local: Make, weights: Path, tmp_path: Path
) -> None:
    file = tmp_path / "m.gguf"
    head = struct.pack("<4sIQQ", b"GGUF", 3, 1, 0)
    tensor = struct.pack("<Q1sIQIQ", 1, b"t", 1, 8, 0, 0)
    file.write_bytes((head + tensor).ljust(256, b"\0"))
    failed = (await ask(local(file), HELLO)).failed
    assert "The model can't be loaded" in failed.message
    assert failed.kind == "not_found", "to load it once more would end as this did"
    assert failed.fix


async def test_a_model_that_was_not_added_is_told_with_the_command(local: Make) -> None:
    failed = (await ask(local("smollm2"), HELLO)).failed
    assert "No model smollm2 was added" in failed.message
    assert failed.fix == "pegboard models add smollm2"


def test_importing_it_brings_neither_llama_cpp_nor_what_reads_settings() -> None:
    program = (
        "import sys, pegboard_provider_local.provider\n"
        "print(sorted({'pydantic', 'xllamacpp', 'genai_prices'} & set(sys.modules)))"
    )
    found = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert found.stdout == "[]\n"


async def test_an_agent_answers_with_it(host: HostFactory, weights: Path) -> None:
    config = {
        "agent.provider": "local",
        "providers.local": {"model": str(weights), "context": 2_048, "max_output": 24},
    }
    async with host("provider-local", config=config) as world:
        outcome = await world.ask("Say hello")
    assert outcome.status == "done", outcome.error
    assert outcome.text
