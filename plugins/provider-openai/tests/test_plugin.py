"""The providers inside a host: keys, and what a person reads when something is wrong."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import keyring
import pytest
from counterparts import Answer, scripted
from keyring.backend import KeyringBackend
from pegboard_provider_openai.chat import ChatProvider
from pegboard_provider_openai.config import CompatibleSettings

from pegboard import ChatRequest, Message, SystemClock, Text
from pegboard.config.secrets import Secrets
from pegboard.testing import HostFactory

pytestmark = pytest.mark.anyio
CHAT = Answer.stream({"choices": [{"delta": {"content": "Hi"}, "finish_reason": "stop"}]})
WHOLE = {"object": "response", "status": "completed", "output": []}
PLUGIN = "provider-openai"


def at(url: str, **settings: Any) -> dict[str, Any]:
    made = {"type": "openai-compatible", "server": "other", "base_url": f"{url}/v1"}
    return {"agent.provider": "x", "providers.x": made | {"model": "m"} | settings}


@pytest.mark.parametrize(
    ("settings", "secret", "fix"),
    [
        ({"type": "openai"}, "openai_api_key", "pegboard secret set openai_api_key"),
        ({"server": "groq"}, "groq_api_key", "pegboard secret set groq_api_key"),
        ({"api_key": "mine"}, "mine", "pegboard secret set mine"),
        ({"api_key": "env:MY_KEY"}, "env:MY_KEY", "export MY_KEY=..."),
    ],
)
async def test_a_key_that_is_not_set_is_named_with_the_command_that_sets_it(
    host: HostFactory, settings: dict[str, str], secret: str, fix: str
) -> None:
    config = {"agent.provider": "x", "providers.x": {"type": "openai-compatible"} | settings}
    if config["providers.x"]["type"] != "openai":
        config["providers.x"] = {"server": "other"} | config["providers.x"]
    async with host(PLUGIN, config=config) as world:
        outcome = await world.ask("hello")
    error = outcome.error or {}
    assert outcome.status == "failed"
    assert f"needs the secret {secret}, which is not set" in error["message"]
    assert error["fix"] == fix


@pytest.mark.parametrize(
    ("settings", "fix"),
    [
        ({"api_key": "mine"}, "pegboard secret set mine"),
        ({"server": "openrouter"}, "pegboard secret set openrouter_api_key"),
    ],
)
async def test_a_key_that_is_wrong_is_told_with_the_command_that_sets_another(
    host: HostFactory, settings: dict[str, str], fix: str
) -> None:
    secrets = {"mine": "sk-wrong", "openrouter_api_key": "sk-wrong"}
    body = {"error": {"message": "Incorrect API key provided: sk-wrong"}}
    async with scripted(Answer.json(body, "401 Unauthorized")) as server:
        async with host(PLUGIN, config=at(server.url, **settings), secrets=secrets) as world:
            error = (await world.ask("hello")).error or {}
        assert len(server.requests) == 1
        assert server.requests[0].headers["authorization"] == "Bearer sk-wrong"
    assert error["fix"] == fix
    assert "did not accept the key" in error["message"]
    assert "sk-wrong" not in str(error)


async def test_a_model_that_is_not_there_is_told_with_the_command_that_lists_models(
    host: HostFactory,
) -> None:
    body = {"error": {"message": "The model `m` does not exist", "code": "model_not_found"}}
    async with (
        scripted(Answer.json(body, "404 Not Found")) as server,
        host(PLUGIN, config=at(server.url)) as world,
    ):
        error = (await world.ask("hello")).error or {}
    assert "The model `m` does not exist" in error["message"]
    assert error["fix"] == "pegboard models list"


async def test_a_server_that_needs_no_key_is_asked_without_one(host: HostFactory) -> None:
    async with scripted(CHAT) as server, host(PLUGIN, config=at(server.url)) as world:
        assert (await world.ask("hello")).text == "Hi"
        assert "authorization" not in server.requests[0].headers


async def test_the_key_of_an_instance_is_read_from_where_it_is_kept(host: HostFactory) -> None:
    config = at("http://127.0.0.1:1", type="openai")
    async with scripted(Answer.json(WHOLE | {"output": [MESSAGE]})) as server:
        config["providers.x"] = {"type": "openai", "base_url": f"{server.url}/v1"}
        secrets = {"openai_api_key": "sk-kept"}
        async with host(PLUGIN, config=config, secrets=secrets) as world:
            assert (await world.ask("hello")).text == "Hi"
        assert server.requests[0].headers["authorization"] == "Bearer sk-kept"


class Memory(KeyringBackend):
    """A keyring of the system."""

    priority = 5

    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, username: str) -> str | None:
        return self.kept.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.kept[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        del self.kept[service, username]


async def test_a_key_in_the_systems_keyring_is_sent_and_is_in_no_file(host: HostFactory) -> None:
    before, memory = keyring.get_keyring(), Memory()
    keyring.set_keyring(memory)
    try:
        async with scripted(Answer.json(WHOLE | {"output": [MESSAGE]})) as server:
            made = {"type": "openai", "base_url": f"{server.url}/v1"}
            config = {"agent.provider": "x", "providers.x": made}
            async with host(PLUGIN, config=config) as world:
                kept = Secrets(world.host.config.paths, {})
                assert kept.set("openai_api_key", "sk-in-the-keyring") == "keyring"
                assert (await world.ask("hello")).text == "Hi"
            assert server.requests[0].headers["authorization"] == "Bearer sk-in-the-keyring"
    finally:
        keyring.set_keyring(before)
    assert list(memory.kept.values()) == ["sk-in-the-keyring"]
    written = [path.read_bytes() for path in host.home.rglob("*") if path.is_file()]
    assert written and not any(b"sk-in-the-keyring" in data for data in written)


MESSAGE = {"type": "message", "content": [{"type": "output_text", "text": "Hi"}]}


async def test_a_server_that_nobody_runs_is_told_with_its_address(host: HostFactory) -> None:
    async with host(PLUGIN, config=at("http://127.0.0.1:1")) as world:
        error = (await world.ask("hello")).error or {}
    assert "127.0.0.1:1" in error["message"]
    assert "http://127.0.0.1:1/v1" in error["fix"]


@pytest.mark.parametrize(
    ("server", "context", "window", "asked"),
    [("llamacpp", None, 4_096, 2), ("vllm", None, 4_096, 2), ("llamacpp", 9_000, 9_000, 1)],
)
async def test_a_server_here_tells_its_window_before_the_first_turn(
    host: HostFactory, server: str, context: int | None, window: int, asked: int
) -> None:
    listed = {"data": [{"id": "/models/a.gguf", "meta": {"n_ctx": 4_096}}]}
    if server == "vllm":
        listed = {"data": [{"id": "qwen3", "max_model_len": 4_096}]}
    answers = [CHAT] if context else [Answer.json(listed), CHAT]
    async with scripted(*answers) as counterpart:
        config = at(counterpart.url, server=server, model="qwen3", context=context)
        if context is None:
            del config["providers.x"]["context"]
        async with host(PLUGIN, config=config) as world:
            route = await world.host.models.route()
            assert route.primary.capabilities("qwen3").context == window
            assert (await world.ask("hello")).text == "Hi"
        assert len(counterpart.requests) == asked


async def test_a_server_here_that_is_started_late_tells_its_window_then() -> None:
    listed = Answer.json({"data": [{"id": "qwen3", "max_model_len": 4_096}]})
    async with scripted(listed, CHAT) as counterpart:
        url = counterpart.url
        provider = ChatProvider(CompatibleSettings(server="vllm", base_url=url), "", SystemClock())
        provider._service.api.base_url = "http://127.0.0.1:1"
        await provider.learn()
        assert provider.capabilities("qwen3").context != 4_096
        provider._service.api.base_url = url
        request = ChatRequest(messages=(Message("user", (Text("hello"),)),), model="qwen3")
        assert [event async for event in provider.stream(request)]
        assert provider.capabilities("qwen3").context == 4_096
        await provider.aclose()
        assert len(counterpart.requests) == 2


async def test_a_server_here_that_does_not_tell_its_window_is_asked_all_the_same(
    host: HostFactory,
) -> None:
    async with scripted(Answer.json({}, "404 Not Found"), CHAT) as counterpart:
        config = at(counterpart.url, server="llamacpp")
        async with host(PLUGIN, config=config) as world:
            assert (await world.ask("hello")).text == "Hi"


@pytest.mark.parametrize("piece", ['{"choices": [{"delta": {"content": "a\\ud83e"}}]}'])
async def test_half_a_character_breaks_neither_reply_nor_history(
    host: HostFactory, piece: str
) -> None:
    end = {"choices": [{"delta": {"content": "b"}, "finish_reason": "stop"}]}
    async with (
        scripted(Answer.stream(piece, end)) as server,
        host(PLUGIN, config=at(server.url)) as world,
    ):
        assert (await world.ask("hello")).text == "a\ufffdb"
        assert (await world.ask("again")).text == "a\ufffdb"
        assert server.requests[-1].json["messages"][-2]["content"] == "a\ufffdb"


async def test_a_call_cut_by_the_output_limit_never_runs(host: HostFactory) -> None:
    for arguments in ("", '{"query": "x'):
        call = {"index": 0, "id": "c", "function": {"name": "tool_search", "arguments": arguments}}
        cut = {"choices": [{"delta": {"tool_calls": [call]}, "finish_reason": "length"}]}
        async with (
            scripted(Answer.stream(cut), CHAT) as server,
            host(PLUGIN, config=at(server.url)) as world,
        ):
            await world.ask("hello")
            assert "tool_started" not in world.recorder.types()


async def test_half_a_character_in_what_must_come_back_does_no_harm(host: HostFactory) -> None:
    said = {"type": "message", "content": [{"type": "output_text", "text": "a\ud83e"}]}
    call = {"type": "function_call", "call_id": "c", "name": "tool_search"}
    call["arguments"] = '{"query": "a"}'
    first, last = WHOLE | {"output": [said, call]}, WHOLE | {"output": [MESSAGE]}
    async with scripted(Answer.json(first), Answer.json(last)) as server:
        settings = {"type": "openai", "base_url": f"{server.url}/v1", "api_key": ""}
        config = {"agent.provider": "x", "providers.x": settings}
        async with host(PLUGIN, config=config) as world:
            outcome = await world.ask("hello")
        assert (outcome.status, outcome.text) == ("done", "Hi"), outcome.error
        assert len(server.requests) == 2


def test_asking_needs_no_client_of_a_vendor_and_listing_needs_no_client_at_all() -> None:
    program = """
import sys
import pegboard_provider_openai.plugin
assert not {"anyio", "httpx", "pydantic"} & set(sys.modules), sorted(sys.modules)
import pegboard_provider_openai.chat, pegboard_provider_openai.responses
assert "httpx" in sys.modules
assert not {"httpx2", "openai", "pydantic", "requests"} & set(sys.modules), sorted(sys.modules)
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr


@pytest.mark.parametrize(
    ("settings", "fix"),
    [
        ({"server": "ollama"}, None),
        ({"server": "ollama", "model": "m-cloud"}, "{input = 1.0, output = 4.0}"),
        ({"server": "other"}, "'models.\"x/m\".price' '{input = 0, output = 0}'"),
    ],
    ids=["own", "relayed", "nobody-knows"],
)
async def test_a_budget_of_dollars_lets_a_model_of_this_machine_answer(
    host: HostFactory, settings: dict[str, str], fix: str | None
) -> None:
    async with scripted(CHAT) as server:
        config = at(server.url, **{"api_key": "", **settings}) | {"budgets.cost_per_day": 1.0}
        async with host(PLUGIN, config=config) as world:
            outcome = await world.ask("hello")
        assert len(server.requests) == (fix is None)
    if fix is None:
        assert outcome.text == "Hi"
    else:
        assert fix in (outcome.error or {})["fix"]
